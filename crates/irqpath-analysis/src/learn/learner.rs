// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts the wakeups of every interrupt, and those of them that reach each real-time task.
//!
//! Weights halve every [`HALF_LIFE_NS`], so that the share is one of the recent past; both sides
//! of it fade alike. Bounded: at most [`MAX_TASKS`] tasks per interrupt, the least seen goes first.

use std::collections::BTreeMap;

use irqpath_model::tune::{Association, Carrier};
use irqpath_model::{Comm, Names, Origin, PathRecord, SoftirqVec, TaskId};

use super::Role;

/// Time after which a wakeup counts half, ns.
pub(super) const HALF_LIFE_NS: f64 = 60e9;
/// Wakeups from which on an association may be acted on. One may be chance, as a timer that
/// happened to expire; three in a row of the same kind are not.
const MIN_WAKEUPS: u64 = 3;
/// The same for its confidence: a line serves at most some dozens of tasks.
const MIN_CONFIDENCE: f64 = 0.02;
/// An established association ends if less than this of a busy line's wakeups reach the task.
const END_SHARE: f64 = 0.005;
/// Recent wakeups of a busy line.
const BUSY: f64 = 20.0;
/// Most tasks remembered per interrupt.
const MAX_TASKS: usize = 256;

/// A number of wakeups that fades.
#[derive(Debug, Clone, Copy, Default)]
struct Fading {
    weight: f64,
    at_ns: u64,
}

impl Fading {
    fn weight_at(self, now_ns: u64) -> f64 {
        let passed = now_ns.saturating_sub(self.at_ns) as f64;
        self.weight * (-passed / HALF_LIFE_NS).exp2()
    }

    fn add_weight(&mut self, weight: f64, now_ns: u64) {
        let now_ns = now_ns.max(self.at_ns);
        *self = Self { weight: self.weight_at(now_ns) + weight, at_ns: now_ns };
    }
}

#[derive(Debug, Clone, Default)]
struct Tally {
    comm: Comm,
    start_ticks: u64,
    nr: u64,
    recent: Fading,
    last_ns: u64,
    carriers: BTreeMap<Comm, u64>,
    established: bool,
}

#[derive(Debug, Clone, Default)]
struct Line {
    recent: Fading,
    tasks: BTreeMap<u32, Tally>,
}

/// Wakeups of a real-time task of which only the thread that woke it is known.
#[derive(Debug, Clone, Copy)]
pub struct ThreadWakeups<'a> {
    /// Name of the thread.
    pub waker: &'a str,
    /// Number of the task.
    pub wakee_tid: u32,
    /// Name of the task.
    pub wakee: &'a str,
    /// How many.
    pub nr: u64,
}

/// Learns associations from paths.
#[derive(Debug, Clone, Default)]
pub struct Learner {
    lines: BTreeMap<Origin, Line>,
    newest_ns: u64,
}

/// Lower end of Wilson's 95 % interval of a share of `n`: what the share is at least.
fn at_least(share: f64, n: f64) -> f64 {
    const Z: f64 = 1.96;
    if n <= 0.0 {
        return 0.0;
    }
    let z2 = Z * Z / n;
    let spread = Z * ((share * (1.0 - share) + z2 / 4.0) / n).sqrt();
    ((share + z2 / 2.0 - spread) / (1.0 + z2)).clamp(0.0, 1.0)
}

impl Learner {
    /// Take over one path and the threads that carried it.
    pub fn record_path(&mut self, record: &PathRecord, carriers: &[Comm]) {
        let Some(last) = record.last() else { return };
        self.newest_ns = self.newest_ns.max(last.ns);
        let line = self.lines.entry(record.origin).or_default();
        line.recent.add_weight(1.0, last.ns);
        let target = &record.target;
        // A boost by a lock makes no real-time task.
        if target.is_idle() || target.normal_prio >= 100 {
            return;
        }
        if line.tasks.len() >= MAX_TASKS && !line.tasks.contains_key(&target.tid) {
            line.forget_least(last.ns);
        }
        let tally = line.tasks.entry(target.tid).or_default();
        tally.comm = target.comm.clone();
        tally.nr += 1;
        tally.recent.add_weight(1.0, last.ns);
        tally.last_ns = tally.last_ns.max(last.ns);
        for carrier in carriers {
            *tally.carriers.entry(carrier.clone()).or_default() += 1;
        }
    }

