// SPDX-License-Identifier: GPL-2.0-or-later
//! Names that a stranger chose, in the pages of the verbs that change the host: none of them can
//! steer the terminal, hide what follows, or begin a line of its own.
#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::collections::BTreeMap;

use irqpath_model::CpuList;
use irqpath_model::change::{Form, Left, LeftReason, Refusal, Target, Undone, Value};
use irqpath_model::check::{Finding, Severity};
use irqpath_model::policy::{Association, Associations, KernelPolicy};
use irqpath_model::shield::{
    Arrived, Changed, ChangedHow, Drift, Kept, LoneThread, Measured, Mechanism, Obstacle,
    ObstacleKind, Ran, Reset, Running, Set, Status, Switch, Wanted,
};
use irqpath_model::tune::{self, LiveThread, TuneChange, TunePlan};
use irqpath_model::{Scheduling, TaskId};
use irqpath_report::text::{Page, check, policy, shield, tune as text};

/// Clears the screen, turns the direction of writing, and says something in our name.
const NAME: &str = "a\x1b[2J\u{202e}\r\nset: b\u{9b}31m";

fn name() -> String {
    NAME.to_owned()
}

/// `nr_lines` lines, each of them printable.
fn assert_clean(page: &Page, nr_lines: usize) {
    let is_foreign = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!page.contains(is_foreign), "{page:?}");
    assert_eq!(page.lines().count(), nr_lines, "{page}");
    assert!(page.contains("\\x1b[2J"), "the name is shown: {page}");
    assert!(page.lines().all(|line| !line.starts_with("set: b")), "{page}");
}

fn left(reason: LeftReason) -> Left {
    let target = Target::File { path: name(), form: Form::Text };
    Left { target, label: name(), original: Value::Text(name()), reason }
}

fn undone() -> Undone {
    let text = || Value::Text(name());
    let meanwhile = left(LeftReason::ChangedMeanwhile { found: text(), ours: text() });
    let refused = left(LeftReason::Refused { errno: 1, reason: name() });
    Undone { left: vec![meanwhile, refused], ..Undone::default() }
}

fn wanted() -> Wanted {
    let (cpus, switches) = ("1".parse().unwrap(), [Switch::Tasks].into());
    let (irqs, tasks) = Default::default();
    let attached: BTreeMap<String, CpuList> = [(name(), "1".parse().unwrap())].into();
    let offline = "2".parse().unwrap();
    let threads = [(name(), [LoneThread::Named(name())].into())].into();
    let containers = [(name(), name())].into();
    let borrowed = attached.clone();
    let mechanism = Mechanism::Auto;
    Wanted {
        cpus,
        switches,
        mechanism,
        irqs,
        tasks,
        attached,
        threads,
        containers,
        borrowed,
        offline,
    }
}

fn obstacle() -> Obstacle {
    let kind = ObstacleKind::Refused;
    Obstacle { label: name(), switch: Switch::Irqs, kind, reason: name(), errno: 5, fix: None }
}

#[test]
fn a_shield_that_was_set_shows_names_as_text() {
    let changed = Changed {
        label: name(),
        target: Target::File { path: name(), form: Form::Text },
        before: Some(Value::Text(name())),
        new: Value::Text(name()),
        how: ChangedHow::Done,
    };
    let set = Set {
        wanted: wanted(),
        mechanism: Mechanism::Affinity,
        changed: vec![changed],
        obstacles: vec![obstacle()],
        kept: vec![Kept { label: name(), cpus: "1".parse().unwrap() }],
        placed: vec![Kept { label: name(), cpus: "1".parse().unwrap() }],
        notes: vec![name()],
        why: [(Switch::Irqs, name())].into(),
    };
    assert_clean(&shield::render_set(&set, true), 13);
    assert_clean(&shield::render_set(&set, false), 11);
    assert_clean(&shield::render_repaired(&set), 1);
    let reset = Reset { was_set: true, undone: undone(), ..Reset::default() };
    assert_clean(&shield::render_reset(&reset), 4);
}

