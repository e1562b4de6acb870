// SPDX-License-Identifier: GPL-2.0-or-later
//! The parts of `irqpath bench`: which benchmarks (`plan`), the live measurement of each
//! (`measure`, `progress`), from raw directories to a result (`result`), and two results beside
//! each other (`compare`).
//!
//! Rule: measuring and analysing are apart. What was measured lies in raw directories before
//! anything is analysed, and those of another machine go the same way.

pub mod compare;
pub mod measure;
pub mod plan;
pub mod progress;
pub mod result;
