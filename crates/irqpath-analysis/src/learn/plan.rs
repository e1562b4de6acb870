// SPDX-License-Identifier: GPL-2.0-or-later
//! From associations and the threads that are there to priorities.
//!
//! A thread belongs just above the highest task that it serves: below, it waits behind what the
//! task should preempt; far above, it delays tasks that it does not serve. A secondary thread
//! belongs below its primary one, or the two livelock on a line that stays raised.
//!
//! The rule to know: what is not the kernel's default and not ours is somebody's decision.

use std::collections::{BTreeMap, BTreeSet};

use irqpath_model::tune::{
    Association, LeftAlone, LeftThread, LiveThread, TuneChange, TunePlan, WrongOrder, WrongPair,
};
use irqpath_model::{Policy, TaskId};

use super::Role;

/// Highest priority that is given away; 99 is for the kernel's watchdogs and migration threads.
const HIGHEST: u8 = 98;
/// Wakeups that a thread must have carried to count as part of the way.
const MIN_CARRIED: u64 = 3;

/// The FIFO or RR priority before us (0 for a normal task) of every thread that we changed and
/// nobody else since.
pub(super) type Held = BTreeMap<TaskId, u8>;

/// Why a thread should get a priority.
#[derive(Clone, Copy)]
enum Because<'a> {
    Serves(&'a Association),
    AboveSecondary(&'a LiveThread),
    BelowPrimary(&'a LiveThread),
}

impl std::fmt::Display for Because<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Serves(one) if one.pinned => {
                write!(f, "{} is pinned to {} ({})", one.line, one.comm, one.task.tid)
            }
            Self::Serves(one) => write!(f, "{} wakes {} ({})", one.line, one.comm, one.task.tid),
            Self::AboveSecondary(low) => write!(f, "must be above its secondary, {}", low.comm),
            Self::BelowPrimary(high) => write!(f, "must be below its primary, {}", high.comm),
        }
    }
}

/// What a thread should get.
#[derive(Clone, Copy)]
struct Want<'a> {
    thread: &'a LiveThread,
    role: Role<'a>,
    /// The highest task that it serves.
    task: &'a LiveThread,
    priority: u8,
    because: Because<'a>,
}

/// Decide. `held` has the priority before us of every thread that is still as we left it. With
/// `force`, priorities that were set by hand are changed too.
pub fn plan_priorities(
    known: &[Association],
    threads: &[LiveThread],
    held: &Held,
    force: bool,
) -> TunePlan {
    let mut plan = TunePlan::default();
    let mut wanted = find_serving(known, threads, &mut plan);
    lift_wakers(&mut wanted, known, threads);
    lift_primaries(&mut wanted, threads);
    for want in wanted.values() {
        decide_change(want, threads, held, force, &mut plan);
    }
    let gone =
        |thread: &&LiveThread| held.contains_key(&thread.id) && !wanted.contains_key(&thread.id);
    let gone: Vec<&LiveThread> = threads.iter().filter(gone).collect();
    let primaries = gone.iter().filter(|t| matches!(thread_role(t), Some(Role::IrqThread { .. })));
    plan.take_back.extend(primaries.map(|t| (*t).clone()));
    // These last: where they belong depends on what becomes of their primary ones.
    let lowered = lower_secondaries(threads, held, force, &mut plan);
    let others = gone.iter().filter(|t| !matches!(thread_role(t), Some(Role::IrqThread { .. })));
    plan.take_back.extend(others.filter(|t| !lowered.contains(&t.id)).map(|t| (*t).clone()));
    plan
}

/// The threads that carry, each with the highest task it serves.
fn find_serving<'a>(
    known: &'a [Association],
    threads: &'a [LiveThread],
    plan: &mut TunePlan,
) -> BTreeMap<TaskId, Want<'a>> {
    let by_tid: BTreeMap<u32, &LiveThread> = threads.iter().map(|t| (t.id.tid, t)).collect();
    let mut wanted: BTreeMap<TaskId, Want<'a>> = BTreeMap::new();
    for one in known.iter().filter(|one| one.established) {
        let Some(&task) = by_tid.get(&one.task.tid) else { continue };
        let is_later = one.task.start_ticks != 0 && one.task != task.id;
        let deadline = task.scheduling.policy == Policy::Deadline;
        if task.kernel || is_later || !(deadline || task.scheduling.fixed_priority() > 0) {
            continue;
        }
        for carrier in one.carriers.iter().filter(|c| one.pinned || c.nr >= MIN_CARRIED) {
            for (thread, role) in find_named(carrier.comm.as_str(), threads) {
                let why = match role {
                    Role::Kworker => Some(LeftAlone::Worker),
                    _ if deadline => Some(LeftAlone::ServesDeadline),
                    _ => None,
                };
                if let Some(why) = why {
                    leave_alone(plan, thread, why);
                    continue;
                }
                let (priority, because) = (task.scheduling.priority + 1, Because::Serves(one));
                raise_wish(&mut wanted, Want { thread, role, task, priority, because });
            }
        }
    }
    wanted
}

