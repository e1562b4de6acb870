// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that are kept free of other work: by boot parameters, by cgroup partitions, and by the
//! default affinity of interrupts.

use irqpath_model::{CpuList, Isolation};

use crate::Host;
use crate::kernel::find_parameter;

impl Host {
    /// Isolation in force, as CPU lists; empty means none.
    pub fn isolation(&self) -> Isolation {
        let cmdline = self.read_fact("proc/cmdline").unwrap_or_default();
        let list = |file: &str| {
            let text =
                self.read_fact(&format!("sys/devices/system/cpu/{file}")).unwrap_or_default();
            // Kernels print this where nohz_full= was not given.
            if text == "(null)" { String::new() } else { text }
        };
        let nohz_full = list("nohz_full");
        // rcu_nocbs has no file; nohz_full implies it.
        let rcu_nocbs =
            find_parameter(&cmdline, "rcu_nocbs").map_or(nohz_full.clone(), str::to_owned);
        let affinity = self.read_fact("proc/irq/default_smp_affinity").unwrap_or_default();
        Isolation {
            isolated: list("isolated"),
            rcu_nocbs,
            nohz_full,
            default_smp_affinity: CpuList::from_mask(&affinity)
                .map_or(affinity, |cpus| cpus.to_string()),
        }
    }
}

impl Host {
    /// The CPUs on which nothing should run that was not placed there: isolated at boot, or by a
    /// partition right below the root of the cgroup hierarchy.
    pub fn isolated_cpus(&self) -> CpuList {
        let read = |file: &str| -> CpuList {
            self.read_fact(file).and_then(|text| text.parse().ok()).unwrap_or_default()
        };
        let mut cpus = read("sys/devices/system/cpu/isolated");
        for mount in self.cgroup_mounts() {
            for group in self.names_in(&mount) {
                let kind = self.read_fact(&format!("{mount}/{group}/cpuset.cpus.partition"));
                if kind.is_some_and(|kind| kind == "isolated") {
                    cpus = cpus.union(&read(&format!("{mount}/{group}/cpuset.cpus.effective")));
                }
            }
        }
        cpus
    }

    /// The CPUs that may serve a line, as somebody set them; `None` if that cannot be read.
    pub fn irq_affinity(&self, irq: u32) -> Option<CpuList> {
        self.read_fact(&format!("proc/irq/{irq}/smp_affinity_list"))?.parse().ok()
    }

    /// Those that the kernel chose among them.
    pub fn irq_effective_affinity(&self, irq: u32) -> Option<CpuList> {
        self.read_fact(&format!("proc/irq/{irq}/effective_affinity_list"))?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    #[test]
    fn boot_parameters_and_files() {
        let fake = Fake::new()
            .with_file("proc/cmdline", "quiet rcu_nocbs=3 rcu_nocbs=2-3\n")
            .with_file("sys/devices/system/cpu/isolated", "2-3\n")
            .with_file("sys/devices/system/cpu/nohz_full", "  (null)\n")
            .with_file("proc/irq/default_smp_affinity", "3\n");
        let want = Isolation {
            isolated: "2-3".into(),
            nohz_full: String::new(),
            rcu_nocbs: "2-3".into(),
            default_smp_affinity: "0-1".into(),
        };
        assert_eq!(fake.host().isolation(), want);
    }

    #[test]
    fn nohz_full_implies_rcu_nocbs() {
        let fake = Fake::new().with_file("sys/devices/system/cpu/nohz_full", "1\n");
        assert_eq!(fake.host().isolation().rcu_nocbs, "1");
        assert_eq!(Fake::new().host().isolation(), Isolation::default());
    }

    #[test]
    fn partitions_isolate_as_boot_parameters_do() {
        let fake = Fake::new()
            .with_file("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
            .with_file("sys/devices/system/cpu/isolated", "7\n")
            .with_file("sys/fs/cgroup/a/cpuset.cpus.partition", "isolated\n")
            .with_file("sys/fs/cgroup/a/cpuset.cpus.effective", "2-3\n")
            .with_file("sys/fs/cgroup/b/cpuset.cpus.partition", "isolated invalid (no room)\n")
            .with_file("sys/fs/cgroup/b/cpuset.cpus.effective", "0\n")
            .with_file("sys/fs/cgroup/c/cpuset.cpus.partition", "member\n");
        assert_eq!(fake.host().isolated_cpus().to_string(), "2-3,7");
        assert!(Fake::new().host().isolated_cpus().is_empty());
    }
}
