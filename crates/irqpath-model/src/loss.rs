// SPDX-License-Identifier: GPL-2.0-or-later
//! Honest accounting: what was dropped, and what could not be joined, by reason.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Why something is missing from the statistics or the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum LossReason {
    /// A record did not fit into the ring buffer (it is in the histograms all the same).
    RingbufFull,
    /// A path found no room in the path table.
    PathTableFull,
    /// A stage found no room in the histogram table.
    HistogramTableFull,
    /// Hardirqs nested deeper than the joiner follows.
    NestingTooDeep,
    /// A wakeup was forgotten because another task uses the same slot.
    TaskSlotCollision,
    /// A work item was forgotten because another one uses the same slot.
    WorkSlotCollision,
    /// The target had not gone to sleep when it was woken: it was preempted on its way to user
    /// space, or its CPU took it back without a switch.
    StaleWakeup,
    /// The target exited before it was switched in or returned to user space.
    TaskExit,
    /// An irq thread was woken while it was still running: two interrupts, one activation.
    ThreadCoalesced,
    /// Stamps of two CPUs ran backwards and were clamped.
    ClockSkew,
    /// An irq number, vector or CPU beyond the tables.
    OutOfRange,
    /// The kernel skipped a run of one of our programs (it interrupted itself).
    ProgramMissed,
    /// Transitions overwritten before they could be delivered.
    OccupancyOverrun,
    /// The kernel ran no program for a switch: who occupied that CPU around it is unseen.
    SwitchUnseen,
    /// A path met such a switch (its target's, say) and was not joined.
    PathUnseen,
}

impl LossReason {
    /// Every reason, in order of its number.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// True where data was lost; false where the path itself had no end to join (the target
    /// exited, or had not slept) or nothing is missing from the totals.
    pub const fn is_lost_data(self) -> bool {
        !matches!(
            self,
            Self::TaskExit | Self::ThreadCoalesced | Self::ClockSkew | Self::StaleWakeup
        )
    }

    /// One line for people: what it means and what to do.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::RingbufFull => "records dropped; raise --buffer or the threshold -T",
            Self::PathTableFull => "paths not counted; narrow with --irq or --task",
            Self::HistogramTableFull => "stages without histogram; narrow with --irq or --task",
            Self::NestingTooDeep => "nested interrupts not followed",
            Self::TaskSlotCollision => "wakeups forgotten, two tasks share a slot",
            Self::WorkSlotCollision => "work items forgotten, two items share a slot",
            Self::StaleWakeup => "wakeups of targets that had not slept yet",
            Self::TaskExit => "targets exited on the way",
            Self::ThreadCoalesced => "interrupts that found their thread still running",
            Self::ClockSkew => "stamps of two CPUs ran backwards and were clamped",
            Self::OutOfRange => "irq or CPU number beyond the tables",
            Self::ProgramMissed => "events skipped because a tracing program interrupted itself",
            Self::OccupancyOverrun => "transitions overwritten; causes may be incomplete",
            Self::SwitchUnseen => {
                "switches that the kernel showed to no program; causes say unseen"
            }
            Self::PathUnseen => "paths not joined because a switch on their way was not seen",
        }
    }
}

/// Counts by reason; absent means zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Loss(pub BTreeMap<LossReason, u64>);

impl Loss {
    /// Add `n` for `reason`.
    pub fn add_loss(&mut self, reason: LossReason, n: u64) {
        if n > 0 {
            *self.0.entry(reason).or_default() += n;
        }
    }

    /// Count for one reason.
    pub fn get(&self, reason: LossReason) -> u64 {
        self.0.get(&reason).copied().unwrap_or(0)
    }

    /// Sum over the reasons that mean lost data.
    pub fn nr_lost(&self) -> u64 {
        self.0.iter().filter(|(r, _)| r.is_lost_data()).map(|(_, n)| n).sum()
    }
}
