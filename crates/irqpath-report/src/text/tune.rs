// SPDX-License-Identifier: GPL-2.0-or-later
//! What `irqpath tune` prints for people.

use irqpath_model::LossReason;
use irqpath_model::change::{LeftReason, Undone};
use irqpath_model::tune::{
    Applied, Association, Document, Learned, LeftAlone, LiveThread, PacketDevice, PacketState,
    Packets, Pin, Reset, Status, TunePlan, TunedNow, WrongOrder,
};

use super::Page;
use super::style::group_digits;
use super::table::{Column, Table};

/// A run: the table, what is wrong, what was or would be done, what was left and why.
pub fn format_document(document: &Document) -> Page {
    let mut text = document.learned.as_ref().map(render_learned).unwrap_or_default();
    text.append_page(&document.packets.as_ref().map(render_packets).unwrap_or_default());
    text.append_page(
        &document.steering.as_ref().map(super::steer::render_steering).unwrap_or_default(),
    );
    let Some(plan) = &document.plan else { return text };
    for pair in &plan.wrong {
        let (thread, task) = (&pair.thread, &pair.task);
        let (word, why) = match pair.order {
            WrongOrder::ThreadBelow => ("below", "it waits behind what the task should preempt"),
            WrongOrder::ThreadFarAbove => ("far above", "it delays other real-time tasks"),
        };
        text.add_line(format_args!(
            "wrong: {} is {word} {}: {why}",
            short_name(thread),
            short_name(task)
        ));
    }
    text.append_page(&render_changes(plan, document.applied.as_ref()));
    for left in plan.left.iter().filter(|left| left.why != LeftAlone::Right) {
        text.add_line(format_args!(
            "left: {} {}",
            short_name(&left.thread),
            left.why.reason_text()
        ));
    }
    for left in plan.left.iter().filter(|left| left.why == LeftAlone::Right) {
        text.add_line(format_args!("right: {}", short_name(&left.thread)));
    }
    for kept in &plan.kept {
        text.add_line(format_args!("stays real-time: {}: {}", short_name(&kept.thread), kept.why));
    }
    let would_set = !plan.changes.is_empty() || !plan.ordinary.is_empty();
    if document.applied.is_none() && would_set {
        text.add_line("Nothing was changed; --apply does it.");
    }
    text
}

fn render_packets(packets: &Packets) -> Page {
    let mut text = Page::default();
    for PacketDevice { name, state } in &packets.devices {
        let words = match state {
            PacketState::Already => "threads poll it already",
            PacketState::WouldSwitch => "would be polled by threads, if it has NAPI",
            PacketState::Switched => "threads poll it now",
            PacketState::NoNapi => "has no NAPI, nothing to do",
            PacketState::Unsupported => "this kernel has no threaded NAPI (Linux 5.12)",
            PacketState::ChangedMeanwhile => "somebody switched the threads off again, left so",
            PacketState::Missing => "no such network device",
            PacketState::Refused(reason) => reason,
        };
        text.add_line(format_args!("packets of {name}: {words}"));
    }
    for offer in &packets.offers {
        text.add_line(format_args!("not set, but this kernel offers: {offer}"));
    }
    text
}

fn short_name(thread: &LiveThread) -> String {
    format!("{} ({}, {})", thread.comm, thread.id.tid, thread.scheduling)
}

fn render_learned(learned: &Learned) -> Page {
    let mut text = Page::default();
    let seconds = learned.duration_ns as f64 / 1e9;
    if learned.associations.is_empty() {
        text.add_line(format_args!("No interrupt woke a real-time task within {seconds:.1} s."));
    } else {
        text.add_line(format_args!(
            "Interrupts and the real-time tasks that they wake ({seconds:.1} s):"
        ));
        text.append_page(&association_table(&learned.associations));
    }
    let is_lost = |(reason, nr): &(&LossReason, &u64)| reason.is_lost_data() && **nr > 0;
    let mut lost = learned.loss.0.iter().filter(is_lost).peekable();
    if lost.peek().is_some() {
        text.add_line("Lost, so that wakeups may be missing above:");
    }
    for (reason, nr) in lost {
        text.add_line(format_args!("{:>12}  {}", group_digits(*nr), reason.advice()));
    }
    text
}

