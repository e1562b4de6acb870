// SPDX-License-Identifier: GPL-2.0-or-later
//! The causes of one path: every stage cut into what occupied the CPU it waited for.
//!
//! Neighbours: `own.rs` knows what belongs to the path itself, `classify.rs` names the rest,
//! `tally.rs` adds up. The rule to know: a stage is looked at on the CPU of the stamp that ends
//! it (a remote wakeup on the target's CPU), and its causes add up to it exactly, because they
//! are sums over segments that fill it.

mod classify;
mod interruption;
mod own;
mod tally;

use irqpath_model::{Names, PathRecord, SlowPath, StageCauses, StageSpan};

use crate::Timelines;
use classify::classify;
pub use interruption::{interruption, without_target};
use own::Own;
use tally::Tally;
pub(crate) use tally::who;

/// Find the causes of every stage of a path.
pub fn attribute(record: &PathRecord, timelines: &Timelines, names: &Names) -> SlowPath {
    let stages = record.stages().iter().map(|s| stage(record, s, timelines, names)).collect();
    SlowPath { record: record.clone(), stages }
}

fn stage(
    record: &PathRecord,
    span: &StageSpan,
    timelines: &Timelines,
    names: &Names,
) -> StageCauses {
    let cpu = span.end.cpu;
    // A state that began within the path and that nothing ended is still the state; an older
    // one may have ended in a part that was not delivered.
    let open_since = record.first().map_or(u64::MAX, |stamp| stamp.ns);
    let segments = timelines.segments(cpu, span.start.ns, span.end.ns, open_since);
    let end = timelines.frame_at(cpu, span.end.ns);
    let mut own = Own::new(record, span, &segments, end.as_ref());
    let mut tally = Tally::default();
    for (at, segment) in segments.iter().enumerate() {
        let is_last = at + 1 == segments.len();
        let occupant = segment.occupant();
        own.follow(&segment.frame);
        let kind = classify(record, span, &own, &occupant, is_last);
        tally.add(kind, occupant, segment.ns());
    }
    StageCauses { from: span.from, to: span.to, cpu, ns: span.ns(), causes: tally.causes(names) }
}