/// The highest of several wishes counts.
fn raise_wish<'a>(wanted: &mut BTreeMap<TaskId, Want<'a>>, want: Want<'a>) {
    match wanted.get(&want.thread.id) {
        Some(known) if known.priority >= want.priority => {}
        _ => drop(wanted.insert(want.thread.id, want)),
    }
}

/// Kernel threads with this name. The kernel cuts names at 15 bytes in trace points; one that
/// ends with its separator is a beginning (see `carriers.rs`).
pub(super) fn find_named<'a>(
    comm: &str,
    threads: &'a [LiveThread],
) -> Vec<(&'a LiveThread, Role<'a>)> {
    let is_beginning = comm.ends_with(['-', '/']);
    let fits = |thread: &LiveThread| {
        thread.comm == comm || ((is_beginning || comm.len() == 15) && thread.comm.starts_with(comm))
    };
    let kernel = || threads.iter().filter(|thread| thread.kernel);
    let with_role = |t: &'a LiveThread| Some((t, Role::from_comm(&t.comm)?));
    let is_meant = |role: &Role<'_>| !is_beginning || !matches!(role, Role::Secondary { .. });
    let found: Vec<_> = kernel()
        .filter(|thread| fits(thread))
        .filter_map(with_role)
        .filter(|(_, role)| is_meant(role))
        .collect();
    match comm.strip_prefix("ktimers/") {
        Some(cpu) if found.is_empty() => {
            let other = format!("ksoftirqd/{cpu}");
            kernel().filter(|t| t.comm == other).filter_map(with_role).collect()
        }
        _ => found,
    }
}

/// Primary threads and their secondary ones.
pub(super) fn find_pairs(threads: &[LiveThread]) -> Vec<(&LiveThread, &LiveThread)> {
    let pair = |secondary| {
        let Some(Role::Secondary { irq, name }) = thread_role(secondary) else { return None };
        let is_primary = |t: &&LiveThread| {
            matches!(thread_role(t), Some(Role::IrqThread { irq: i, name: n })
                if i == irq && same_action(n, name))
        };
        Some((threads.iter().find(is_primary)?, secondary))
    };
    threads.iter().filter_map(pair).collect()
}

pub(super) fn thread_role(thread: &LiveThread) -> Option<Role<'_>> {
    thread.kernel.then(|| Role::from_comm(&thread.comm))?
}

/// An interrupt thread that wakes a NAPI thread goes as high: one poll serves packets of many wakeups,
/// so that the interrupt's thread may have carried few of those that reach the highest task.
fn lift_wakers<'a>(
    wanted: &mut BTreeMap<TaskId, Want<'a>>,
    known: &[Association],
    threads: &'a [LiveThread],
) {
    for one in known {
        let carriers = one.carriers.iter().flat_map(|c| find_named(c.comm.as_str(), threads));
        let (napi, others): (Vec<_>, Vec<_>) =
            carriers.partition(|(_, role)| matches!(role, Role::Napi));
        let highest = napi.iter().filter_map(|(thread, _)| wanted.get(&thread.id));
        let Some(&highest) = highest.max_by_key(|want| want.priority) else { continue };
        for (thread, role) in others.into_iter().filter(|(_, role)| role.irq().is_some()) {
            raise_wish(wanted, Want { thread, role, ..highest });
        }
    }
}

/// The primary thread of a secondary one that carries goes above it.
fn lift_primaries<'a>(wanted: &mut BTreeMap<TaskId, Want<'a>>, threads: &'a [LiveThread]) {
    for (primary, secondary) in find_pairs(threads) {
        if let (Some(low), Some(role)) = (wanted.get(&secondary.id), thread_role(primary)) {
            let (priority, task) = (low.priority + 1, low.task);
            let because = Because::AboveSecondary(secondary);
            raise_wish(wanted, Want { thread: primary, role, task, priority, because });
        }
    }
}

