// SPDX-License-Identifier: GPL-2.0-or-later
//! The capabilities that irqpath may need.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `irqpath trace` needs.
pub const TRACING: &[Capability] = &[Capability::Bpf, Capability::Perfmon];

/// A capability that irqpath may need (`include/uapi/linux/capability.h`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Capability {
    /// Everything, tracing included; alone needed for BPF run-time statistics.
    SysAdmin = 21,
    /// Change the affinity and priority of tasks of others.
    SysNice = 23,
    /// Read kernel data in tracing programs.
    Perfmon = 38,
    /// Load BPF programs and maps.
    Bpf = 39,
}

impl Capability {
    /// The name that `setcap` and the manual use, in capitals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::SysNice => "CAP_SYS_NICE",
            Self::Perfmon => "CAP_PERFMON",
            Self::Bpf => "CAP_BPF",
        }
    }
}

/// The capabilities in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Bit n is capability n.
    pub effective: u64,
    /// True if root here is not the host's root.
    pub user_namespace: bool,
}

impl Capabilities {
    /// True if `capability` is held and counts. `CAP_SYS_ADMIN` includes those for tracing.
    pub fn has(self, capability: Capability) -> bool {
        let included = match capability {
            Capability::SysNice => 0,
            _ => 1_u64 << Capability::SysAdmin as u8,
        };
        let bits = 1 << capability as u8 | included;
        !self.user_namespace && self.effective & bits != 0
    }

    /// Those of `needed` that are missing.
    pub fn missing(self, needed: &[Capability]) -> Vec<Capability> {
        needed.iter().copied().filter(|&c| !self.has(c)).collect()
    }
}
