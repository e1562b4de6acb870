// SPDX-License-Identifier: GPL-2.0-or-later
//! What the kernel keeps of a CPU for ordinary tasks when real-time tasks would use it whole.
//!
//! Up to 6.11 it throttles real-time tasks (`sched_rt_runtime_us`). From 6.12 on the fair server
//! runs ordinary tasks that starve, and the two files stay without effect, but with
//! `CONFIG_RT_GROUP_SCHED`.

use crate::Host;
use crate::check::Facts;

/// The kernel's way to keep time for ordinary tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RtReserve {
    /// Real-time tasks are stopped for so long of every period.
    Throttling {
        /// Microseconds of each period that are left to other tasks.
        for_others_us: i64,
        /// Of how much, us.
        period_us: i64,
    },
    /// Ordinary tasks that starve run for so long of every second.
    FairServer {
        /// How long, ns; `None` if debugfs, which knows, is not mounted.
        runtime_ns: Option<u64>,
    },
}

impl Facts {
    /// What is kept; `None` if nothing is.
    pub fn rt_reserve(&self) -> Option<RtReserve> {
        let has_server = self.kernel_version().is_some_and(|version| version >= (6, 12));
        if has_server && self.rt_group_sched != Some(true) {
            let runtime_ns = self.fair_server_runtime_ns;
            return (runtime_ns != Some(0)).then_some(RtReserve::FairServer { runtime_ns });
        }
        let (runtime_us, period_us) =
            (self.sched_rt_runtime_us?, self.sched_rt_period_us.unwrap_or(1_000_000));
        // -1 is no limit.
        (0..period_us)
            .contains(&runtime_us)
            .then(|| RtReserve::Throttling { for_others_us: period_us - runtime_us, period_us })
    }
}

impl Host {
    /// What this host's kernel keeps; `None` if nothing is.
    pub fn rt_reserve(&self) -> Option<RtReserve> {
        self.read_facts().rt_reserve()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    #[test]
    fn what_is_kept_from_real_time_tasks() {
        let throttling = RtReserve::Throttling { for_others_us: 50_000, period_us: 1_000_000 };
        let server = |runtime_ns| Some(RtReserve::FairServer { runtime_ns });
        for (release, runtime, of_server, want) in [
            ("6.1.0", "950000", None, Some(throttling)),
            ("6.1.0", "-1", None, None),
            ("6.11.5", "1000000", None, None),
            ("6.12.1", "950000", None, server(None)),
            ("6.12.1", "-1", Some("50000000\n"), server(Some(50_000_000))),
            ("6.18.0", "950000", Some("0\n"), None),
        ] {
            let mut fake = Fake::new()
                .with_file("proc/sys/kernel/osrelease", release)
                .with_file("proc/sys/kernel/sched_rt_runtime_us", runtime)
                .with_file("proc/sys/kernel/sched_rt_period_us", "1000000\n");
            if let Some(ns) = of_server {
                fake = fake.with_file("sys/kernel/debug/sched/fair_server/cpu0/runtime", ns);
            }
            assert_eq!(fake.host().rt_reserve(), want, "{release} {runtime}");
        }
        assert_eq!(Fake::new().host().rt_reserve(), None);
    }
}
