// SPDX-License-Identifier: GPL-2.0-or-later
//! Causes as people read them: threads of one name together, and the words for a cause.
//!
//! Terminal, page and `top` show the same rows. A stage may have hundreds of causes: the threads
//! of one program that took turns. They become one row, save the one that dominates by itself.
//! The rule to know: no time is dropped. Rows add up to the stage, what is unexplained is a row
//! of its own, and what finds no room is summed up in a row that says so.

use std::collections::HashMap;

use irqpath_model::{Cause, CauseKind, Meta, Point, SlowPath, StageCauses, Summary};

/// More threads of one name than this become one row.
const MAX_ALIKE: usize = 5;

/// A thread that took this part of its stage (one in ...) keeps a row of its own.
const DOMINANT: u64 = 4;

/// One row below a stage: a cause, or several of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CauseRow {
    /// What it was; of a remainder, the kind of its longest cause.
    pub kind: CauseKind,
    /// Its name, `hackbench ×44 threads`, or `12 other causes`.
    pub who: String,
    /// Time it took of the stage, ns.
    pub ns: u64,
    /// In how many pieces.
    pub nr_times: u32,
    /// True for what found no room: causes of any kind.
    pub is_rest: bool,
}

impl CauseRow {
    fn from_cause(cause: &Cause) -> Self {
        Self {
            kind: cause.kind,
            who: cause.who.clone(),
            ns: cause.ns,
            nr_times: cause.nr_times,
            is_rest: false,
        }
    }

    fn from_sum(kind: CauseKind, who: String, ns: u64, nr_times: u32) -> Self {
        Self { kind, who, ns, nr_times, is_rest: false }
    }

    /// `thread fio:812 f:20`, `hackbench ×44 threads`; `to` is the end of its stage.
    pub fn row_text(&self, to: Point, is_virtual: bool) -> String {
        use CauseKind as K;
        let title = kind_title(self.kind, to, is_virtual);
        match (self.kind, self.who.as_str()) {
            (_, who) if self.is_rest => who.to_owned(),
            (K::Unexplained | K::Unseen | K::Idle | K::Steal, _) | (_, "") | (K::Own, "own") => {
                title.to_owned()
            }
            (K::Thread, who) if is_group(who) => who.to_owned(),
            (_, who) => format!("{title} {who}"),
        }
    }
}

fn group_name(comm: &str, nr: usize) -> String {
    format!("{comm} \u{d7}{nr} threads")
}

/// A single thread's name ends with its priority.
fn is_group(who: &str) -> bool {
    who.ends_with(" threads")
}

/// `, 9 of them by the hypervisor`, to put after the number of slow paths; empty if none is.
pub fn hypervisor_suffix(summary: &Summary) -> String {
    match summary.traced().nr_slow_by_hypervisor {
        0 => String::new(),
        nr => format!(", {nr} of them by the hypervisor"),
    }
}

/// What a virtual machine's numbers include, in one sentence; `None` on a real machine.
pub fn virtual_note(meta: &Meta) -> Option<String> {
    meta.cpu.hypervisor.as_ref().map(|name| {
        format!(
            "Measured in a virtual machine ({name}): the time from raise to hardirq and idle \
             exits include the hypervisor's delivery. A slow path that would be below the threshold \
             without its idle exits and stolen time is the hypervisor's. Time for which the hypervisor ran something \
             else (steal) is a cause of its own where KVM counts it on x86; elsewhere it looks like \
             the thread that runs."
        )
    })
}

/// The kind in words. A virtual CPU that does not run cannot take an interrupt either.
pub const fn kind_title(kind: CauseKind, to: Point, is_virtual: bool) -> &'static str {
    match (kind, to) {
        (CauseKind::IrqsOff, Point::Hardirq) if is_virtual => "interrupts off or hypervisor",
        _ => kind.title(),
    }
}

/// The stage that ends at a point, in a word.
pub const fn stage_word(stage: Point) -> &'static str {
    match stage {
        Point::Raise => "raise",
        Point::Hardirq => "interrupt",
        Point::IrqThread => "irq thread",
        Point::SoftirqRaise => "raising",
        Point::Softirq => "softirq",
        Point::WorkQueue => "queueing",
        Point::Work => "work",
        Point::Waking => "wakeup",
        Point::SwitchIn => "scheduling",
        Point::User => "return",
    }
}

