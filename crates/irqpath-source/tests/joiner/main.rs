// SPDX-License-Identifier: GPL-2.0-or-later
//! The joining logic of `bpf/`, tested without a kernel.
//!
//! The same sources that the kernel gets are compiled natively ([`harness`]) and fed scripts of
//! events. Each table shows what one theme must join to: `ORIGIN COMM:TID via=... END`, then the
//! first point as `POINT@CPU=NS` and every other as `POINT@CPU+STAGE_NS`, and what was lost.
//! [`random`] checks what must hold for every sequence of events, and that each wakeup of a
//! [`model`] kernel has its true interrupt.

mod filter;
mod flight;
mod flood;
mod harness;
mod interrupt;
mod model;
mod occupancy;
mod output;
mod queues;
mod random;
mod regressions;
mod rt;
mod sched;
mod softirq;
mod stats;
mod steal;
mod thread;
mod timer;
mod unseen;
mod work;
