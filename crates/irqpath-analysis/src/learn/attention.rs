// SPDX-License-Identifier: GPL-2.0-or-later
//! When a watch has to look at wakeups, and when it knows enough to detach its program.
//!
//! Even the small program costs a path some two hundred instructions, so it is attached only while
//! something may be learned. The rule to know: a real-time task is settled once it is served, or has
//! slept so often without an interrupt's thread that it waits for something else. One that sleeps for
//! long keeps the program attached, because its first wakeups may matter most.

use std::collections::{BTreeMap, BTreeSet};

use irqpath_model::TaskId;
use irqpath_model::tune::LiveThread;

use super::Role;

/// Looks without news after which the watch closes its eyes.
const CALM_LOOKS: u32 = 2;
/// Closed looks after which it opens them for one: a task may wait for another device now.
const CLOSED_LOOKS: u32 = 150;
/// Sleeps while the program was attached that show that a task waits for no interrupt's thread.
const ENOUGH_SLEEPS: u64 = 100;

/// Decides whether the program is attached until the next look.
#[derive(Debug, Clone, Default)]
pub struct Attention {
    /// Real-time tasks and the threads that may wake them, at the last look.
    known: BTreeSet<TaskId>,
    /// Sleeps of tasks that are not settled, at the first open look.
    sleeps: BTreeMap<TaskId, u64>,
    /// Tasks that wait for something else.
    uninteresting: BTreeSet<TaskId>,
    nr_calm: u32,
    nr_closed: u32,
}

impl Attention {
    /// What is there now: `is_served` tells of tasks that are learned or pinned, `count_sleeps` how
    /// often a task has slept. True if wakeups have to be looked at from now on.
    pub fn decide_open(
        &mut self,
        threads: &[LiveThread],
        is_served: impl Fn(TaskId) -> bool,
        count_sleeps: impl Fn(TaskId) -> Option<u64>,
    ) -> bool {
        let known: BTreeSet<TaskId> =
            threads.iter().filter(|thread| matters(thread)).map(|thread| thread.id).collect();
        let tasks = threads.iter().filter(|thread| !thread.kernel && matters(thread));
        let open: Vec<TaskId> = tasks.map(|task| task.id).filter(|&id| !is_served(id)).collect();
        let has_news = known != self.known;
        self.uninteresting.retain(|id| known.contains(id));
        self.sleeps.retain(|id, _| open.contains(id));
        if has_news {
            // A new thread may serve a task that nothing has woken yet.
            self.uninteresting.clear();
            self.sleeps.clear();
        }
        self.known = known;
        let unsettled = open.into_iter().filter(|&id| !self.has_slept_enough(id, &count_sleeps));
        let is_unsettled = unsettled.count() > 0;
        self.nr_calm = if has_news || is_unsettled { 0 } else { self.nr_calm + 1 };
        if self.nr_calm < CALM_LOOKS {
            self.nr_closed = 0;
            return true;
        }
        self.nr_closed = (self.nr_closed + 1) % CLOSED_LOOKS;
        self.nr_closed == 0
    }

    fn has_slept_enough(
        &mut self,
        id: TaskId,
        count_sleeps: impl Fn(TaskId) -> Option<u64>,
    ) -> bool {
        if self.uninteresting.contains(&id) {
            return true;
        }
        let Some(now) = count_sleeps(id) else { return true };
        let first = *self.sleeps.entry(id).or_insert(now);
        let is_enough = now.saturating_sub(first) >= ENOUGH_SLEEPS;
        if is_enough {
            self.uninteresting.insert(id);
        }
        is_enough
    }
}

/// Real-time tasks, and the threads that may wake them.
fn matters(thread: &LiveThread) -> bool {
    if thread.kernel {
        return matches!(
            Role::from_comm(&thread.comm),
            Some(Role::IrqThread { .. } | Role::Secondary { .. } | Role::Napi)
        );
    }
    let policy = thread.scheduling.policy;
    policy.is_fixed_priority() || policy == irqpath_model::Policy::Deadline
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::Scheduling;

    fn thread(tid: u32, comm: &str, priority: u8) -> LiveThread {
        let scheduling =
            if priority == 0 { Scheduling::other(0) } else { Scheduling::fifo(priority) };
        let kernel = comm.contains('/');
        LiveThread { id: TaskId { tid, start_ticks: 1 }, comm: comm.to_owned(), kernel, scheduling }
    }

    fn looks(
        attention: &mut Attention,
        threads: &[LiveThread],
        served: &[u32],
        sleeps: u64,
        nr: usize,
    ) -> Vec<bool> {
        let look =
            |_| attention.decide_open(threads, |id| served.contains(&id.tid), |_| Some(sleeps));
        (0..nr).map(look).collect()
    }

    #[test]
    fn it_closes_when_all_are_served_and_opens_for_what_is_new() {
        let mut attention = Attention::default();
        let mut threads = vec![thread(50, "irq/5-dev", 50), thread(70, "app", 80)];
        assert_eq!(looks(&mut attention, &threads, &[], 0, 3), [true; 3], "it is not served yet");
        assert_eq!(looks(&mut attention, &threads, &[70], 0, 3), [true, false, false]);
        threads.push(thread(71, "ordinary", 0));
        threads.push(thread(72, "kworker/0:1", 0));
        assert_eq!(looks(&mut attention, &threads, &[70], 0, 1), [false]);
        threads.push(thread(51, "irq/6-new", 50));
        assert_eq!(looks(&mut attention, &threads, &[70], 0, 3), [true, true, false]);
        threads[1].id.start_ticks = 2;
        assert!(looks(&mut attention, &threads, &[70], 0, 1)[0], "another task of that number");
    }

    #[test]
    fn who_sleeps_for_long_keeps_it_open_and_who_sleeps_often_does_not() {
        let mut attention = Attention::default();
        let threads = [thread(70, "app", 80)];
        assert_eq!(looks(&mut attention, &threads, &[], 500, 50), [true; 50]);
        assert_eq!(looks(&mut attention, &threads, &[], 599, 1), [true]);
        assert_eq!(looks(&mut attention, &threads, &[], 600, 3), [true, false, false]);
    }

    #[test]
    fn it_looks_again_from_time_to_time() {
        let mut attention = Attention::default();
        let threads = [thread(70, "app", 80)];
        let seen = looks(&mut attention, &threads, &[70], 0, 1000);
        let nr_open = seen[5..].iter().filter(|open| **open).count();
        assert_eq!(nr_open, 6, "one of {CLOSED_LOOKS}");
    }
}
