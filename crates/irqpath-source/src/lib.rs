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
//! - [`allocator`]: how much freed memory a process keeps that is left on.
//! - [`ethtool`]: flow rules of network devices.
//! - [`launch`]: priorities of tasks, and locked memory for a program about to be started.
//!
//! This is the only crate with `unsafe`.

use std::path::PathBuf;
use std::time::Duration;

use irqpath_files::output::OutputError;
use irqpath_model::{Comm, CpuList, Event, Origin, PathStats, Point, Snapshot};

pub mod allocator;
pub mod bpf;
pub mod confine;
pub mod ethtool;
pub mod helper;
pub mod intsight;
pub mod jitter;
pub mod launch;
pub mod load;
pub mod realtime;
pub mod replay;
pub mod respond;
mod sampler;
mod tally;
pub mod ticks;

/// Which paths a trace reports, and how much of them it delivers.
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
    /// Most paths with statistics of their own; the others share a row for each origin. `None` means as
    /// many as the tables hold, 1024.
    pub max_paths: Option<u16>,
    /// Statistics of all targets of a cgroup together, instead of those of one name.
    pub by_cgroup: bool,
    /// How long to sleep between two looks at the buffers. Every look is a wakeup on the reader's CPU;
    /// more time fits what records little. `None` means 5 ms.
    pub look_every: Option<Duration>,
    /// Keep everything in the kernel until it is asked for, instead of statistics and records.
    pub flight: Option<Flight>,
}

/// What the flight recorder keeps in the kernel, and what it reports of it.
#[derive(Debug, Clone, Default)]
pub struct Flight {
    /// Memory of its rings, bytes; as many again are taken by the copy of a capture.
    pub ring_bytes: usize,
    /// Report every path at least this long, ns.
    pub threshold_ns: Option<u64>,
    /// Report every path with such a stage: the point that ends it, and its least length in ns.
    pub stages: Vec<(Point, u64)>,
    /// Take the kernel stack of who blocks a path for so long, ns; `None` takes none.
    pub stack_ns: Option<u64>,
    /// Statistics are kept beside it, as without a recorder.
    pub beside: bool,
}

/// A source of events that has been started: the kernel, or a recording.
pub trait Source {
    /// Events since the last call; waits for at most `timeout` if there are none.
    fn poll_events(&mut self, timeout: Duration) -> Result<Vec<Event>, SourceError>;

    /// Cumulative statistics as of now.
    fn take_snapshot(&mut self) -> Result<Snapshot, SourceError>;

    /// Gives back the rows of paths that did not occur for `idle`, and returns the final statistics
    /// of those that were given back by the call before: snapshots have them no longer.
    fn retire_idle(&mut self, idle: Duration) -> Result<Vec<PathStats>, SourceError> {
        let _ = idle;
        Ok(Vec::new())
    }

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
#[allow(missing_docs)] // the message says what each field is
pub enum SourceError {
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
    /// A probe in a program.
    #[error("{path}: no probe there, {reason}", path = .path.display())]
    Probe { path: PathBuf, reason: String },
    /// A recording cannot be written where it shall be.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A file of a recording could not be read or written.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not a recording, or is damaged.
    #[error("{path}: not an irqpath recording, or damaged ({reason}); record it again with trace --record",
        path = .path.display())]
    Corrupt { path: PathBuf, reason: String },
    /// A recording of another format version.
    #[error("{path}: recording format {found}, this irqpath reads {supported}; use the version that made it",
        path = .path.display())]
    Version {
        path: PathBuf,
        /// Version in the file.
        found: u32,
        /// The only version that this irqpath reads.
        supported: u32,
    },
}
