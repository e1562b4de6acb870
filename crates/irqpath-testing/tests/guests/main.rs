// SPDX-License-Identifier: GPL-2.0-or-later
//! Every test that boots a guest, builds a kernel's module or asks Debian's archive. A test skips
//! itself, with the reason, where QEMU, a kernel or a compiler is not there.
//!
//! - What irqpath does in a guest: `kernels` on every kernel, `pid1` on a Debian with its own
//!   systemd, `policy`, `recorder`, `respond`, `shield`, `steer`, `systemd` and `tune`. Each runs the
//!   script of its name.
//! - The lab: `vm` boots guests and ends them, `experiments` and `flame` measure in them, `stock`
//!   has Debian's kernels, `reproducible` makes the same bytes.
//! - The kernel: `module` runs the tests of intsight and the kernel's selftests of irqpath.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic fails a test, which says what it skips

mod experiments;
mod flame;
mod kernels;
mod module;
mod pid1;
mod policy;
mod recorder;
mod reproducible;
mod respond;
mod shield;
mod steer;
mod stock;
mod systemd;
mod tune;
mod vm;
