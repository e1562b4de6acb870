// SPDX-License-Identifier: GPL-2.0-or-later
//! Exit codes other than 0.

/// A threshold was exceeded, or a budget.
pub const EXCEEDED: u8 = 1;
/// The host is not as it should be.
pub const DRIFT: u8 = 1;
/// The command could not run.
pub const COULD_NOT_RUN: u8 = 2;
