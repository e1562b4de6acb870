// SPDX-License-Identifier: GPL-2.0-or-later
//! The same sines in double precision, again and again: a computation that always takes the same
//! time unless something comes in between.

use std::hint::black_box;
use std::time::Duration;

use super::JitterEnd;
use crate::realtime::now_ns;
use crate::sampler::Control;

/// Sines that are timed to find out how many fill a loop.
const TRIAL: u64 = 20_000;
const NR_TRIALS: usize = 16;

#[inline(never)]
fn sum_sines(nr: u64) -> f64 {
    let mut sum = 0.0;
    for n in 0..nr {
        // The compiler may neither know the argument nor leave the sum away.
        sum += black_box((n % 1_024) as f64 / 163.0).sin();
    }
    black_box(sum)
}

/// How many sines take about this long on the calling thread's CPU, if nothing comes in between.
pub fn nr_sines_for(length: Duration) -> u64 {
    let time = |_| {
        let start_ns = now_ns();
        sum_sines(TRIAL);
        now_ns() - start_ns
    };
    let best_ns = (0..NR_TRIALS).map(time).min().unwrap_or(1).max(1);
    let nr = length.as_nanos() * u128::from(TRIAL) / u128::from(best_ns);
    u64::try_from(nr).unwrap_or(u64::MAX).max(1)
}

pub(super) fn measure_sines(control: &Control, nr_sines: u64, length_ns: u64) -> JitterEnd {
    let since_ns = now_ns();
    let deadline_ns = since_ns.saturating_add(length_ns);
    let mut end_ns = since_ns;
    while !control.is_stopped() && end_ns < deadline_ns {
        let start_ns = now_ns();
        sum_sines(nr_sines);
        end_ns = now_ns();
        control.ring.push((start_ns, end_ns));
    }
    JitterEnd { since_ns, lasted_ns: end_ns - since_ns, ..JitterEnd::default() }
}
