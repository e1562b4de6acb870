// SPDX-License-Identifier: GPL-2.0-or-later
//! A trace for the Perfetto UI, streamed while paths come in.
//!
//! Under each CPU: a row per layer of what ran there (`occupancy`), then a track per stage, in
//! the order of a path. A stage of a path is one slice with the path's name, on the track of its
//! stage under the CPU of the stamp that ends it. A flow leads from the first stage of a path
//! through each following one to the last, where it terminates.
//!
//! Slices of one track never overlap, as their begins and ends would pair wrongly: where two
//! paths are in one stage at once, the later slice takes the first overflow track (`#2`, `#3`)
//! that is free at its start. A stage that took no time still has its slice, so that the flow
//! goes through it.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use irqpath_model::record::KernelStack;
use irqpath_model::{Names, Occupancy, PathEnd, PathRecord, Point, StageSpan, printable};

mod intern;
mod occupancy;
pub mod proto;
mod sink;
mod wire;

use occupancy::Timelines;
use sink::{Row, Sink, Slice, Track, Value};

/// Writes a trace. What is written before [`PerfettoWriter::finish`] may have open slices.
#[derive(Debug)]
pub struct PerfettoWriter<W: Write> {
    sink: Sink<W>,
    timelines: Timelines,
    /// Per CPU and stage: when its track and each overflow track is free again.
    lanes: HashMap<(u16, Point), Vec<u64>>,
    nr_paths: u64,
    nr_machines: u32,
    /// Per CPU: when the row of blockers is free again.
    blocked_until: HashMap<u16, u64>,
}

impl<W: Write> PerfettoWriter<W> {
    /// Start a trace; the first packet is written with the first event.
    pub fn new(out: W) -> Self {
        Self {
            sink: Sink::new(out),
            timelines: Timelines::default(),
            lanes: HashMap::new(),
            nr_paths: 0,
            nr_machines: 0,
            blocked_until: HashMap::new(),
        }
    }

    /// From here on everything is another machine's: a process of this name, whose times are moved
    /// by `shift_ns` to those of the first one.
    pub fn begin_machine(&mut self, name: &str, shift_ns: i64) -> io::Result<()> {
        self.timelines.finish(&mut self.sink)?;
        self.timelines = Timelines::default();
        self.lanes.clear();
        self.blocked_until.clear();
        self.nr_machines += 1;
        self.sink.begin_machine(&printable(name), self.nr_machines, shift_ns);
        Ok(())
    }

    /// Add the stacks of who blocked paths, in order of time. Where two overlap on a CPU, the later
    /// one begins when the first one ends.
    pub fn write_stacks(
        &mut self,
        stacks: &[KernelStack],
        symbols: &BTreeMap<u64, String>,
    ) -> io::Result<()> {
        for stack in stacks {
            let free_ns = self.blocked_until.entry(stack.cpu).or_default();
            let from_ns = stack.from_ns.max(*free_ns);
            let until_ns = stack.until_ns.max(from_ns);
            *free_ns = until_ns;
            let frames = stack.name_frames(symbols);
            let why: &str = stack.why.into();
            let comm = printable(stack.comm.as_str()).into_owned();
            let name = format!("{why}: {comm} {}", frames.last().map_or("", String::as_str));
            let folded = stack.fold(symbols);
            let annotations = [
                ("tid", Value::Number(stack.tid.into())),
                ("waiter", Value::Number(stack.waiter.into())),
                ("stack", Value::Text(&folded)),
            ];
            let slice = Slice {
                name: &name,
                category: Some("blocked"),
                annotations: &annotations,
                ..Slice::default()
            };
            let track = Track { cpu: stack.cpu, row: Row::Blocked };
            self.sink.begin_slice(track, from_ns, &slice)?;
            self.sink.end_slice(track, until_ns)?;
        }
        Ok(())
    }

    /// Add a path. One with fewer than two stamps has no stage to draw.
    pub fn write_path(&mut self, record: &PathRecord, names: &Names) -> io::Result<()> {
        let spans = record.stages();
        if spans.is_empty() {
            return Ok(());
        }
        self.nr_paths += 1;
        let words = Words::new(record, names);
        let mut annotations = words.stage_annotations(record, spans.len());
        // One id per path; a single stage leads nowhere.
        let flow = (spans.len() > 1).then_some(self.nr_paths);
        for (i, span) in spans.iter().enumerate() {
            let is_last = i + 1 == spans.len();
            let slice = Slice {
                name: &words.name,
                category: Some("path"),
                annotations: &annotations,
                flow: flow.filter(|_| !is_last),
                last_flow: flow.filter(|_| is_last),
            };
            let track = self.stage_track(span);
            self.sink.begin_slice(track, span.start.ns, &slice)?;
            self.sink.end_slice(track, span.end.ns)?;
            // Said once: the flow leads back to the first stage.
            annotations.clear();
        }
        Ok(())
    }

    /// Add transitions, per CPU in the order of their sequence numbers; repeated ones are
    /// skipped.
    pub fn write_occupancy(&mut self, transitions: &[Occupancy], names: &Names) -> io::Result<()> {
        transitions.iter().try_for_each(|o| self.timelines.add_transition(&mut self.sink, o, names))
    }

    /// End what is open, flush, and hand the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.timelines.finish(&mut self.sink)?;
        self.sink.finish()
    }

    /// The first track of the span's CPU and stage that is free at its start, taken until its
    /// end.
    fn stage_track(&mut self, span: &StageSpan) -> Track {
        let (cpu, stage) = (span.end.cpu, span.to);
        let lanes = self.lanes.entry((cpu, stage)).or_default();
        let lane = lanes.iter().position(|&free| free <= span.start.ns).unwrap_or_else(|| {
            lanes.push(0);
            lanes.len() - 1
        });
        lanes[lane] = span.end.ns;
        Track { cpu, row: Row::Stage(stage, lane as u32) }
    }
}

/// The texts of a path's slices.
struct Words {
    name: String,
    via: String,
    prio: String,
    timer: Option<String>,
}

impl Words {
    fn new(record: &PathRecord, names: &Names) -> Self {
        Self {
            name: format!("{} \u{2192} {}", names.origin(record.origin), record.target.comm),
            via: record.via.describe(),
            prio: record.target.effective_scheduling().to_string(),
            timer: (record.timer_fn != 0).then(|| names.symbol(record.timer_fn)),
        }
    }

    /// What the slices do not say by their names and lengths.
    fn stage_annotations<'a>(
        &'a self,
        record: &PathRecord,
        nr_stages: usize,
    ) -> Vec<(&'static str, Value<'a>)> {
        let mut all = vec![
            ("via", Value::Text(&self.via)),
            ("tid", Value::Number(record.target.tid.into())),
            ("prio", Value::Text(&self.prio)),
        ];
        if nr_stages > 1 {
            all.push(("total_ns", Value::Number(record.total_ns())));
        }
        if record.end != PathEnd::User {
            all.push(("end", Value::Text(record.end.into())));
        }
        all.extend(self.timer.iter().map(|timer| ("timer", Value::Text(timer))));
        all
    }
}