    /// Take over wakeups by threads since the last call, and how often each line interrupted
    /// meanwhile: that stands for all wakeups of the line, as those of ordinary tasks are not known.
    pub fn record_wakeups(
        &mut self,
        wakeups: &[ThreadWakeups<'_>],
        interrupts: &BTreeMap<u32, u64>,
        now_ns: u64,
    ) {
        self.newest_ns = self.newest_ns.max(now_ns);
        let mut totals: BTreeMap<Origin, u64> = BTreeMap::new();
        for one in wakeups {
            let carrier = carrier_name(one.waker);
            let Some(origin) = self.find_origin(&carrier, one.wakee_tid) else { continue };
            *totals.entry(origin).or_default() += one.nr;
            let line = self.lines.entry(origin).or_default();
            if line.tasks.len() >= MAX_TASKS && !line.tasks.contains_key(&one.wakee_tid) {
                line.forget_least(now_ns);
            }
            let tally = line.tasks.entry(one.wakee_tid).or_default();
            tally.comm = Comm::from(one.wakee);
            tally.nr += one.nr;
            tally.recent.add_weight(one.nr as f64, now_ns);
            tally.last_ns = tally.last_ns.max(now_ns);
            *tally.carriers.entry(carrier).or_default() += one.nr;
        }
        for (&irq, &nr) in interrupts {
            // A line may wake several tasks at once.
            let total = totals.entry(Origin::Irq(irq)).or_default();
            *total = nr.max(*total);
        }
        for (origin, total) in totals {
            if let Some(line) = self.lines.get_mut(&origin) {
                line.recent.add_weight(total as f64, now_ns);
            }
        }
    }

    /// What such a thread serves: its line, or for a thread that serves many, that of the known
    /// association that it carries.
    fn find_origin(&self, carrier: &Comm, tid: u32) -> Option<Origin> {
        let role = Role::from_comm(carrier.as_str())?;
        let carries = |line: &Line| line.tasks.get(&tid)?.carriers.get(carrier).copied();
        match role {
            Role::IrqThread { irq, .. } | Role::Secondary { irq, .. } => Some(Origin::Irq(irq)),
            Role::Kworker => None,
            Role::Napi | Role::Ksoftirqd | Role::Ktimers => {
                let known = self.lines.iter().filter_map(|(&o, line)| Some((carries(line)?, o)));
                let most = known.max_by_key(|&(nr, _)| nr).map(|(_, origin)| origin);
                let timer = role == Role::Ktimers;
                let vector = if timer { SoftirqVec::Timer } else { SoftirqVec::NetRx };
                Some(most.unwrap_or(Origin::Softirq(vector)))
            }
        }
    }

    /// Take over what was learned before, as of `now_ns` on the clock of the paths. What is known
    /// already is added to.
    pub fn adopt_known(&mut self, known: &[Association], now_ns: u64) {
        self.newest_ns = self.newest_ns.max(now_ns);
        let mut lines: BTreeMap<Origin, f64> = BTreeMap::new();
        for one in known {
            let total = if one.share > 0.0 { one.recent / one.share } else { one.recent };
            let of_line = lines.entry(one.origin).or_default();
            *of_line = of_line.max(total);
            let tally =
                self.lines.entry(one.origin).or_default().tasks.entry(one.task.tid).or_default();
            tally.comm = one.comm.clone();
            tally.start_ticks = one.task.start_ticks;
            tally.nr += one.nr;
            tally.recent.add_weight(one.recent, now_ns);
            tally.last_ns = tally.last_ns.max(now_ns.saturating_sub(one.age_ns));
            tally.established |= one.established;
            for carrier in &one.carriers {
                *tally.carriers.entry(carrier.comm.clone()).or_default() += carrier.nr;
            }
        }
        for (origin, total) in lines {
            self.lines.entry(origin).or_default().recent.add_weight(total, now_ns);
        }
    }

    /// Forget tasks that are gone: `start` has the start of a task that is there. A number that
    /// was given to another task counts as gone.
    pub fn retain_living(&mut self, start: impl Fn(u32) -> Option<u64>) {
        for line in self.lines.values_mut() {
            line.tasks.retain(|&tid, tally| match start(tid) {
                Some(ticks) if tally.start_ticks == 0 || tally.start_ticks == ticks => {
                    tally.start_ticks = ticks;
                    true
                }
                _ => false,
            });
        }
    }

    /// The newest time that was heard of, ns.
    pub const fn newest_ns(&self) -> u64 {
        self.newest_ns
    }

    /// What is known now: the established first, then by confidence.
    pub fn associations(&mut self, names: &Names) -> Vec<Association> {
        let now_ns = self.newest_ns;
        let mut all: Vec<Association> = Vec::new();
        for (&origin, line) in &mut self.lines {
            let total = line.recent.weight_at(now_ns);
            line.tasks.retain(|_, tally| !(tally.established && tally.has_ended(total, now_ns)));
            for (&tid, tally) in &mut line.tasks {
                all.push(tally.make_association(origin, tid, total, now_ns, names));
            }
        }
        let rank = |a: &Association| (a.established, a.confidence);
        all.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal));
        all
    }
}

