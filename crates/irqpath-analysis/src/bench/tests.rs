// SPDX-License-Identifier: GPL-2.0-or-later
//! Invented captures of which every number is known.

use irqpath_model::InterruptCounts;
use irqpath_model::bench::Mechanism::{Softirq, Workqueue};
use irqpath_model::bench::{
    BenchCapture, BenchConfig, BenchSeries, Clock, ClockRate, Latencies, Mechanism, RateSource,
    Runs, Wait,
};
use proptest::prelude::*;

use super::{BenchError, Options, analyse_series, rounded_up, sort_and_label};

type Checkpoint = (&'static str, u64);

fn config(mechanism: Mechanism) -> BenchConfig {
    BenchConfig {
        mechanism,
        nr_reps: 0,
        delay_us: 20_000,
        wait: Wait::Passive,
        trigger: String::new(),
        tracepoints: vec![],
        checkpoint_capacity: 16,
        nr_load: None,
        cpu: None,
    }
}

fn capture(mechanism: Mechanism, lines: &[Vec<Checkpoint>]) -> BenchCapture {
    let mut runs = Runs::default();
    for line in lines {
        runs.push(line.iter().map(|c| c.0)).unwrap();
    }
    let ticks = || lines.iter().flatten().map(|c| c.1).collect::<Vec<_>>();
    runs.set_clock(Clock::Tsc, ticks()).unwrap();
    BenchCapture {
        config: config(mechanism),
        runs,
        rates: [(Clock::Tsc, ClockRate::EXACT)].into(),
        overflow: None,
        checkpoint_cost_ticks: Some(20),
        before: None,
        after: None,
    }
}

/// A run that starts at `at` and takes `ticks`, with these checkpoints in between.
fn run(at: u64, ticks: u64, between: &[&'static str]) -> Vec<Checkpoint> {
    let mut run = vec![("trigger", at), ("top_half", at + 50)];
    run.extend((1..).zip(between).map(|(i, name)| (*name, at + 50 + i)));
    run.push(("bottom_half", at + 50 + ticks));
    run
}

fn series(mechanism: Mechanism, lines: &[Vec<Checkpoint>]) -> BenchSeries {
    analyse_series(&capture(mechanism, lines), Clock::Tsc, &Options::default()).unwrap()
}

fn row(s: &BenchSeries) -> [u64; 6] {
    let q = s.quantiles;
    [q.n, q.min_ns, q.q05_ns, q.q50_ns, q.q95_ns, q.max_ns]
}

#[test]
fn runs_with_an_interrupt_in_between_are_counted_apart() {
    let mut lines: Vec<_> = (0..19).map(|i| run(i * 1_000, 100 + i, &["softirq_entry"])).collect();
    lines.push(run(19_000, 900, &["irq_handler_entry", "irq_handler_exit", "softirq_entry"]));
    let s = series(Softirq, &lines);
    assert_eq!(row(&s), [19, 100, 100, 109, 118, 118]);
    assert_eq!((s.nr_irq, s.max_irq_ns, s.nr_runs), (Some(1), 900, 20));
    assert_eq!(s.irq_latencies.iter().collect::<Vec<_>>(), [(900, 1)]);
    assert_eq!(s.base_path, ["softirq_entry"]);
}

#[test]
fn without_hooks_nothing_is_claimed_about_interrupts_and_causes() {
    let s = series(Mechanism::Tasklet, &[run(0, 10, &[]), run(100, 12, &[])]);
    assert_eq!((s.nr_irq, s.tail, s.causes.len()), (None, None, 0));
    assert_eq!(row(&s), [2, 10, 10, 10, 12, 12]);
    assert_eq!(s.checkpoint_cost_ns, Some(20));
}

#[test]
fn a_hook_that_was_never_met_is_a_claim() {
    let mut capture = capture(Mechanism::Tasklet, &[run(0, 10, &[])]);
    capture.config.tracepoints = vec!["irq_handler_entry".to_owned()];
    let s = analyse_series(&capture, Clock::Tsc, &Options::default()).unwrap();
    assert_eq!((s.nr_irq, s.tail), (Some(0), None), "interrupts only tell nothing of causes");
    capture.config.tracepoints.push("softirq_entry".to_owned());
    let s = analyse_series(&capture, Clock::Tsc, &Options::default()).unwrap();
    assert_eq!(s.tail.map(|t| t.nr_over_q95), Some(0));
}

#[test]
fn causes_are_what_undelayed_runs_do_not_meet() {
    let mut lines = Vec::new();
    for i in 0..90 {
        lines.push(run(i * 1_000, 100, &["sched_stat_runtime", "sched_switch"]));
    }
    lines.push(run(90_000, 300, &["mix_pool_bytes", "sched_stat_runtime", "sched_switch"]));
    for i in 91..94 {
        let twice = ["sched_stat_runtime", "sched_stat_runtime", "sched_switch"];
        lines.push(run(i * 1_000, 200, &twice));
    }
    let both = ["mix_pool_bytes", "sched_stat_runtime", "sched_stat_runtime", "sched_switch"];
    lines.push(run(94_000, 400, &both));
    lines.push(run(95_000, 500, &["sched_switch", "sched_stat_runtime"]));
    lines.push(run(96_000, 600, &["sched_stat_runtime", "sched_switch"]));
    let s = series(Workqueue, &lines);
    assert_eq!(s.base_path, ["sched_stat_runtime", "sched_switch"]);
    let causes: Vec<_> =
        s.causes.iter().map(|c| (c.label.as_str(), c.quantiles.n, c.nr_over_q95)).collect();
    assert_eq!(
        causes,
        [
            ("", 91, 1),
            ("Sched.", 3, 0),
            ("Entr.", 1, 1),
            ("Entr.+Sched.", 1, 1),
            ("slow sched_switch to bottom_half", 1, 1),
        ],
        "q95 is 200"
    );
    let slow = &s.causes[4].slow_stages;
    assert_eq!(*slow, [["sched_switch", "bottom_half"].map(str::to_owned)]);
    let tail = s.tail.unwrap();
    assert_eq!((tail.nr_over_q95, tail.nr_explained, tail.nr_slow_stages), (4, 2, 1));
    assert_eq!(tail.nr_unexplained(), 1, "no undelayed run met the two in the other order");
}

#[test]
fn a_slow_run_is_laid_to_the_fewest_stages_that_have_half_of_its_delay() {
    let line = |stages: [u64; 5]| {
        let names = ["top_half", "a", "b", "c", "d", "bottom_half"];
        let mut at = 0;
        let mut line = vec![(names[0], 0)];
        for (name, length) in names[1..].iter().zip(stages) {
            at += length;
            line.push((*name, at));
        }
        line
    };
    for (slow, want) in [
        ([10, 10, 90, 10, 10], "slow b to c"),
        ([90, 10, 10, 10, 10], "slow top_half to a"),
        ([10, 70, 30, 70, 15], "slow a to b, c to d"),
        ([10, 10, 10, 60, 60], "slow c to d"),
        ([10, 30, 32, 31, 30], "slow b to d"),
        ([30, 30, 30, 30, 30], "slow top_half to c"),
        ([5, 5, 90, 5, 30], "slow b to c"),
    ] {
        let mut lines = vec![line([10; 5]); 40];
        lines.push(line(slow));
        let s = series(Softirq, &lines);
        assert_eq!(s.causes[1].label, want, "{slow:?}");
        assert_eq!(s.tail.map(|t| (t.nr_over_q95, t.nr_unexplained())), Some((1, 0)));
    }
}

/// A mechanism that waits for the timer tick in most runs is still judged by those that do not.
#[test]
fn interrupted_runs_are_no_measure_for_the_others() {
    let path = ["sched_switch", "workqueue_execute_start"];
    let tick = ["local_timer_entry", "sched_switch", "workqueue_execute_start"];
    let mut lines: Vec<_> = (0..60).map(|i| run(i * 1_000, 500 + i, &tick)).collect();
    lines.extend((60..100).map(|i| run(i * 1_000, 50, &path)));
    lines.push(run(100_000, 90, &path));
    let s = series(Workqueue, &lines);
    assert_eq!(s.base_path, path);
    assert_eq!((s.nr_irq, s.quantiles.q95_ns), (Some(60), 50));
    let tail = s.tail.unwrap();
    assert_eq!((tail.nr_over_q95, tail.nr_explained, tail.nr_slow_stages), (61, 60, 1));
}

#[test]
fn runs_that_met_the_same_kinds_of_work_are_one_group() {
    let mut lines = vec![run(0, 10, &[]); 20];
    lines.push(run(1, 30, &["timer_expire_entry", "sched_switch"]));
    lines.push(run(2, 40, &["tick_stop", "sched_switch"]));
    let s = series(Softirq, &lines);
    let cause = &s.causes[1];
    assert_eq!((cause.label.as_str(), cause.quantiles.n), ("switch+timer", 2));
    assert_eq!(cause.tracepoints, ["sched_switch", "tick_stop", "timer_expire_entry"]);
}

#[test]
fn a_mechanisms_own_interrupt_is_no_disturbance() {
    let line = |at, more: &[&'static str]| {
        let between: Vec<_> = ["irq_work_entry"].iter().chain(more).copied().collect();
        run(at, 50, &between)
    };
    let mut lines: Vec<_> = (0..9).map(|i| line(i * 100, &[])).collect();
    lines.push(line(900, &["irq_work_entry"]));
    lines.push(line(1_000, &["local_timer_entry"]));
    assert_eq!(series(Mechanism::IrqWork, &lines).nr_irq, Some(2));
    // On arm64 the same interrupt is an IPI.
    let arm64 = |more: &[&'static str]| {
        let between = ["irq_handler_entry", "ipi_entry", "irq_handler_exit"];
        run(0, 50, &between.iter().chain(more).copied().collect::<Vec<_>>())
    };
    let mut ipis = vec![arm64(&[]); 9];
    ipis.push(arm64(&["irq_handler_entry"]));
    assert_eq!(series(Mechanism::IrqWork, &ipis).nr_irq, Some(1));
    // A device that interrupts a few runs of a mechanism that needs no interrupt.
    let device = [run(0, 5, &[]), run(100, 6, &[]), run(200, 9, &["irq_handler_entry"])];
    assert_eq!(series(Workqueue, &device).nr_irq, Some(1));
    assert_eq!(series(Softirq, &lines).nr_irq, Some(11));
}

#[test]
fn a_bottom_half_in_a_later_line_ends_every_open_run() {
    let lines = [
        vec![("trigger", 0), ("top_half", 10)],
        vec![("trigger", 100), ("top_half", 110)],
        vec![("bottom_half", 200), ("trigger", 300), ("top_half", 310), ("bottom_half", 320)],
        vec![("top_half", 400)],
        vec![("trigger", 500)],
    ];
    let s = series(Workqueue, &lines);
    assert_eq!(s.irq_latencies.iter().collect::<Vec<_>>(), [(90, 1), (190, 1)]);
    assert_eq!((row(&s)[0], s.nr_late, s.nr_incomplete), (1, 2, 2));
    assert_eq!(s.max_irq_ns, 190);
}

#[test]
fn a_full_line_ends_what_is_open_without_a_latency() {
    let full = vec![("top_half", 0), ("softirq_entry", 1), ("softirq_entry", 2)];
    let mut capture = capture(Softirq, &[full, run(100, 7, &[])]);
    capture.config.checkpoint_capacity = 3;
    let s = analyse_series(&capture, Clock::Tsc, &Options::default()).unwrap();
    assert_eq!((s.nr_incomplete, s.nr_late, row(&s)[0]), (1, 0, 1));
    capture.config.checkpoint_capacity = 4;
    let s = analyse_series(&capture, Clock::Tsc, &Options::default()).unwrap();
    assert_eq!((s.nr_incomplete, s.nr_late), (0, 1));
}

#[test]
fn stamps_that_run_backwards_are_counted() {
    let s = series(Softirq, &[vec![("top_half", 9), ("bottom_half", 5)]]);
    assert_eq!((s.nr_backwards, row(&s)), (1, [0; 6]));
}

#[test]
fn an_empty_capture_has_no_numbers() {
    let s = series(Softirq, &[]);
    assert_eq!((row(&s), s.max_irq_ns, s.nr_runs), ([0; 6], 0, 0));
}

fn with_ktime(ticks: Clock, lines: &[(u64, u64)]) -> BenchCapture {
    let mut runs = Runs::default();
    for _ in lines {
        runs.push(["top_half", "bottom_half"]).unwrap();
    }
    // At 2 ticks per ns; ktime from another zero.
    let tsc = lines.iter().flat_map(|&(at, ns)| [at * 2, (at + ns) * 2]).collect();
    let ktime = lines.iter().flat_map(|&(at, ns)| [at + 777, at + ns + 777]).collect();
    runs.set_clock(ticks, tsc).unwrap();
    runs.set_clock(Clock::Ktime, ktime).unwrap();
    BenchCapture { runs, rates: [].into(), ..capture(Softirq, &[]) }
}

#[test]
fn the_rate_comes_from_a_clock_beside_it() {
    let lines: Vec<_> = (0..100).map(|i| (i * 1_000_000, 4_000)).collect();
    for (clock, source) in
        [(Clock::Tsc, RateSource::WholeSpan), (Clock::Pmccntr, RateSource::WithinRuns)]
    {
        let s = analyse_series(&with_ktime(clock, &lines), clock, &Options::default()).unwrap();
        assert_eq!(s.rate, ClockRate { hz: 2_000_000_000, source });
        assert_eq!(s.quantiles.q50_ns, 4_000);
        let exact = Options { is_exact: true, ..Options::default() };
        let s = analyse_series(&with_ktime(clock, &lines), clock, &exact).unwrap();
        assert_eq!((s.rate, s.quantiles.q50_ns), (ClockRate::EXACT, 8_000));
    }
    let s =
        analyse_series(&with_ktime(Clock::Tsc, &lines), Clock::Ktime, &Options::default()).unwrap();
    assert_eq!(s.rate, ClockRate::NANOSECONDS);
}

#[test]
fn what_cannot_be_known_is_an_error_that_says_so() {
    let short = with_ktime(Clock::Pmccntr, &[(0, 10)]);
    assert_eq!(
        analyse_series(&short, Clock::Pmccntr, &Options::default()),
        Err(BenchError::NoRate(Clock::Pmccntr))
    );
    let error = analyse_series(&short, Clock::Tsc, &Options::default()).unwrap_err();
    assert!(error.to_string().ends_with("the module has: pmccntr ktime"), "{error}");
}

#[test]
fn the_resolution_of_a_clock_shows_in_its_values() {
    let lines: Vec<_> = [120, 180, 180, 300].iter().map(|&ns| run(ns * 1_000, ns, &[])).collect();
    let r = series(Mechanism::None, &lines).resolution;
    assert_eq!((r.nr_distinct, r.step_ticks, r.min_gap_ns), (3, 60, 60));
}

#[test]
fn the_growth_of_the_interrupt_counts() {
    let counts = |loc: u64, timer: u64| InterruptCounts {
        cpus: vec![0, 1],
        interrupts: [("LOC".to_owned(), vec![loc, 1]), ("8".to_owned(), vec![3, 3])].into(),
        softirqs: [("TIMER".to_owned(), vec![timer, 0])].into(),
    };
    let mut capture = capture(Softirq, &[run(0, 1, &[])]);
    (capture.before, capture.after) = (Some(counts(5, 0)), Some(counts(15, 2)));
    let s = analyse_series(&capture, Clock::Tsc, &Options::default()).unwrap();
    assert_eq!(s.interrupts, [("LOC".to_owned(), 10), ("TIMER".to_owned(), 2)].into());
}

#[test]
fn series_are_named_by_what_differs() {
    let one = |mechanism, nr_load, delay_us| {
        let mut capture = capture(mechanism, &[run(0, 1, &[])]);
        (capture.config.nr_load, capture.config.delay_us) = (nr_load, delay_us);
        analyse_series(&capture, Clock::Tsc, &Options::default()).unwrap()
    };
    let labels = |all: Vec<BenchSeries>| {
        sort_and_label(all).into_iter().map(|s| s.label).collect::<Vec<_>>().join("; ")
    };
    let two = vec![one(Workqueue, Some(0), 20_000), one(Softirq, Some(0), 20_000)];
    assert_eq!(labels(two), "softirq; workqueue");
    let loads = vec![one(Softirq, Some(256), 20_000), one(Softirq, Some(0), 20_000)];
    assert_eq!(labels(loads), "softirq, load 0; softirq, load 256");
    let rates = vec![one(Softirq, None, 39_063), one(Softirq, None, 20_000)];
    assert_eq!(labels(rates), "softirq, 50.0 Hz; softirq, 25.6 Hz");
    let ns = BenchSeries { clock: Clock::Ktime, ..one(Softirq, None, 1) };
    assert_eq!(labels(vec![one(Softirq, None, 1), ns.clone()]), "softirq, tsc; softirq, ktime");
    assert_eq!(labels(vec![one(Workqueue, None, 1), ns]), "softirq; workqueue");
    let same = vec![one(Softirq, None, 1), one(Softirq, None, 1)];
    assert_eq!(labels(same), "softirq; softirq, again 2");
}

#[test]
fn axes_end_at_round_numbers() {
    for (ns, want) in [(0, 10), (10, 10), (11, 15), (6_750, 7_000), (40_651, 50_000)] {
        assert_eq!(rounded_up(ns), want);
    }
    assert!(rounded_up(u64::MAX) > 1 << 60);
}

const BETWEEN: [&str; 6] = [
    "irq_handler_entry",
    "irq_handler_exit",
    "local_timer_entry",
    "softirq_entry",
    "sched_stat_runtime",
    "mix_pool_bytes",
];

proptest! {
    /// Whatever is between the halves: every run is in one place, and quantiles are those of a
    /// plain sorted list of the runs without an interrupt.
    #[test]
    fn no_run_is_lost_and_none_is_counted_twice(
        runs in prop::collection::vec(
            (0u64..5_000, prop::collection::vec(0..BETWEEN.len(), 0..5)), 1..200,
        ),
    ) {
        let lines: Vec<_> = runs
            .iter()
            .enumerate()
            .map(|(i, (ticks, between))| {
                let names: Vec<_> = between.iter().map(|&n| BETWEEN[n]).collect();
                run(i as u64 * 10_000, *ticks + 10, &names)
            })
            .collect();
        let s = series(Softirq, &lines);
        let is_irq = |between: &Vec<usize>| between.iter().any(|&n| n == 0 || n == 2);
        let pick = |irq| runs.iter().filter(move |r| is_irq(&r.1) == irq).map(|r| r.0 + 10);
        prop_assert_eq!(&s.latencies, &pick(false).collect::<Latencies>());
        prop_assert_eq!(&s.irq_latencies, &pick(true).collect::<Latencies>());
        let all = |of: fn(&irqpath_model::bench::BenchCause) -> u64| s.causes.iter().map(of).sum::<u64>();
        if !s.causes.is_empty() {
            prop_assert_eq!(all(|c| c.quantiles.n), runs.len() as u64);
            prop_assert_eq!(all(|c| if c.is_irq { c.quantiles.n } else { 0 }), pick(true).count() as u64);
            let over = runs.iter().filter(|r| r.0 + 10 > s.quantiles.q95_ns).count() as u64;
            prop_assert_eq!(s.tail.unwrap().nr_over_q95, over);
        }
    }

    /// Any lines at all: no panic, and every line is complete, incomplete or backwards.
    #[test]
    fn any_lines_add_up(
        lines in prop::collection::vec(
            prop::collection::vec((prop::sample::select(vec!["trigger", "top_half", "bottom_half", "irq_handler_entry"]), 0u64..99), 0..6),
            0..50,
        ),
    ) {
        let s = series(Workqueue, &lines);
        let complete = s.latencies.len() + s.irq_latencies.len();
        prop_assert_eq!(complete + s.nr_incomplete + s.nr_backwards, lines.len() as u64);
    }
}
