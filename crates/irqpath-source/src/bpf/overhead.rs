// SPDX-License-Identifier: GPL-2.0-or-later
//! The cost of the programs themselves, by the kernel's own BPF statistics.
//!
//! Those statistics cost two clock reads per run, so they are on for the first moments of a
//! trace only; the rest is counted, not timed. A result says so (`Overhead::nr_sampled`).
#![allow(unsafe_code)] // one libbpf call that libbpf-rs does not wrap

use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

use irqpath_model::{LossReason, Snapshot};
use libbpf_rs::libbpf_sys;
use libbpf_rs::skel::Skel;

use super::skel::IrqpathSkel;

/// How long the statistics are on.
const SAMPLE_FOR: Duration = Duration::from_millis(500);

#[derive(Default, Clone, Copy)]
struct Totals {
    run_ns: u64,
    nr_runs: u64,
    nr_missed: u64,
}

/// The sample: running, then done.
pub struct StatsSample {
    fd: Option<OwnedFd>,
    since: Instant,
    result: Totals,
}

impl StatsSample {
    /// Switch the statistics on. A kernel that refuses leaves the sample empty.
    pub fn start() -> Self {
        // SAFETY: takes a constant and returns a descriptor or a negative error.
        let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
        // SAFETY: a non-negative result is a descriptor that nobody else owns.
        let fd = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) });
        Self { fd, since: Instant::now(), result: Totals::default() }
    }

    /// Switch them off when the time is over.
    pub fn stop_when_due(&mut self, skel: &IrqpathSkel<'_>) {
        if self.since.elapsed() >= SAMPLE_FOR {
            self.stop(skel);
        }
    }

    /// Take the result and switch the statistics off.
    pub fn stop(&mut self, skel: &IrqpathSkel<'_>) {
        if self.fd.is_some() {
            self.result = read_totals(skel);
            self.fd = None;
        }
    }

    /// Put cost and missed runs into a snapshot.
    pub fn fill_snapshot(&self, skel: &IrqpathSkel<'_>, snapshot: &mut Snapshot) {
        let now = read_totals(skel);
        let sample = if self.fd.is_some() { now } else { self.result };
        snapshot.overhead.nr_sampled = sample.nr_runs;
        snapshot.overhead.mean_event_ns = sample.run_ns.checked_div(sample.nr_runs).unwrap_or(0);
        snapshot.overhead.map_bytes = map_bytes(skel);
        snapshot.loss.add_loss(LossReason::ProgramMissed, now.nr_missed);
    }
}

fn read_totals(skel: &IrqpathSkel<'_>) -> Totals {
    let mut sum = Totals::default();
    for prog in skel.object().progs().filter(libbpf_rs::ProgramImpl::autoload) {
        let mut info = libbpf_sys::bpf_prog_info::default();
        let mut len = size_of::<libbpf_sys::bpf_prog_info>() as u32;
        let fd = prog.as_fd().as_raw_fd();
        // SAFETY: `info` is writable for `len` bytes and holds no pointers for the kernel to
        // follow; the descriptor is open for the duration of the call.
        let ret =
            unsafe { libbpf_sys::bpf_obj_get_info_by_fd(fd, (&raw mut info).cast(), &raw mut len) };
        if ret == 0 {
            sum.run_ns += info.run_time_ns;
            sum.nr_runs += info.run_cnt;
            sum.nr_missed += info.recursion_misses;
        }
    }
    sum
}

fn map_bytes(skel: &IrqpathSkel<'_>) -> u64 {
    use libbpf_rs::{MapCore as _, MapType};
    let nr_cpus = libbpf_rs::num_possible_cpus().unwrap_or(1) as u64;
    skel.object()
        .maps()
        .map(|m| {
            let (entries, value) = (u64::from(m.max_entries()), u64::from(m.value_size()));
            match m.map_type() {
                MapType::RingBuf => entries,
                MapType::PercpuArray => entries * value.next_multiple_of(8) * nr_cpus,
                _ => entries * (value + u64::from(m.key_size())),
            }
        })
        .sum()
}
