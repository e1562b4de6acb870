// SPDX-License-Identifier: GPL-2.0-or-later
//! How far apart the two recorders may be.

/// How far two readings of the clock at one event may be apart, and times of paths.
pub const TOLERANCE_NS: u64 = 5_000;
/// Now and then two readings are apart by so much, as a hypervisor came in between.
pub(crate) const SLACK_NS: u64 = 50_000;
/// A boundary between two occupants may be off by this, as the clock is read twice.
pub(crate) const BOUNDARY_NS: u64 = 1_000;
