// SPDX-License-Identifier: GPL-2.0-or-later
//! What `set`, `status` and `reset` share: a shield's entry in the journal, and how it stands.

use std::collections::BTreeSet;
use std::time::Duration;

use irqpath_model::change::Refusal;
use irqpath_model::shield::{Mechanism, Wanted};
use serde::{Deserialize, Serialize};

use super::kernel;
use super::plan::Plan;
use crate::change::Step;
use crate::journal::{Journal, Ledger};

/// No further round begins after this, as others wait for the lock, and whoever forks may go on.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// [`Wanted`] as it stands in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    #[serde(flatten)]
    pub wanted: Wanted,
    /// Tasks that started before this tick were there before the shield.
    pub since_ticks: u64,
    /// Interrupt lines that were there before the shield; `None` in a journal that does not say.
    #[serde(default)]
    pub lines: Option<BTreeSet<u32>>,
}

impl Entry {
    /// From what a journal has for it; `None` if that says nothing of a shield.
    pub(super) fn parse(wanted: Option<serde_json::Value>) -> Option<Self> {
        serde_json::from_value(wanted?).ok()
    }
}

/// What is wanted, as the journal says.
pub(super) fn read_entry(journal: &Journal) -> Option<Entry> {
    Entry::parse(journal.content().wanted.clone())
}

/// How a shield stands. Whether there is a partition is known best by the one who asks.
pub(super) fn in_force(partition: bool, plan: &Plan, wanted: &Wanted) -> Mechanism {
    match (partition, plan.kernel && kernel::has_part(wanted)) {
        (true, _) => Mechanism::Partition,
        (false, true) => Mechanism::Kernel,
        (false, false) => Mechanism::Affinity,
    }
}

/// True if the kernel refused just this when it was last asked.
pub(super) fn is_held_back(ledger: &Ledger, step: &Step) -> bool {
    let same = |r: &Refusal| r.label == step.label && r.new == step.new;
    ledger.refusal(&step.target).is_some_and(same)
}
