// SPDX-License-Identifier: GPL-2.0-or-later
//! May this process trace, and may it change tasks? Asked here and nowhere else.
//!
//! Capabilities held in a user namespace look like the host's but do not count for either;
//! `/proc/self/uid_map` tells them apart.

use rustix::thread::{CapabilitySet, capabilities};

use crate::{Host, Unprivileged};

/// What loading the tracing programs needs. `CAP_SYS_ADMIN` includes both.
const TRACING: CapabilitySet = CapabilitySet::BPF.union(CapabilitySet::PERFMON);

/// The capabilities in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Privileges {
    /// Those that the kernel checks.
    pub effective: CapabilitySet,
    /// True if root here is not the host's root.
    pub user_namespace: bool,
}

impl Privileges {
    /// What of `needed` is missing, if anything is.
    pub(crate) fn require_capabilities(self, needed: CapabilitySet) -> Result<(), Unprivileged> {
        let Self { mut effective, user_namespace } = self;
        if effective.contains(CapabilitySet::SYS_ADMIN) {
            effective |= TRACING;
        }
        let missing = if user_namespace { needed } else { needed - effective };
        if missing.is_empty() { Ok(()) } else { Err(Unprivileged { missing, user_namespace }) }
    }

    /// Whether the tracing programs can be loaded.
    pub fn may_trace(self) -> Result<(), Unprivileged> {
        self.require_capabilities(TRACING)
    }
}

impl Host {
    /// The privileges of this process. A machine of files refuses nothing.
    pub fn privileges(&self) -> Privileges {
        let held = if self.is_real() {
            capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective)
        } else {
            CapabilitySet::all()
        };
        let map = self.read_fact("proc/self/uid_map");
        let of_host = |map: String| map.split_whitespace().eq(["0", "0", "4294967295"]);
        Privileges { effective: held, user_namespace: !map.is_none_or(of_host) }
    }

    /// Whether this process may trace; the error names what is missing and what to do.
    pub fn may_trace(&self) -> Result<(), Unprivileged> {
        self.privileges().may_trace()
    }

    /// Whether it may change the CPUs and priorities of other users' tasks.
    pub fn may_change_tasks(&self) -> Result<(), Unprivileged> {
        self.privileges().require_capabilities(CapabilitySet::SYS_NICE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    #[test]
    fn what_is_missing_is_named() {
        const NONE: CapabilitySet = CapabilitySet::empty();
        for (effective, user_namespace, want) in [
            (CapabilitySet::all(), false, ""),
            (CapabilitySet::SYS_ADMIN, false, ""),
            (TRACING, false, ""),
            (NONE, false, "missing CAP_BPF and CAP_PERFMON; run with sudo"),
            (CapabilitySet::BPF, false, "missing CAP_PERFMON; run with sudo"),
            (
                CapabilitySet::all(),
                true,
                "missing CAP_BPF and CAP_PERFMON; run with sudo outside of the container (its root is not the host's)",
            ),
        ] {
            let answer = Privileges { effective, user_namespace }.may_trace();
            let got = answer.map_or_else(|e| e.to_string(), |()| String::new());
            assert_eq!(got, want, "{effective:?}");
        }
    }

    #[test]
    fn to_administer_is_not_to_change_tasks() {
        let held = Privileges { effective: CapabilitySet::SYS_ADMIN, user_namespace: false };
        let missing = held.require_capabilities(CapabilitySet::SYS_NICE).unwrap_err();
        assert_eq!(missing.names(), "CAP_SYS_NICE");
    }

    #[test]
    fn a_namespace_of_users_has_another_map() {
        let host = |map: &str| Fake::new().with_file("proc/self/uid_map", map);
        assert!(host("         0          0 4294967295\n").host().may_trace().is_ok());
        assert!(host("0 1000 1\n").host().may_change_tasks().is_err());
        assert!(Fake::new().host().may_trace().is_ok());
    }
}
