// SPDX-License-Identifier: GPL-2.0-or-later
//! How often an interval holds the true difference, and how often equal things are told apart:
//! measured on distributions whose quantiles are known.
//!
//! `cargo test --locked -p irqpath-analysis --test difference -- --nocapture` prints the figures
//! that docs/compare.md quotes.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic fails a test, figures are printed

use irqpath_analysis::difference::{
    Difference, ERROR_RATE, RunValue, Sample, compare_quantile, compare_runs, find_changes,
};
use irqpath_model::Histogram;
use irqpath_model::bench::Latencies;

/// Uniform numbers by SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, 2014).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// A distribution by its quantile function, ns.
type Quantile = fn(f64) -> f64;

const DISTRIBUTIONS: [(&str, Quantile); 4] = [
    ("uniform", |u| 5_000.0 + 20_000.0 * u),
    ("exponential", |u| 5_000.0 - 4_000.0 * (1.0 - u).ln()),
    // A tail as slow paths have: its mean is finite, its variance is not.
    ("Pareto", |u| 8_000.0 * (1.0 - u).powf(-1.0 / 1.8)),
    // Nine of ten paths meet nothing, the tenth waits for something.
    ("two modes", |u| if u < 0.9 { 9_000.0 + 500.0 * u } else { 40_000.0 + 90_000.0 * (u - 0.9) }),
];

fn draw(random: &mut Random, quantile: Quantile, n: usize, scale: f64) -> Vec<u64> {
    (0..n).map(|_| (quantile(random.uniform()) * scale).round() as u64).collect()
}

fn exact(times: &[u64]) -> Sample {
    Sample::from(&times.iter().copied().collect::<Latencies>())
}

fn rounded(times: &[u64]) -> Sample {
    let mut histogram = Histogram::default();
    for ns in times {
        histogram.record_ns(*ns);
    }
    Sample::from(&histogram)
}

/// Shares of trials in which the interval held the true difference, and in which it held zero.
fn try_often(
    form: fn(&[u64]) -> Sample,
    distribution: Quantile,
    q: f64,
    (n_a, n_b): (usize, usize),
    scale: f64,
) -> (f64, f64) {
    const TRIALS: u64 = 300;
    let truth = distribution(q) * (scale - 1.0);
    let (mut nr_held, mut nr_zero) = (0, 0);
    for trial in 0..TRIALS {
        let mut random = Random(trial * 2 + 1);
        let a = form(&draw(&mut random, distribution, n_a, 1.0));
        let b = form(&draw(&mut random, distribution, n_b, scale));
        let found = compare_quantile(&a, &b, q, ERROR_RATE);
        let Difference::Within { low_ns, high_ns } = found else { panic!("{found:?}") };
        // Times are whole ns.
        nr_held += u64::from(low_ns as f64 - 1.0 <= truth && truth <= high_ns as f64 + 1.0);
        nr_zero += u64::from(!found.is_shown());
    }
    (nr_held as f64 / TRIALS as f64, nr_zero as f64 / TRIALS as f64)
}

/// Four standard deviations of a share of 300 trials below 95 %.
const LEAST_HELD: f64 = 0.9;

#[test]
fn an_interval_of_95_percent_holds_the_truth_that_often() {
    println!("share of intervals that hold the true difference, of 300; equal, and B 10 % longer");
    for (name, distribution) in DISTRIBUTIONS {
        for (q, sizes) in [(0.5, (200, 200)), (0.95, (500, 300)), (0.99, (1000, 800))] {
            for (form, what) in [(exact as fn(&[u64]) -> Sample, "exact"), (rounded, "HDR")] {
                // Histograms are filled slowly without optimisation: few of them suffice.
                if what == "HDR" && q > 0.95 {
                    continue;
                }
                let (equal, zero) = try_often(form, distribution, q, sizes, 1.0);
                let (longer, _) = try_often(form, distribution, q, sizes, 1.1);
                println!("{name:<12} Q{:<5} {what:<6} {equal:.3} {longer:.3}", q * 100.0);
                for held in [equal, longer, zero] {
                    assert!(held >= LEAST_HELD, "{name} {q} {what}: {held}");
                }
            }
        }
    }
}

