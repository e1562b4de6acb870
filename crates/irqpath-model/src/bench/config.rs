// SPDX-License-Identifier: GPL-2.0-or-later
//! The parameters of one benchmark: what distinguishes one series of runs from another.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Mechanism, UnknownWord};

/// What the triggering thread does between two runs.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// It sleeps (`usleep_range`): the CPU idles if nothing else runs.
    #[default]
    Passive,
    /// It spins (`udelay`) and competes with the bottom half.
    Active,
}

impl Wait {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Passive, Self::Active];

    /// Its name on the command line and in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passive => "passive",
            Self::Active => "active",
        }
    }

    /// The value of intsight's file `delay_type`.
    pub const fn delay_type(self) -> &'static str {
        match self {
            Self::Passive => "usleep_range",
            Self::Active => "udelay",
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Wait {
    type Err = UnknownWord;
    /// By either name.
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|w| w.name() == text || w.delay_type() == text)
            .ok_or_else(|| UnknownWord::new("way to wait", text, Self::ALL.map(Self::name)))
    }
}

/// The parameters of a benchmark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BenchConfig {
    /// How the bottom half is asked for.
    pub mechanism: Mechanism,
    /// Runs.
    pub nr_reps: u64,
    /// Time between two runs, us.
    pub delay_us: u64,
    /// What the triggering thread does meanwhile.
    pub wait: Wait,
    /// What raises the interrupt (`irq_work`, `hrtimer`, `edu`); empty if the module did not say.
    #[serde(default)]
    pub trigger: String,
    /// Tracepoints that were hooked, as the module names them.
    #[serde(default)]
    pub tracepoints: Vec<String>,
    /// Checkpoints that one run can hold.
    pub checkpoint_capacity: u64,
    /// CPU-bound processes that ran besides; `None` if whoever made the capture did not say.
    #[serde(default)]
    pub nr_load: Option<u32>,
    /// CPU on which the interrupt was raised, if it was pinned.
    #[serde(default)]
    pub cpu: Option<u16>,
}

impl BenchConfig {
    /// Runs per second, as asked for; infinite without a delay.
    pub fn rate_hz(&self) -> f64 {
        1e6 / self.delay_us as f64
    }

    /// The rate with one decimal, as tables and labels have it: `50.0 Hz`.
    pub fn rate_label(&self) -> String {
        if self.delay_us == 0 { "no delay".to_owned() } else { format!("{:.1} Hz", self.rate_hz()) }
    }
}
