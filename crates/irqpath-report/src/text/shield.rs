// SPDX-License-Identifier: GPL-2.0-or-later
//! What `irqpath shield` prints for people. A host has thousands of tasks, so those that went
//! well are counted and only the others are named.

use std::collections::BTreeSet;

use irqpath_model::change::{Left, LeftReason, Target, Undone};
use irqpath_model::shield::{
    Arrived, Changed, Drift, Kept, Measured, Mechanism, Obstacle, ObstacleKind, Reset, Set, Status,
    Wanted,
};
use irqpath_model::{CauseKind, Occupied};

use super::Page;

/// Rows of a list before the rest is counted.
const ROWS: usize = 12;

fn mechanism_phrase(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Kernel => "the kernel (/proc/shield)",
        Mechanism::Partition => "cgroup partition",
        Mechanism::Affinity | Mechanism::Auto => "affinities",
    }
}

fn shield_headline(wanted: &Wanted, mechanism: Mechanism) -> String {
    let switches: Vec<&str> = wanted.switches.iter().map(|s| s.name()).collect();
    format!("CPU {} by {}, from: {}", wanted.cpus, mechanism_phrase(mechanism), switches.join(", "))
}

/// What `set` did, or in a dry run would do.
pub fn render_set(set: &Set, dry_run: bool) -> Page {
    let verb = if dry_run { "Would shield" } else { "Shielded" };
    let mut text =
        Page::from_line(format_args!("{verb} {}", shield_headline(&set.wanted, set.mechanism)));
    list_changes(&mut text, &set.changed, if dry_run { "would change" } else { "changed" });
    if dry_run {
        let why: Vec<_> = set.why.iter().collect();
        text.add_list("why", &why, why.len(), |(switch, why)| format!("{}: {why}", switch.name()));
    }
    list_placed(&mut text, &set.placed);
    list_kept(&mut text, &set.kept);
    list_notes(&mut text, &set.notes);
    list_obstacles(&mut text, &set.obstacles);
    text
}

fn is_task(changed: &Changed) -> bool {
    matches!(changed.target, Target::TaskAffinity { .. })
}

fn list_changes(text: &mut Page, all: &[Changed], verb: &str) {
    let (tasks, others): (Vec<&Changed>, Vec<&Changed>) = all.iter().partition(|c| is_task(c));
    let heading = format!("{verb}: {} tasks, {} other values", tasks.len(), others.len());
    if others.is_empty() {
        text.add_line(format_args!("{heading}"));
    }
    text.add_list(&heading, &others, ROWS, |c| describe_change(c));
}

fn describe_change(c: &Changed) -> String {
    let before = c.before.as_ref().map(|v| format!("{v} -> ")).unwrap_or_default();
    format!("{}: {before}{}", c.label, c.new)
}

/// A line for each value that a repair changed.
pub fn render_repaired(set: &Set) -> Page {
    let mut text = Page::default();
    for changed in &set.changed {
        text.add_line(format_args!("repaired {}", describe_change(changed)));
    }
    text
}

fn list_placed(text: &mut Page, all: &[Kept]) {
    text.add_list("placed there", all, ROWS, |k| format!("{} on CPU {}", k.label, k.cpus));
}

fn list_notes(text: &mut Page, all: &[String]) {
    text.add_list("note", all, ROWS, String::clone);
}

fn list_kept(text: &mut Page, all: &[Kept]) {
    let heading = "asked onto these CPUs alone, so left there";
    text.add_list(heading, all, ROWS, |k| format!("{} on CPU {}", k.label, k.cpus));
}

