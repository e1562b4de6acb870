// SPDX-License-Identifier: GPL-2.0-or-later
//! Compares what `irqpath trace` found in a guest with what was done there.
//!
//! `lab/guest/truth.c` makes interrupts of intsight with delays of known kind and size and writes
//! what it did; the tracer runs beside it. An event is joined if there is a path from its line to
//! its task; its delay is named if the cause of the right kind and name took the right time, within
//! [`TOLERANCE`] of what the disturber itself measured.
//!
//! `lab/guest/scenes.c` has wakeups by the local timer, and says of each who took how long.

use std::collections::BTreeMap;

use irqpath_analysis::compare_counts;
use irqpath_model::{Cause, CauseKind, Meta, Origin, SlowPath, Summary, Vector};

/// How far a named size may be off, as a share.
pub const TOLERANCE: f64 = 0.02;

/// One interrupt as the device saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Event {
    due_ns: u64,
    disturbed: bool,
    /// Who made it wait, where each does so for a time of its own.
    expected: Vec<Expected>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Expected {
    kind: CauseKind,
    /// The beginning of the cause's name.
    who: String,
    ns: u64,
}

/// True for what `lab/guest/truth.c` writes.
pub fn is_truth(csv: &str) -> bool {
    csv.lines().next().is_some_and(|header| header.split(',').any(|title| title == "due_ns"))
}

/// What can be said of any trace: `events` that its programs saw, those `lost`, and whether they
/// ran for each interrupt and softirq that the kernel counted in the window, which lies within
/// the trace: `counted` by the kernel, `unseen` by the tracer.
pub fn measure_coverage(meta: &Meta, found: &Summary) -> BTreeMap<String, f64> {
    let checks =
        compare_counts(&meta.before, &meta.after, &found.traced().lines, &found.traced().softirqs);
    let counted: u64 = checks.iter().map(|check| check.kernel).sum();
    let unseen: u64 = checks.iter().map(|check| check.kernel.saturating_sub(check.ours)).sum();
    [
        ("events", found.overhead.nr_events),
        ("lost", found.loss.nr_lost()),
        ("counted", counted),
        ("unseen", unseen),
    ]
    .map(|(name, value)| (name.to_owned(), value as f64))
    .into()
}

/// Metrics of one series: how many events were made, joined, and named.
pub fn compute_metrics(
    kind: &str,
    csv: &str,
    values: &BTreeMap<String, f64>,
    found: &Summary,
) -> Result<BTreeMap<String, f64>, String> {
    let events = parse_events(csv)?;
    let line = values.get("irq").copied();
    let task = if line.is_some() { "truth" } else { "scenes" };
    let joined: u64 = found
        .traced()
        .paths
        .iter()
        .filter(|path| is_line(path.key.origin, line) && path.key.comm.as_str() == task)
        .map(|path| path.histogram.len())
        .sum();
    let mut metrics = BTreeMap::from([
        ("made".to_owned(), events.len() as f64),
        ("joined".to_owned(), joined as f64),
        ("joined_share".to_owned(), joined as f64 / events.len() as f64),
    ]);
    let disturbed: Vec<&Event> = events.iter().filter(|event| event.disturbed).collect();
    if disturbed.is_empty() {
        return Ok(metrics);
    }
    let truth_ns = line.map(|_| size_ns(values)).transpose()?;
    let errors: Vec<f64> = disturbed
        .iter()
        .filter_map(|event| {
            let path = path_of(event, line, found.slow())?;
            let Some(truth_ns) = truth_ns else { return largest_error(&event.expected, path) };
            let ns = sum_named_ns(path, |cause| is_disturber(kind, values, cause));
            relative_error(ns, truth_ns)
        })
        .collect();
    let named = errors.iter().filter(|error| **error <= TOLERANCE).count();
    metrics.insert("disturbed".to_owned(), disturbed.len() as f64);
    metrics.extend(truth_ns.map(|ns| ("size_ns".to_owned(), ns)));
    metrics.insert("named_share".to_owned(), named as f64 / disturbed.len() as f64);
    let worst = errors.iter().copied().fold(0.0, f64::max);
    metrics.insert("size_error".to_owned(), worst * 100.0);
    Ok(metrics)
}

fn parse_events(csv: &str) -> Result<Vec<Event>, String> {
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| {
        let found = header.iter().position(|title| *title == name);
        found.ok_or_else(|| format!("has no column {name}"))
    };
    let (due, disturbed) = (column("due_ns")?, column("disturbed")?);
    let who = column("expected").ok();
    let parse = |(number, line): (usize, &str)| {
        let cells: Vec<&str> = line.split(',').collect();
        let event = || {
            let due_ns = cells.get(due)?.parse().ok()?;
            let expected = who.map_or(Some(Vec::new()), |who| parse_expected(cells.get(who)?))?;
            Some(Event { due_ns, disturbed: *cells.get(disturbed)? == "1", expected })
        };
        event().ok_or_else(|| format!("line {}: {line:?} is not an event", number + 2))
    };
    lines.enumerate().map(parse).collect()
}

