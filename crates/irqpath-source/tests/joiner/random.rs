// SPDX-License-Identifier: GPL-2.0-or-later
//! What must hold for every sequence of events, possible or not.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;

use crate::harness::run;
use crate::model::{CPUS, Choice, Model, TASKS};
use crate::occupancy::complete;
use crate::output::{Path, hists, paths};

/// Points in the order in which a path meets them.
const ORDER: [&str; 10] = [
    "raise",
    "hardirq",
    "irq_thread",
    "softirq_raise",
    "softirq",
    "work_queue",
    "work",
    "waking",
    "switch_in",
    "user",
];

fn choices() -> impl Strategy<Value = Vec<Choice>> {
    prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>(), 0..500_u16), 1..600)
}

/// Events that follow no rule at all, but for time, which goes on.
fn nonsense(choices: &[Choice]) -> Model {
    let mut model = Model::new();
    for &(cpu, what, with, wait) in choices {
        model.now += 1 + u64::from(wait);
        let (cpu, tid) = (usize::from(cpu) % CPUS, TASKS[usize::from(with) % TASKS.len()]);
        let (irq, vec, now) = (with % 3, with % 12, model.now);
        let event = match what % 24 {
            0 | 1 => format!("irq_entry {irq} {}", with % 4),
            2 | 3 => format!("irq_exit {irq} {} {}", with % 4, with % 3),
            4 => "vector_entry local_timer".to_owned(),
            5 => "vector_exit local_timer".to_owned(),
            6 => format!("ipi {irq}"),
            7 => "vector_entry reschedule".to_owned(),
            8 => format!("softirq_raise {vec}"),
            9 => format!("softirq_entry {vec}"),
            10 => format!("softirq_exit {vec}"),
            11 => format!("hrtimer_entry {} {}", now + 200 - u64::from(with), with % 2 * 100),
            12 => "hrtimer_exit".to_owned(),
            13 => format!("queue_work {}", 0x1000 + u64::from(vec) * 8),
            14 => format!("work_start {}", 0x1000 + u64::from(vec) * 8),
            15 => "work_end".to_owned(),
            16 | 17 => format!("waking {}", tid + u32::from(with & 64) * 512),
            18 => format!("switch {tid} {}", [0, 1, 2, 4096][usize::from(with >> 6)]),
            19 => format!("switch {tid} preempt"),
            20 => "sys_exit".to_owned(),
            21 => "exit".to_owned(),
            22 => format!("state {}", [0, 1, 2, 4096][usize::from(with >> 6)]),
            _ => format!("cpuhp {irq}"),
        };
        let _ = writeln!(model.script, "{cpu} {now} {event}");
    }
    model
}

/// Points in order, each stage longer than nothing and shorter than the run. Whether it was in
/// order of time; the names always are.
fn in_order(path: &Path, elapsed: i64) -> bool {
    let place = |name: &str| ORDER.iter().position(|p| *p == name).expect("a point");
    let mut ordered = true;
    for pair in path.points.windows(2) {
        let [(from, _, start), (to, _, end)] = pair else { unreachable!() };
        assert!(place(from) < place(to), "{from} before {to}");
        let len = end - start;
        assert!(len <= elapsed, "{from} to {to}: {len} ns");
        // A timer that is early is raised when its interrupt begins.
        ordered &= len > 0 || (len == 0 && from == "raise");
    }
    ordered
}

/// What holds for any script, and for one that a kernel could `possible`-ly make.
fn holds(model: &Model, possible: bool) {
    let Some(out) = run(&format!("config record_all 1\n{}", model.script)) else { return };
    let mut woken: BTreeMap<u32, u32> = BTreeMap::new();
    for tid in model.script.lines().filter_map(|l| l.split_once(" waking ")) {
        *woken.entry(tid.1.parse().expect("a tid")).or_default() += 1;
    }
    let paths = paths(&out);
    let mut ordered = true;
    for path in &paths {
        ordered &= in_order(path, model.now.cast_signed());
        let at = |name: &str| path.points.iter().find(|p| p.0 == name).map(|p| p.2 as u64);
        if let Some(began) = at("waking").and_then(|ns| model.truth.get(&ns)) {
            assert_eq!(at("hardirq"), Some(*began), "the wrong interrupt: {:?}", path.points);
        }
        let end = at("waking").and_then(|ns| model.ends.get(&ns));
        if let (Some(end), Some(ns)) = (end, at("switch_in")) {
            assert_eq!(Some(ns), *end, "not the switch after its wakeup: {:?}", path.points);
        }
        let left = woken.get_mut(&path.tid).expect("a task that was woken");
        *left = left.checked_sub(1).expect("no more paths than wakeups");
    }
    let hists = hists(&out);
    let total: u64 = hists.iter().filter(|h| h.stage == "total").map(|h| h.nr).sum();
    assert_eq!(total, paths.len() as u64);
    for h in &hists {
        assert_eq!(h.nr, h.overflow + h.buckets.iter().map(|b| b.1).sum::<u64>());
        assert!(h.min <= h.max && h.max <= h.sum, "{}", h.stage);
    }
    complete(&out);
    // Time that goes back is never silent, and never happens on a kernel.
    assert_eq!(ordered, !out.contains("loss clock_skew"), "{out}");
    assert!(ordered || !possible, "{out}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_a_kernel_could_do(choices in choices()) {
        holds(&Model::script(&choices), true);
    }

    #[test]
    fn what_no_kernel_would_do(choices in choices()) {
        holds(&nonsense(&choices), false);
    }
}
