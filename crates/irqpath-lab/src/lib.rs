// SPDX-License-Identifier: GPL-2.0-or-later
//! The exact lab: kernels, guests and experiments in which one instruction is one nanosecond.
//!
//! `kernel` provides images and modules from a cache, `guest` makes an initramfs, `vm` boots it
//! and brings its results back, `flame` attributes the instructions of one path to functions,
//! `experiment` turns `experiments/*.toml` into runs, tables and verdicts.
