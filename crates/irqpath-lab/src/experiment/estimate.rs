// SPDX-License-Identifier: GPL-2.0-or-later
//! What several draws say of one figure: their median, and where the median of all draws lies.

/// A figure, and its interval where several draws were made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The median of the draws.
    pub value: f64,
    pub interval: Option<Interval>,
}

/// Where the median of all draws lies, with a probability of at least 95 % from six draws on; of
/// fewer, from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    pub nr_draws: usize,
}

/// What the interval may miss at each end.
const TAIL: f64 = 0.025;

impl Estimate {
    /// Of a single draw, which has no interval.
    pub const fn single(value: f64) -> Self {
        Self { value, interval: None }
    }

    /// Of some draws, in any order; none without a draw. Nothing is assumed of how draws are
    /// distributed: the interval goes from one of them to another one (order statistics, Conover,
    /// Practical Nonparametric Statistics, 3.2).
    pub fn of_draws(mut draws: Vec<f64>) -> Option<Self> {
        draws.sort_unstable_by(f64::total_cmp);
        let n = draws.len();
        if n < 2 {
            return draws.first().copied().map(Self::single);
        }
        let value = f64::midpoint(draws[(n - 1) / 2], draws[n / 2]);
        let left_out = count_left_out(n);
        let (low, high) = (draws[left_out], draws[n - 1 - left_out]);
        Some(Self { value, interval: Some(Interval { low, high, nr_draws: n }) })
    }

    /// Its interval's ends; of a single draw the value itself.
    pub fn ends(&self) -> (f64, f64) {
        self.interval.map_or((self.value, self.value), |interval| (interval.low, interval.high))
    }
}

/// How many draws lie outside of the interval at each end. That fewer than `k + 1` of `n` lie below the
/// median has the probability of as many heads in `n` throws of a coin.
fn count_left_out(n: usize) -> usize {
    let mut exactly = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut at_most = exactly;
    let mut k = 0;
    while at_most <= TAIL && 2 * k < n {
        k += 1;
        exactly *= (n - k + 1) as f64 / k as f64;
        at_most += exactly;
    }
    k.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // Conover, table A3: smallest and largest rank for 95 %.
        for (n, ranks) in [(5, (1, 5)), (6, (1, 6)), (10, (2, 9)), (20, (6, 15)), (40, (14, 27))] {
            let draws = (1..=n).rev().map(f64::from).collect();
            let interval = Estimate::of_draws(draws).and_then(|e| e.interval).unwrap();
            assert_eq!((interval.low, interval.high), (f64::from(ranks.0), f64::from(ranks.1)));
        }
    }

    #[test]
    fn one_draw_has_no_interval_and_none_no_figure() {
        assert_eq!(Estimate::of_draws(vec![7.0]), Some(Estimate::single(7.0)));
        assert_eq!(Estimate::of_draws(Vec::new()), None);
        assert_eq!(Estimate::of_draws(vec![4.0, 1.0]).map(|e| e.value), Some(2.5));
    }

    /// With a generator of known median, about 95 of 100 intervals must contain it.
    #[test]
    fn nearly_every_interval_contains_the_median() {
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Skewed, as tails are; the median of the square is 0.25.
            ((state >> 33) as f64 / f64::from(1_u32 << 31)).powi(2)
        };
        let contains = |_: &u32| {
            let (low, high) = Estimate::of_draws((0..20).map(|_| draw()).collect()).unwrap().ends();
            low <= 0.25 && 0.25 <= high
        };
        let found = (0..2000).filter(contains).count();
        assert!((1880..1980).contains(&found), "{found}");
    }
}