/// A secondary thread that does not carry stays below a primary one that came down past it.
/// Returns the threads of which this is the reason.
fn lower_secondaries(
    threads: &[LiveThread],
    held: &Held,
    force: bool,
    plan: &mut TunePlan,
) -> BTreeSet<TaskId> {
    let mut lowered = BTreeSet::new();
    for (primary, secondary) in find_pairs(threads) {
        let change = plan.changes.iter().find(|change| change.thread.id == primary.id);
        let ours = change.is_some() || held.contains_key(&primary.id);
        let high = change.map_or(primary.scheduling.fixed_priority(), |change| change.priority);
        let given =
            held.get(&secondary.id).copied().unwrap_or(secondary.scheduling.fixed_priority());
        let is_planned = plan.changes.iter().any(|c| c.thread.id == secondary.id)
            || plan.left.iter().any(|l| l.thread.id == secondary.id);
        let goes_back = plan.take_back.iter().any(|thread| thread.id == primary.id);
        let Some(role) = thread_role(secondary) else { continue };
        if is_planned || goes_back || !ours || given < high || high < 2 {
            continue;
        }
        let because = Because::BelowPrimary(primary);
        let want = Want { thread: secondary, role, task: primary, priority: high - 1, because };
        decide_change(&want, threads, held, force, plan);
        lowered.insert(secondary.id);
    }
    lowered
}

/// The longer prefix leaves a secondary thread's name two bytes less before it is cut.
fn same_action(primary: &str, secondary: &str) -> bool {
    primary == secondary || (secondary.len() >= 5 && primary.starts_with(secondary))
}

pub(super) fn leave_alone(plan: &mut TunePlan, thread: &LiveThread, why: LeftAlone) {
    if !plan.left.iter().any(|left| left.thread.id == thread.id) {
        plan.left.push(LeftThread { thread: thread.clone(), why });
    }
}

fn decide_change(
    want: &Want<'_>,
    threads: &[LiveThread],
    held: &Held,
    force: bool,
    plan: &mut TunePlan,
) {
    let Want { thread, task, priority, because, .. } = want;
    let order = wrong_order(want, threads);
    if let Some(order) = order {
        let (thread, task) = ((*thread).clone(), (*task).clone());
        plan.wrong.push(WrongPair { thread, task, order });
    }
    let ours = held.get(&thread.id);
    if let Some(why) = left_alone(want, order, ours.is_some(), force) {
        leave_alone(plan, thread, why);
    } else if ours.is_some_and(|&original| {
        // What it was before us is high enough for what it serves now.
        !matches!(because, Because::BelowPrimary(_))
            && original >= *priority
            && !delays_others(original, want, threads)
    }) {
        plan.take_back.push((*thread).clone());
    } else {
        plan.changes.push(TuneChange {
            thread: (*thread).clone(),
            priority: *priority,
            task: (*task).clone(),
            why: because.to_string(),
        });
    }
}

fn left_alone(
    want: &Want<'_>,
    order: Option<WrongOrder>,
    ours: bool,
    force: bool,
) -> Option<LeftAlone> {
    let Want { thread, role, priority, because, .. } = want;
    let is = thread.scheduling.fixed_priority();
    let is_fine = order.is_none() && matches!(because, Because::Serves(_)) && is > *priority;
    if is == *priority {
        Some(LeftAlone::Right)
    } else if *priority > HIGHEST {
        Some(LeftAlone::NoRoom)
    } else if !matches!(thread.scheduling.policy, Policy::Fifo | Policy::Rr | Policy::Normal) {
        Some(LeftAlone::OtherPolicy)
    } else if ours {
        None
    } else if is_fine || (matches!(because, Because::AboveSecondary(_)) && is > *priority) {
        Some(LeftAlone::AboveHarmlessly)
    } else {
        (!role.is_default(thread) && !force).then_some(LeftAlone::SetByHand)
    }
}

fn wrong_order(want: &Want<'_>, threads: &[LiveThread]) -> Option<WrongOrder> {
    let is = want.thread.scheduling.fixed_priority();
    match want.because {
        Because::AboveSecondary(_) | Because::BelowPrimary(_) => None,
        Because::Serves(_) if want.thread.scheduling.policy == Policy::Deadline => None,
        Because::Serves(_) if is <= want.task.scheduling.priority => Some(WrongOrder::ThreadBelow),
        Because::Serves(_) => {
            delays_others(is, want, threads).then_some(WrongOrder::ThreadFarAbove)
        }
    }
}

/// True if a real-time task that this thread does not serve would run earlier if the thread were
/// not at `is` but where it belongs.
fn delays_others(is: u8, want: &Want<'_>, threads: &[LiveThread]) -> bool {
    let between = want.priority..is;
    threads.iter().any(|t| !t.kernel && between.contains(&t.scheduling.fixed_priority()))
}