/// Threads that belong to their CPU are many and of no news: one line. Boot parameters make one
/// line that can be copied.
fn list_obstacles(text: &mut Page, all: &[Obstacle]) {
    let (threads, others): (Vec<&Obstacle>, Vec<&Obstacle>) =
        all.iter().partition(|o| o.kind == ObstacleKind::PerCpuThread);
    text.add_list("cannot be kept off", &others, ROWS, |o| format!("{}: {}", o.label, o.reason));
    if !threads.is_empty() {
        let names: BTreeSet<&str> = threads.iter().filter_map(|o| short_name(&o.label)).collect();
        let names: Vec<&str> = names.into_iter().collect();
        text.add_line(format_args!(
            "kernel threads that belong to these CPUs: {} ({})",
            threads.len(),
            names.join(" ")
        ));
    }
    let parameters: BTreeSet<&str> =
        all.iter().filter_map(|o| o.fix.as_deref()).filter(|fix| !fix.contains(' ')).collect();
    if !parameters.is_empty() {
        let parameters: Vec<&str> = parameters.into_iter().collect();
        text.add_line(format_args!("boot parameters that would help: {}", parameters.join(" ")));
    }
    for fix in all.iter().filter_map(|o| o.fix.as_deref()).filter(|fix| fix.contains(' ')) {
        text.add_line(format_args!("what would help: {fix}"));
    }
}

/// `ksoftirqd` of `task 31 (ksoftirqd/2)`.
fn short_name(label: &str) -> Option<&str> {
    let name = label.split_once('(')?.1.trim_end_matches(')');
    name.split(['/', ':']).next()
}

/// How the shield stands.
pub fn render_status(status: &Status) -> Page {
    let mut text = match (&status.wanted, status.mechanism) {
        (Some(wanted), Some(mechanism)) => {
            Page::from_line(format_args!("Shielded {}", shield_headline(wanted, mechanism)))
        }
        _ if status.held > 0 => {
            Page::from_line("A shield was not taken down completely; reset does that")
        }
        _ => Page::from_line("No shield is set"),
    };
    if status.gone_with_boot > 0 {
        text.add_line(format_args!(
            "the shield of an earlier boot ended with it ({} values)",
            status.gone_with_boot
        ));
    }
    list_damaged(&mut text, &status.damaged);
    if status.held > 0 {
        text.add_line(format_args!("values that reset would put back: {}", status.held));
    }
    text.add_list("drifted", &status.drift, ROWS, describe_drift);
    text.add_list("moves with its next interrupt", &status.pending, ROWS, |p| {
        format!("{}, now CPU {}", p.label, p.cpus)
    });
    list_placed(&mut text, &status.placed);
    list_kept(&mut text, &status.kept);
    list_notes(&mut text, &status.notes);
    text.add_list("runs there now", &status.running, ROWS, |r| {
        let whose = if r.inside { "" } else { ", may run elsewhere" };
        format!("{} on CPU {}{whose}", r.label, r.cpu)
    });
    list_obstacles(&mut text, &status.obstacles);
    text
}

fn describe_drift(drift: &Drift) -> String {
    let new = if drift.new { " (new)" } else { "" };
    format!("{}{new}: {}, should be {}", drift.label, drift.found, drift.wanted)
}

fn list_damaged(text: &mut Page, lines: &[usize]) {
    if !lines.is_empty() {
        text.add_line(format_args!(
            "the journal is damaged in {} lines, the first is {}; what they said cannot be undone",
            lines.len(),
            lines[0]
        ));
    }
}