/// `KIND:WHO:NS` of each who made an event wait.
fn parse_expected(cell: &str) -> Option<Vec<Expected>> {
    let one = |text: &str| {
        let (kind, rest) = text.split_once(':')?;
        let (who, ns) = rest.rsplit_once(':')?;
        let kind = match kind {
            "thread" => CauseKind::Thread,
            "nmi" => CauseKind::Nmi,
            _ => return None,
        };
        Some(Expected { kind, who: who.to_owned(), ns: ns.parse().ok()? })
    };
    cell.split(' ').map(one).collect()
}

/// Mean length of a disturbance by the disturber's own clock.
fn size_ns(values: &BTreeMap<String, f64>) -> Result<f64, String> {
    let value = |name: &str| values.get(name).copied().ok_or_else(|| format!("has no {name}"));
    let (cycles, times) = (value("disturbed_cycles")?, value("disturbances")?);
    Ok(if times == 0.0 { 0.0 } else { cycles / times * 1e6 / value("cycles_khz")? })
}

/// True for the line of that number, or for the local timer.
fn is_line(origin: Origin, irq: Option<f64>) -> bool {
    match (origin, irq) {
        (Origin::Irq(number), Some(irq)) => (f64::from(number) - irq).abs() < 0.5,
        (origin, None) => origin == Origin::Vector(Vector::LocalTimer),
        _ => false,
    }
}

/// The slow path of the line whose interrupt came first after the event was due.
fn path_of<'a>(event: &Event, line: Option<f64>, slow: &'a [SlowPath]) -> Option<&'a SlowPath> {
    let start = |path: &SlowPath| path.record.stamps.iter().flatten().map(|stamp| stamp.ns).min();
    slow.iter()
        .filter(|path| is_line(path.record.origin, line))
        .filter_map(|path| Some((start(path)?, path)))
        .filter(|(start, _)| *start >= event.due_ns)
        .min_by_key(|(start, _)| *start)
        .map(|(_, path)| path)
}

/// Time that the path's causes give to a disturber.
fn sum_named_ns(path: &SlowPath, is_disturber: impl Fn(&Cause) -> bool) -> u64 {
    let causes = path.stages.iter().flat_map(|stage| &stage.causes);
    causes.filter(|cause| is_disturber(cause)).map(|cause| cause.ns).sum()
}

/// How far a named size is off, as a share; `None` where it is not named at all.
fn relative_error(ns: u64, truth_ns: f64) -> Option<f64> {
    (ns > 0).then(|| (ns as f64 - truth_ns).abs() / truth_ns)
}

/// Of all that an event was to wait for; `None` where one is not named at all.
fn largest_error(expected: &[Expected], path: &SlowPath) -> Option<f64> {
    let one = |expected: &Expected| {
        let is_it =
            |cause: &Cause| cause.kind == expected.kind && cause.who.starts_with(&expected.who);
        relative_error(sum_named_ns(path, is_it), expected.ns as f64)
    };
    expected.iter().map(one).try_fold(0.0_f64, |worst, error| Some(worst.max(error?)))
}

