// SPDX-License-Identifier: GPL-2.0-or-later
//! The content of a result directory: `meta.json` and `summary.json`.
//!
//! The schema is versioned: a reader accepts its own version and older ones (`stored`), and names
//! the one it found otherwise. `irqpath schema` prints it.

use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{BenchSeries, Jitter, Loss, Response, SlowPath};

mod meta;
mod paths;
mod stored;

pub use meta::{CpuInfo, InterruptCounts, Isolation, KernelInfo, Meta, RunIdentity};
pub use paths::{PathSummary, Paths, StageSummary};

/// Version of the stored format; a change that old readers cannot follow raises it. Since 2 a
/// summary says which kind of measurement it is of.
pub const SCHEMA_VERSION: u32 = 2;

/// The JSON schema of a document, with `$id` `urn:irqpath:schema:<name>:<SCHEMA_VERSION>`.
pub fn versioned_schema<T: JsonSchema>(name: &str) -> Schema {
    let mut schema = schema_for!(T);
    schema.insert("$id".to_owned(), format!("urn:irqpath:schema:{name}:{SCHEMA_VERSION}").into());
    schema
}

/// Something this kernel or this user cannot do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// The tracepoint or feature.
    pub what: String,
    /// What is not shown because of it, and the option that would provide it.
    pub consequence: String,
}

/// The observer's own cost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// Runs of our programs.
    pub nr_events: u64,
    /// Mean time in our programs per run, ns, by the kernel's own BPF statistics over a sample
    /// of the measurement; 0 if those were not available.
    pub mean_event_ns: u64,
    /// How many runs that mean is taken over.
    pub nr_sampled: u64,
    /// CPU time of the irqpath process, ns.
    pub process_cpu_ns: u64,
    /// Peak resident memory of the irqpath process, bytes.
    pub peak_rss_bytes: u64,
    /// Memory of the kernel tables, bytes.
    pub map_bytes: u64,
    /// How long the irqpath process ran at nice -20 because it could not keep up otherwise, ns.
    #[serde(default)]
    pub urgent_ns: u64,
}

/// What was measured: one kind of thing in one result.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Measured {
    /// Paths from interrupts to tasks, by `trace`.
    Paths(Paths),
    /// Bottom-half mechanisms, by `bench`.
    Bench {
        /// One series for each mechanism, load, rate and clock.
        bench: Vec<BenchSeries>,
    },
    /// Response to a periodic interrupt, by `respond`.
    Response {
        /// One test for each CPU.
        response: Vec<Response>,
        /// The slowest responses with their causes, if they were traced.
        slow: Vec<SlowPath>,
    },
    /// How evenly a task gets its CPU, by `jitter`.
    Jitter {
        /// One test for each CPU.
        jitter: Vec<Jitter>,
    },
}

impl Default for Measured {
    fn default() -> Self {
        Self::Paths(Paths::default())
    }
}

/// The result of a measurement, as `summary.json` holds it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The result itself, by kind of measurement.
    #[serde(flatten)]
    pub measured: Measured,
    /// What was lost or could not be joined.
    pub loss: Loss,
    /// How much the observer cost the system.
    pub overhead: Overhead,
    /// What this kernel lacks.
    pub missing: Vec<Missing>,
}

impl Summary {
    /// A summary of this, of the version that is written now.
    pub fn from_measured(measured: Measured) -> Self {
        Self { schema_version: SCHEMA_VERSION, measured, ..Self::default() }
    }

    /// What `trace` measured; empty of another measurement.
    pub fn traced(&self) -> &Paths {
        static NONE: LazyLock<Paths> = LazyLock::new(Paths::default);
        if let Measured::Paths(paths) = &self.measured { paths } else { &NONE }
    }

    /// The same, to change it; `None` of another measurement.
    pub fn traced_mut(&mut self) -> Option<&mut Paths> {
        if let Measured::Paths(paths) = &mut self.measured { Some(paths) } else { None }
    }

    /// Benchmarks; none of another measurement.
    pub fn bench(&self) -> &[BenchSeries] {
        if let Measured::Bench { bench } = &self.measured { bench } else { &[] }
    }

    /// Tests of response; none of another measurement.
    pub fn response(&self) -> &[Response] {
        if let Measured::Response { response, .. } = &self.measured { response } else { &[] }
    }

    /// Tests of determinism; none of another measurement.
    pub fn jitter(&self) -> &[Jitter] {
        if let Measured::Jitter { jitter } = &self.measured { jitter } else { &[] }
    }

    /// The slowest paths that were kept with their causes.
    pub fn slow(&self) -> &[SlowPath] {
        match &self.measured {
            Measured::Paths(Paths { slow, .. }) | Measured::Response { slow, .. } => slow,
            Measured::Bench { .. } | Measured::Jitter { .. } => &[],
        }
    }
}

impl<'de> Deserialize<'de> for Summary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = stored::StoredSummary::deserialize(deserializer)?;
        Self::try_from(stored).map_err(serde::de::Error::custom)
    }
}
