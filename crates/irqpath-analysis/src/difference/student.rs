// SPDX-License-Identifier: GPL-2.0-or-later
//! Student's t distribution.

use libm::lgamma;

/// Terms of the continued fraction; it converges in a few dozen for the arguments here.
const MAX_TERMS: u32 = 400;
const PRECISE: f64 = 1e-14;

/// The probability that |t| with `df` degrees of freedom is at least `t`.
pub(super) fn two_sided_p(t: f64, df: f64) -> f64 {
    if !t.is_finite() {
        return 0.0;
    }
    incomplete_beta(df / 2.0, 0.5, df / (df + t * t))
}

/// The t that |t| exceeds with this probability.
pub(super) fn critical_t(probability: f64, df: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided_p(high, df) > probability && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if two_sided_p(middle, df) > probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The regularised incomplete beta function I_x(a, b), by Lentz's continued fraction.
#[allow(clippy::many_single_char_names)] // as in every book
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    // It converges on this side of the mean; the other one is its mirror image.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = (lgamma(a + b) - lgamma(a) - lgamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    let far = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut c, mut d) = (1.0, 1.0 / far(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for term in 1..MAX_TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / far(1.0 + even * d);
        c = far(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / far(1.0 + odd * d);
        c = far(1.0 + odd / c);
        let step = d * c;
        fraction *= step;
        if (step - 1.0).abs() < PRECISE {
            break;
        }
    }
    front * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_values_are_those_of_the_tables() {
        for (probability, df, want) in [
            (0.05, 1.0, 12.706),
            (0.05, 2.0, 4.303),
            (0.05, 10.0, 2.228),
            (0.01, 4.0, 4.604),
            (0.001, 4.0, 8.610),
            (0.05, 1000.0, 1.962),
        ] {
            let found = critical_t(probability, df);
            assert!((found - want).abs() < 0.001, "{probability} {df}: {found}");
            assert!((two_sided_p(found, df) - probability).abs() < 1e-9);
        }
        assert!((two_sided_p(0.0, 5.0) - 1.0).abs() < 1e-12);
        assert!(two_sided_p(f64::INFINITY, 5.0) < 1e-12);
    }
}
