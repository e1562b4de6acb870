// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath shield hook`: what a container runtime calls before a container runs and after its end.

use std::io::Read;
use std::os::unix::net::UnixDatagram;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use irqpath_model::{CpuList, printable};
use irqpath_system::shield::{
    Container, Moment, ShieldError, Whose, attach, check_irqs, container_cgroup, cpuset_of, detach,
    plan_attach_container,
};

use super::args::ShieldHook;
use super::attach::asked;
use super::context::open_host;
use crate::host::signals;

/// Whoever starts a container waits for it.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// A runtime that gives the hook up leaves it running.
const END_PATIENCE: Duration = Duration::from_secs(600);
/// The state of a container is some hundred bytes, and its annotations.
const MAX_STATE: u64 = 1 << 20;

/// Prints nothing unless it fails. The reason is in the system's log, too: crun says only that a hook
/// failed.
pub fn run(arguments: &ShieldHook) -> anyhow::Result<ExitCode> {
    follow(arguments).inspect_err(|error| log_error(&format!("{error:#}")))
}

/// Nobody has to listen there.
fn log_error(reason: &str) {
    /// Facility daemon, severity error (RFC 3164).
    const PRIORITY: u8 = 3 * 8 + 3;
    let message = format!("<{PRIORITY}>irqpath[{}]: {}", std::process::id(), printable(reason));
    let _ = UnixDatagram::unbound().and_then(|log| log.send_to(message.as_bytes(), "/dev/log"));
}

fn follow(arguments: &ShieldHook) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    let state = std::io::stdin().take(MAX_STATE + 1);
    let length = { state }.read_to_string(&mut text).context("cannot read standard input")?;
    ensure!(
        length as u64 <= MAX_STATE,
        "the state of the container has more than {MAX_STATE} bytes"
    );
    let container = Container::parse(&text).map_err(anyhow::Error::msg)?;
    let (host, access) = open_host();
    match container.moment().map_err(anyhow::Error::msg)? {
        Moment::Unasked => {}
        Moment::Begins { pid, cpus } => {
            let path = container_cgroup(&host, pid, &container.id)?;
            let cpus = cpus.unwrap_or_else(|| cpuset_of(&host, &path));
            check_allowed(&cpus, &arguments.allow)?;
            check_irqs(&host, &arguments.irq)?;
            let asked = asked(&cpus, &arguments.irq, &arguments.switches);
            let stop = signals::listen()?;
            let plan = || plan_attach_container(&host, &container.id, &path, &asked);
            let attached = || attach(&host, &access, &plan, &|| stop.is_requested());
            wait_for_turn(START_PATIENCE, attached)?;
        }
        Moment::Ended => {
            let stop = signals::listen()?;
            let whose = Whose::Container(&container.id);
            let detached = || detach(&host, &access, whose, &|| stop.is_requested());
            match wait_for_turn(END_PATIENCE, detached) {
                // Its start failed, or an administrator was faster.
                Ok(_) | Err(ShieldError::NotSet | ShieldError::NothingAttached { .. }) => {}
                Err(error) => bail!(error),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Tries again while another irqpath changes this host, which on a busy one may last: nobody calls a
/// hook again.
fn wait_for_turn<T>(
    patience: Duration,
    mut act: impl FnMut() -> Result<T, ShieldError>,
) -> Result<T, ShieldError> {
    let began = Instant::now();
    loop {
        match act() {
            Err(ShieldError::Journal(e)) if e.is_locked() && began.elapsed() < patience => {}
            done => return done,
        }
    }
}

/// Who writes a pod's annotations is not who owns the host.
fn check_allowed(cpus: &CpuList, allowed: &CpuList) -> anyhow::Result<()> {
    ensure!(
        !cpus.is_empty(),
        "the container has no CPUs of its own to shield; give it a cpuset, or name CPUs in the annotation"
    );
    let refused = cpus.difference(allowed);
    ensure!(
        refused.is_empty(),
        "CPU {refused} may not be shielded for containers; --allow has {allowed}"
    );
    Ok(())
}
