// SPDX-License-Identifier: GPL-2.0-or-later
//! A trace for the Perfetto UI, streamed while paths come in.
//!
//! Under each CPU: a row per layer of what ran there (`occupancy`), then lanes with the stages of
//! the paths. A stage lies on the CPU of the stamp that ends it. Consecutive stages of a path on
//! one CPU form a segment: one slice with the path's name around them. A segment takes the first
//! lane of its CPU that is free at its start, so slices of one lane never overlap, only nest.
//! A flow runs along each path, from stage to stage.

use std::collections::HashMap;
use std::io::{self, Write};

use irqpath_model::{Names, Occupancy, PathRecord, StageSpan};

mod occupancy;
pub mod proto;
mod sink;

use occupancy::Timelines;
use proto::DebugAnnotation;
use sink::{Row, Sink, Slice, Track};

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

fn text(name: &str, value: &str) -> DebugAnnotation {
    DebugAnnotation {
        name: Some(name.to_owned()),
        string_value: Some(value.to_owned()),
        ..DebugAnnotation::default()
    }
}

fn number(name: &str, value: u64) -> DebugAnnotation {
    DebugAnnotation {
        name: Some(name.to_owned()),
        uint_value: Some(value),
        ..DebugAnnotation::default()
    }
}

fn micros(name: &str, ns: u64) -> DebugAnnotation {
    DebugAnnotation {
        name: Some(name.to_owned()),
        double_value: Some(ns as f64 / 1e3),
        ..DebugAnnotation::default()
    }
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
        // One id per path; without a second stage there is nowhere to flow to.
        let flow = (spans.len() > 1).then_some(self.nr_paths);
        let nr_segments = spans.chunk_by(|a, b| a.end.cpu == b.end.cpu).count();
        for (i, segment) in spans.chunk_by(|a, b| a.end.cpu == b.end.cpu).enumerate() {
            let (first, last) = (segment[0], segment[segment.len() - 1]);
            let track = self.lane(last.end.cpu, first.start.ns, last.end.ns);
            self.sink.begin(track, first.start.ns, path_slice(record, names))?;
            let ends_path = i + 1 == nr_segments;
            for (j, span) in segment.iter().enumerate() {
                let is_last = ends_path && j + 1 == segment.len();
                self.stage(track, span, flow, is_last)?;
            }
            self.sink.end(track, last.end.ns)?;
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

    fn stage(
        &mut self,
        track: Track,
        span: &StageSpan,
        flow: Option<u64>,
        is_last: bool,
    ) -> io::Result<()> {
        let slice = Slice {
            name: span.to.stage_title().to_owned(),
            category: "stage",
            annotations: vec![
                text("from", span.from.name()),
                text("to", span.to.name()),
                micros("us", span.ns()),
            ],
            flow: flow.filter(|_| !is_last),
            last_flow: flow.filter(|_| is_last),
        };
        self.sink.begin(track, span.start.ns, slice)?;
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

fn path_slice(record: &PathRecord, names: &Names) -> Slice {
    let target = &record.target;
    let origin = names.origin(record.origin);
    let mut annotations = vec![
        text("origin", &origin),
        text("via", &record.via.describe()),
        text("target", target.comm.as_str()),
        number("tid", u64::from(target.tid)),
        text("prio", &target.sched()),
        micros("total_us", record.total_ns()),
        text("end", end_to_word(record.end)),
    ];
    if record.timer_fn != 0 {
        annotations.push(text("timer", &names.symbol(record.timer_fn)));
    }
    let name = format!("{origin} \u{2192} {}", target.comm);
    Slice { name, category: "path", annotations, ..Slice::default() }
}
