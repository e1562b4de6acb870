// SPDX-License-Identifier: GPL-2.0-or-later
//! Interrupts that appeared while a shield was set have the default mask that we had given to the
//! kernel. They are not in the journal; a reset gives them the default that it puts back.

use std::collections::BTreeSet;

use irqpath_model::CpuList;
use irqpath_model::change::{Form, Target, Value};

use super::plan::irq_target;
use super::snapshot::{Irq, NEW_IRQS};
use crate::journal::Ledger;

/// The affinities of such lines, and what each is to have: of the lines that were not `there` when
/// the shield was set, those that nobody has changed since. None for a journal of an earlier
/// release, which does not say what was there.
pub(super) fn find_newborn(
    irqs: &[Irq],
    ledger: &Ledger,
    there: Option<&BTreeSet<u32>>,
) -> Vec<(Target, CpuList)> {
    let default = Target::File { path: NEW_IRQS.to_owned(), form: Form::Mask };
    let (Some(there), Some(held)) = (there, ledger.get(&default)) else { return Vec::new() };
    let Some(original) = held.original.cpus() else { return Vec::new() };
    let is_newborn = |irq: &&Irq| {
        !there.contains(&irq.irq)
            && ledger.get(&irq_target(irq)).is_none()
            && held.ours.contains(&Value::Cpus(irq.affinity.clone()))
    };
    irqs.iter().filter(is_newborn).map(|irq| (irq_target(irq), original.clone())).collect()
}
