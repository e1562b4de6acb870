// SPDX-License-Identifier: GPL-2.0-or-later
//! The parameters of one benchmark: what distinguishes one series of runs from another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::{Mechanism, UnknownWord};

/// What the triggering thread does between two runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = unknown)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// It sleeps (`usleep_range`): the CPU idles if nothing else runs.
    #[default]
    #[strum(to_string = "passive", serialize = "usleep_range")]
    Passive,
    /// It spins (`udelay`) and competes with the bottom half.
    #[strum(to_string = "active", serialize = "udelay")]
    Active,
}

impl Wait {
    /// Both ways to wait, passive first.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name on the command line and in output.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The value of intsight's file `delay_type`.
    pub const fn delay_type(self) -> &'static str {
        match self {
            Self::Passive => "usleep_range",
            Self::Active => "udelay",
        }
    }
}

fn unknown(text: &str) -> UnknownWord {
    UnknownWord::new::<Wait>("way to wait", text)
}

/// The parameters of a benchmark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BenchConfig {
    /// How the bottom half is asked for.
    pub mechanism: Mechanism,
    /// Number of runs to be made.
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
