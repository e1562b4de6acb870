// SPDX-License-Identifier: GPL-2.0-or-later
//! Why the host could not be read, or cannot do what was asked: one line, what was wrong and
//! what to do. The path, CPU or interrupt is inside the variant.

use std::path::PathBuf;

use irqpath_model::CpuList;
use rustix::thread::CapabilitySet;

/// What went wrong on this host.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the message says what each field is
pub enum SystemError {
    /// A file could not be read.
    #[error("cannot read {path}: {source}", path = .path.display())]
    Read {
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is longer than any kernel writes it.
    #[error("{path} is longer than {limit} bytes, which no kernel writes; look at what is mounted there",
        path = .path.display())]
    TooLong { path: PathBuf, limit: u64 },
    /// A file does not have the form the kernel documents.
    #[error("{path}, line {line}: {reason}; please report it with the file", path = .path.display())]
    Malformed {
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        reason: String,
    },
    /// `--irq` names nothing that this machine has.
    #[error("no interrupt '{wanted}'; this machine has: {candidates}")]
    UnknownInterrupt {
        /// What was asked for.
        wanted: String,
        /// What is near to it, or else everything, shortened.
        candidates: String,
    },
    /// A CPU list without a CPU.
    #[error("the CPU list is empty; this machine has CPUs {online}")]
    NoCpu { online: CpuList },
    /// CPUs that this machine cannot have.
    #[error("there is no CPU {cpus} here; this machine has CPUs {online}")]
    NoSuchCpu {
        /// The CPUs asked for in vain.
        cpus: CpuList,
        online: CpuList,
    },
    /// CPUs that are offline.
    #[error(
        "CPU {cpus} is offline (online: {online}); bring it up with: echo 1 > /sys/devices/system/cpu/cpu{first}/online",
        first = .cpus.iter().next().unwrap_or_default()
    )]
    CpuOffline { cpus: CpuList, online: CpuList },
    /// The process lacks privileges that the change needs.
    #[error(transparent)]
    Unprivileged(#[from] Unprivileged),
}

/// Why this process may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("missing {}; run with sudo{}", self.names(),
    if self.user_namespace { " outside of the container (its root is not the host's)" } else { "" })]
pub struct Unprivileged {
    /// The capabilities that the process lacks.
    pub missing: CapabilitySet,
    /// True in a user namespace, whose capabilities do not count.
    pub user_namespace: bool,
}

impl Unprivileged {
    /// `CAP_BPF and CAP_PERFMON`, as `setcap` and the manual write them.
    pub fn names(&self) -> String {
        let mut names: Vec<_> =
            self.missing.iter_names().map(|(name, _)| format!("CAP_{name}")).collect();
        names.sort_unstable();
        names.join(" and ")
    }
}
