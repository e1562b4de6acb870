// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath shield run`: becomes the program, on shielded CPUs, with its policy and priority.
//!
//! The order matters: into the cgroup and onto the CPUs first, the priority last, so that irqpath
//! itself never runs at the priority that was meant for the program longer than it must.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, anyhow};
use irqpath_source::launch;
use irqpath_system::shield;

use super::args::ShieldRun;
use super::context::open_host;

/// Returns only if the program could not be started.
pub fn run(arguments: &ShieldRun) -> anyhow::Result<ExitCode> {
    let (program, rest) = arguments.command.split_first().context("no program was given")?;
    let (host, access) = open_host();
    let cpus = arguments.cpus.as_ref();
    shield::check_irqs(&host, &arguments.irq)?;
    let enter = if arguments.keep_unit { shield::enter_in_unit } else { shield::enter };
    let entered = enter(&host, &access, std::process::id(), cpus)?;
    shield::bind_irqs(&host, &access, &arguments.irq, &entered)?;
    if arguments.mlock {
        launch::lock_memory_after_exec()
            .context("the program's memory cannot be locked; run with sudo, or without --mlock")?;
    }
    if let Some(sched) = arguments.priority {
        launch::set_scheduling(0, sched).with_context(|| {
            format!("the priority {sched} cannot be set; run with sudo, or look at ulimit -r")
        })?;
    }
    let error = Command::new(program).args(rest).exec();
    let name = program.to_string_lossy();
    Err(anyhow!(error).context(format!("cannot start {name}; check the name and its rights")))
}
