// SPDX-License-Identifier: GPL-2.0-or-later
//! Guests that really boot. Each test skips itself, with the reason, where QEMU, a kernel or a
//! compiler is not there.
//!
//! `scene` finds these; `exact` is about two runs being the same, `endings` about guests that go
//! wrong, `contents` about what a guest is given.

#![allow(clippy::unwrap_used)] // a panic fails a test

#[path = "../common/mod.rs"]
mod common;
mod contents;
mod endings;
mod exact;
mod scene;