fn association_table(associations: &[Association]) -> Page {
    let row = |a: &Association| {
        let through: Vec<&str> = a.carriers.iter().map(|c| c.comm.as_str()).collect();
        let through = if through.is_empty() { "hardirq".to_owned() } else { through.join(" ") };
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        [
            a.line.clone(),
            format!("{} ({})", a.comm, a.task.tid),
            through,
            a.nr.to_string(),
            percent(a.share),
            percent(a.confidence),
            match (a.pinned, a.established) {
                (true, _) => "pinned".to_owned(),
                (_, true) => String::new(),
                _ => "too few".to_owned(),
            },
        ]
    };
    let text = |title| Column::text(title, usize::MAX);
    let [interrupt, task, through] = ["interrupt", "task", "through"].map(text);
    let [wakeups, share, least] = ["wakeups", "share", "at least"].map(Column::number);
    let mut table = Table::new(&[interrupt, task, through, wakeups, share, least, text("")]);
    for one in associations {
        table.add_row(row(one).to_vec());
    }
    let mut page = Page::default();
    page.add_table(table);
    page
}

/// What was done, or would be.
pub fn render_changes(plan: &TunePlan, applied: Option<&Applied>) -> Page {
    let mut text = Page::default();
    let Some(applied) = applied else {
        for change in &plan.changes {
            let (thread, priority) = (short_name(&change.thread), change.priority);
            text.add_line(format_args!("would set: {thread} -> f:{priority}: {}", change.why));
        }
        for thread in &plan.take_back {
            text.add_line(format_args!("would take back: {}", short_name(thread)));
        }
        for one in &plan.ordinary {
            let thread = short_name(&one.thread);
            text.add_line(format_args!("would make ordinary: {thread}: {}", one.why));
        }
        return text;
    };
    for changed in &applied.changed {
        text.add_line(format_args!(
            "set: {} -> {}: {}",
            short_name(&changed.thread),
            changed.now,
            changed.why
        ));
    }
    for refusal in &applied.refused {
        text.add_line(format_args!("refused: {}: {}", refusal.label, refusal.reason));
    }
    for thread in &applied.taken_back {
        text.add_line(format_args!("taken back: {}", short_name(thread)));
    }
    text.append_page(&list_leftovers(&applied.undone));
    text
}

fn list_leftovers(undone: &Undone) -> Page {
    let mut text = Page::default();
    for left in &undone.left {
        match &left.reason {
            LeftReason::ChangedMeanwhile { found, .. } => {
                text.add_line(format_args!("left: {}: somebody else made it {found}", left.label));
            }
            LeftReason::Refused { reason, .. } => {
                text.add_line(format_args!("not put back: {}: {reason}", left.label));
            }
        }
    }
    text
}

/// Pins that were added or removed; `nr_served` is how many lines and tasks each has now.
pub fn render_pins(pins: &[Pin], nr_served: &[usize], is_added: bool) -> Page {
    let mut text = Page::default();
    for (pin, &nr) in pins.iter().zip(nr_served) {
        let state = match (is_added, nr) {
            (false, _) => "",
            (true, 0) => " (waits: no such interrupt or real-time task now)",
            (true, _) => " (now)",
        };
        let word = if is_added { "pinned" } else { "unpinned" };
        text.add_line(format_args!("{word}: {pin}{state}"));
    }
    if pins.is_empty() {
        text.add_line("No pins.");
    }
    text
}

/// What is tuned now.
pub fn render_status(status: &Status) -> Page {
    if status.threads.is_empty() {
        return Page::from_line("Nothing is tuned.");
    }
    let mut text = Page::default();
    for one in &status.threads {
        let now = one.now.as_deref().unwrap_or("-");
        let state = match one.state {
            TunedNow::Ours => "as set".to_owned(),
            TunedNow::ChangedMeanwhile => format!("changed by others to {now}"),
            TunedNow::Gone => "gone".to_owned(),
        };
        text.add_line(format_args!("{}: {} -> {}, {state}", one.label, one.before, one.wanted));
    }
    if !status.reasons.is_empty() {
        text.add_line("because of:");
        text.append_page(&association_table(&status.reasons));
    }
    text
}

