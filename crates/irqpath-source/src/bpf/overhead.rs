// SPDX-License-Identifier: GPL-2.0-or-later
//! The cost of the programs themselves, by the kernel's own BPF statistics.
//!
//! Those statistics cost two clock reads per run, so they are on for the first moments of a
//! trace, and in an agent now and then (`meter`); the rest is counted, not timed. A result says so
//! (`Overhead::nr_sampled`).
#![allow(unsafe_code)] // one libbpf call that libbpf-rs does not wrap

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
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

/// What the kernel added up of a program while its statistics were on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCost {
    /// The tracepoint that it follows.
    pub name: String,
    /// How often it ran.
    pub nr_runs: u64,
    /// How long that took, ns.
    pub run_ns: u64,
}

/// The programs, to be asked what they take.
#[derive(Debug)]
pub struct ProgramCosts(Vec<(String, OwnedFd)>);

impl ProgramCosts {
    pub(super) fn open(skel: &IrqpathSkel<'_>) -> io::Result<Self> {
        let programs = skel.object().progs().filter(libbpf_rs::ProgramImpl::autoload);
        let open = |program: libbpf_rs::Program<'_>| {
            let name = program.name().to_string_lossy().trim_start_matches("ip_").to_owned();
            Ok((name, program.as_fd().try_clone_to_owned()?))
        };
        programs.map(open).collect::<io::Result<_>>().map(Self)
    }

    /// Of each program, in total since it was loaded.
    pub fn read(&self) -> Vec<ProgramCost> {
        let read = |(name, fd): &(String, OwnedFd)| {
            let Totals { run_ns, nr_runs, .. } = read_program(fd.as_fd())?;
            Some(ProgramCost { name: name.clone(), nr_runs, run_ns })
        };
        self.0.iter().filter_map(read).collect()
    }
}

/// The sample at the start: running, then done.
pub struct StatsSample {
    fd: Option<OwnedFd>,
    since: Instant,
}

impl StatsSample {
    /// Switch the statistics on. A kernel that refuses leaves the sample empty.
    pub fn start() -> Self {
        // SAFETY: takes a constant and returns a descriptor or a negative error.
        let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
        // SAFETY: a non-negative result is a descriptor that nobody else owns.
        let fd = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) });
        Self { fd, since: Instant::now() }
    }

    /// Switch them off when the time is over.
    pub fn stop_when_due(&mut self) {
        if self.since.elapsed() >= SAMPLE_FOR {
            self.stop();
        }
    }

    /// Switch the statistics off. What they added up stays in the programs.
    pub fn stop(&mut self) {
        self.fd = None;
    }

    /// Put cost and missed runs into a snapshot.
    pub fn fill_snapshot(skel: &IrqpathSkel<'_>, snapshot: &mut Snapshot) {
        let now = read_totals(skel);
        snapshot.overhead.nr_sampled = now.nr_runs;
        snapshot.overhead.mean_event_ns = now.run_ns.checked_div(now.nr_runs).unwrap_or(0);
        snapshot.overhead.map_bytes = map_bytes(skel);
        snapshot.loss.add_loss(LossReason::ProgramMissed, now.nr_missed);
    }
}

fn read_totals(skel: &IrqpathSkel<'_>) -> Totals {
    let mut sum = Totals::default();
    for prog in skel.object().progs().filter(libbpf_rs::ProgramImpl::autoload) {
        if let Some(one) = read_program(prog.as_fd()) {
            sum.run_ns += one.run_ns;
            sum.nr_runs += one.nr_runs;
            sum.nr_missed += one.nr_missed;
        }
    }
    sum
}

fn read_program(program: BorrowedFd<'_>) -> Option<Totals> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut len = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    let (fd, at) = (program.as_raw_fd(), (&raw mut info).cast());
    // SAFETY: `info` is writable for `len` bytes and holds no pointers for the kernel to
    // follow; the descriptor is open for the duration of the call.
    let ret = unsafe { libbpf_sys::bpf_obj_get_info_by_fd(fd, at, &raw mut len) };
    let nr_missed = info.recursion_misses;
    (ret == 0).then_some(Totals { run_ns: info.run_time_ns, nr_runs: info.run_cnt, nr_missed })
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
