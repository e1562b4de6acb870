// SPDX-License-Identifier: GPL-2.0-or-later
//! The tests of the kernel module intsight, run in guests.
//!
//! They are shell scripts that print KTAP (`kernel/module/intsight/tests`, and the kernel's selftests
//! of irqpath in `kernel/overlay`), so that they also run on a machine without this lab. Here each
//! guest boots one kernel, and every test in it must pass without a complaint of that kernel. A
//! guest that cannot be had is skipped, with the reason.
//!
//! `scene` boots guests, `ktap` reads what they print, `stock` has Debian's kernels,
//! `own` the one with our policies, `debug` the one that checks itself.

mod debug;
mod ktap;
mod newest;
mod own;
mod scene;
mod stock;
