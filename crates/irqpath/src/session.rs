// SPDX-License-Identifier: GPL-2.0-or-later
//! A measurement: one source, the analysis, and the files that are written while it runs. The
//! views (`top`, or waiting for the end) only call [`Session::poll_source`] until they have seen enough.
//!
//! Rule: a step is the hot path when every path is recorded. Nothing in it may wait for anything
//! but the source and the files.

use std::time::{Duration, Instant};

use irqpath_analysis::{Engine, EngineConfig, Judged, SlowKeeper, summarize_paths};
use irqpath_files::input;
use irqpath_model::{
    CauseTotals, Event, Loss, Names, Overhead, PathStats, SlowPath, Snapshot, Summary,
};
use irqpath_source::bpf::BpfSource;
use irqpath_source::{Config, Source};
use rustix::time::{ClockId, clock_gettime};

use crate::host::names::KnownNames;
use crate::output::streams::Streams;

/// Open the running kernel as a source.
pub fn open_live(config: &Config) -> anyhow::Result<Box<dyn Source>> {
    Ok(Box::new(BpfSource::open(config)?))
}

/// Of `/proc/self/status`, which has two kilobytes.
const MAX_STATUS: u64 = 1 << 20;

/// Of an agent: 3 MiB, twice that while it grows. Paths that need more are explained in part, which is
/// counted.
const UNBOUNDED_TRANSITIONS: usize = 1 << 16;

/// Slow paths of a virtual machine that are explained in any case, to be judged: without causes, a path
/// counts as the machine's own. Later ones are explained if they are among the slowest.
const JUDGED: usize = 10_000;

/// From when on a path is slow, and where.
#[derive(Debug, Clone, Copy, Default)]
pub struct Threshold {
    /// Of the whole path, ns.
    pub ns: Option<u64>,
    /// A virtual machine, whose hypervisor has its share in the causes.
    pub is_virtual: bool,
}

/// A measurement that runs: its source, what is computed from it, and the files that it fills.
pub struct Session {
    source: Box<dyn Source>,
    engine: Engine,
    keeper: SlowKeeper,
    causes: CauseTotals,
    streams: Streams,
    names: KnownNames,
    threshold_ns: Option<u64>,
    nr_by_hypervisor: u64,
    started: Instant,
    stopped: Option<Duration>,
}

/// What is left when a measurement is over.
pub struct Finished {
    pub summary: Summary,
    /// The source's last word, if a recording is written.
    pub snapshot: Option<Snapshot>,
    /// All names that were learned.
    pub names: Names,
    /// How long it ran.
    pub duration: Duration,
    /// The files written while it ran.
    pub streams: Streams,
}

impl Session {
    /// Start to measure from an open source.
    pub fn start(
        source: Box<dyn Source>,
        names: KnownNames,
        streams: Streams,
        threshold: Threshold,
    ) -> Self {
        let mut config = EngineConfig { threshold_ns: threshold.ns, ..EngineConfig::default() };
        if threshold.is_virtual {
            config.keep = Some(JUDGED);
        }
        Self::start_engine(source, names, streams, (config, threshold.is_virtual))
    }

    /// The same without an end: every path over the threshold is explained, for the sums.
    pub fn start_unbounded(
        source: Box<dyn Source>,
        names: KnownNames,
        streams: Streams,
        threshold: Threshold,
    ) -> Self {
        let (threshold_ns, max_transitions) = (threshold.ns, UNBOUNDED_TRANSITIONS);
        let config =
            EngineConfig { threshold_ns, keep: None, max_transitions, ..Default::default() };
        Self::start_engine(source, names, streams, (config, threshold.is_virtual))
    }

    fn start_engine(
        source: Box<dyn Source>,
        names: KnownNames,
        streams: Streams,
        (config, is_virtual): (EngineConfig, bool),
    ) -> Self {
        let threshold_ns = config.threshold_ns;
        Self {
            source,
            engine: Engine::new(config, names.get().clone()),
            keeper: SlowKeeper::default(),
            causes: CauseTotals::of_machine(is_virtual),
            streams,
            names,
            threshold_ns,
            nr_by_hypervisor: 0,
            started: Instant::now(),
            stopped: None,
        }
    }

    /// How long it has been running.
    pub fn elapsed(&self) -> Duration {
        self.stopped.unwrap_or_else(|| self.started.elapsed())
    }

    /// True if the running kernel is measured.
    pub fn is_live(&self) -> bool {
        self.names.is_live()
    }

    /// True if a recording has come to its end.
    pub fn is_exhausted(&self) -> bool {
        self.source.is_exhausted()
    }

