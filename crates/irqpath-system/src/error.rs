// SPDX-License-Identifier: GPL-2.0-or-later
//! Why the host could not be read, or cannot do what was asked: one line, what was wrong and
//! what to do. The path, CPU or interrupt is inside the variant.

use std::path::PathBuf;

use irqpath_model::{CpuList, CpuListError};

use crate::Capability;

/// What went wrong on this host.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// A file could not be read.
    #[error("cannot read {path}: {source}", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is longer than any kernel writes it.
    #[error("{path} is longer than {limit} bytes, which no kernel writes; look at what is mounted there",
        path = .path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Bytes accepted.
        limit: u64,
    },
    /// A file does not have the form the kernel documents.
    #[error("{path}, line {line}: {reason}; please report it with the file", path = .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
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
    /// A text is not a CPU list.
    #[error(transparent)]
    CpuList(#[from] CpuListError),
    /// A CPU list without a CPU.
    #[error("the CPU list is empty; this machine has CPUs {online}")]
    NoCpu {
        /// Online CPUs.
        online: CpuList,
    },
    /// CPUs that this machine cannot have.
    #[error("there is no CPU {cpus} here; this machine has CPUs {online}")]
    NoSuchCpu {
        /// The CPUs asked for in vain.
        cpus: CpuList,
        /// Online CPUs.
        online: CpuList,
    },
    /// CPUs that are offline.
    #[error(
        "CPU {cpus} is offline (online: {online}); bring it up with: echo 1 > /sys/devices/system/cpu/cpu{first}/online",
        first = .cpus.iter().next().unwrap_or_default()
    )]
    CpuOffline {
        /// The offline CPUs.
        cpus: CpuList,
        /// Online CPUs.
        online: CpuList,
    },
    /// Privilege is missing.
    #[error("missing {}; run with sudo{}", list(.missing),
        if *.user_namespace { " outside of the container (its root is not the host's)" } else { "" })]
    MissingCapability {
        /// What is missing.
        missing: Vec<Capability>,
        /// True in a user namespace, whose capabilities do not count for tracing.
        user_namespace: bool,
    },
}

fn list(capabilities: &[Capability]) -> String {
    capabilities.iter().map(|c| c.name()).collect::<Vec<_>>().join(" and ")
}
