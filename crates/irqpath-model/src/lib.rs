// SPDX-License-Identifier: GPL-2.0-or-later
//! The words of irqpath as types: points, stages, paths, what occupied a CPU, causes,
//! statistics, benchmarks, response and determinism tests, the content of a result directory, and
//! what [`lab`], [`record`], [`shield`], [`tune`], [`policy`] and [`mod@check`] tell.
//!
//! Everything that crosses a crate boundary is defined here. The crate makes no OS calls and
//! knows no clock: times are nanoseconds of `CLOCK_MONOTONIC` unless a name says otherwise.
//! Neighbours: `irqpath-source` produces [`Event`]s and a [`Snapshot`], `irqpath-analysis`
//! turns them into [`SlowPath`]s and a [`Summary`], `irqpath-report` shows them.

pub mod bench;
mod capture;
mod cause;
pub mod change;
pub mod check;
mod cpulist;
mod cpumask;
mod event;
mod folded;
mod histogram;
mod jitter;
pub mod lab;
mod loss;
pub mod merge;
mod observed;
mod occupancy;
mod origin;
mod path;
mod point;
pub mod policy;
mod printable;
mod quantiles;
pub mod record;
mod reproduction;
mod response;
mod result;
mod sched;
pub mod shield;
mod stats;
mod task;
pub mod tune;
mod unit;

pub use bench::{BenchCapture, BenchConfig, BenchSeries, Clock, Mechanism, Wait};
pub use cause::{Cause, CauseClass, CauseKind, SlowPath, StageCauses};
pub use cpulist::{CpuList, CpuListError};
pub use event::{Event, Snapshot};
pub use folded::Folded;
pub use histogram::{Histogram, HistogramError, MAX_TRACKABLE_NS};
pub use jitter::{IdealSource, Interruption, InterruptionCause, Interruptions, Jitter, Loops};
pub use loss::{Loss, LossReason};
pub use observed::{CauseTotals, Intrusion, WhyHere};
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
    PathSummary, Paths, RunIdentity, SCHEMA_VERSION, StageSummary, Summary, versioned_schema,
};
pub use sched::{Policy, Scheduling, SchedulingError};
pub use stats::{LineStats, MAX_PATHS, NapiStats, PathStats, SoftirqStats};
pub use task::{Comm, Task, TaskId};
pub use unit::{Owner, Unit};
