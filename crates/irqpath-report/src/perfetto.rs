// SPDX-License-Identifier: GPL-2.0-or-later
//! A trace for the Perfetto UI, streamed while paths come in.
//!
//! Under each CPU: a row per layer of what ran there (`occupancy`), then lanes with the stages of
//! the paths. A stage lies on the CPU of the stamp that ends it. Consecutive stages of a path on
//! one CPU form a segment: one slice with the path's name around them. A segment takes the first
//! lane of its CPU that is free at its start, so slices of one lane never overlap, only nest.
//! A flow leads from segment to segment: where a path stays on its CPU, its stages are neighbours.

use std::collections::HashMap;
use std::io::{self, Write};

use irqpath_model::{Names, Occupancy, PathEnd, PathRecord, StageSpan};

mod intern;
mod occupancy;
pub mod proto;
mod sink;
mod wire;

use occupancy::Timelines;
use sink::{Row, Sink, Slice, Track, Value};

use crate::parquet::end_to_word;

/// Writes a trace. What is written before [`PerfettoWriter::finish`] may have open slices.
#[derive(Debug)]
pub struct PerfettoWriter<W: Write> {
    sink: Sink<W>,
    timelines: Timelines,
    /// Per CPU and lane, when it is free again.
    lanes: HashMap<u16, Vec<u64>>,
    nr_paths: u64,
}

impl<W: Write> PerfettoWriter<W> {
    /// Start a trace; the first packet is written with the first event.
    pub fn new(out: W) -> Self {
        Self {
            sink: Sink::new(out),
            timelines: Timelines::default(),
            lanes: HashMap::new(),
            nr_paths: 0,
        }
    }

    /// Add a path. One with fewer than two stamps has no stage to draw.
    pub fn path(&mut self, record: &PathRecord, names: &Names) -> io::Result<()> {
        let spans = record.stages();
        if spans.is_empty() {
            return Ok(());
        }
        self.nr_paths += 1;
        let words = Words::new(record, names);
        let segments: Vec<&[StageSpan]> = spans.chunk_by(|a, b| a.end.cpu == b.end.cpu).collect();
        let mut annotations = words.annotations(record, segments.len());
        // One id per path.
        let flow = (segments.len() > 1).then_some(self.nr_paths);
        for (i, segment) in segments.iter().enumerate() {
            let (first, last) = (segment[0], segment[segment.len() - 1]);
            let track = self.lane(last.end.cpu, first.start.ns, last.end.ns);
            let is_last = i + 1 == segments.len();
            let slice = Slice {
                name: &words.name,
                category: Some("path"),
                annotations: &annotations,
                flow: flow.filter(|_| !is_last),
                last_flow: flow.filter(|_| is_last),
            };
            self.sink.begin(track, first.start.ns, &slice)?;
            segment.iter().try_for_each(|span| self.stage(track, span))?;
            self.sink.end(track, last.end.ns)?;
            // Said once: the flow leads back to the first segment.
            annotations.clear();
        }
        Ok(())
    }

    /// Add transitions, per CPU in the order of their sequence numbers; repeated ones are
    /// skipped.
    pub fn occupancy(&mut self, transitions: &[Occupancy], names: &Names) -> io::Result<()> {
        transitions.iter().try_for_each(|o| self.timelines.add(&mut self.sink, o, names))
    }

    /// End what is open, flush, and hand the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.timelines.finish(&mut self.sink)?;
        self.sink.finish()
    }

    fn stage(&mut self, track: Track, span: &StageSpan) -> io::Result<()> {
        let slice = Slice { name: span.to.stage_title(), ..Slice::default() };
        self.sink.begin(track, span.start.ns, &slice)?;
        self.sink.end(track, span.end.ns)
    }

    /// The first lane of `cpu` that is free at `start_ns`, taken until `end_ns`.
    fn lane(&mut self, cpu: u16, start_ns: u64, end_ns: u64) -> Track {
        let lanes = self.lanes.entry(cpu).or_default();
        let lane = lanes.iter().position(|&free| free <= start_ns).unwrap_or_else(|| {
            lanes.push(0);
            lanes.len() - 1
        });
        lanes[lane] = end_ns;
        Track { cpu, row: Row::Stages(lane as u32) }
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
            prio: record.target.sched(),
            timer: (record.timer_fn != 0).then(|| names.symbol(record.timer_fn)),
        }
    }

    /// What the slices do not say by their names and lengths.
    fn annotations<'a>(
        &'a self,
        record: &PathRecord,
        nr_segments: usize,
    ) -> Vec<(&'static str, Value<'a>)> {
        let mut all = vec![
            ("via", Value::Text(&self.via)),
            ("tid", Value::Number(record.target.tid.into())),
            ("prio", Value::Text(&self.prio)),
        ];
        if nr_segments > 1 {
            all.push(("total_ns", Value::Number(record.total_ns())));
        }
        if record.end != PathEnd::User {
            all.push(("end", Value::Text(end_to_word(record.end))));
        }
        all.extend(self.timer.iter().map(|timer| ("timer", Value::Text(timer))));
        all
    }
}