/// The name of a thread (`fio` of `fio:812 f:20`), or none if this is not a thread's.
fn thread_comm(cause: &Cause) -> Option<&str> {
    use CauseKind as K;
    if !matches!(cause.kind, K::Thread | K::IrqsOff | K::PreemptOff | K::LockHolder) {
        return None;
    }
    let who = cause.who.strip_suffix(" (boosted)").unwrap_or(&cause.who);
    let (comm, tid) = who.rsplit_once(' ')?.0.rsplit_once(':')?;
    tid.bytes().all(|b| b.is_ascii_digit()).then_some(comm)
}

/// Every cause of a stage that took time, threads of one name together, longest first.
pub fn group_causes(causes: &[Cause], stage_ns: u64) -> Vec<CauseRow> {
    let dominates = |c: &Cause| c.ns >= (stage_ns / DOMINANT).max(1);
    let mut alike: HashMap<(CauseKind, &str), Vec<&Cause>> = HashMap::new();
    let mut rows = Vec::new();
    for cause in causes.iter().filter(|c| c.ns > 0) {
        match thread_comm(cause) {
            Some(comm) if !dominates(cause) => {
                alike.entry((cause.kind, comm)).or_default().push(cause);
            }
            _ => rows.push(CauseRow::from_cause(cause)),
        }
    }
    for ((kind, comm), causes) in alike {
        if causes.len() > MAX_ALIKE {
            let ns = causes.iter().map(|c| c.ns).sum();
            let nr_times = causes.iter().fold(0u32, |n, c| n.saturating_add(c.nr_times));
            rows.push(CauseRow::from_sum(kind, group_name(comm, causes.len()), ns, nr_times));
        } else {
            rows.extend(causes.into_iter().map(CauseRow::from_cause));
        }
    }
    rows.sort_by(|a, b| {
        b.ns.cmp(&a.ns).then_with(|| a.kind.cmp(&b.kind)).then_with(|| a.who.cmp(&b.who))
    });
    rows
}

/// The rows of a stage, at most `max_rows` (of which there are at least three): the longest, the
/// sum of the others, and what is unexplained at the end.
pub fn select_rows(stage: &StageCauses, max_rows: usize) -> Vec<CauseRow> {
    let (unexplained, mut rows): (Vec<CauseRow>, Vec<CauseRow>) =
        group_causes(&stage.causes, stage.ns)
            .into_iter()
            .partition(|r| r.kind == CauseKind::Unexplained);
    let room = max_rows.max(3) - unexplained.len().min(1);
    if rows.len() > room {
        let rest = rows.split_off(room - 1);
        let mut sum = CauseRow::from_sum(
            rest[0].kind,
            format!("{} other causes", rest.len()),
            rest.iter().map(|r| r.ns).sum(),
            rest.iter().fold(0, |n, r| n.saturating_add(r.nr_times)),
        );
        sum.is_rest = true;
        rows.push(sum);
    }
    rows.extend(unexplained);
    rows
}

/// True for the stages by which paths are ranked. Tasks that `respond` measures have answered only
/// when they are back in user space.
pub fn is_ranked(to: Point, summary: &Summary) -> bool {
    to != Point::User || !summary.response().is_empty()
}