    /// Take over what the source has; waits for at most `timeout` if there is nothing.
    pub fn poll_source(&mut self, timeout: Duration) -> anyhow::Result<()> {
        let events = self.source.poll_events(timeout)?;
        self.process_events(events)?;
        for path in self.engine.drain() {
            self.keep_path(path);
        }
        Ok(())
    }

    fn keep_path(&mut self, path: SlowPath) {
        let total_ns = path.record.total_ns();
        if let Some(limit_ns) = self.threshold_ns.filter(|ns| total_ns >= *ns) {
            self.causes.add_path(&path);
            let taken_ns = path.hypervisor_ns(self.causes.is_virtual());
            self.nr_by_hypervisor += u64::from(total_ns.saturating_sub(taken_ns) < limit_ns);
        }
        self.keeper.add_path(path);
    }

    /// A slow path that nobody explained counts as ours.
    fn judged(&self) -> Judged {
        Judged {
            threshold_ns: self.threshold_ns,
            nr_slow: self.engine.nr_over(),
            nr_slow_by_hypervisor: self.nr_by_hypervisor,
        }
    }

    /// Gives back the rows of paths that did not occur for `idle`; see [`Source::retire_idle`].
    pub fn retire_idle(&mut self, idle: Duration) -> anyhow::Result<Vec<PathStats>> {
        Ok(self.source.retire_idle(idle)?)
    }

    /// Where the paths over the threshold lost their time so far.
    pub fn cause_totals(&self) -> &CauseTotals {
        &self.causes
    }

    /// Read the names of lines again: devices come and go.
    pub fn reread_lines(&mut self) {
        self.names.reread_lines();
    }

    /// The names that are known so far.
    pub fn names(&self) -> &Names {
        self.names.get()
    }

    fn process_events(&mut self, events: Vec<Event>) -> anyhow::Result<()> {
        self.names.learn_callbacks(&events);
        self.streams.write_events(&events, self.names.get())?;
        for event in events {
            self.engine.push(event);
        }
        Ok(())
    }

    /// The numbers so far.
    pub fn interim_summary(&mut self) -> anyhow::Result<Summary> {
        let snapshot = self.source.take_snapshot()?;
        self.engine.advance(snapshot.ns);
        let slow = self.keeper.iter().cloned().collect();
        let snapshot = self.complete_snapshot(snapshot);
        let names = self.names.get();
        Ok(summarize_paths(snapshot, slow, self.judged(), names))
    }

    /// Detach, take over what is in flight, and complete the files.
    pub fn finish(mut self) -> anyhow::Result<Finished> {
        let duration = self.started.elapsed();
        self.stopped = Some(duration);
        let (events, snapshot) = self.source.finish()?;
        self.process_events(events)?;
        for path in self.engine.flush() {
            self.keep_path(path);
        }
        self.streams.complete_files()?;
        self.names.complete_names();
        let snapshot = self.complete_snapshot(snapshot);
        let judged = self.judged();
        let (names, slow) = (self.names.into_inner(), self.keeper.into_vec());
        let recorded = self.streams.has_recording().then(|| snapshot.clone());
        let summary = summarize_paths(snapshot, slow, judged, &names);
        Ok(Finished { summary, snapshot: recorded, names, duration, streams: self.streams })
    }

    /// The source's numbers with those of this process.
    fn complete_snapshot(&self, mut snapshot: Snapshot) -> Snapshot {
        let Loss(reasons) = self.engine.loss();
        for (reason, n) in reasons {
            snapshot.loss.add_loss(reason, n);
        }
        if self.names.is_live() {
            add_own_cost(&mut snapshot.overhead);
        }
        snapshot
    }
}

/// Processor time and peak memory of this process.
pub fn add_own_cost(overhead: &mut Overhead) {
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    overhead.process_cpu_ns = cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64;
    overhead.peak_rss_bytes = own_bytes("VmHWM");
}

/// A field of `/proc/self/status` that is a size, bytes; 0 if it cannot be read.
pub fn own_bytes(field: &str) -> u64 {
    let status = input::read_text("/proc/self/status".as_ref(), MAX_STATUS).unwrap_or_default();
    parse_size(&status, field).unwrap_or(0)
}

/// Sizes there are in KiB.
fn parse_size(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_cost_is_read_from_the_system() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 9 kB\n";
        assert_eq!(parse_size(status, "VmHWM"), Some(2 << 20));
        assert_eq!(parse_size(status, "VmRSS"), Some(9 << 10));
        assert_eq!(parse_size("Name:\tx\n", "VmHWM"), None);
        let mut overhead = Overhead::default();
        add_own_cost(&mut overhead);
        assert!(overhead.process_cpu_ns > 0 && overhead.peak_rss_bytes > 0);
    }
}
