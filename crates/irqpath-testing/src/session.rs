// SPDX-License-Identifier: GPL-2.0-or-later
//! A trace of every path, and beside it the witness.

use std::time::{Duration, Instant};

use irqpath_analysis::{Engine, EngineConfig};
use irqpath_model::{Event, Loss, Names, Occupancy, SlowPath};
use irqpath_source::bpf::BpfSource;
use irqpath_source::{Config, Source, SourceError};
use irqpath_witness::{Differences, Judge, Record, Recorder};

/// A record begins so long before what is judged by it.
pub const SETTLE: Duration = Duration::from_millis(200);

/// What irqpath said, and what there was.
pub struct Session {
    /// Every path that irqpath joined, with its causes.
    pub paths: Vec<SlowPath>,
    /// Events that irqpath dropped, by reason.
    pub loss: Loss,
    /// Every event, by the witness: when it read the clock before and after irqpath did.
    pub record: Record,
    /// When irqpath read the clock at what the record has, too.
    readings: Vec<Occupancy>,
}

impl Session {
    /// Trace for so long, with the causes of every path.
    pub fn run(duration: Duration, record_bytes: u32) -> Result<Self, SourceError> {
        let recorder = start_recorder(record_bytes)?;
        std::thread::sleep(SETTLE);
        let config = Config { record_all: true, buffer_bytes: record_bytes, ..Config::default() };
        let mut source = BpfSource::open(&config)?;
        let closing = start_recorder(record_bytes)?;
        let end = Instant::now() + duration;
        let mut events = Vec::new();
        while Instant::now() < end {
            events.extend(source.poll_events(Duration::from_millis(20))?);
        }
        let closing = finish_recorder(closing)?;
        let (rest, snapshot) = source.finish()?;
        events.extend(rest);
        let mut record = finish_recorder(recorder)?;
        record.enclose(&closing);
        record.nr_lost += closing.nr_lost;
        let readings = readings(&events);
        Ok(Self { paths: explain(events), loss: snapshot.loss, record, readings })
    }

    /// Add how both differ. Panics if the record is not whole.
    pub fn compare(&self, differences: &mut Differences) -> Judge {
        assert_eq!(self.record.nr_lost, 0, "the witness lost events");
        let judge = Judge::new(&self.record).with_readings(&self.readings);
        for path in &self.paths {
            differences.add_found(path.record.via, judge.judge_path(path));
        }
        judge
    }
}

fn start_recorder(record_bytes: u32) -> Result<Recorder, SourceError> {
    Recorder::start(record_bytes).map_err(name_witness)
}

fn finish_recorder(recorder: Recorder) -> Result<Record, SourceError> {
    recorder.finish().map_err(name_witness)
}

fn name_witness(error: impl std::fmt::Display) -> SourceError {
    SourceError::Load(format!("the witness: {error:#}"))
}

fn readings(events: &[Event]) -> Vec<Occupancy> {
    let blocks = events.iter().filter_map(|event| match event {
        Event::Occupancy(block) => Some(block),
        Event::Path(_) => None,
    });
    blocks.flatten().cloned().collect()
}

/// The causes of every path, with all transitions at hand.
fn explain(events: Vec<Event>) -> Vec<SlowPath> {
    let config = EngineConfig {
        threshold_ns: Some(1),
        keep: None,
        max_pending: 1 << 20,
        max_transitions: 1 << 22,
        keep_ns: u64::MAX,
        ..EngineConfig::default()
    };
    let mut engine = Engine::new(config, Names::default());
    for event in events {
        engine.push(event);
    }
    engine.flush()
}