/// What took the most time of the ranked stages of a path, its own work aside, with its stage.
pub fn main_cause<'a>(
    slow: &'a SlowPath,
    summary: &Summary,
) -> Option<(&'a StageCauses, CauseRow)> {
    slow.stages
        .iter()
        .filter(|s| is_ranked(s.to, summary))
        .flat_map(|s| group_causes(&s.causes, s.ns).into_iter().map(move |row| (s, row)))
        .filter(|(_, row)| row.kind != CauseKind::Own)
        .max_by_key(|(_, row)| row.ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{CpuInfo, Origin, PathEnd, PathRecord, Task, Via};
    use proptest::prelude::*;

    fn thread(who: &str, ns: u64) -> Cause {
        Cause { kind: CauseKind::Thread, who: who.to_owned(), ns, nr_times: 2 }
    }

    fn stage(causes: Vec<Cause>) -> StageCauses {
        let ns = causes.iter().map(|c| c.ns).sum();
        StageCauses {
            from: Point::Waking,
            to: Point::SwitchIn,
            cpu: 0,
            waited_for: Vec::new(),
            ns,
            causes,
        }
    }

    fn names(rows: &[CauseRow]) -> Vec<String> {
        rows.iter().map(|r| r.row_text(Point::SwitchIn, false)).collect()
    }

    #[test]
    fn many_threads_of_one_name_are_one_row_and_few_are_not() {
        let mut causes: Vec<Cause> =
            (0..6).map(|i| thread(&format!("a b:c:{i} o:0"), 10)).collect();
        causes.extend((0..5).map(|i| thread(&format!("few:{i} f:1"), 3)));
        let rows = select_rows(&stage(causes), 8);
        assert_eq!(names(&rows)[..2], ["a b:c \u{d7}6 threads", "thread few:0 f:1"]);
        assert_eq!((rows[0].ns, rows[0].nr_times, rows.len()), (60, 12, 6));
    }

    #[test]
    fn a_thread_that_dominates_stays_by_itself() {
        let mut causes = vec![thread("w:99 o:0 (boosted)", 50)];
        causes.extend((0..10).map(|i| thread(&format!("w:{i} o:0"), 10)));
        let got = names(&select_rows(&stage(causes), 8));
        assert_eq!(got, ["w \u{d7}10 threads", "thread w:99 o:0 (boosted)"]);
    }

    #[test]
    fn what_delays_the_return_to_user_space_is_no_main_cause() {
        let wait = stage(vec![thread("hog:1 o:0", 400)]);
        let mut back = stage(vec![thread("other:2 o:0", 9_000)]);
        (back.from, back.to) = (Point::SwitchIn, Point::User);
        let record = PathRecord {
            origin: Origin::Irq(36),
            via: Via::empty(),
            stamps: [None; Point::COUNT],
            timer_fn: 0,
            target: Task::default(),
            end: PathEnd::User,
            queues: Vec::new(),
            cgroup: None,
        };
        let slow = SlowPath { record, stages: vec![wait, back] };
        let (_, cause) = main_cause(&slow, &Summary::default()).unwrap();
        assert_eq!((cause.who.as_str(), cause.ns), ("hog:1 o:0", 400));
    }

    #[test]
    fn the_hypervisor_is_named_where_it_may_be_meant() {
        let mut meta = Meta::default();
        assert_eq!(virtual_note(&meta), None);
        meta.cpu = CpuInfo { hypervisor: Some("KVM".to_owned()), ..CpuInfo::default() };
        for (to, want) in [
            (Point::Hardirq, "interrupts off or hypervisor a:1 o:0"),
            (Point::Softirq, "interrupts off a:1 o:0"),
        ] {
            let cause = Cause { kind: CauseKind::IrqsOff, ..thread("a:1 o:0", 1) };
            assert_eq!(CauseRow::from_cause(&cause).row_text(to, meta.cpu.is_virtual()), want);
        }
        let steal = Cause { kind: CauseKind::Steal, ..thread("hypervisor", 1) };
        assert_eq!(
            CauseRow::from_cause(&steal).row_text(Point::SwitchIn, true),
            "stolen by the hypervisor"
        );
    }

    proptest! {
        #[test]
        fn no_time_is_dropped_and_the_unexplained_is_last(
            parts in prop::collection::vec((0usize..8, 0u8..4, 0u32..40, 0u64..9_000), 0..80),
            max in 0usize..12,
        ) {
            const KINDS: [CauseKind; 8] = [
                CauseKind::Own, CauseKind::Nmi, CauseKind::Hardirq, CauseKind::Thread,
                CauseKind::IrqsOff, CauseKind::PreemptOff, CauseKind::Idle, CauseKind::Unexplained,
            ];
            let mut causes: Vec<Cause> = parts
                .iter()
                .map(|&(kind, comm, tid, ns)| Cause {
                    kind: KINDS[kind], ..thread(&format!("c{comm}:{tid} o:0"), ns)
                })
                .collect();
            let mut seen = false;
            causes.retain(|c| c.kind != CauseKind::Unexplained || !std::mem::replace(&mut seen, true));
            let stage = stage(causes);
            let rows = select_rows(&stage, max);
            prop_assert_eq!(rows.iter().map(|r| r.ns).sum::<u64>(), stage.ns);
            prop_assert!(rows.len() <= max.max(3));
            let has = stage.causes.iter().any(|c| c.kind == CauseKind::Unexplained && c.ns > 0);
            let at = rows.iter().position(|r| r.kind == CauseKind::Unexplained);
            prop_assert_eq!(at, has.then(|| rows.len() - 1));
        }
    }
}
