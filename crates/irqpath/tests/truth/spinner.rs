// SPDX-License-Identifier: GPL-2.0-or-later
//! A FIFO task that spins 3 ms above the target on its CPU.

use std::time::Duration;

use irqpath_model::{Cause, CauseKind};

use crate::scene::{
    Busy, CPU, cause_ns, expect_agreement, main_cause, now_ns, overlap_ns, pin_thread, set_fifo,
    trace_target, watch_until,
};

const SPIN_NS: u64 = 3_000_000;
const ROUNDS: usize = 60;

/// Spins, and what interrupted them.
fn spin_and_watch() -> (Vec<Busy>, Vec<Busy>) {
    pin_thread(CPU);
    set_fifo(20);
    let (mut spins, mut gaps) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        std::thread::sleep(Duration::from_millis(7));
        let start_ns = now_ns();
        gaps.extend(watch_until(start_ns + SPIN_NS));
        spins.push(Busy { start_ns, end_ns: now_ns() });
    }
    (spins, gaps)
}

#[test]
fn a_spinning_thread_above_the_target_is_named_with_its_time() {
    let work = || std::thread::Builder::new().name("truth-spinner".into()).spawn(spin_and_watch);
    let disturb = move || work().expect("spawn").join().expect("spin");
    let played = trace_target(Duration::from_millis(1), disturb);
    let Some((slow, (spins, gaps), _guard)) = played else { return };
    expect_agreement(
        &slow,
        ROUNDS / 2,
        SPIN_NS / 10,
        |wait| {
            let all = overlap_ns(&spins, wait);
            (all.saturating_sub(overlap_ns(&gaps, wait)), all)
        },
        |path| {
            let is_spinner =
                |c: &Cause| c.kind == CauseKind::Thread && c.who.starts_with("truth-spinner:");
            if is_spinner(main_cause(path)) { cause_ns(path, is_spinner) } else { 0 }
        },
    );
}
