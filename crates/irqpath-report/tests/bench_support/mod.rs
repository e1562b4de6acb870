// SPDX-License-Identifier: GPL-2.0-or-later
//! Made-up but plausible benchmarks for the tests of tables and page: five mechanisms under three
//! loads on a 3 GHz machine, three clocks, and causes.
//!
//! Everything follows from the given numbers by a fixed pseudo-random sequence, so a failing
//! test fails again. Nothing in here was measured, and nothing in here leaves the tests.
#![allow(dead_code, clippy::unwrap_used)] // each test uses its part; a panic is how one fails

use irqpath_analysis::bench::{Options, analyse_series, sort_and_label};
use irqpath_model::bench::{
    BenchCapture, BenchConfig, BenchOverflow, BenchSeries, Clock, ClockRate, Mechanism, RateSource,
    Runs, Wait,
};
use irqpath_model::{
    CpuInfo, InterruptCounts, KernelInfo, Measured, Meta, SCHEMA_VERSION, Summary,
};

/// A tracepoint's name that would end the script if it were embedded carelessly.
pub const HOSTILE: &str = "</script><img src=x onerror=window.hit=1>";

const TICKS_PER_NS: u64 = 3;
/// The step of the coarse clocks.
const KTIME_STEP_NS: u64 = 61;

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// True in one of `n` cases.
    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

struct Line {
    names: Vec<&'static str>,
    ns: u64,
}

const fn typical_ns(mechanism: Mechanism) -> u64 {
    match mechanism {
        Mechanism::None => 40,
        Mechanism::Softirq => 2_100,
        Mechanism::Tasklet => 2_300,
        Mechanism::Workqueue => 6_700,
        _ => 5_200,
    }
}

/// One run: how long it took and what it met.
fn line(mechanism: Mechanism, load: u32, dice: &mut Dice) -> Line {
    let typical = typical_ns(mechanism);
    let mut ns = typical + dice.below(typical / 8 + 2) + dice.below(typical / 8 + 2);
    let mut names = match mechanism {
        Mechanism::None => vec![],
        Mechanism::Softirq | Mechanism::Tasklet => vec!["softirq_entry"],
        _ => vec!["sched_stat_runtime", "sched_switch"],
    };
    if mechanism == Mechanism::None && dice.one_in(6) {
        ns += dice.below(300);
    }
    let mut met = |name, extra: u64, names: &mut Vec<&'static str>| {
        names.insert(0, name);
        ns += extra;
    };
    if mechanism != Mechanism::None {
        if dice.one_in(60) {
            met("mix_interrupt_randomness", 900 + dice.below(300), &mut names);
        }
        if dice.one_in(90) {
            met("sched_stat_runtime", 500 + dice.below(200), &mut names);
        }
        if dice.one_in(400) {
            met("local_timer_entry", 2_500 + dice.below(9_000), &mut names);
        }
        if load > 1 && typical > 5_000 && dice.one_in(40) {
            met("sched_switch", 20_000 + dice.below(400_000), &mut names);
        }
    }
    Line { names, ns }
}

