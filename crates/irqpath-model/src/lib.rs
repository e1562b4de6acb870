// SPDX-License-Identifier: GPL-2.0-or-later
//! The words of irqpath as types: points, stages, paths, what occupied a CPU, causes,
//! statistics, benchmarks, response and determinism tests, and the content of a result directory.
//!
//! Everything that crosses a crate boundary is defined here. The crate makes no OS calls and
//! knows no clock: times are nanoseconds of `CLOCK_MONOTONIC` unless a name says otherwise.
//! Neighbours: `irqpath-source` produces [`Event`]s and a [`Snapshot`], `irqpath-analysis`
//! turns them into [`SlowPath`]s and a [`Summary`], `irqpath-report` shows them.

pub mod bench;
mod cause;
mod cpulist;
mod event;
mod folded;
mod histogram;
mod jitter;
mod loss;
mod occupancy;
mod origin;
mod path;
mod point;
mod printable;
mod quantiles;
mod reproduction;
mod response;
mod result;
mod sched;
mod stats;
mod task;
mod tune;

pub use bench::{BenchCapture, BenchConfig, BenchSeries, Clock, Mechanism, Wait};
pub use cause::{Cause, CauseClass, CauseKind, SlowPath, StageCauses};
pub use cpulist::{CpuList, CpuListError};
pub use event::{Event, Snapshot};
pub use folded::Folded;
pub use histogram::{Histogram, HistogramError, MAX_TRACKABLE_NS};
pub use jitter::{IdealSource, Interruption, InterruptionCause, Interruptions, Jitter, Loops};
pub use loss::{Loss, LossReason};
pub use occupancy::{Occupancy, Occupied, Transition};
pub use origin::{Names, Origin, SoftirqVec, Vector};
pub use path::{CpuWait, PathEnd, PathKey, PathRecord, RunQueue, StageSpan, Stamp, Via};
pub use point::Point;
pub use printable::{is_printable, printable};
pub use quantiles::Quantiles;
pub use reproduction::{
    Claim, Figures, Made, NotRun, Outcome, OutcomeVerdict, Reproduced, ReproducedVariant,
    Reproduction, SlowRuns,
};
pub use response::{Bucket, Exceeded, Response, ResponseBasis, ResponseSource};
pub use result::{
    CpuInfo, InterruptCounts, Isolation, KernelInfo, Measured, Meta, Missing, Overhead,
    PathSummary, Paths, SCHEMA_VERSION, StageSummary, Summary, schema,
};
pub use sched::{Sched, SchedError};
pub use stats::{LineStats, MAX_PATHS, NapiStats, PathStats, SoftirqStats};
pub use task::{Comm, Policy, Scheduling, Task};
pub use tune::{
    Association, Carrier, Left, LeftAlone, LiveThread, TuneChange, TunePlan, WrongOrder, WrongPair,
};
