// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath shield set`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use irqpath_system::shield::{self, Document, Mechanism, Switch, Wanted};

use super::args::{How, ShieldSet, Switches};
use super::context::{empty_document, open_host};
use super::{text, watch};
use crate::host::signals;
use crate::output::console;

pub fn run(arguments: &ShieldSet) -> anyhow::Result<ExitCode> {
    let wanted = wanted(arguments);
    let (host, access) = open_host();
    if arguments.dry_run {
        let set = shield::dry_run(&host, &access, &wanted)?;
        show(arguments, set)?;
        return Ok(ExitCode::SUCCESS);
    }
    // A signal between two changes would leave half a shield, which reset takes down. One between
    // two looks at the tasks leaves a whole one, without those that began since.
    let stop = signals::listen()?;
    let set = shield::set(&host, &access, &wanted, &|| stop.requested())?;
    show(arguments, set)?;
    if arguments.watch {
        return watch::run(arguments.interval, arguments.json, &stop);
    }
    Ok(ExitCode::SUCCESS)
}

fn show(arguments: &ShieldSet, set: shield::Set) -> anyhow::Result<()> {
    if arguments.json {
        console::json(&Document { set: Some(set), ..empty_document() }, arguments.watch)
    } else {
        console::print(&text::set(&set, arguments.dry_run))
    }
}

fn wanted(arguments: &ShieldSet) -> Wanted {
    Wanted {
        cpus: arguments.cpus.clone(),
        switches: switches(&arguments.switches),
        mechanism: match arguments.mechanism {
            How::Auto => Mechanism::Auto,
            How::Kernel => Mechanism::Kernel,
            How::Partition => Mechanism::Partition,
            How::Affinity => Mechanism::Affinity,
        },
    }
}

fn switches(given: &Switches) -> BTreeSet<Switch> {
    let Switches { tasks, irqs, ticks, kthreads, workqueues, rcu, timers } = *given;
    // In the order of Switch::ALL.
    let given = [tasks, irqs, ticks, kthreads, workqueues, rcu, timers];
    let chosen: BTreeSet<Switch> =
        Switch::ALL.into_iter().zip(given).filter_map(|(s, on)| on.then_some(s)).collect();
    if chosen.is_empty() { Switch::ALL.into() } else { chosen }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_switch_means_all_and_each_means_itself() {
        let none = Switches {
            tasks: false,
            irqs: false,
            ticks: false,
            kthreads: false,
            workqueues: false,
            rcu: false,
            timers: false,
        };
        assert_eq!(switches(&none).len(), Switch::ALL.len());
        assert_eq!(switches(&Switches { rcu: true, ..none }), [Switch::Rcu].into());
    }
}
