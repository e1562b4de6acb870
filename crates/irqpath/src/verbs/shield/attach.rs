// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath shield attach`.

use std::process::ExitCode;

use irqpath_model::CpuList;
use irqpath_model::shield::{Document, Mechanism, Wanted};
use irqpath_report::text;
use irqpath_system::shield::Chosen;
use irqpath_system::{Host, shield};

use super::args::{ShieldAttach, Switches};
use super::context::{empty_document, open_host};
use super::set::list_switches;
use crate::host::signals;
use crate::output::console;

pub fn run(arguments: &ShieldAttach) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    shield::check_irqs(&host, &arguments.irq)?;
    let cpus = &arguments.cpus;
    let asked = asked(cpus, &arguments.irq, &arguments.switches);
    let plan = || plan(&host, arguments, &asked);
    let set = if arguments.dry_run {
        shield::dry_run(&host, &access, &plan()?)?
    } else {
        let stop = signals::listen()?;
        shield::attach(&host, &access, &plan, &|| stop.is_requested())?
    };
    if arguments.json {
        console::print_json(&Document { set: Some(set), ..empty_document() }, false)?;
    } else {
        console::print_page(&text::shield::render_set(&set, arguments.dry_run))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// CPUs and interrupts for one cgroup.
pub(super) fn asked(cpus: &CpuList, irqs: &[String], switches: &Switches) -> Wanted {
    Wanted {
        cpus: cpus.clone(),
        switches: list_switches(switches, None),
        mechanism: Mechanism::Auto,
        irqs: irqs.iter().map(|irq| (irq.clone(), cpus.clone())).collect(),
        tasks: Vec::new(),
        attached: [].into(),
        threads: [].into(),
        containers: [].into(),
        borrowed: [].into(),
        offline: CpuList::default(),
    }
}

fn plan(
    host: &Host,
    arguments: &ShieldAttach,
    asked: &Wanted,
) -> Result<Wanted, shield::ShieldError> {
    let ShieldAttach { cgroup, tid, thread, .. } = arguments;
    match cgroup {
        None => shield::plan_attach_threads(host, Chosen::Tids(tid), asked),
        Some(cgroup) if !thread.is_empty() => {
            shield::plan_attach_threads(host, Chosen::Names { cgroup, names: thread }, asked)
        }
        Some(cgroup) => shield::plan_attach(host, cgroup, asked),
    }
}
