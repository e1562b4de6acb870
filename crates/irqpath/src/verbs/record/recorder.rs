// SPDX-License-Identifier: GPL-2.0-or-later
//! The recorder while it runs: what has happened, whether it makes a capture, and what became of
//! those before.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use irqpath_model::record::{
    Capture, ClockReading, Clocks, Recorded, Suppressed, Trigger, Written,
};
use irqpath_model::{Loss, Names, PathRecord, SCHEMA_VERSION};
use irqpath_report::text::record::describe_capture;
use irqpath_source::bpf::flight::{FlightRecorder, Recording};
use irqpath_source::realtime::now_ns;
use irqpath_system::Host;

use super::actions::Actions;
use super::limits::{Limiter, Rarely};
use super::memory::{self, Watch};
use super::triggers::{Happened, Triggers};
use super::writer::{Disk, Done, Job, Writer};
use crate::host::clocks::read_clocks;
use crate::output::console;
use crate::session::add_own_cost;

/// One look at the rings and triggers.
pub const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often the counts of the programs are read: the losses of a capture are known to so much.
const COUNT_EVERY: Duration = Duration::from_secs(1);
/// Captures that the final document lists.
const MAX_LISTED: usize = 1000;

/// What was asked for.
#[derive(Debug, Clone)]
pub struct Settings {
    pub threshold_ns: Option<u64>,
    pub stages: Vec<(irqpath_model::Point, u64)>,
    pub keep: Duration,
    pub after: Duration,
    pub memory_mib: u32,
    /// Standard output is for the document.
    pub json: bool,
}

impl State {
    /// With what is on the disk from before.
    pub fn with(disk: Disk) -> Self {
        Self { disk, ..Self::default() }
    }
}

/// Everything that a round needs.
pub struct Recorder<R: Recording> {
    pub settings: Settings,
    pub flight: R,
    pub triggers: Triggers,
    pub actions: Actions,
    pub writer: Writer,
    pub limiter: Limiter,
    pub host: Host,
    pub names: Names,
    pub started: Instant,
    pub clock: ClockReading,
    pub memory: Watch,
    pub state: State,
}

/// What changes.
#[derive(Default)]
pub struct State {
    /// A trigger whose capture is due soon.
    pending: Option<(Happened, Instant)>,
    is_writing: bool,
    /// The last trigger was to end the recorder.
    has_ended: bool,
    counted: Option<Instant>,
    /// Losses so far at different times, oldest first.
    losses: VecDeque<(u64, Loss)>,
    disk: Disk,
    /// Lines about failures, by their kind.
    lines: BTreeMap<&'static str, Rarely>,
    recorded: Recorded,
}

impl<R: Recording> Recorder<R> {
    /// One round; waits for a line for at most so long.
    pub fn go_round(&mut self, by_hand: bool, patience: Duration) -> anyhow::Result<()> {
        let mut happened = self.triggers.wait(patience);
        if by_hand {
            let what = "by hand (SIGUSR1)".to_owned();
            happened.push(Happened { trigger: Trigger::Signal, what, at_ns: now_ns() });
        }
        happened.extend(self.look_at_paths()?);
        happened.extend(self.look_at_counts()?);
        for one in happened {
            self.hear_trigger(one);
        }
        if let Some(done) = self.writer.wait_done(Duration::ZERO) {
            self.take_done(done)?;
        }
        self.actions.note_acted();
        let is_due = |(_, due): &(Happened, Instant)| *due <= Instant::now();
        if !self.state.is_writing && self.state.pending.as_ref().is_some_and(is_due) {
            self.begin_capture()?;
        }
        Ok(())
    }

    fn look_at_paths(&mut self) -> anyhow::Result<Vec<Happened>> {
        let reported = self.flight.poll_paths()?;
        let nr_more = reported.nr_more;
        let mut happened: Vec<Happened> =
            reported.paths.iter().map(|path| self.describe_path(path)).collect();
        if nr_more > 0 {
            // They are in the same capture, or beyond the same limit.
            self.count_trigger(Trigger::Threshold, nr_more);
            self.count_suppressed(Suppressed::SameCapture, nr_more);
        }
        happened.sort_by_key(|one| one.at_ns);
        Ok(happened)
    }

    fn describe_path(&self, path: &PathRecord) -> Happened {
        let us = |ns: u64| ns as f64 / 1e3;
        let target = format!("{}:{}", path.target.comm.as_str(), path.target.tid);
        let origin = self.names.origin(path.origin);
        let at_ns = path.last().map_or_else(now_ns, |last| last.ns);
        let total = path.total_ns();
        if self.settings.threshold_ns.is_some_and(|limit| total >= limit) {
            let what = format!("{origin} to {target} took {:.1} us", us(total));
            return Happened { trigger: Trigger::Threshold, what, at_ns };
        }
        let stages = path.stages();
        let is_over = |stage: &&irqpath_model::StageSpan| {
            let limits = self.settings.stages.iter();
            limits.filter(|(point, _)| *point == stage.to).any(|(_, ns)| stage.ns() >= *ns)
        };
        let stage = stages.iter().find(is_over);
        let words = stage
            .map_or_else(String::new, |s| format!("{} took {:.1} us: ", s.to.name(), us(s.ns())));
        let what = format!("{words}{origin} to {target}");
        Happened { trigger: Trigger::Stage, what, at_ns }
    }

