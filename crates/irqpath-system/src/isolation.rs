// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that are kept free of other work: by boot parameters, and by the default affinity of
//! interrupts.

use irqpath_model::Isolation;

use crate::kernel::parameter;
use crate::{Host, mask};

impl Host {
    /// Isolation in force, as CPU lists; empty means none.
    pub fn isolation(&self) -> Isolation {
        let cmdline = self.fact("proc/cmdline").unwrap_or_default();
        let list = |file: &str| {
            let text = self.fact(&format!("sys/devices/system/cpu/{file}")).unwrap_or_default();
            // Kernels print this where nohz_full= was not given.
            if text == "(null)" { String::new() } else { text }
        };
        let nohz_full = list("nohz_full");
        // rcu_nocbs has no file; nohz_full implies it.
        let rcu_nocbs = parameter(&cmdline, "rcu_nocbs").map_or(nohz_full.clone(), str::to_owned);
        let affinity = self.fact("proc/irq/default_smp_affinity").unwrap_or_default();
        Isolation {
            isolated: list("isolated"),
            rcu_nocbs,
            nohz_full,
            default_smp_affinity: mask::parse(&affinity).map_or(affinity, |cpus| cpus.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    #[test]
    fn boot_parameters_and_files() {
        let fake = Fake::new()
            .file("proc/cmdline", "quiet rcu_nocbs=3 rcu_nocbs=2-3\n")
            .file("sys/devices/system/cpu/isolated", "2-3\n")
            .file("sys/devices/system/cpu/nohz_full", "  (null)\n")
            .file("proc/irq/default_smp_affinity", "3\n");
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
        let fake = Fake::new().file("sys/devices/system/cpu/nohz_full", "1\n");
        assert_eq!(fake.host().isolation().rcu_nocbs, "1");
        assert_eq!(Fake::new().host().isolation(), Isolation::default());
    }
}
