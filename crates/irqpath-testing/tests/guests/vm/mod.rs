// SPDX-License-Identifier: GPL-2.0-or-later
//! Guests that really boot. Each test skips itself, with the reason, where QEMU, a kernel or a
//! compiler is not there.
//!
//! `scene` finds these; `exact` is about two runs being the same, `endings` about guests that go
//! wrong, `contents` about what a guest is given,
//! `confined` about QEMU and the other users of this host.

mod confined;
mod contents;
mod endings;
mod exact;
mod scene;
