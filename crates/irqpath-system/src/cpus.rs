// SPDX-License-Identifier: GPL-2.0-or-later
//! Which CPUs the host has, and whether a list asks for more than that.

use std::collections::BTreeMap;

use irqpath_model::CpuList;

use crate::{Host, SystemError};

impl Host {
    /// Reads which CPUs are online.
    pub fn online_cpus(&self) -> Result<CpuList, SystemError> {
        self.cpu_list("sys/devices/system/cpu/online")
    }

    /// CPUs that may ever be online.
    pub fn possible_cpus(&self) -> Result<CpuList, SystemError> {
        self.cpu_list("sys/devices/system/cpu/possible")
    }

    /// Check that there is a CPU in the list, and that all of them are online.
    pub fn check_cpus(&self, cpus: &CpuList) -> Result<(), SystemError> {
        let online = self.online_cpus()?;
        if cpus.is_empty() {
            return Err(SystemError::NoCpu { online });
        }
        let impossible = cpus.difference(&self.possible_cpus()?);
        if !impossible.is_empty() {
            return Err(SystemError::NoSuchCpu { cpus: impossible, online });
        }
        let offline = cpus.difference(&online);
        if !offline.is_empty() {
            return Err(SystemError::CpuOffline { cpus: offline, online });
        }
        Ok(())
    }

    /// Online CPUs that share a core with one of these, and are none of them.
    pub(crate) fn read_siblings(&self, cpus: &CpuList) -> CpuList {
        let of = |cpu: u16| {
            let file = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            self.read_fact(&file)?.parse::<CpuList>().ok()
        };
        let all = cpus.iter().filter_map(of).fold(CpuList::default(), |all, one| all.union(&one));
        all.difference(cpus)
    }

    /// The memory nodes, and the CPUs of each.
    pub(crate) fn read_nodes(&self) -> BTreeMap<u16, CpuList> {
        const NODES: &str = "sys/devices/system/node";
        let of = |name: String| {
            let node = name.strip_prefix("node")?.parse().ok()?;
            let cpus: CpuList = self.read_fact(&format!("{NODES}/{name}/cpulist"))?.parse().ok()?;
            Some((node, cpus))
        };
        self.names_in(NODES).into_iter().filter_map(of).collect()
    }

    fn cpu_list(&self, relative: &str) -> Result<CpuList, SystemError> {
        let text = self.read(relative)?;
        text.parse().map_err(|e| SystemError::Malformed {
            path: self.path(relative),
            line: 1,
            reason: format!("{e}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::SystemError;
    use crate::testing::Fake;

    fn fake() -> Fake {
        Fake::new()
            .with_file("sys/devices/system/cpu/online", "0,2\n")
            .with_file("sys/devices/system/cpu/possible", "0-3\n")
    }

    #[test]
    fn lists_within_the_host_pass() {
        assert!(fake().host().check_cpus(&"2,0".parse().unwrap()).is_ok());
    }

    #[test]
    fn every_refusal_says_what_to_do() {
        for (list, want) in [
            (
                "0-3",
                "CPU 1,3 is offline (online: 0,2); bring it up with: echo 1 > /sys/devices/system/cpu/cpu1/online",
            ),
            ("0,4-5", "there is no CPU 4-5 here; this machine has CPUs 0,2"),
            ("", "the CPU list is empty; this machine has CPUs 0,2"),
        ] {
            let refused = fake().host().check_cpus(&list.parse().unwrap());
            assert_eq!(refused.unwrap_err().to_string(), want);
        }
    }

    #[test]
    fn a_strange_kernel_file_is_named() {
        let fake = Fake::new().with_file("sys/devices/system/cpu/online", "all of them\n");
        let error = fake.host().online_cpus().unwrap_err();
        assert!(matches!(error, SystemError::Malformed { line: 1, .. }), "{error}");
    }
}
