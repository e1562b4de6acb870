// SPDX-License-Identifier: GPL-2.0-or-later
//! Look at the clock without a pause: between two looks that are far apart, something else ran.

use super::JitterEnd;
use crate::realtime::now_ns;
use crate::sampler::Control;

pub(super) fn measure_looks(control: &Control, threshold_ns: u64, length_ns: u64) -> JitterEnd {
    let since_ns = now_ns();
    let deadline_ns = since_ns.saturating_add(length_ns);
    let (mut last_ns, mut look_ns, mut nr_looks) = (since_ns, u64::MAX, 0);
    while last_ns < deadline_ns && !control.is_stopped() {
        let now = now_ns();
        let gap_ns = now - last_ns;
        if gap_ns >= threshold_ns {
            control.ring.push((last_ns, now));
        }
        look_ns = look_ns.min(gap_ns);
        nr_looks += 1;
        last_ns = now;
    }
    JitterEnd { since_ns, lasted_ns: last_ns - since_ns, nr_looks, look_ns, ..<_>::default() }
}
