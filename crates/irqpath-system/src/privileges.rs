// SPDX-License-Identifier: GPL-2.0-or-later
//! Privileges of this process, by `CapEff` of `/proc/self/status`.
//!
//! Capabilities held in a user namespace look the same there but do not count for tracing;
//! `/proc/self/uid_map` tells them apart.

use crate::capability::{Capabilities, Capability};
use crate::{Host, SystemError};

impl Host {
    /// The capabilities of this process.
    pub fn capabilities(&self) -> Result<Capabilities, SystemError> {
        let file = "proc/self/status";
        let text = self.read(file)?;
        let malformed = |line: usize, reason: &str| SystemError::Malformed {
            path: self.path(file),
            line,
            reason: reason.to_owned(),
        };
        let (line, mask) = text
            .lines()
            .enumerate()
            .find_map(|(n, l)| Some((n + 1, l.strip_prefix("CapEff:")?.trim())))
            .ok_or_else(|| malformed(1, "there is no CapEff"))?;
        let effective = u64::from_str_radix(mask, 16)
            .map_err(|_| malformed(line, "CapEff is not a hexadecimal number"))?;
        let user_namespace = self
            .fact("proc/self/uid_map")
            .is_some_and(|map| !map.split_whitespace().eq(["0", "0", "4294967295"]));
        Ok(Capabilities { effective, user_namespace })
    }

    /// Fail, naming what is missing, unless all of `needed` are held.
    pub fn require(&self, needed: &[Capability]) -> Result<(), SystemError> {
        let held = self.capabilities()?;
        match held.missing(needed) {
            missing if missing.is_empty() => Ok(()),
            missing => {
                let user_namespace = held.user_namespace;
                Err(SystemError::MissingCapability { missing, user_namespace })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TRACING;
    use crate::testing::Fake;

    fn require(status: &str, uid_map: &str) -> Result<(), SystemError> {
        Fake::new()
            .file("proc/self/status", status)
            .file("proc/self/uid_map", uid_map)
            .host()
            .require(TRACING)
    }

    #[test]
    fn what_is_missing_is_named() {
        const HOST: &str = "         0          0 4294967295\n";
        let all = "CapEff:\t000001ffffffffff\n";
        for (status, map, want) in [
            (all, HOST, ""),
            ("CapEff:\t0000000000200000\n", HOST, ""), // CAP_SYS_ADMIN
            ("CapEff:\t000000c000000000\n", HOST, ""), // CAP_BPF, CAP_PERFMON
            (
                "Name:\tx\nCapEff:\t0000000000000000\n",
                HOST,
                "missing CAP_BPF and CAP_PERFMON; run with sudo",
            ),
            ("CapEff:\t0000008000000000\n", HOST, "missing CAP_PERFMON; run with sudo"),
            (
                all,
                "0 1000 1\n",
                "missing CAP_BPF and CAP_PERFMON; run with sudo outside of the container (its root is not the host's)",
            ),
        ] {
            let got = require(status, map).err().map(|e| e.to_string()).unwrap_or_default();
            assert_eq!(got, want, "{status:?}");
        }
    }

    #[test]
    fn a_malformed_status_is_an_error() {
        for status in ["", "CapEff:\tzz\n", "CapEff:\t\n"] {
            assert!(
                matches!(require(status, ""), Err(SystemError::Malformed { .. })),
                "{status:?}"
            );
        }
    }
}