    /// The counts of the programs, now and then.
    fn look_at_counts(&mut self) -> anyhow::Result<Vec<Happened>> {
        if self.state.counted.is_some_and(|at| at.elapsed() < COUNT_EVERY) {
            return Ok(Vec::new());
        }
        self.state.counted = Some(Instant::now());
        let counts = self.flight.take_counts()?;
        let oldest = counts.ns.saturating_sub(self.settings.keep.as_nanos() as u64);
        self.state.losses.push_back((counts.ns, counts.loss));
        // The newest that is older than a capture stays.
        while self.state.losses.get(1).is_some_and(|(ns, _)| *ns < oldest) {
            self.state.losses.pop_front();
        }
        if let Ok(irqs) = self.host.irq_names() {
            self.names.irqs = irqs;
        }
        if !self.triggers.wants_lines() {
            return Ok(Vec::new());
        }
        Ok(self.triggers.judge_lines(&counts.lines, &self.names, counts.ns))
    }

    fn hear_trigger(&mut self, happened: Happened) {
        self.count_trigger(happened.trigger, 1);
        if let Some((pending, _)) = &self.state.pending {
            // It waits for its end, or for the last capture to be written.
            let is_within = happened.at_ns <= self.ends_ns(pending);
            let why = if is_within { Suppressed::SameCapture } else { Suppressed::Busy };
            self.count_suppressed(why, 1);
            return;
        }
        if self.state.has_ended {
            self.count_suppressed(Suppressed::Unwanted, 1);
            return;
        }
        let now = Instant::now();
        if !self.limiter.admit(now) {
            self.count_suppressed(Suppressed::Rate, 1);
            return;
        }
        self.actions.ask_before(happened.trigger.name());
        if !self.actions.traces {
            self.count_suppressed(Suppressed::Unwanted, 1);
            self.state.has_ended = !self.actions.goes_on;
            return;
        }
        self.state.pending = Some((happened, now + self.settings.after));
    }

    /// What was reported before the recorder began is nobody's.
    pub fn forget_reported(&mut self) -> anyhow::Result<()> {
        self.flight.poll_paths()?;
        Ok(())
    }

    /// True if a trigger has ended the recorder, and its capture is written.
    pub fn has_ended(&self) -> bool {
        self.state.has_ended
    }

    /// When the capture of a trigger ends.
    fn ends_ns(&self, happened: &Happened) -> u64 {
        happened.at_ns.saturating_add(self.settings.after.as_nanos() as u64)
    }

    /// Copy the rings, and hand the copy over.
    fn begin_capture(&mut self) -> anyhow::Result<()> {
        let Some((happened, _)) = self.state.pending.take() else { return Ok(()) };
        let keep_ns = self.settings.keep.as_nanos() as u64;
        let until_ns = now_ns().min(self.ends_ns(&happened));
        let from_ns = happened.at_ns.saturating_sub(keep_ns).max(self.clock.monotonic_ns);
        let Some(mut frozen) = self.flight.freeze(from_ns, until_ns)? else {
            self.count_suppressed(Suppressed::Busy, 1);
            return Ok(());
        };
        frozen.add_loss(&self.loss_since(from_ns)?);
        let begins_ns = frozen.begins_ns();
        let capture = Capture {
            nr: 0,
            trigger: happened.trigger.name().to_owned(),
            what: happened.what,
            at_ns: happened.at_ns,
            begins_ns,
            ends_ns: frozen.ends_ns(),
            keep_ns,
        };
        if begins_ns > from_ns {
            self.state.recorded.nr_short += 1;
        }
        let clocks = Clocks { start: self.clock, end: read_clocks() };
        let label = happened.trigger.name();
        let threshold_ns = self.settings.threshold_ns;
        self.writer.begin(Job { frozen, capture, label, threshold_ns, clocks })?;
        self.state.is_writing = true;
        Ok(())
    }

    /// What was lost since then, and up to a second before it.
    fn loss_since(&self, from_ns: u64) -> anyhow::Result<Loss> {
        let now = self.flight.take_counts()?.loss;
        let before = self.state.losses.iter().rev().find(|(ns, _)| *ns <= from_ns);
        let mut lost = Loss::default();
        for (&reason, &n) in &now.0 {
            let earlier = before.map_or(0, |(_, loss)| loss.get(reason));
            lost.add_loss(reason, n.saturating_sub(earlier));
        }
        Ok(lost)
    }

