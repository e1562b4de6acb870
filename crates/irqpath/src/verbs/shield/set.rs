// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath shield set`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use irqpath_model::CpuList;
use irqpath_model::shield::{Document, Mechanism, Set, Switch, Wanted};
use irqpath_report::text;
use irqpath_system::{Host, shield};

use super::args::{How, ShieldSet, Siblings, Switches};
use super::context::{empty_document, open_host};
use super::profile::{Profile, load_profile};
use super::watch;
use crate::host::signals;
use crate::output::console;

pub fn run(arguments: &ShieldSet) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    let profile = arguments.profile.as_deref().map(load_profile).transpose()?;
    let wanted = build_wanted(arguments, &host, profile.as_ref())?;
    if arguments.dry_run {
        let mut set = shield::dry_run(&host, &access, &wanted)?;
        give_reasons(&mut set, profile);
        print_set(arguments, set)?;
        return Ok(ExitCode::SUCCESS);
    }
    // A signal between two changes would leave half a shield, which reset takes down. One between
    // two looks at the tasks leaves a whole one, without those that began since.
    let stop = signals::listen()?;
    let mut set = shield::set(&host, &access, &wanted, &|| stop.is_requested())?;
    give_reasons(&mut set, profile);
    print_set(arguments, set)?;
    if arguments.watch {
        return watch::run(arguments.interval, arguments.json, &stop);
    }
    Ok(ExitCode::SUCCESS)
}

/// A profile knows better than irqpath why something is on.
fn give_reasons(set: &mut Set, profile: Option<Profile>) {
    let Some(profile) = profile else { return };
    set.notes.insert(0, format!("profile for {}", profile.description));
    set.why.extend(profile.switches);
}

fn print_set(arguments: &ShieldSet, set: Set) -> anyhow::Result<()> {
    if arguments.json {
        console::print_json(&Document { set: Some(set), ..empty_document() }, arguments.watch)
    } else {
        console::print_page(&text::shield::render_set(&set, arguments.dry_run))
    }
}

fn build_wanted(
    arguments: &ShieldSet,
    host: &Host,
    profile: Option<&Profile>,
) -> anyhow::Result<Wanted> {
    shield::check_irqs(host, &arguments.irq)?;
    let tasks = arguments.task.iter().map(|task| shield::find_task(host, task));
    let threads = arguments.tid.iter().map(|&tid| shield::find_thread(host, tid));
    let siblings = || shield::siblings_of(host, &arguments.cpus);
    let (cpus, offline) = match arguments.siblings {
        Siblings::Keep => (arguments.cpus.clone(), CpuList::default()),
        Siblings::Shield => (arguments.cpus.union(&siblings()?), CpuList::default()),
        Siblings::Offline => (arguments.cpus.clone(), siblings()?),
    };
    Ok(Wanted {
        switches: list_switches(&arguments.switches, profile),
        mechanism: match arguments.mechanism {
            How::Auto => Mechanism::Auto,
            How::Kernel => Mechanism::Kernel,
            How::Partition => Mechanism::Partition,
            How::Affinity => Mechanism::Affinity,
        },
        irqs: arguments.irq.iter().map(|irq| (irq.clone(), cpus.clone())).collect(),
        tasks: tasks.chain(threads).collect::<Result<_, _>>()?,
        attached: BTreeMap::new(),
        threads: BTreeMap::new(),
        containers: BTreeMap::new(),
        borrowed: BTreeMap::new(),
        offline,
        cpus,
    })
}

pub fn list_switches(given: &Switches, profile: Option<&Profile>) -> BTreeSet<Switch> {
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
    let given = Switch::ALL.iter().copied().zip(given).filter_map(|(s, on)| on.then_some(s));
    let profile = profile.into_iter().flat_map(|profile| profile.switches.keys().copied());
    let chosen: BTreeSet<Switch> = given.chain(profile).collect();
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
        let default = list_switches(&none, None);
        assert_eq!(default.len(), Switch::ALL.len() - 2);
        assert!(!default.contains(&Switch::Poll) && !default.contains(&Switch::FairServer));
        assert_eq!(list_switches(&Switches { rcu: true, ..none }, None), [Switch::Rcu].into());
        let last = Switches { statistics: true, ..none };
        assert_eq!(list_switches(&last, None), [Switch::Statistics].into());
        let audio = load_profile("audio").unwrap();
        let both = list_switches(&last, Some(&audio));
        assert_eq!(both.len(), audio.switches.len() + 1);
    }
}
