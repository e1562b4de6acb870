// SPDX-License-Identifier: GPL-2.0-or-later
//! Which interrupt threads serve no real-time task, and become ordinary (`tune --selective`).
//!
//! A thread serves a task that it wakes, and whatever a thread serves that it wakes: an interrupt
//! thread may wake another one, or a real-time kernel thread. [`Wakeups`] has these pairs of
//! threads; what interrupt lines do to tasks is in the associations. The rule to know: one wakeup
//! keeps a thread real-time, and only a busy line without another one ends that.

use std::collections::{BTreeMap, BTreeSet};

use irqpath_model::tune::{
    Association, KeptThread, LeftAlone, LiveThread, OrdinaryThread, TunePlan,
};
use irqpath_model::{Origin, Policy, TaskId};

use super::Role;
use super::plan::{Held, find_named, find_pairs, leave_alone, thread_role};

/// A line that interrupts ten thousand times for each wakeup of a task does not serve it.
const END_SHARE: f64 = 1e-4;
/// Most pairs that are remembered.
const MAX_PAIRS: usize = 1 << 16;
const WAKES_NONE: &str = "wakes no real-time task";

/// Kernel threads and the real-time threads that they were seen to wake.
#[derive(Debug, Clone, Default)]
pub struct Wakeups {
    pairs: BTreeSet<(TaskId, TaskId)>,
    /// Some were not seen since the last look.
    has_lost: bool,
}

impl Wakeups {
    /// Forget threads that are gone, and take over what was seen since the last look.
    pub fn record_pairs(
        &mut self,
        seen: impl IntoIterator<Item = (u32, u32)>,
        has_lost: bool,
        threads: &BTreeMap<u32, LiveThread>,
    ) {
        let is_there = |id: &TaskId| threads.get(&id.tid).is_some_and(|t| t.id == *id);
        self.pairs.retain(|(waker, wakee)| is_there(waker) && is_there(wakee));
        let known = |(waker, wakee)| Some((threads.get(&waker)?, threads.get(&wakee)?));
        let new = seen.into_iter().filter_map(known).filter(|(waker, _)| waker.kernel);
        self.pairs.extend(new.map(|(waker, wakee)| (waker.id, wakee.id)));
        self.has_lost = has_lost || self.pairs.len() > MAX_PAIRS;
    }
}

/// Add to a plan the interrupt threads that become ordinary, and why the others stay.
pub fn select_ordinary(
    known: &[Association],
    wakeups: &Wakeups,
    threads: &[LiveThread],
    held: &Held,
    force: bool,
    plan: &mut TunePlan,
) {
    let serving = find_servants(known, wakeups, threads);
    for thread in threads {
        let Some(role) = thread_role(thread).filter(|role| role.irq().is_some()) else { continue };
        let (id, policy) = (thread.id, thread.scheduling.policy);
        let keep = |why: &str| KeptThread { thread: thread.clone(), why: why.to_owned() };
        if let Some(why) = serving.get(&id) {
            plan.kept.push(keep(why));
        } else if policy == Policy::Normal {
            plan.take_back.retain(|back| back.id != id);
        } else if !matches!(policy, Policy::Fifo | Policy::Rr) {
            leave_alone(plan, thread, LeftAlone::OtherPolicy);
        } else if !held.contains_key(&id) && !role.is_default(thread) && !force {
            leave_alone(plan, thread, LeftAlone::SetByHand);
        } else if wakeups.has_lost {
            plan.kept.push(keep("may serve a task: some wakeups were not counted"));
        } else {
            plan.take_back.retain(|back| back.id != id);
            plan.changes.retain(|change| change.thread.id != id);
            let why = WAKES_NONE.to_owned();
            plan.ordinary.push(OrdinaryThread { thread: thread.clone(), why });
        }
    }
}

/// Let a plan that knows nothing of wakeups leave ordinary threads as they are.
pub fn keep_ordinary(plan: &mut TunePlan) {
    plan.take_back.retain(|thread| {
        let irq = thread_role(thread).and_then(Role::irq);
        irq.is_none() || thread.scheduling.policy != Policy::Normal
    });
}

/// Every kernel thread that serves a real-time task, with the reason.
fn find_servants(
    known: &[Association],
    wakeups: &Wakeups,
    threads: &[LiveThread],
) -> BTreeMap<TaskId, String> {
    let by_id: BTreeMap<TaskId, &LiveThread> = threads.iter().map(|t| (t.id, t)).collect();
    let mut serving = find_direct(known, threads);
    let alive =
        |&(waker, wakee): &(TaskId, TaskId)| Some((*by_id.get(&waker)?, *by_id.get(&wakee)?));
    let pairs: Vec<(&LiveThread, &LiveThread)> = wakeups.pairs.iter().filter_map(alive).collect();
    for (waker, wakee) in pairs.iter().filter(|(_, wakee)| is_real_time_task(wakee)) {
        // How long an interrupt's thread serves a task is known better from the share of its line.
        if thread_role(waker).and_then(Role::irq).is_none() {
            serving.entry(waker.id).or_insert_with(|| describe_wakeup(wakee));
        }
    }
    let same_line = find_pairs(threads);
    loop {
        let nr = serving.len();
        for (waker, wakee) in pairs.iter().filter(|(_, wakee)| wakee.kernel) {
            if serving.contains_key(&wakee.id) {
                let why = || format!("{}, which serves a real-time task", describe_wakeup(wakee));
                serving.entry(waker.id).or_insert_with(why);
            }
        }
        for (primary, secondary) in &same_line {
            for (one, other) in [(primary, secondary), (secondary, primary)] {
                if serving.contains_key(&other.id) {
                    let why = || format!("belongs to {}, which serves a task", other.comm);
                    serving.entry(one.id).or_insert_with(why);
                }
            }
        }
        if serving.len() == nr {
            return serving;
        }
    }
}

fn describe_wakeup(wakee: &LiveThread) -> String {
    format!("wakes {} ({})", wakee.comm, wakee.id.tid)
}

/// The threads that carry an association. Of one that names no thread of its line, all of the line.
fn find_direct(known: &[Association], threads: &[LiveThread]) -> BTreeMap<TaskId, String> {
    let mut serving = BTreeMap::new();
    for one in known.iter().filter(|one| one.pinned || one.established || one.share >= END_SHARE) {
        let is_it = |task: &&LiveThread| {
            let same_start = [0, task.id.start_ticks].contains(&one.task.start_ticks);
            task.id.tid == one.task.tid && same_start && is_real_time_task(task)
        };
        let Some(task) = threads.iter().find(is_it) else { continue };
        let word = if one.pinned { "is pinned to" } else { "wakes" };
        let why = format!("{} {word} {} ({})", one.line, task.comm, task.id.tid);
        let named = one.carriers.iter().flat_map(|c| find_named(c.comm.as_str(), threads));
        let mut found: Vec<(&LiveThread, Role<'_>)> = named.collect();
        if let Origin::Irq(irq) = one.origin
            && !found.iter().any(|(_, role)| role.irq() == Some(irq))
        {
            let of_line = |t| Some((t, thread_role(t).filter(|role| role.irq() == Some(irq))?));
            found.extend(threads.iter().filter_map(of_line));
        }
        for (thread, _) in found {
            serving.entry(thread.id).or_insert_with(|| why.clone());
        }
    }
    serving
}

fn is_real_time_task(thread: &LiveThread) -> bool {
    let policy = thread.scheduling.policy;
    !thread.kernel && (policy.is_fixed_priority() || policy == Policy::Deadline)
}
