// SPDX-License-Identifier: GPL-2.0-or-later
//! Recordings: written by `irqpath trace --record`, replayed as a source.
//!
//! `format` has the bytes, `writer` makes a recording appear whole or not at all, `reader`
//! checks one before anything of it is shown. Here is the [`Source`]: it delivers what the live
//! source delivered, in the same order, as fast as it is asked.

mod format;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use irqpath_model::{Event, Loss, Meta, Snapshot};

pub use writer::RecordingWriter;

use crate::tally::PathTally;
use crate::{Source, SourceError};

/// How long after a record its transitions may come, ns.
const SETTLE_NS: u64 = 1_000_000_000;

/// Where a replay stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Exhausted,
    /// Finished before its end, or failed.
    Stopped,
}

/// A recording, as a source.
pub struct Replay {
    path: PathBuf,
    opened: reader::Opened,
    state: State,
    /// True once a path record was delivered.
    has_records: bool,
    /// False for a caller that makes statistics itself.
    keeps_paths: bool,
    /// Statistics of the paths delivered so far.
    paths: PathTally,
    /// Latest time delivered so far, ns.
    latest_ns: u64,
}

impl Replay {
    /// Open a recording; it is checked as a whole.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        Ok(Self {
            path: path.to_owned(),
            opened: reader::open(path)?,
            state: State::Running,
            has_records: false,
            keeps_paths: true,
            paths: PathTally::default(),
            latest_ns: 0,
        })
    }

    /// The same, without statistics of paths before its end: for a caller that makes its own.
    pub fn without_paths(self) -> Self {
        Self { keeps_paths: false, ..self }
    }

    /// Who recorded it, when, and on what; as it was at the end of the measurement.
    pub fn meta(&self) -> &Meta {
        &self.opened.meta
    }

    fn next_events(&mut self) -> Result<Option<Vec<Event>>, SourceError> {
        self.opened.next().map_err(|error| {
            self.state = State::Stopped;
            reader::locate_error(&self.path, error)
        })
    }

    fn account_events(&mut self, events: &[Event]) {
        for event in events {
            self.latest_ns = self.latest_ns.max(latest_ns(event));
            if let Event::Path(record) = event {
                self.has_records = true;
                if self.keeps_paths {
                    self.paths.add_record(record);
                }
            }
        }
    }

    /// The transitions that delivered records still wait for.
    fn read_settled(&mut self) -> Result<Vec<Event>, SourceError> {
        let until = self.latest_ns.saturating_add(SETTLE_NS);
        let mut settled = Vec::new();
        while self.has_records {
            let Some(events) = self.next_events()? else { break };
            let beyond = events.iter().any(|event| latest_ns(event) > until);
            settled.extend(events.into_iter().filter(|e| matches!(e, Event::Occupancy(_))));
            if beyond {
                break;
            }
        }
        Ok(settled)
    }
}

/// Latest time in an event, ns.
fn latest_ns(event: &Event) -> u64 {
    match event {
        Event::Path(record) => record.last().map_or(0, |stamp| stamp.ns),
        Event::Occupancy(block) => block.iter().map(|o| o.ns).max().unwrap_or(0),
    }
}

impl Source for Replay {
    /// The next part of the recording; it never waits.
    fn poll_events(&mut self, _timeout: Duration) -> Result<Vec<Event>, SourceError> {
        if self.state != State::Running {
            return Ok(Vec::new());
        }
        let Some(events) = self.next_events()? else {
            self.state = State::Exhausted;
            return Ok(Vec::new());
        };
        self.account_events(&events);
        Ok(events)
    }

    /// At the end of the recording the recorded statistics; before, those of the paths delivered
    /// so far (which are all paths only if all were recorded).
    fn take_snapshot(&mut self) -> Result<Snapshot, SourceError> {
        if self.state == State::Exhausted {
            return Ok(self.opened.snapshot.clone());
        }
        let mut loss = Loss::default();
        self.paths.add_loss(&mut loss);
        Ok(Snapshot {
            loss,
            ns: self.latest_ns,
            paths: self.paths.stats(),
            missing: self.opened.snapshot.missing.clone(),
            ..Snapshot::default()
        })
    }

    /// Before the end of the recording: the transitions that delivered records wait for, and the
    /// statistics of those records.
    fn finish(&mut self) -> Result<(Vec<Event>, Snapshot), SourceError> {
        let mut events = Vec::new();
        if self.state == State::Running {
            events = self.read_settled()?;
            self.state = State::Stopped;
        }
        if self.state == State::Exhausted {
            // The last word: a copy of a full table is large.
            return Ok((events, std::mem::take(&mut self.opened.snapshot)));
        }
        Ok((events, self.take_snapshot()?))
    }

    fn is_exhausted(&self) -> bool {
        self.state != State::Running
    }
}
