// SPDX-License-Identifier: GPL-2.0-or-later
//! The witness: records every event of a machine without loss, and judges what irqpath says about
//! the same time. For tests only; it shares no code with `bpf/`, `irqpath-source` or
//! `irqpath-analysis`, so that a mistake there is not repeated here.
//!
//! [`Recorder`] writes down, [`Joiner`] joins, [`Occupied`] knows who had the CPUs, and [`Judge`]
//! compares. What a kernel does not trace is *unseen* here too: nothing is claimed about it.

#![allow(missing_docs)] // for tests only; names that speak need none

mod causes;
mod chain;
mod difference;
mod enclose;
mod event;
mod gaps;
mod join;
mod judge;
mod named;
mod occupied;
mod recorder;
mod tolerance;

pub use chain::Chain;
pub use difference::{Difference, Differences, Kind};
pub use event::{Event, Reading, Subject, What};
pub use join::{Joiner, Outcome, Wakeup};
pub use judge::Judge;
pub use named::Named;
pub use occupied::{Occupied, Shares, Who, Window};
pub use recorder::{Record, Recorder};
pub use tolerance::TOLERANCE_NS;
