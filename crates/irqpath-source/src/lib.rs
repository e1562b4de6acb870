// SPDX-License-Identifier: GPL-2.0-or-later
//! Where samples come from. Every source delivers the same [`Event`]s and the same
//! [`Snapshot`], so that nothing above can tell a live kernel from a recording.
//!
//! - [`bpf`]: the running kernel, joined in the kernel by the programs under `bpf/`.
//! - [`replay`]: a recording made by `irqpath trace --record`.
//! - [`intsight`]: benchmarks of bottom-half mechanisms by our kernel module. They come as runs,
//!   not as events.
//!
//! - [`load`], [`ticks`]: processes as load, and the rate of cycle counters, for benchmarks.
//! - [`respond`], [`jitter`], [`realtime`]: tasks that wait for interrupts or are interrupted, and
//!   what a task that measures asks of the kernel.
//!
//! - [`confine`]: what a process gives up once its programs are attached.
//! - [`launch`]: priorities of tasks, and locked memory for a program about to be started.
//!
//! This is the only crate with `unsafe`.

use std::path::PathBuf;
use std::time::Duration;

use irqpath_files::output::OutputError;
use irqpath_model::{Comm, CpuList, Event, Origin, Snapshot};

pub mod bpf;
pub mod confine;
pub mod intsight;
pub mod jitter;
pub mod launch;
pub mod load;
pub mod realtime;
pub mod replay;
pub mod respond;
mod sampler;
pub mod ticks;

/// What to trace.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Report every path at least this long, ns. Without it, only each new maximum of a path.
    pub threshold_ns: Option<u64>,
    /// Deliver every path and every transition (for `-o`, `--perfetto` and `--record`).
    pub record_all: bool,
    /// Only paths from these origins; empty means all.
    pub origins: Vec<Origin>,
    /// Only paths to these targets (tid or tgid); with `comms` empty too, all but irqpath's own.
    pub tids: Vec<u32>,
    /// Only paths to targets with these names.
    pub comms: Vec<Comm>,
    /// Only paths whose interrupt or target was on one of these CPUs; `None` means all.
    pub cpus: Option<CpuList>,
    /// Leave out the `user` point (saves one program run per system call on the whole host).
    pub no_user: bool,
    /// Size of the record buffer in bytes; rounded up to a power of two pages. 0 means default.
    pub buffer_bytes: u32,
    /// How long to sleep between two looks at the buffers. Every look is a wakeup on the reader's CPU;
    /// more time fits what records little. `None` means 5 ms.
    pub look_every: Option<Duration>,
}

/// A running source.
pub trait Source {
    /// Events since the last call; waits for at most `timeout` if there are none.
    fn poll(&mut self, timeout: Duration) -> Result<Vec<Event>, SourceError>;

    /// Cumulative statistics as of now.
    fn snapshot(&mut self) -> Result<Snapshot, SourceError>;

    /// Stop producing (detach), and hand over what was still in flight: the last events,
    /// including all transitions that earlier records wait for, and the final statistics.
    /// Calling it again returns nothing new.
    fn finish(&mut self) -> Result<(Vec<Event>, Snapshot), SourceError>;

    /// True when no more events will come (end of a recording).
    fn is_exhausted(&self) -> bool {
        false
    }
}

/// Why a source could not be opened or read: one line, what was wrong and what to do.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The privilege is missing.
    #[error(
        "tracing needs CAP_BPF and CAP_PERFMON (or root); run with sudo, or look at a recording with --replay FILE"
    )]
    Privilege,
    /// The kernel carries no type information.
    #[error(
        "this kernel has no BTF ({path} is absent); tracing needs CONFIG_DEBUG_INFO_BTF=y, --replay FILE works without",
        path = .0.display()
    )]
    NoBtf(PathBuf),
    /// A tracepoint without which nothing can be joined.
    #[error(
        "this kernel lacks the tracepoint {0}, which every path needs; irqpath supports Linux 6.1 and newer"
    )]
    MissingTracepoint(&'static str),
    /// Loading or attaching failed in the kernel.
    #[error("the kernel refused the tracing programs: {0}")]
    Load(String),
    /// A recording cannot be written where it shall be.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A file of a recording could not be read or written.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not a recording, or is damaged.
    #[error("{path}: not an irqpath recording, or damaged ({reason}); record it again with trace --record",
        path = .path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A recording of another format version.
    #[error("{path}: recording format {found}, this irqpath reads {supported}; use the version that made it",
        path = .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Version in the file.
        found: u32,
        /// Version understood here.
        supported: u32,
    },
}