#[test]
fn an_interval_is_not_wide_for_safety() {
    // With 2000 samples of a spread of 20 us, a median is known to 2 us.
    let mut random = Random(7);
    let [a, b] = [(); 2].map(|()| exact(&draw(&mut random, DISTRIBUTIONS[0].1, 2000, 1.0)));
    let found = compare_quantile(&a, &b, 0.5, ERROR_RATE);
    let Difference::Within { low_ns, high_ns } = found else { panic!("{found:?}") };
    assert!(high_ns - low_ns < 2_600, "{}", high_ns - low_ns);
    let (held, _) = try_often(exact, DISTRIBUTIONS[0].1, 0.5, (200, 200), 1.0);
    assert!(held <= 0.99, "{held}: wider than it says");
}

#[test]
fn a_shift_of_ten_percent_is_found() {
    for (name, distribution) in &DISTRIBUTIONS[..2] {
        let (_, missed) = try_often(exact, *distribution, 0.5, (2000, 2000), 1.1);
        println!("{name}: a median 10 % longer is missed in {missed:.3} of 300 trials");
        assert!(missed < 0.05, "{name}: {missed}");
    }
}

fn runs(random: &mut Random, n: usize, mean: f64, spread: f64) -> Vec<RunValue> {
    (0..n).map(|_| RunValue { ns: mean + spread * random.normal(), width_ns: 1.0 }).collect()
}

#[test]
fn runs_that_vary_are_told_apart_as_rarely_as_promised() {
    println!("false alarms of 2000 comparisons of runs that differ by chance alone");
    for (n_a, n_b) in [(2, 2), (3, 3), (1, 5), (5, 10), (20, 20)] {
        let false_alarms = (0..2000_u64).filter(|trial| {
            let mut random = Random(trial * 2 + 1);
            let (a, b) = (runs(&mut random, n_a, 2e4, 500.0), runs(&mut random, n_b, 2e4, 500.0));
            compare_runs(&a, &b, ERROR_RATE).is_shown()
        });
        let share = false_alarms.count() as f64 / 2000.0;
        println!("{n_a} and {n_b} runs: {share:.3}");
        // Four standard deviations above 5 %.
        assert!(share <= 0.07, "{n_a} and {n_b}: {share}");
    }
    let mut random = Random(1);
    let (a, b) = (runs(&mut random, 5, 2e4, 200.0), runs(&mut random, 5, 2.2e4, 200.0));
    assert!(compare_runs(&a, &b, ERROR_RATE).is_shown());
}

#[test]
fn what_a_bucket_hides_is_no_difference_between_runs() {
    let at = |ns| vec![RunValue { ns, width_ns: 256.0 }; 4];
    assert!(!compare_runs(&at(20_000.0), &at(20_100.0), ERROR_RATE).is_shown());
    assert!(compare_runs(&at(20_000.0), &at(22_000.0), ERROR_RATE).is_shown());
    assert_eq!(compare_runs(&at(1.0)[..1], &at(1.0)[..1], 0.05), Difference::TooFew { needed: 2 });
}

#[test]
fn a_history_without_a_change_has_none() {
    println!("histories with a false alarm, of 500");
    for n in [6, 20, 60] {
        let with_alarm = (0..500_u64).filter(|trial| {
            let history = runs(&mut Random(trial * 2 + 1), n, 2e4, 500.0);
            !find_changes(&history, ERROR_RATE).is_empty()
        });
        let share = with_alarm.count() as f64 / 500.0;
        println!("{n} runs: {share:.3}");
        // Four standard deviations above 5 %.
        assert!(share <= 0.089, "{n}: {share}");
    }
}

#[test]
fn a_change_is_found_where_it_is() {
    let mut nr_found = 0;
    for trial in 0..100_u64 {
        let mut random = Random(trial * 2 + 1);
        let mut history = runs(&mut random, 15, 2e4, 300.0);
        history.extend(runs(&mut random, 10, 2.2e4, 300.0));
        history.extend(runs(&mut random, 15, 1.9e4, 300.0));
        let at: Vec<usize> = find_changes(&history, ERROR_RATE).iter().map(|c| c.at).collect();
        nr_found += u32::from(at == [15, 25]);
    }
    assert!(nr_found >= 90, "both changes were found exactly in {nr_found} of 100 histories");
    let change = find_changes(
        &[10.0, 10.0, 10.0, 20.0, 20.0, 20.0].map(|ns| RunValue { ns, width_ns: 0.0 }),
        ERROR_RATE,
    );
    assert_eq!((change.len(), change[0].at), (1, 3));
    assert_eq!((change[0].before_ns, change[0].after_ns), (10.0, 20.0));
    for short in [vec![], runs(&mut Random(1), 3, 1.0, 0.0)] {
        assert!(find_changes(&short, ERROR_RATE).is_empty());
    }
}