/// What reached the CPUs, and which of it should not have.
pub fn render_measured(measured: &Measured, unwanted: &[String]) -> Page {
    let seconds = measured.duration_ns as f64 / 1e9;
    let mut text = Page::default();
    text.add_blank();
    if measured.arrived.is_empty() && measured.ran.is_empty() && measured.occupied.is_empty() {
        text.add_line(format_args!("in {seconds:.1} s these CPUs saw nothing"));
        return text;
    }
    text.add_line(format_args!("in {seconds:.1} s these CPUs saw:"));
    let there: Vec<&Occupied> =
        measured.occupied.iter().filter(|one| one.kind != CauseKind::Idle).collect();
    let traced_ns = |cpu| {
        let of_cpu = measured.occupied.iter().filter(|one| one.cpu == cpu);
        of_cpu.map(|one| one.total_ns).sum::<u64>().max(1)
    };
    text.add_list("what was on them, traced", &there, ROWS, |one| {
        describe_occupied(one, traced_ns(one.cpu))
    });
    text.add_list("interrupts and softirqs", &measured.arrived, ROWS, |a| {
        describe_arrived(a, seconds)
    });
    text.add_list("tasks", &measured.ran, ROWS, |ran| {
        let whose = if ran.inside { "" } else { ", may run elsewhere" };
        let ms = ran.run_ns as f64 / 1e6;
        format!("{}:{} on CPU {}, {ms:.3} ms{whose}", ran.comm, ran.tid, ran.cpu)
    });
    text.add_list("should not be there", unwanted, ROWS, String::clone);
    let lost = measured.loss.nr_lost();
    if lost > 0 {
        text.add_line(format_args!("lost while tracing: {lost} (--json has the reasons)"));
    }
    text.add_list("not measured", &measured.missing, ROWS, |missing| {
        format!("{}: {}", missing.what, missing.consequence)
    });
    text
}

fn describe_occupied(one: &Occupied, traced_ns: u64) -> String {
    let Occupied { cpu, kind, who, n, total_ns, max_ns, .. } = one;
    let us = |ns: &u64| *ns as f64 / 1e3;
    let share = 100.0 * *total_ns as f64 / traced_ns as f64;
    format!(
        "CPU {cpu}: {} {who}, {n} times, {:.1} us ({share:.3} %), longest {:.1} us",
        kind.title(),
        us(total_ns),
        us(max_ns)
    )
}

fn describe_arrived(arrived: &Arrived, seconds: f64) -> String {
    let Arrived { label, name, softirq, counts } = arrived;
    let name = if name.is_empty() { String::new() } else { format!(" ({name})") };
    let kind = if *softirq { "softirq " } else { "" };
    let counts: Vec<String> = counts.iter().map(|(cpu, n)| format!("CPU {cpu}: {n}")).collect();
    let total: u64 = arrived.counts.values().sum();
    let rate = total as f64 / seconds.max(0.001);
    format!("{kind}{label}{name}: {} ({rate:.1}/s)", counts.join(", "))
}

/// What `reset` put back, and what it left.
pub fn render_reset(reset: &Reset) -> Page {
    let mut text = Page::default();
    if reset.gone_with_boot > 0 {
        text.add_line(format_args!(
            "{} values of an earlier boot ended with it",
            reset.gone_with_boot
        ));
    }
    if !reset.was_set {
        text.add_line("No shield is set");
        return text;
    }
    let Undone { restored, already, gone, left } = &reset.undone;
    text.add_line(format_args!("Put back: {restored} values and {} tasks that had inherited one; as before: {already}; gone: {gone}",
        reset.heirs));
    if reset.newborn > 0 {
        text.add_line(format_args!(
            "{} interrupts that came since have the default of before the shield",
            reset.newborn
        ));
    }
    list_damaged(&mut text, &reset.damaged);
    text.add_list("left as they are", left, ROWS, left_row);
    text
}

