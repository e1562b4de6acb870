// SPDX-License-Identifier: GPL-2.0-or-later
//! What a watch learns from: pairs of a thread and a task, and how often each line interrupted.

use std::collections::{BTreeMap, BTreeSet};

use irqpath_analysis::learn::{Attention, Learner, ThreadWakeups, Wakeups};
use irqpath_model::TaskId;
use irqpath_model::tune::LiveThread;
use irqpath_source::bpf::pairs::{Pair, Pairs};
use irqpath_source::realtime::now_ns;
use irqpath_system::Host;

use crate::output::console::print_note;

/// Counts at the last look, and where new ones come from.
pub struct PairLessons {
    pairs: Pairs,
    interrupts: BTreeMap<u32, u64>,
    nr_lost: u64,
    attention: Attention,
    /// Whom every thread wakes; `None` unless that was asked for.
    wakeups: Option<Wakeups>,
}

impl PairLessons {
    /// From an object that is attached.
    pub fn new(pairs: Pairs) -> Self {
        Self {
            pairs,
            interrupts: BTreeMap::new(),
            nr_lost: 0,
            attention: Attention::default(),
            wakeups: None,
        }
    }

    /// From an object that also counts real-time kernel threads that are woken.
    pub fn with_wakeups(pairs: Pairs) -> Self {
        Self { wakeups: Some(Wakeups::default()), ..Self::new(pairs) }
    }

    /// Whom every thread wakes.
    pub const fn wakeups(&self) -> Option<&Wakeups> {
        self.wakeups.as_ref()
    }

    /// True if since the last call a thread has to become real-time at once.
    pub fn has_news(&mut self) -> bool {
        self.pairs.has_news()
    }

    /// What was until now has been learned otherwise.
    pub fn skip_past(&mut self, host: &Host) -> anyhow::Result<()> {
        let threads = host.live_threads().into_iter().map(|thread| (thread.id.tid, thread));
        self.learn_from(host, &threads.collect(), None)
    }

    /// Attach or detach: `served` has the tasks of which it is known what serves them.
    pub fn decide_open(
        &mut self,
        host: &Host,
        threads: &[LiveThread],
        served: &BTreeSet<TaskId>,
    ) -> anyhow::Result<()> {
        let sleeps = |id: TaskId| host.count_sleeps(id.tid);
        // Whoever is ordinary now may serve a task any time.
        let is_selective = self.wakeups.is_some();
        if !is_selective && !self.attention.decide_open(threads, |id| served.contains(&id), sleeps)
        {
            self.pairs.detach();
        } else if !self.pairs.is_attached() {
            self.pairs.attach()?;
            self.interrupts = count_lines(host)?;
        }
        Ok(())
    }

    /// Learn from what was counted since the last look.
    pub fn learn_from(
        &mut self,
        host: &Host,
        threads: &BTreeMap<u32, LiveThread>,
        learner: Option<&mut Learner>,
    ) -> anyhow::Result<()> {
        if !self.pairs.is_attached() {
            return Ok(());
        }
        // What was news until now is among the counts.
        self.pairs.has_news();
        let counted = self.pairs.take_counts();
        let now = count_lines(host)?;
        let since = now.iter().map(|(&irq, &nr)| {
            // A line that was freed and given out again starts anew.
            (irq, nr.checked_sub(self.interrupts.get(&irq).copied().unwrap_or(0)).unwrap_or(nr))
        });
        let interrupts = since.collect();
        let wakeups: Vec<_> = counted.iter().filter_map(|pair| resolve(pair, threads)).collect();
        if let Some(learner) = learner {
            learner.record_wakeups(&wakeups, &interrupts, now_ns());
        }
        self.interrupts = now;
        let has_lost = self.report_loss();
        if let Some(wakeups) = &mut self.wakeups {
            let seen = counted.iter().map(|pair| (pair.waker_tid, pair.wakee_tid));
            wakeups.record_pairs(seen, has_lost, threads);
        }
        Ok(())
    }

    /// True if wakeups were lost since the last look. Told once: it does not end by itself.
    fn report_loss(&mut self) -> bool {
        let (before, nr) = (self.nr_lost, self.pairs.nr_lost());
        self.nr_lost = nr;
        if nr > 0 && before == 0 {
            print_note(&format!(
                "{nr} wakeups were not counted: too many pairs of threads and real-time tasks; \
                 a shorter --interval loses fewer"
            ));
        }
        nr > before
    }
}

/// A pair by names. One whose thread or task is gone teaches nothing.
fn resolve<'a>(pair: &Pair, threads: &'a BTreeMap<u32, LiveThread>) -> Option<ThreadWakeups<'a>> {
    let (waker, wakee) = (threads.get(&pair.waker_tid)?, threads.get(&pair.wakee_tid)?);
    (waker.kernel && !wakee.kernel).then_some(ThreadWakeups {
        waker: &waker.comm,
        wakee_tid: pair.wakee_tid,
        wakee: &wakee.comm,
        nr: pair.nr.into(),
    })
}

/// How often each line has interrupted all CPUs. Empty where the table is masked.
fn count_lines(host: &Host) -> anyhow::Result<BTreeMap<u32, u64>> {
    let counts = host.interrupt_counts()?.interrupts.into_iter();
    Ok(counts.filter_map(|(irq, nr)| Some((irq.parse().ok()?, nr.iter().sum()))).collect())
}
