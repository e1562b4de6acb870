// SPDX-License-Identifier: GPL-2.0-or-later
//! Which CPUs a test measures, and how irqpath keeps off them.

use anyhow::{Context as _, ensure};
use irqpath_model::CpuList;
use irqpath_system::Host;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs that this process may use.
pub fn allowed_cpus() -> anyhow::Result<CpuList> {
    let set = sched_getaffinity(None).context("cannot read the CPUs of this process")?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u16).collect())
}

/// The last one of them: the first has most of the housekeeping.
pub fn last_allowed() -> anyhow::Result<u16> {
    allowed_cpus()?.iter().last().context("irqpath may use no CPU")
}

/// The CPUs asked for, or [the usual one](last_allowed). An isolated CPU may be asked for although it is not among those.
pub fn choose_cpus(host: &Host, asked: Option<&CpuList>) -> anyhow::Result<CpuList> {
    if let Some(cpus) = asked {
        ensure!(!cpus.is_empty(), "--cpus names no CPU; write a list as 1,3,5-7");
        host.check_cpus(cpus)?;
        return Ok(cpus.clone());
    }
    Ok([last_allowed()?].into_iter().collect())
}

/// Keep this thread, and what it starts, off the measured CPUs. False if there are no others.
pub fn keep_off(measured: &CpuList) -> anyhow::Result<bool> {
    let others = allowed_cpus()?.difference(measured);
    if others.is_empty() {
        return Ok(false);
    }
    let mut set = CpuSet::new();
    others.iter().for_each(|cpu| set.set(usize::from(cpu)));
    // It is only politeness.
    Ok(sched_setaffinity(None, &set).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_allowed_cpu_is_the_default_and_none_is_refused() {
        let host = Host::real();
        let last = allowed_cpus().unwrap().iter().last().unwrap();
        assert_eq!(choose_cpus(&host, None).unwrap().to_string(), last.to_string());
        let error = choose_cpus(&host, Some(&CpuList::default())).unwrap_err().to_string();
        assert!(error.contains("names no CPU"), "{error}");
    }
}
