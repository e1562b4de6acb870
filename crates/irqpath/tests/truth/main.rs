// SPDX-License-Identifier: GPL-2.0-or-later
//! Attribution is true: delays of known size and kind are made, and the causes must name them
//! with the right size within 5 %.
//!
//! Each scene wakes a real-time target on one CPU and lets something known keep that CPU. The
//! truth is measured by the disturber itself, with its own clock reads, never by the tracer.
//! Scenes leave nothing behind: their threads end, no setting of the host is changed.

#![allow(clippy::print_stdout)] // a test says what it skipped and measured

mod flood;
mod scene;
mod spinner;
mod storm;
