// SPDX-License-Identifier: GPL-2.0-or-later
//! A FIFO task that spins 3 ms above the target on its CPU.

use std::time::Duration;

use irqpath_model::CauseKind;

use crate::scene::{Busy, CPU, agree, cause_ns, fifo, now_ns, pin, play};

const SPIN_NS: u64 = 3_000_000;
const ROUNDS: usize = 60;

fn spin() -> Vec<Busy> {
    pin(CPU);
    fifo(20);
    let mut spins = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        std::thread::sleep(Duration::from_millis(7));
        let start_ns = now_ns();
        while now_ns() < start_ns + SPIN_NS {}
        spins.push(Busy { start_ns, end_ns: now_ns() });
    }
    spins
}

#[test]
fn a_spinning_thread_above_the_target_is_named_with_its_time() {
    let work = || std::thread::Builder::new().name("truth-spinner".into()).spawn(spin);
    let disturb = move || work().expect("spawn").join().expect("spin");
    let Some((slow, spins, _guard)) = play(Duration::from_millis(1), disturb) else { return };
    agree(
        &slow,
        ROUNDS / 2,
        |wait| spins.iter().map(|s| s.overlap_ns(wait.start_ns, wait.end_ns)).sum(),
        |path| cause_ns(path, CauseKind::Thread, "truth-spinner"),
    );
}