    fn take_done(&mut self, done: Done) -> anyhow::Result<()> {
        self.state.is_writing = false;
        self.state.disk = done.disk;
        self.memory.join(done.memory);
        self.flight.recycle(done.frozen);
        self.state.has_ended |= !self.actions.goes_on;
        if let Some(error) = done.undropped {
            self.note_failure("undropped", &format!("an old capture was not dropped: {error:#}"));
        }
        match done.result {
            Ok(written) => self.keep_written(written),
            Err(unwritten) => {
                self.count_suppressed(unwritten.why, 1);
                let line = format!("no capture was kept: {:#}", unwritten.error);
                self.note_failure(unwritten.why.into(), &line);
                Ok(())
            }
        }
    }

    /// Whatever makes one capture fail may do so for months.
    fn note_failure(&mut self, kind: &'static str, line: &str) {
        let rarely = self.state.lines.entry(kind).or_default();
        match rarely.admit(Instant::now()) {
            None => {}
            Some(0) => console::print_note(line),
            Some(n) => console::print_note(&format!("{line}; {n} more since the last such line")),
        }
    }

    fn keep_written(&mut self, written: Written) -> anyhow::Result<()> {
        self.actions.ask_after(&written.capture.trigger, &written.directory);
        let recorded = &mut self.state.recorded;
        recorded.nr_captures += 1;
        let line = format!("wrote {}", describe_capture(&written));
        if recorded.captures.len() >= MAX_LISTED {
            recorded.captures.remove(0);
        }
        recorded.captures.push(written);
        if self.settings.json {
            return Ok(());
        }
        console::print_page(&irqpath_report::text::Page::from_line(line))
    }

    fn count_trigger(&mut self, trigger: Trigger, n: u64) {
        *self.state.recorded.triggers.entry(trigger.name().to_owned()).or_default() += n;
    }

    fn count_suppressed(&mut self, why: Suppressed, n: u64) {
        let name: &str = why.into();
        *self.state.recorded.suppressed.entry(name.to_owned()).or_default() += n;
    }

    /// What has become of all triggers so far.
    pub fn recorded(&self) -> &Recorded {
        &self.state.recorded
    }

    /// What the captures take.
    pub fn disk(&self) -> Disk {
        self.state.disk
    }

    fn finish_captures(&mut self, at_end: bool, stopped: &impl Fn() -> bool) -> anyhow::Result<()> {
        self.wait_for_writer(stopped)?;
        if at_end && self.state.pending.is_none() {
            self.count_trigger(Trigger::End, 1);
            let what = "the end of the recorder".to_owned();
            let happened = Happened { trigger: Trigger::End, what, at_ns: now_ns() };
            self.state.pending = Some((happened, Instant::now()));
        }
        self.begin_capture()?;
        self.wait_for_writer(stopped)
    }

    /// The helper bounds how long they take.
    fn wait_for_actions(&mut self, stopped: &impl Fn() -> bool) {
        while self.actions.is_busy() && !stopped() {
            std::thread::sleep(LOOK_EVERY);
            self.actions.note_acted();
        }
    }

    fn wait_for_writer(&mut self, stopped: &impl Fn() -> bool) -> anyhow::Result<()> {
        while self.state.is_writing && !stopped() {
            if let Some(done) = self.writer.wait_done(LOOK_EVERY) {
                self.take_done(done)?;
            }
        }
        Ok(())
    }
}

impl Recorder<FlightRecorder> {
    /// Write what is due, and say what there was.
    pub fn finish(mut self, at_end: bool, stopped: impl Fn() -> bool) -> anyhow::Result<Recorded> {
        let clocks = Clocks { start: self.clock, end: read_clocks() };
        let duration = self.started.elapsed();
        let counts = self.flight.take_counts()?;
        let written = self.flight.count_written()?;
        self.flight.detach_programs();
        self.finish_captures(at_end, &stopped)?;
        self.wait_for_actions(&stopped);
        self.memory.look();
        let mut recorded = self.state.recorded;
        recorded.schema_version = SCHEMA_VERSION;
        recorded.duration_ns = duration.as_nanos() as u64;
        recorded.nr_transitions = written.nr_transitions;
        recorded.nr_paths = written.nr_paths;
        recorded.nr_dropped = self.state.disk.nr_dropped;
        recorded.disk_bytes = self.state.disk.nr_bytes;
        let (rings, maps) = (self.flight.copy_bytes(), counts.overhead.map_bytes);
        recorded.memory = memory::add_up(self.settings.memory_mib, rings, maps, self.memory.most());
        recorded.nr_stacks = written.nr_stacks;
        recorded.stacks_ns = written.stacks_ns;
        recorded.actions = self.actions.counts();
        recorded.probes = self.triggers.probe_counts();
        recorded.notes = self.triggers.notes();
        recorded.clocks = clocks;
        recorded.loss = counts.loss;
        recorded.overhead = counts.overhead;
        add_own_cost(&mut recorded.overhead);
        recorded.missing = counts.missing;
        Ok(recorded)
    }
}