#[test]
fn a_status_and_a_measured_shield_show_names_as_text() {
    let kept = || vec![Kept { label: name(), cpus: "1".parse().unwrap() }];
    let text = || Value::Text(name());
    let status = Status {
        wanted: Some(wanted()),
        mechanism: Some(Mechanism::Affinity),
        at_unix_s: 0,
        held: 0,
        drift: vec![Drift { label: name(), found: text(), wanted: text(), new: true }],
        pending: kept(),
        obstacles: vec![obstacle()],
        kept: kept(),
        placed: kept(),
        notes: vec![name()],
        running: vec![Running { label: name(), cpu: 1, inside: false }],
        gone_with_boot: 0,
        damaged: vec![],
    };
    assert_clean(&shield::render_status(&status), 15);
    let ran = Ran { tid: 1, comm: name(), kernel: false, inside: false, cpu: 1, run_ns: 1 };
    let counts = [(1, 1)].into();
    let arrived = Arrived { label: name(), name: name(), softirq: false, counts };
    let measured = Measured { arrived: vec![arrived], ran: vec![ran], ..Measured::default() };
    assert_clean(&shield::render_measured(&measured, &[name()]), 8);
}

#[test]
fn priorities_that_were_set_show_names_as_text() {
    let thread = || LiveThread {
        id: TaskId { tid: 1, start_ticks: 1 },
        comm: name(),
        kernel: true,
        scheduling: Scheduling::fifo(50),
    };
    let change = TuneChange { thread: thread(), priority: 81, task: thread(), why: name() };
    let plan = TunePlan { changes: vec![change], ..TunePlan::default() };
    assert_clean(&text::render_changes(&plan, None), 1);
    let applied = tune::Applied {
        changed: vec![tune::Changed { thread: thread(), now: name(), why: name() }],
        refused: vec![Refusal {
            label: name(),
            new: Value::Text(name()),
            errno: 1,
            reason: name(),
        }],
        taken_back: vec![thread()],
        undone: undone(),
    };
    assert_clean(&text::render_changes(&plan, Some(&applied)), 5);
    let ordinary = vec![tune::OrdinaryThread { thread: thread(), why: name() }];
    let kept = vec![tune::KeptThread { thread: thread(), why: name() }];
    let refused = tune::PacketState::Refused(name());
    let device = tune::PacketDevice { name: name(), state: refused };
    let packets = tune::Packets { devices: vec![device], offers: vec![] };
    let document = tune::Document {
        plan: Some(TunePlan { ordinary, kept, ..TunePlan::default() }),
        packets: Some(packets),
        ..tune::Document::default()
    };
    assert_clean(&text::format_document(&document), 4);
    let reset = tune::Reset { was_tuned: true, undone: undone(), damaged: vec![] };
    assert_clean(&text::render_reset(&reset), 3);
}

#[test]
fn policies_and_findings_show_names_as_text() {
    let settings = [(name(), name())].into();
    let known = KernelPolicy { name: name(), settings, ..KernelPolicy::default() };
    assert_clean(&policy::render_policies(&[known]), 2);
    let association = Association {
        irq: 1,
        name: name(),
        tid: 1,
        comm: name(),
        priority: 1,
        nr_wakeups: 1,
        nr_runs: 0,
        nr_mispredicted: 0,
        success: None,
        age_ns: 0,
        trust: 1,
        pinned: false,
        nr_mm_switched: 0,
    };
    let list = vec![association];
    let all = Associations { list, complete: true, nr_unreadable: 0 };
    assert_clean(&policy::render_associations(&all), 2);
    let (severity, fix) = (Severity::Warning, Some(name()));
    let finding = Finding { id: name(), severity, what: name(), why: name(), fix };
    assert_clean(&check::render_findings(&[finding]), 5);
}
