// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath shield set`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use irqpath_model::shield::{Document, Mechanism, Switch, Wanted};
use irqpath_report::text;
use irqpath_system::{Host, shield};

use super::args::{How, ShieldSet, Switches};
use super::context::{empty_document, open_host};
use super::watch;
use crate::host::signals;
use crate::output::console;

pub fn run(arguments: &ShieldSet) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    let wanted = build_wanted(arguments, &host)?;
    if arguments.dry_run {
        let set = shield::dry_run(&host, &access, &wanted)?;
        print_set(arguments, set)?;
        return Ok(ExitCode::SUCCESS);
    }
    // A signal between two changes would leave half a shield, which reset takes down. One between
    // two looks at the tasks leaves a whole one, without those that began since.
    let stop = signals::listen()?;
    let set = shield::set(&host, &access, &wanted, &|| stop.is_requested())?;
    print_set(arguments, set)?;
    if arguments.watch {
        return watch::run(arguments.interval, arguments.json, &stop);
    }
    Ok(ExitCode::SUCCESS)
}

fn print_set(arguments: &ShieldSet, set: irqpath_model::shield::Set) -> anyhow::Result<()> {
    if arguments.json {
        console::print_json(&Document { set: Some(set), ..empty_document() }, arguments.watch)
    } else {
        console::print_page(&text::shield::render_set(&set, arguments.dry_run))
    }
}

fn build_wanted(arguments: &ShieldSet, host: &Host) -> anyhow::Result<Wanted> {
    shield::check_irqs(host, &arguments.irq)?;
    let tasks = arguments.task.iter().map(|task| shield::find_task(host, task));
    let cpus = &arguments.cpus;
    Ok(Wanted {
        cpus: arguments.cpus.clone(),
        switches: list_switches(&arguments.switches),
        mechanism: match arguments.mechanism {
            How::Auto => Mechanism::Auto,
            How::Kernel => Mechanism::Kernel,
            How::Partition => Mechanism::Partition,
            How::Affinity => Mechanism::Affinity,
        },
        irqs: arguments.irq.iter().map(|irq| (irq.clone(), cpus.clone())).collect(),
        tasks: tasks.collect::<Result<_, _>>()?,
    })
}

fn list_switches(given: &Switches) -> BTreeSet<Switch> {
    let Switches { tasks, irqs, ticks, kthreads, workqueues, rcu, timers, .. } = *given;
    let Switches { idle, poll, governor, fair_server, statistics, .. } = *given;
    // In the order of Switch::ALL.
    let given = [
        tasks,
        irqs,
        ticks,
        kthreads,
        workqueues,
        rcu,
        timers,
        idle,
        poll,
        governor,
        fair_server,
        statistics,
    ];
    let chosen: BTreeSet<Switch> =
        Switch::ALL.iter().copied().zip(given).filter_map(|(s, on)| on.then_some(s)).collect();
    let default = || Switch::ALL.iter().copied().filter(|switch| switch.is_default());
    if chosen.is_empty() { default().collect() } else { chosen }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_switch_means_the_default_and_each_means_itself() {
        let none = Switches {
            tasks: false,
            irqs: false,
            ticks: false,
            kthreads: false,
            workqueues: false,
            rcu: false,
            timers: false,
            idle: false,
            poll: false,
            governor: false,
            fair_server: false,
            statistics: false,
        };
        let default = list_switches(&none);
        assert_eq!(default.len(), Switch::ALL.len() - 2);
        assert!(!default.contains(&Switch::Poll) && !default.contains(&Switch::FairServer));
        assert_eq!(list_switches(&Switches { rcu: true, ..none }), [Switch::Rcu].into());
        let last = Switches { statistics: true, ..none };
        assert_eq!(list_switches(&last), [Switch::Statistics].into());
    }
}
