// SPDX-License-Identifier: GPL-2.0-or-later
//! The flight recorder in the agent: the table `[record]` of its configuration, and how it starts.
//!
//! Everything else is [`record`](crate::verbs::record)'s: triggers, limits, captures. The programs of
//! the agent fill the rings beside their statistics, so an event is seen once.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::ensure;
use irqpath_files::output::Store;
use irqpath_model::{Names, Point};
use irqpath_report::openmetrics::{RecorderFacts, Span};
use irqpath_source::Flight;
use irqpath_source::bpf::flight::RecordingSource;
use irqpath_system::Host;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::host::clocks::read_clocks;
use crate::host::meta;
use crate::host::signals::ByHand;
use crate::verbs::record::{
    Actions, Asked, Limiter, MemoryWatch, Rate, Recorder, Settings, State, Triggers, User, Writer,
    is_capture, measure_disk, parse_stage, share_out, watch_within,
};

/// What the agent itself needs: its tables of paths, their numbers, connections.
const AGENT: User = User { name: "record.memory_mib", besides: 32 << 20 };
/// A capture of a minute is none.
const MAX_US: u64 = 60_000_000;

/// What is kept, when it is written, and within what bounds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub directory: PathBuf,
    /// When a path took at least this long, us.
    pub threshold_us: Option<u64>,
    /// When a stage did: `switch_in:200`.
    #[serde(default, deserialize_with = "read_stages")]
    pub stages: Vec<(Point, u64)>,
    /// When something else happens, as `--trigger` of `irqpath record`.
    #[serde(default, deserialize_with = "read_all")]
    pub triggers: Vec<Asked>,
    #[serde(default = "default_rate", deserialize_with = "read_one")]
    pub at_most: Rate,
    #[serde(default = "default_keep")]
    pub keep_s: u32,
    #[serde(default = "default_after")]
    pub after_ms: u32,
    #[serde(default = "default_memory")]
    pub memory_mib: u32,
    #[serde(default = "default_disk")]
    pub disk_mib: u32,
    /// Keep the kernel stack of who blocked a path for so long, us.
    pub stacks_us: Option<u64>,
}

fn default_rate() -> Rate {
    "6/min".parse().expect("a rate")
}

fn default_keep() -> u32 {
    10
}

fn default_after() -> u32 {
    100
}

fn default_memory() -> u32 {
    192
}

fn default_disk() -> u32 {
    1024
}

impl Record {
    /// # Errors
    /// In one line, what cannot be.
    pub fn check(&self) -> anyhow::Result<()> {
        ensure!(
            self.directory.is_absolute(),
            "record.directory '{}' is no absolute path",
            self.directory.display()
        );
        ensure!(
            (1..=3600).contains(&self.keep_s),
            "record.keep_s is {}; 1 to 3600 are possible",
            self.keep_s
        );
        ensure!(
            self.after() < self.keep(),
            "record.after_ms is not less than keep_s; a capture is of what was before its trigger"
        );
        for (name, us) in [("threshold_us", self.threshold_us), ("stacks_us", self.stacks_us)] {
            ensure!(
                us.is_none_or(|us| (1..=MAX_US).contains(&us)),
                "record.{name} is {}; 1 to {MAX_US} are possible",
                us.unwrap_or(0)
            );
        }
        for (name, mib) in [("memory_mib", self.memory_mib), ("disk_mib", self.disk_mib)] {
            ensure!((1..=65_536).contains(&mib), "record.{name} is {mib}; 1 to 65536 are possible");
        }
        Ok(())
    }

    /// The same, but for what may change while it runs.
    pub fn keeps_as(&self, other: &Self) -> bool {
        let Self { at_most, keep_s, after_ms, .. } = other.clone();
        Self { at_most, keep_s, after_ms, ..self.clone() } == *other
    }

    fn keep(&self) -> Duration {
        Duration::from_secs(self.keep_s.into())
    }

    fn after(&self) -> Duration {
        Duration::from_millis(self.after_ms.into())
    }

    /// What the programs keep and report.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn flight(&self, host: &Host) -> anyhow::Result<Flight> {
        Ok(Flight {
            ring_bytes: share_out(self.memory_mib, host.possible_cpus()?.len(), AGENT)?,
            threshold_ns: self.threshold_us.map(|us| us * 1000),
            stages: self.stages.clone(),
            stack_ns: self.stacks_us.map(|us| us * 1000),
            beside: true,
        })
    }

    fn settings(&self) -> Settings {
        Settings {
            threshold_ns: self.threshold_us.map(|us| us * 1000),
            stages: self.stages.clone(),
            keep: self.keep(),
            after: self.after(),
            memory_mib: self.memory_mib,
            json: false,
        }
    }
}

