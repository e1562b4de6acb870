// SPDX-License-Identifier: GPL-2.0-or-later
//! The causes of one path: every stage cut into what occupied the CPU it waited for.
//!
//! Neighbours: `own.rs` knows what belongs to the path itself, `classify.rs` names the rest,
//! `tally.rs` adds up. The rule to know: a stage is looked at on the CPU of the stamp that ends
//! it, a wait of the target on the CPU on whose run queue it was at the time, and its causes add
//! up to it exactly, because they are sums over segments that fill it.

mod classify;
mod interruption;
mod own;
mod tally;

use irqpath_model::{CpuWait, Names, PathRecord, SlowPath, StageCauses, StageSpan};

use crate::{Segment, Timelines};
use classify::classify_occupant;
pub use interruption::{attribute_interruption, without_target};
use own::Own;
use tally::Tally;
pub(crate) use tally::name_occupant;

/// Find the causes of every stage of a path.
pub fn attribute_path(record: &PathRecord, timelines: &Timelines, names: &Names) -> SlowPath {
    let stages =
        record.stages().iter().map(|s| attribute_stage(record, s, timelines, names)).collect();
    SlowPath { record: record.clone(), stages }
}

fn attribute_stage(
    record: &PathRecord,
    span: &StageSpan,
    timelines: &Timelines,
    names: &Names,
) -> StageCauses {
    // A state that began within the path and that nothing ended is still the state; an older
    // one may have ended in a part that was not delivered.
    let open_since = record.first().map_or(u64::MAX, |stamp| stamp.ns);
    let waits = record.stage_waits(span);
    let parts: Vec<(Option<u16>, Vec<Segment>)> =
        waits.iter().map(|wait| (wait.cpu, timelines.segments_of(wait, open_since))).collect();
    let end = timelines.frame_at(span.end.cpu, span.end.ns);
    let mut own = Own::new(record, span, &parts, end.as_ref());
    let mut tally = Tally::default();
    for (part, (_, segments)) in parts.iter().enumerate() {
        if part > 0 {
            own.move_on();
        }
        for (at, segment) in segments.iter().enumerate() {
            let is_last = part + 1 == parts.len() && at + 1 == segments.len();
            let occupant = segment.occupant();
            own.follow_frame(&segment.frame);
            let kind = classify_occupant(record, span, &own, &occupant, is_last);
            tally.add_segment(kind, occupant, segment.ns());
        }
    }
    StageCauses {
        from: span.from,
        to: span.to,
        cpu: span.end.cpu,
        waited_for: waited_for(&waits, span.end.cpu),
        ns: span.ns(),
        causes: tally.into_causes(names),
    }
}

/// The known CPUs of a wait, in order and each once; none if that is just `cpu`.
fn waited_for(waits: &[CpuWait], cpu: u16) -> Vec<u16> {
    let mut cpus = Vec::new();
    for other in waits.iter().filter_map(|wait| wait.cpu) {
        if !cpus.contains(&other) {
            cpus.push(other);
        }
    }
    if cpus == [cpu] { Vec::new() } else { cpus }
}
