// SPDX-License-Identifier: GPL-2.0-or-later
//! From what a user asked for to the source's configuration, checked against the host, so that a
//! name that matches nothing is refused before anything is measured.

use anyhow::ensure;
use irqpath_model::Comm;
use irqpath_source::Config;
use irqpath_system::Host;

use super::args::What;

/// Longest name of a task; the kernel cuts longer ones.
const COMM_LEN: usize = 15;

/// The configuration for the running kernel. `record_all` if any output wants every path.
pub fn live_config(what: &What, host: &Host, record_all: bool) -> anyhow::Result<Config> {
    if let Some(cpus) = &what.cpus {
        host.check_cpus(cpus)?;
    }
    let mut config = unchecked_config(what, record_all);
    config.origins = host.resolve_irqs(&what.irq)?;
    for tid in &config.tids {
        let exists = host.path(format!("proc/{tid}")).exists();
        ensure!(exists, "there is no task {tid}; ps -eLo tid,comm lists them, names work too");
    }
    Ok(config)
}

/// Everything but the interrupts, as asked for.
pub fn unchecked_config(what: &What, record_all: bool) -> Config {
    let (tids, comms) = split_tasks(&what.task);
    Config {
        threshold_ns: what.threshold,
        record_all,
        origins: Vec::new(),
        tids,
        comms,
        cpus: what.cpus.clone(),
        no_user: what.no_user,
        buffer_bytes: what.buffer.map_or(0, |mib| mib << 20),
        max_paths: None,
        by_cgroup: false,
        look_every: None,
        flight: None,
    }
}

/// Numbers are thread or process ids, everything else is a name.
pub fn split_tasks(wanted: &[String]) -> (Vec<u32>, Vec<Comm>) {
    let (mut tids, mut comms) = (Vec::new(), Vec::new());
    for text in wanted {
        if let Ok(tid) = text.parse() {
            tids.push(tid);
        } else {
            let bytes = &text.as_bytes()[..text.len().min(COMM_LEN)];
            comms.push(Comm::from_bytes(bytes));
        }
    }
    (tids, comms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_numbers_or_names_as_the_kernel_cuts_them() {
        let wanted = ["700", "postgres", "a-very-long-task-name"].map(str::to_owned);
        let (tids, comms) = split_tasks(&wanted);
        assert_eq!(tids, [700]);
        assert_eq!(comms, [Comm::from("postgres"), Comm::from("a-very-long-tas")]);
    }
}
