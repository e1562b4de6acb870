// SPDX-License-Identifier: GPL-2.0-or-later
//! Histograms at the resolution of a chart.
//!
//! The stored histograms have about 128 buckets per doubling; a chart that is a screen wide shows
//! eight well. Equal widths on a logarithmic axis keep neighbouring bars comparable. Quantiles are
//! never computed from these: they come from the full histogram.

use irqpath_model::Histogram;

/// Bars per doubling of the time: each is 9 % wide.
const PER_OCTAVE: f64 = 8.0;

/// `(lowest ns, highest ns, count)`, ascending, only where something was counted.
pub type Bars = Vec<(u64, u64, u64)>;

/// The histogram's buckets, gathered into bars of equal width on a logarithmic axis.
pub fn histogram_bars(histogram: &Histogram) -> Bars {
    let mut bars = Bars::new();
    let mut current = None;
    for (low, _, count) in histogram.iter_buckets() {
        let index = bar_index(low);
        if current == Some(index) {
            if let Some(last) = bars.last_mut() {
                last.2 += count;
            }
        } else {
            let (low, high) = bar_bounds(index);
            bars.push((low, high, count));
            current = Some(index);
        }
    }
    bars
}

/// Which bar a time belongs to; 0 for times of 0 and 1 ns.
fn bar_index(ns: u64) -> u32 {
    let mut index = ((ns.max(1) as f64).log2() * PER_OCTAVE) as u32;
    // The logarithm may round across a bound; the bounds decide.
    while bar_bounds(index).1 < ns {
        index += 1;
    }
    while index > 0 && bar_bounds(index).0 > ns {
        index -= 1;
    }
    index
}

fn bar_bounds(index: u32) -> (u64, u64) {
    let edge = |i: u32| (f64::from(i) / PER_OCTAVE).exp2().ceil() as u64;
    let low = if index == 0 { 0 } else { edge(index) };
    (low, edge(index + 1).saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bars_keep_every_count_and_never_overlap(
            times in prop::collection::vec(0u64..1 << 36, 0..200),
        ) {
            let mut histogram = Histogram::default();
            for &ns in &times {
                histogram.record_ns(ns);
            }
            let bars = histogram_bars(&histogram);
            prop_assert_eq!(bars.iter().map(|b| b.2).sum::<u64>(), times.len() as u64);
            prop_assert!(bars.iter().all(|b| b.0 <= b.1));
            prop_assert!(bars.windows(2).all(|w| w[0].1 < w[1].0), "{:?}", bars);
        }

        #[test]
        fn a_time_lies_within_its_bar(ns in 0u64..1 << 36) {
            let (low, high) = bar_bounds(bar_index(ns));
            prop_assert!(low <= ns && ns <= high, "{} not in {}..={}", ns, low, high);
        }
    }
}
