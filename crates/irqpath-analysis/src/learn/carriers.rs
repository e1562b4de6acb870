// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel threads that a path went through.
//!
//! A record says that an irq thread ran, not which: a line may have several (shared, secondary), a
//! device many NAPI threads. Who was on the CPU in that stage says which, so records wait until
//! the transitions of their time have arrived, and go without after [`SETTLE_NS`].
//!
//! Trace points cut names. That of a NAPI thread ends with what tells the queues of a device apart,
//! so [`Carriers::know_threads`] has it whole.

use std::collections::{BTreeMap, VecDeque};

use irqpath_model::tune::LiveThread;
use irqpath_model::{Comm, Event, Origin, PathRecord, Point, StageSpan, Via};

use super::Role;
use crate::Timelines;

/// How long a record waits for transitions, ns of event time.
const SETTLE_NS: u64 = 500_000_000;
/// Transitions are kept for records this much older than the newest event, ns.
const KEEP_NS: u64 = 1_000_000_000;
/// Most records that wait.
const MAX_PENDING: usize = 16_384;
/// Most transitions kept, all CPUs together.
const MAX_TRANSITIONS: usize = 1 << 18;

/// A path and the threads that carried it.
pub type Carried = (PathRecord, Vec<Comm>);

/// Pairs paths with their carriers.
#[derive(Debug, Default)]
pub struct Carriers {
    timelines: Timelines,
    /// Whole names of NAPI threads, by their number.
    whole_names: BTreeMap<u32, Comm>,
    pending: VecDeque<PathRecord>,
    newest_ns: u64,
}

impl Carriers {
    /// The threads that are there now, with names that are not cut.
    pub fn know_threads<'a>(&mut self, threads: impl IntoIterator<Item = &'a LiveThread>) {
        let is_napi = |t: &&LiveThread| t.kernel && Role::from_comm(&t.comm) == Some(Role::Napi);
        let napi = threads.into_iter().filter(is_napi);
        self.whole_names = napi.map(|t| (t.id.tid, Comm::from(t.comm.as_str()))).collect();
    }

    /// Take over one event.
    pub fn push(&mut self, event: Event) {
        match event {
            Event::Path(record) => {
                let last = record.last().map_or(0, |stamp| stamp.ns);
                self.newest_ns = self.newest_ns.max(last);
                self.pending.push_back(*record);
            }
            Event::Occupancy(block) => {
                let newest = block.iter().map(|o| o.ns).max().unwrap_or(0);
                self.newest_ns = self.newest_ns.max(newest);
                self.timelines.ingest_block(block);
                self.timelines.shrink_to(MAX_TRANSITIONS);
            }
        }
    }

    /// Paths whose carriers are known now, in the order in which they came.
    pub fn drain_ready(&mut self) -> Vec<Carried> {
        let mut ready = Vec::new();
        while let Some(record) = self.pending.front() {
            let last = record.last().map_or(0, |stamp| stamp.ns);
            let is_old = self.newest_ns.saturating_sub(last) >= SETTLE_NS;
            let too_many = self.pending.len() > MAX_PENDING;
            if !(is_old || too_many || self.is_covered(record)) {
                break;
            }
            ready.extend(self.pending.pop_front().map(|record| self.resolve_carriers(record)));
        }
        self.timelines.prune_before(self.newest_ns.saturating_sub(KEEP_NS));
        ready
    }

    /// The same without waiting. For the end of the stream.
    pub fn flush_all(&mut self) -> Vec<Carried> {
        std::mem::take(&mut self.pending)
            .into_iter()
            .map(|record| self.resolve_carriers(record))
            .collect()
    }

    fn is_covered(&self, record: &PathRecord) -> bool {
        let covered =
            |s: &StageSpan| self.timelines.covers_window(s.start.cpu, s.start.ns, s.end.ns);
        record.stages().iter().filter(|s| carried_in(s)).all(covered)
    }

    fn resolve_carriers(&self, record: PathRecord) -> Carried {
        let mut found: Vec<Comm> = Vec::new();
        for span in record.stages().iter().filter(|s| carried_in(s)) {
            let seen = self.thread_in(&record, span);
            let carrier = seen.or_else(|| guess_carrier(&record, span));
            if let Some(carrier) = carrier.filter(|c| !found.contains(c)) {
                found.push(carrier);
            }
        }
        (record, found)
    }

    /// The first thread in this stage that can have carried the path.
    fn thread_in(&self, record: &PathRecord, span: &StageSpan) -> Option<Comm> {
        let segments = self.timelines.segments(span.start.cpu, span.start.ns, span.end.ns + 1, 0);
        segments.iter().find_map(|segment| {
            let task = segment.frame.known_task()?;
            let role = Role::from_comm(task.comm.as_str())?;
            let whole = self.whole_names.get(&task.tid);
            // A number may have been given to another thread since.
            let whole = whole.filter(|whole| whole.as_str().starts_with(task.comm.as_str()));
            can_carry(record, span.from, role).then(|| whole.unwrap_or(&task.comm).clone())
        })
    }
}

/// Stages that a thread may have spent with the interrupt's work.
fn carried_in(span: &StageSpan) -> bool {
    matches!(span.from, Point::IrqThread | Point::Softirq | Point::Work)
}

fn can_carry(record: &PathRecord, from: Point, role: Role<'_>) -> bool {
    match (from, role) {
        (Point::IrqThread, Role::IrqThread { irq, .. } | Role::Secondary { irq, .. }) => {
            record.via.contains(Via::IRQ_THREAD) && record.origin == Origin::Irq(irq)
        }
        (Point::IrqThread, Role::Napi) => record.via.contains(Via::NAPI_THREAD),
        (Point::Softirq, Role::Ksoftirqd) => record.via.contains(Via::KSOFTIRQD),
        (Point::Softirq, Role::Ktimers) => record.via.contains(Via::KTIMERS),
        (Point::Work, Role::Kworker) => true,
        _ => false,
    }
}

/// Where no transition tells, a beginning of the name: the line's threads, the CPU's softirq thread.
fn guess_carrier(record: &PathRecord, span: &StageSpan) -> Option<Comm> {
    let via = record.via;
    match (span.from, record.origin) {
        (Point::IrqThread, Origin::Irq(irq)) if via.contains(Via::IRQ_THREAD) => {
            Some(Comm::from(format!("irq/{irq}-").as_str()))
        }
        (Point::Softirq, _) if via.intersects(Via::SOFTIRQ_THREAD) => {
            let kind = if via.contains(Via::KTIMERS) { "ktimers" } else { "ksoftirqd" };
            Some(Comm::from(format!("{kind}/{}", span.start.cpu).as_str()))
        }
        (Point::Work, _) => Some(Comm::from("kworker/")),
        _ => None,
    }
}
