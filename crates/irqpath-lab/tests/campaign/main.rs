// SPDX-License-Identifier: GPL-2.0-or-later
//! Campaigns of units that are no guests: what must not be lost, and not be counted twice, when
//! workers die, hang, lie or find the disk full. `local` needs nothing; `slurm` runs a controller and
//! two nodes on loopback, with `IRQPATH_SLURM=1`.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic fails a test, which says what it skips

mod bench;
mod cluster;
mod local;
mod slurm;
mod unit;
