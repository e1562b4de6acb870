// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath respond` beside cyclictest, and `irqpath jitter` beside oslat and
//! sysjitter.
//!
//! - `cyclic`: how to run them, and what their outputs say.
//! - `live`: on this machine, in turns, on request (`IRQPATH_LIVE_PEERS=1`), judged only where the
//!   peer agrees with itself.
//! - `guest`: in an exact guest, where nothing comes in between: with the HPET, the RTC and the
//!   test device too.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic fails a test, which says what it skips

#[path = "../common/mod.rs"]
mod common;
mod cyclic;
mod guest;
#[path = "../../../irqpath-lab/tests/common/mod.rs"]
mod lab;
mod live;