fn is_disturber(kind: &str, values: &BTreeMap<String, f64>, cause: &Cause) -> bool {
    let irq = |name: &str| format!("{}:", values.get(name).copied().unwrap_or(-1.0));
    match kind {
        "handler" => cause.kind == CauseKind::Own && cause.who.contains("intsight"),
        "tasklet" => cause.kind == CauseKind::Softirq && cause.who == "tasklet",
        "hardirq" => {
            cause.kind == CauseKind::Hardirq && cause.who.starts_with(&irq("intruder_irq"))
        }
        "thread" => cause.kind == CauseKind::Thread && cause.who.starts_with("intsight0-hi"),
        "preempt_off" => {
            cause.kind == CauseKind::PreemptOff && cause.who.starts_with("intsight0-lo")
        }
        "irqs_off" => cause.kind == CauseKind::IrqsOff && cause.who.starts_with("intsight0-lo"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{
        InterruptCounts, LineStats, Measured, PathEnd, PathRecord, Paths, Point, StageCauses,
        Stamp, Task, Via,
    };

    fn path_with(start_ns: u64, cause: Cause) -> SlowPath {
        let mut stamps = [None; Point::COUNT];
        stamps[Point::Hardirq as usize] = Some(Stamp { ns: start_ns, cpu: 0 });
        let ns = cause.ns;
        SlowPath {
            record: PathRecord {
                origin: Origin::Irq(24),
                via: Via::default(),
                stamps,
                timer_fn: 0,
                target: Task::default(),
                end: PathEnd::User,
                queues: Vec::new(),
                cgroup: None,
            },
            stages: vec![StageCauses {
                from: Point::Hardirq,
                to: Point::Waking,
                cpu: 0,
                waited_for: Vec::new(),
                ns,
                causes: vec![cause],
            }],
        }
    }

    fn make_cause(kind: CauseKind, who: &str, ns: u64) -> Cause {
        Cause { kind, who: who.to_owned(), ns, nr_times: 1 }
    }

    fn job_values() -> BTreeMap<String, f64> {
        [
            ("irq", 24.0),
            ("intruder_irq", 25.0),
            ("disturbances", 2.0),
            ("disturbed_cycles", 1_000_000.0),
            ("cycles_khz", 1_000_000.0),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    #[test]
    fn a_delay_is_named_by_kind_name_and_size() {
        let csv = "seq,due_ns,disturbed\n1,1000,1\n2,6000000,1\n3,12000000,0\n";
        let table = [
            (make_cause(CauseKind::Hardirq, "25:intsight0-intruder", 505_000), 0.5),
            (make_cause(CauseKind::Hardirq, "25:intsight0-intruder", 511_000), 0.0),
            (make_cause(CauseKind::Hardirq, "26:eth0", 505_000), 0.0),
            (make_cause(CauseKind::Softirq, "25:intsight0-intruder", 505_000), 0.0),
        ];
        for (cause, share) in table {
            let found = Summary::from_measured(Measured::Paths(Paths {
                slow: vec![path_with(1_500, cause.clone())],
                ..Paths::default()
            }));
            let metrics = compute_metrics("hardirq", csv, &job_values(), &found).expect("metrics");
            assert!((metrics["named_share"] - share).abs() < 1e-9, "{cause:?}: {metrics:?}");
            assert!((metrics["size_ns"] - 500_000.0).abs() < 1e-6);
        }
    }

    #[test]
    fn what_the_kernel_counted_and_no_program_saw_is_unseen() {
        let counts = |line: u64, timer: u64| InterruptCounts {
            cpus: vec![0],
            interrupts: [("24".to_owned(), vec![line]), ("LOC".to_owned(), vec![timer])].into(),
            softirqs: [("TIMER".to_owned(), vec![timer])].into(),
        };
        let meta = Meta { before: counts(10, 100), after: counts(50, 103), ..Meta::default() };
        let line = LineStats { origin: Origin::Irq(24), cpu: 0, nr: 41, run_ns: 0, max_run_ns: 0 };
        let found = Summary::from_measured(Measured::Paths(Paths {
            lines: vec![line],
            ..Paths::default()
        }));
        let metrics = measure_coverage(&meta, &found);
        // 40 of the line, of which 41 were seen, since the trace is longer; 3 and 3 of the timer.
        assert!((metrics["counted"] - 46.0).abs() < 1e-9, "{metrics:?}");
        assert!((metrics["unseen"] - 6.0).abs() < 1e-9, "{metrics:?}");
    }

    #[test]
    fn a_wait_on_two_cpus_is_named_if_both_who_ran_there_are() {
        let csv =
            "seq,due_ns,disturbed,expected\n1,1000,1,thread:hog-a:500000 thread:hog-b:300000\n";
        let hog_a = make_cause(CauseKind::Thread, "hog-a:12 f:50", 505_000);
        for (hog_b, share, nr_named) in [
            (make_cause(CauseKind::Thread, "hog-b:13 f:50", 296_000), 1.0, 1),
            (make_cause(CauseKind::Thread, "hog-b:13 f:50", 290_000), 0.0, 1),
            (make_cause(CauseKind::PreemptOff, "hog-b:13 f:50", 300_000), 0.0, 0),
            (make_cause(CauseKind::Thread, "hog-c:14 f:50", 300_000), 0.0, 0),
        ] {
            let mut path = path_with(1_500, hog_a.clone());
            path.record.origin = Origin::Vector(Vector::LocalTimer);
            path.stages[0].causes.push(hog_b.clone());
            let found = Summary::from_measured(Measured::Paths(Paths {
                slow: vec![path],
                ..Paths::default()
            }));
            let metrics = compute_metrics("moved", csv, &BTreeMap::new(), &found).expect("metrics");
            assert!((metrics["named_share"] - share).abs() < 1e-9, "{hog_b:?}: {metrics:?}");
            assert_eq!(metrics["size_error"] > 0.0, nr_named > 0, "{hog_b:?}");
        }
        assert!(
            compute_metrics(
                "",
                "due_ns,disturbed,expected\n1,1,fog:x:1\n",
                &BTreeMap::new(),
                &Summary::default()
            )
            .is_err()
        );
    }

    #[test]
    fn what_was_not_joined_is_counted_as_not_joined() {
        let csv = "seq,due_ns,disturbed\n1,1000,0\n2,6000000,0\n";
        let metrics =
            compute_metrics("", csv, &job_values(), &Summary::default()).expect("metrics");
        assert!(metrics["joined_share"].abs() < 1e-9 && (metrics["made"] - 2.0).abs() < 1e-9);
        assert!(!metrics.contains_key("named_share"));
    }
}
