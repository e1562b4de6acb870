// SPDX-License-Identifier: GPL-2.0-or-later
//! For tests only: what the tests of several crates share.
//!
//! A test that cannot run on this machine prints `skipped: why` and returns, which `make test` sums
//! up. A helper here that gives an `Option` has printed that line where it gives `None`; whatever
//! else goes wrong, it panics, and the test fails.
//!
//! `tests/guests` has every test that boots a guest, in one program, so that as many guests run at
//! a time as there are CPUs.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic fails a test, which says what it skips

pub mod attack;
pub mod cli;
pub mod flight;
pub mod guests;
pub mod peers;
pub mod probed;
pub mod recordings;
pub mod session;
