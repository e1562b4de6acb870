// SPDX-License-Identifier: GPL-2.0-or-later
//! The flight recorder of an agent: the programs that keep statistics fill the rings, too. Whoever
//! polls the source takes all events; the paths that trigger are put aside here.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use irqpath_model::{Event, Occupancy, PathRecord, PathStats, Snapshot, StageSpan, Transition};

use super::super::complaints::load_error;
use super::super::overhead::StatsSample;
use super::super::{BpfSource, ProgramCosts, stats};
use super::rings::Rings;
use super::{Frozen, Queue, Recording, Reported};
use crate::{Config, Flight, Source, SourceError};

/// A source with rings; clones share both.
#[derive(Clone)]
pub struct RecordingSource(Rc<RefCell<Inner>>);

struct Inner {
    source: BpfSource,
    rings: Rings,
    queue: Queue,
    flight: Flight,
}

impl RecordingSource {
    /// Load and attach; needs what [`BpfSource::open`] needs.
    ///
    /// # Errors
    /// As `BpfSource::open`, and if `config.flight` is missing.
    pub fn open(config: &Config) -> Result<Self, SourceError> {
        let flight = config.flight.clone();
        let flight = flight.ok_or_else(|| SourceError::Load("no rings were asked for".into()))?;
        let source = BpfSource::open(config)?;
        let rings = Rings::open(&source.skel)?;
        let inner = Inner { source, rings, queue: Queue::default(), flight };
        Ok(Self(Rc::new(RefCell::new(inner))))
    }

    /// As [`BpfSource::program_costs`].
    ///
    /// # Errors
    /// If this process has too many open files.
    pub fn program_costs(&self) -> std::io::Result<ProgramCosts> {
        self.0.borrow().source.program_costs()
    }
}

impl Inner {
    fn note_events(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Path(record) if is_over(record, &self.flight) => {
                    self.queue.add_path(record.as_ref().clone());
                }
                Event::Occupancy(block) => {
                    // Each is a block of its own; windows of the rings have other transitions.
                    let is_nmi = |one: &&Occupancy| matches!(&one.what, Transition::NmiEnd { .. });
                    self.queue.add_nmis(block.iter().filter(is_nmi).cloned());
                }
                Event::Path(_) => {}
            }
        }
    }
}

/// As `ip_is_over()` of `bpf/flight.bpf.h`; the source reports paths for other reasons, too.
fn is_over(record: &PathRecord, flight: &Flight) -> bool {
    let is_long = |stage: &StageSpan| {
        flight.stages.iter().any(|(point, ns)| *point == stage.to && stage.ns() >= *ns)
    };
    flight.threshold_ns.is_some_and(|ns| record.total_ns() >= ns)
        || record.stages().iter().any(is_long)
}

impl Source for RecordingSource {
    fn poll_events(&mut self, timeout: Duration) -> Result<Vec<Event>, SourceError> {
        let mut inner = self.0.borrow_mut();
        let events = inner.source.poll_events(timeout)?;
        inner.note_events(&events);
        Ok(events)
    }

    fn take_snapshot(&mut self) -> Result<Snapshot, SourceError> {
        self.0.borrow_mut().source.take_snapshot()
    }

    fn retire_idle(&mut self, idle: Duration) -> Result<Vec<PathStats>, SourceError> {
        self.0.borrow_mut().source.retire_idle(idle)
    }

    fn finish(&mut self) -> Result<(Vec<Event>, Snapshot), SourceError> {
        self.0.borrow_mut().source.finish()
    }
}

impl Recording for RecordingSource {
    fn poll_paths(&mut self) -> Result<Reported, SourceError> {
        Ok(self.0.borrow_mut().queue.take_reported())
    }

    fn freeze(&mut self, from_ns: u64, until_ns: u64) -> Result<Option<Frozen>, SourceError> {
        let Inner { source, rings, queue, .. } = &mut *self.0.borrow_mut();
        rings.freeze(&source.skel, (from_ns, until_ns), queue.nmis.iter(), source.missing.clone())
    }

    fn recycle(&mut self, frozen: Frozen) {
        self.0.borrow_mut().rings.recycle(frozen);
    }

    fn take_counts(&self) -> Result<Snapshot, SourceError> {
        let source = &self.0.borrow().source;
        let mut snapshot = stats::read_counts(&source.skel).map_err(load_error)?;
        StatsSample::fill_snapshot(&source.skel, &mut snapshot);
        Ok(snapshot)
    }

    fn copy_bytes(&self) -> u64 {
        self.0.borrow().rings.copy_bytes()
    }

    fn mapped_bytes(&self) -> u64 {
        self.0.borrow().rings.mapped_bytes()
    }
}