/// As paths have it: whole for a NAPI thread, and cut as by the trace points (`TASK_COMM_LEN`) for
/// any other.
fn carrier_name(comm: &str) -> Comm {
    if Role::from_comm(comm) == Some(Role::Napi) {
        return Comm::from(comm);
    }
    Comm::from_bytes(&comm.as_bytes()[..comm.len().min(15)])
}

impl Line {
    fn forget_least(&mut self, now_ns: u64) {
        let least = self.tasks.iter().min_by(|(_, a), (_, b)| {
            let weight = |t: &Tally| (t.established, t.recent.weight_at(now_ns));
            weight(a).partial_cmp(&weight(b)).unwrap_or(std::cmp::Ordering::Equal)
        });
        if let Some(tid) = least.map(|(&tid, _)| tid) {
            self.tasks.remove(&tid);
        }
    }
}

impl Tally {
    fn recent_share(&self, total: f64, now_ns: u64) -> f64 {
        if total > 0.0 { (self.recent.weight_at(now_ns) / total).clamp(0.0, 1.0) } else { 0.0 }
    }

    fn has_ended(&self, total: f64, now_ns: u64) -> bool {
        total >= BUSY && self.recent_share(total, now_ns) < END_SHARE
    }

    fn make_association(
        &mut self,
        origin: Origin,
        tid: u32,
        total: f64,
        now_ns: u64,
        names: &Names,
    ) -> Association {
        let share = self.recent_share(total, now_ns);
        let confidence = at_least(share, total);
        self.established |= self.nr >= MIN_WAKEUPS && confidence >= MIN_CONFIDENCE;
        let carrier = |(comm, &nr): (&Comm, &u64)| Carrier { comm: comm.clone(), nr };
        Association {
            origin,
            line: names.origin(origin),
            task: TaskId { tid, start_ticks: self.start_ticks },
            comm: self.comm.clone(),
            carriers: self.carriers.iter().map(carrier).collect(),
            nr: self.nr,
            recent: self.recent.weight_at(now_ns),
            share,
            confidence,
            age_ns: now_ns.saturating_sub(self.last_ns),
            established: self.established,
            pinned: false,
        }
    }
}