/// What has to be open before the process gives up its privileges.
pub struct Opened {
    store: Store,
    triggers: Triggers,
    by_hand: ByHand,
    record: Record,
}

impl Opened {
    /// Hold the whole process to the memory of the recorder, whose rings are there. To be called
    /// while limits may be set.
    ///
    /// # Errors
    /// If the process is too large for the memory already, or the kernel refuses.
    pub fn within_memory(self, source: RecordingSource) -> anyhow::Result<Bounded> {
        let memory = watch_within(self.record.memory_mib, &source)?;
        memory.limit_data()?;
        Ok(Bounded { opened: self, source, memory })
    }
}

/// The same with rings, in a process whose memory has a limit.
pub struct Bounded {
    opened: Opened,
    source: RecordingSource,
    memory: MemoryWatch,
}

/// Open the directory and whatever triggers.
///
/// # Errors
/// In one line, what cannot be opened.
pub fn open(record: &Record, host: &Host) -> anyhow::Result<Opened> {
    let by_hand = ByHand::listen()?;
    let store = Store::open(&record.directory, u64::from(record.disk_mib) << 20, is_capture)?;
    let triggers = Triggers::open(&record.triggers, host)?;
    Ok(Opened { store, triggers, by_hand, record: record.clone() })
}

/// The recorder while the agent runs.
pub struct Recording {
    recorder: Recorder<RecordingSource>,
    by_hand: ByHand,
    disk_limit: u64,
}

impl Bounded {
    /// Start to hear triggers.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(self, host: &Host, names: &Names) -> anyhow::Result<Recording> {
        let Self { opened: Opened { store, triggers, by_hand, record }, source, memory } = self;
        let meta = meta::collect_before(host, names.clone());
        let (state, disk_limit) = (State::with(measure_disk(&store)), store.budget());
        let recorder = Recorder {
            settings: record.settings(),
            flight: source,
            triggers,
            actions: Actions::start(&[])?,
            writer: Writer::start(store, host.clone(), meta, memory)?,
            limiter: Limiter::new(record.at_most),
            host: host.clone(),
            names: names.clone(),
            started: Instant::now(),
            clock: read_clocks(),
            memory,
            state,
        };
        Ok(Recording { recorder, by_hand, disk_limit })
    }
}

impl Recording {
    /// Hear what has happened, and take what was written.
    ///
    /// # Errors
    /// If the rings cannot be read.
    pub fn go_round(&mut self) -> anyhow::Result<()> {
        self.recorder.go_round(self.by_hand.take(), Duration::ZERO)
    }

    /// Take over what may change while it runs.
    pub fn change(&mut self, record: &Record) {
        self.recorder.settings = record.settings();
        self.recorder.limiter.set_rate(record.at_most);
    }

    /// What has become of all triggers, and the captures that are still there.
    pub fn facts(&self) -> RecorderFacts {
        let (recorded, disk) = (self.recorder.recorded(), self.recorder.disk());
        let is_there = |nr: u32| disk.oldest.is_some_and(|oldest| nr >= oldest);
        let kept = recorded.captures.iter().filter(|written| is_there(written.capture.nr));
        let spans = kept.map(|written| Span {
            name: format!("{:04}-{}", written.capture.nr, written.capture.trigger),
            begins_ns: written.capture.begins_ns,
            ends_ns: written.capture.ends_ns,
        });
        RecorderFacts {
            triggers: recorded.triggers.clone(),
            suppressed: recorded.suppressed.clone(),
            nr_captures: recorded.nr_captures,
            nr_short: recorded.nr_short,
            probes: self.recorder.triggers.probe_counts(),
            nr_dropped: disk.nr_dropped,
            disk_bytes: disk.nr_bytes,
            disk_limit: self.disk_limit,
            spans: spans.collect(),
        }
    }
}

fn read_one<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(from: D) -> Result<T, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

fn read_all<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let all = Vec::<String>::deserialize(from)?;
    all.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

fn read_stages<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(Point, u64)>, D::Error> {
    let all = Vec::<String>::deserialize(from)?;
    all.iter().map(|text| parse_stage(text).map_err(D::Error::custom)).collect()
}