/// Runs of one benchmark, stamped by a counter, or also by two coarse clocks.
fn capture(mechanism: Mechanism, load: u32, nr: u64, clocks: &[Clock]) -> BenchCapture {
    let mut dice = Dice(u64::from(load) * 31 + mechanism as u64);
    let mut runs = Runs::default();
    let mut stamps_ns = Vec::new();
    for at in (0..nr).map(|run| run * 20_000_000) {
        let Line { names, ns } = line(mechanism, load, &mut dice);
        let all = ["trigger", "top_half"].iter().chain(&names).chain(&["bottom_half"]);
        runs.push(all.copied()).unwrap();
        let start = at + 1_000 + dice.below(KTIME_STEP_NS);
        stamps_ns.extend([at, start]);
        stamps_ns.extend((1..=names.len() as u64).map(|i| start + i * ns / 20));
        stamps_ns.push(start + ns);
    }
    for &clock in clocks {
        let stamp = |&ns: &u64| match clock {
            Clock::Tsc => ns * TICKS_PER_NS + ns % TICKS_PER_NS,
            _ => ns / KTIME_STEP_NS * KTIME_STEP_NS,
        };
        runs.set_clock(clock, stamps_ns.iter().map(stamp).collect()).unwrap();
    }
    let counts = |n| InterruptCounts {
        interrupts: [("LOC".to_owned(), vec![n * 3]), ("IWI".to_owned(), vec![n])].into(),
        ..InterruptCounts::default()
    };
    BenchCapture {
        config: config(mechanism, load, nr),
        runs,
        rates: [(Clock::Tsc, ClockRate { hz: 3_000_000_000, source: RateSource::Given })].into(),
        overflow: Some(BenchOverflow { nr_runs: 0, nr_checkpoints: 0 }),
        checkpoint_cost_ticks: Some(27),
        before: Some(counts(100)),
        after: Some(counts(100 + nr)),
    }
}

fn config(mechanism: Mechanism, load: u32, nr_reps: u64) -> BenchConfig {
    let tracepoints = ["local_timer_entry", "irq_handler_entry"];
    BenchConfig {
        mechanism,
        nr_reps,
        delay_us: 20_000,
        wait: Wait::Passive,
        trigger: "irq_work".to_owned(),
        tracepoints: tracepoints.map(str::to_owned).to_vec(),
        checkpoint_capacity: 32,
        nr_load: Some(load),
        cpu: Some(1),
    }
}

fn one(mechanism: Mechanism, load: u32, nr: u64, clock: Clock) -> BenchSeries {
    let all = [Clock::Tsc, Clock::KtimeMonoFast, Clock::Ktime];
    analyse_series(&capture(mechanism, load, nr, &all), clock, &Options::default()).unwrap()
}

/// `nr` runs of each of these mechanisms under each of these loads.
pub fn series(mechanisms: &[Mechanism], loads: &[u32], nr: u64) -> Vec<BenchSeries> {
    let pairs = mechanisms.iter().flat_map(|&m| loads.iter().map(move |&load| (m, load)));
    sort_and_label(pairs.map(|(m, load)| one(m, load, nr, Clock::Tsc)).collect())
}

/// Two checkpoints back to back by three clocks.
pub fn clocks(nr: u64) -> Vec<BenchSeries> {
    let clocks = [Clock::Tsc, Clock::KtimeMonoFast, Clock::Ktime];
    sort_and_label(clocks.map(|clock| one(Mechanism::None, 0, nr, clock)).to_vec())
}

/// A result of all that.
pub fn result(nr: u64) -> (Meta, Summary) {
    use Mechanism::{Softirq, Tasklet, ThreadedIrq, Workqueue};
    let mut bench = series(&[Softirq, Tasklet, Workqueue, ThreadedIrq], &[0, 1, 256], nr);
    bench.extend(clocks(nr));
    let summary = Summary::from_measured(Measured::Bench { bench: sort_and_label(bench) });
    (meta(), summary)
}

/// Who, when, where.
pub fn meta() -> Meta {
    let text = str::to_owned;
    Meta {
        schema_version: SCHEMA_VERSION,
        irqpath_version: text("0.1.0"),
        command: ["irqpath", "bench", "--causes"].map(text).to_vec(),
        host: text("bench-7"),
        started_at: text("2025-11-21T10:15:04Z"),
        duration_ns: 10_004_211_532,
        source: text("live"),
        kernel: KernelInfo {
            release: text("6.12.57-rt14"),
            machine: text("x86_64"),
            preemption: text("rt"),
            clocksource: text("tsc"),
            ..KernelInfo::default()
        },
        cpu: CpuInfo { model: text("Example"), online: text("0-7"), ..CpuInfo::default() },
        observer_effects: vec![text("256 processes were started as load.")],
        ..Meta::default()
    }
}