/// What a reset did.
pub fn render_reset(reset: &Reset) -> Page {
    if !reset.was_tuned {
        return Page::from_line("Nothing is tuned; nothing to put back.");
    }
    let Undone { restored, already, gone, .. } = reset.undone;
    let mut text = Page::from_line(format_args!(
        "Put back: {restored}; were so already: {already}; threads that are gone: {gone}."
    ));
    text.append_page(&list_leftovers(&reset.undone));
    if !reset.damaged.is_empty() {
        text.add_line(format_args!(
            "damaged lines of the journal, not undone: {:?}",
            reset.damaged
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::tune::{
        Carrier, KeptThread, LeftThread, OrdinaryThread, TuneChange, WrongPair,
    };
    use irqpath_model::{Origin, Scheduling, TaskId};

    fn thread(tid: u32, comm: &str, priority: u8) -> LiveThread {
        let (id, comm) = (TaskId { tid, start_ticks: 1 }, comm.to_owned());
        LiveThread { id, comm, kernel: true, scheduling: Scheduling::fifo(priority) }
    }

    fn association() -> Association {
        Association {
            origin: Origin::Irq(24),
            line: "24:sound".into(),
            task: TaskId { tid: 70, start_ticks: 1 },
            comm: "jackd".into(),
            carriers: vec![Carrier { comm: "irq/24-sound".into(), nr: 40 }],
            nr: 40,
            recent: 40.0,
            share: 1.0,
            confidence: 0.912,
            age_ns: 0,
            established: true,
            pinned: false,
        }
    }

    #[test]
    fn a_dry_run_says_what_is_wrong_and_what_would_be_done() {
        let (low, task) = (thread(50, "irq/24-sound", 50), thread(70, "jackd", 80));
        let why = "24:sound wakes jackd (70)".to_owned();
        let left = LeftThread { thread: thread(51, "irq/9-acpi", 60), why: LeftAlone::SetByHand };
        let document = Document {
            learned: Some(Learned {
                duration_ns: 30_000_000_000,
                associations: vec![association()],
                ..Learned::default()
            }),
            plan: Some(TunePlan {
                wrong: vec![WrongPair {
                    thread: low.clone(),
                    task: task.clone(),
                    order: WrongOrder::ThreadBelow,
                }],
                changes: vec![TuneChange { thread: low, priority: 81, task, why }],
                left: vec![left],
                ..TunePlan::default()
            }),
            ..Document::default()
        };
        assert_eq!(
            format_document(&document),
            "Interrupts and the real-time tasks that they wake (30.0 s):\n\
             \x20 interrupt  task        through       wakeups    share  at least\n\
             \x20 24:sound   jackd (70)  irq/24-sound       40  100.0 %    91.2 %\n\
             wrong: irq/24-sound (50, f:50) is below jackd (70, f:80): it waits behind what the task \
             should preempt\n\
             would set: irq/24-sound (50, f:50) -> f:81: 24:sound wakes jackd (70)\n\
             left: irq/9-acpi (51, f:60) was set by hand (--force changes it)\n\
             Nothing was changed; --apply does it.\n"
        );
    }

    #[test]
    fn a_dry_run_says_of_each_thread_why_it_stays_or_becomes_ordinary() {
        let kept = KeptThread {
            thread: thread(50, "irq/24-sound", 81),
            why: "24:sound wakes jackd (70)".to_owned(),
        };
        let ordinary = OrdinaryThread {
            thread: thread(51, "irq/9-acpi", 50),
            why: "wakes no real-time task".to_owned(),
        };
        let (kept, ordinary) = (vec![kept], vec![ordinary]);
        let plan = Some(TunePlan { kept, ordinary, ..TunePlan::default() });
        let device = |name: &str, state| PacketDevice { name: name.to_owned(), state };
        let devices = vec![
            device("eth0", PacketState::WouldSwitch),
            device("veth0", PacketState::NoNapi),
            device("eth1", PacketState::Refused("Operation not permitted".to_owned())),
        ];
        let packets = Some(Packets { devices, offers: vec!["busy polling".to_owned()] });
        let document = Document { plan, packets, ..Document::default() };
        assert_eq!(
            format_document(&document),
            "packets of eth0: would be polled by threads, if it has NAPI\n\
             packets of veth0: has no NAPI, nothing to do\n\
             packets of eth1: Operation not permitted\n\
             not set, but this kernel offers: busy polling\n\
             would make ordinary: irq/9-acpi (51, f:50): wakes no real-time task\n\
             stays real-time: irq/24-sound (50, f:81): 24:sound wakes jackd (70)\n\
             Nothing was changed; --apply does it.\n"
        );
    }

    #[test]
    fn what_was_lost_is_told_by_reason() {
        let mut learned = Learned { duration_ns: 1_500_000_000, ..Learned::default() };
        learned.loss.add_loss(LossReason::SwitchUnseen, 1_012);
        learned.loss.add_loss(LossReason::PathUnseen, 1);
        learned.loss.add_loss(LossReason::TaskExit, 7);
        let document = Document { learned: Some(learned), ..Document::default() };
        assert_eq!(
            format_document(&document),
            "No interrupt woke a real-time task within 1.5 s.\n\
             Lost, so that wakeups may be missing above:\n\
             \x20      1 012  switches that the kernel showed to no program; causes say unseen\n\
             \x20          1  paths not joined because a switch on their way was not seen\n"
        );
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        let learned = Learned { duration_ns: 1_500_000_000, ..Learned::default() };
        let document = Document { learned: Some(learned), ..Document::default() };
        assert_eq!(
            format_document(&document),
            "No interrupt woke a real-time task within 1.5 s.\n"
        );
        assert_eq!(render_status(&Status::default()), "Nothing is tuned.\n");
        assert!(render_reset(&Reset::default()).contains("nothing to put back"));
        assert_eq!(render_changes(&TunePlan::default(), Some(&Applied::default())), "");
    }
}
