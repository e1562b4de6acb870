// SPDX-License-Identifier: GPL-2.0-or-later
//! A window of one CPU cut into segments, each with one occupant.
//!
//! The segments of a window are in order, touch each other and fill it exactly. The rule to
//! know: time is explained only between two transitions with neighbouring numbers, or after the
//! newest transition if that one is recent enough for the caller.

use super::spans::Spans;
use super::{Frame, Occupant, Timeline};

/// What may lie over a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// An NMI interrupts it.
    Nmi,
    /// The hypervisor had taken the CPU away. Where between two transitions is not known: this is
    /// the last part of the time between them.
    Stolen,
}

/// A part of a window with one occupant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// `CLOCK_MONOTONIC` ns.
    pub start_ns: u64,
    /// End, ns; after the start.
    pub end_ns: u64,
    /// What lies over the frame, if something does.
    pub over: Option<Over>,
    /// The layers below it.
    pub frame: Frame,
}

impl Segment {
    /// The occupant of the CPU: stolen time and NMIs lie over everything else.
    pub fn occupant(&self) -> Occupant {
        match self.over {
            Some(Over::Nmi) => Occupant::Nmi,
            Some(Over::Stolen) => Occupant::Stolen,
            None => self.frame.occupant(),
        }
    }

    /// Length in ns; never 0.
    pub fn ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

impl Timeline {
    /// The segments of `[start_ns, end_ns)`. What follows the newest transition counts as
    /// covered if that transition is not older than `open_since_ns`.
    pub fn segments(&self, start_ns: u64, end_ns: u64, open_since_ns: u64) -> Vec<Segment> {
        let mut segments = Vec::new();
        let mut start = start_ns;
        let mut next = self.entries.partition_point(|e| e.ns <= start_ns);
        while start < end_ns {
            let end = self.entries.get(next).map_or(end_ns, |e| e.ns.min(end_ns));
            if start < end {
                let frame = self.frame_before(next, open_since_ns);
                segments.push(Segment { start_ns: start, end_ns: end, over: None, frame });
            }
            start = end;
            next += 1;
        }
        let segments = overlay_spans(segments, &self.stolen, Over::Stolen);
        overlay_spans(segments, &self.nmis, Over::Nmi)
    }

    /// The frame between entry `next - 1` and entry `next`.
    fn frame_before(&self, next: usize, open_since_ns: u64) -> Frame {
        let Some(entry) = next.checked_sub(1).and_then(|i| self.entries.get(i)) else {
            return Frame::default();
        };
        let is_covered = match self.entries.get(next) {
            Some(following) => !following.hole,
            None => entry.ns >= open_since_ns,
        };
        if is_covered { entry.frame() } else { Frame::default() }
    }

    /// The frame that begins at exactly `ns`, if a transition does; the last one's if several do.
    pub fn frame_at(&self, ns: u64) -> Option<Frame> {
        let after = self.entries.partition_point(|e| e.ns <= ns);
        let entry = self.entries.get(after.checked_sub(1)?)?;
        (entry.ns == ns).then(|| entry.frame())
    }

    /// True if no transition of `[start_ns, end_ns]` is missing and a later one has arrived.
    pub fn covers_window(&self, start_ns: u64, end_ns: u64) -> bool {
        let after = self.entries.partition_point(|e| e.ns < end_ns);
        if after == self.entries.len() {
            return false;
        }
        for entry in self.entries.range(..=after).rev() {
            if entry.ns <= start_ns {
                return true;
            }
            if entry.hole {
                return false;
            }
        }
        false
    }
}

/// Cut the segments, which fill a window, by what lies over them.
fn overlay_spans(segments: Vec<Segment>, spans: &Spans, over: Over) -> Vec<Segment> {
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return segments };
    let spans = spans.spans_within(first.start_ns, last.end_ns);
    if spans.is_empty() {
        return segments;
    }
    let mut cut = Vec::with_capacity(segments.len() + 2 * spans.len());
    let mut spans = spans.into_iter().peekable();
    for segment in segments {
        let mut at = segment.start_ns;
        while at < segment.end_ns {
            let (is_over, until) = match spans.peek() {
                Some(&(from, to)) if from <= at => (true, to),
                Some(&(from, _)) => (false, from),
                None => (false, segment.end_ns),
            };
            let end_ns = until.min(segment.end_ns);
            let over = if is_over { Some(over) } else { segment.over };
            cut.push(Segment { start_ns: at, end_ns, over, ..segment.clone() });
            if is_over && until == end_ns {
                spans.next();
            }
            at = end_ns;
        }
    }
    cut
}