fn left_row(left: &Left) -> String {
    let Left { label, original, reason, .. } = left;
    match reason {
        LeftReason::ChangedMeanwhile { found, ours } => {
            format!("{label}: {found}, was {original} and set to {ours}; somebody else changed it")
        }
        LeftReason::Refused { reason, .. } => format!("{label}: not back at {original}: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::change::{Form, Value};
    use irqpath_model::shield::{ChangedHow, Switch};

    fn obstacle(label: &str, kind: ObstacleKind, fix: Option<&str>) -> Obstacle {
        let (label, reason) = (label.to_owned(), "because".to_owned());
        Obstacle { label, switch: Switch::Irqs, kind, reason, errno: 5, fix: fix.map(Into::into) }
    }

    fn example() -> Set {
        let cpus = |text: &str| Value::Cpus(text.parse().unwrap());
        let path = "proc/irq/8/smp_affinity".to_owned();
        Set {
            wanted: Wanted {
                cpus: "2-3".parse().unwrap(),
                switches: [Switch::Tasks, Switch::Irqs].into(),
                mechanism: Mechanism::Auto,
                irqs: [("eth0".to_owned(), "3".parse().unwrap())].into(),
                tasks: vec![],
                attached: [].into(),
                threads: [].into(),
                containers: [].into(),
                borrowed: [].into(),
                offline: "".parse().unwrap(),
            },
            mechanism: Mechanism::Affinity,
            changed: vec![Changed {
                label: "irq 8 (rtc0)".into(),
                target: Target::File { path, form: Form::Mask },
                before: Some(cpus("0-3")),
                new: cpus("0-1"),
                how: ChangedHow::Done,
            }],
            obstacles: vec![
                obstacle("task 31 (ksoftirqd/2)", ObstacleKind::PerCpuThread, None),
                obstacle("task 32 (ksoftirqd/3)", ObstacleKind::PerCpuThread, None),
                obstacle("the tick", ObstacleKind::NeedsBoot, Some("nohz_full=2-3")),
            ],
            kept: vec![],
            placed: vec![Kept { label: "irq 40 (eth0)".into(), cpus: "3".parse().unwrap() }],
            notes: vec!["nothing of a.service runs now".into()],
            why: [(Switch::Irqs, "because of this".into())].into(),
        }
    }

    #[test]
    fn what_was_done_and_what_could_not_be() {
        assert_eq!(
            render_set(&example(), false),
            "Shielded CPU 2-3 by affinities, from: tasks, irqs\n\
             changed: 0 tasks, 1 other values:\n  irq 8 (rtc0): CPU 0-3 -> CPU 0-1\n\
             placed there:\n  irq 40 (eth0) on CPU 3\n\
             note:\n  nothing of a.service runs now\n\
             cannot be kept off:\n  the tick: because\n\
             kernel threads that belong to these CPUs: 2 (ksoftirqd)\n\
             boot parameters that would help: nohz_full=2-3\n"
        );
        assert_eq!(render_repaired(&example()), "repaired irq 8 (rtc0): CPU 0-3 -> CPU 0-1\n");
    }

    #[test]
    fn a_dry_run_has_shielded_nothing_even_if_nothing_would_change() {
        let nothing =
            Set { changed: vec![], obstacles: vec![], placed: vec![], notes: vec![], ..example() };
        assert_eq!(
            render_set(&nothing, true),
            "Would shield CPU 2-3 by affinities, from: tasks, irqs\n\
             would change: 0 tasks, 0 other values\nwhy:\n  irqs: because of this\n"
        );
    }

    #[test]
    fn rates_come_with_the_counts() {
        let counts = [(2, 3), (3, 1)].into();
        let one = Arrived { label: "LOC".into(), name: String::new(), softirq: false, counts };
        assert_eq!(describe_arrived(&one, 2.0), "LOC: CPU 2: 3, CPU 3: 1 (2.0/s)");
    }

    #[test]
    fn what_was_traced_has_its_share_and_idle_is_not_listed() {
        let one = |kind, who: &str| Occupied {
            cpu: 3,
            kind,
            who: who.to_owned(),
            tid: None,
            n: 4,
            total_ns: 2_000_000,
            max_ns: 600_500,
        };
        let occupied =
            vec![one(CauseKind::Idle, "idle"), one(CauseKind::Hardirq, "36:virtio1-req.0")];
        let duration_ns = 2_000_000_000;
        let text = render_measured(
            &Measured { duration_ns, occupied, ..Measured::default() },
            &["irq 36".to_owned()],
        );
        assert_eq!(
            text,
            "\nin 2.0 s these CPUs saw:\nwhat was on them, traced:\n  \
             CPU 3: hardirq 36:virtio1-req.0, 4 times, 2000.0 us (50.000 %), longest 600.5 us\n\
             should not be there:\n  irq 36\n"
        );
    }
}
