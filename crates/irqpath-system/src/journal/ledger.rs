// SPDX-License-Identifier: GPL-2.0-or-later
//! What the lines of a journal amount to: for each target its value before us, and the values
//! that we gave it since.
//!
//! Changing a target twice keeps the first value as the original. If somebody else changed it in
//! between, that value is the one to return to: it is what the host would have without us.

use std::collections::BTreeMap;

use irqpath_model::change::{Refusal, Target, Value};

use crate::change::Intent;

/// A target that we changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Counts up in the order of the first changes; undo goes backwards.
    pub seq: u64,
    /// What people call it.
    pub label: String,
    /// Its value before us.
    pub original: Value,
    /// What we set since, the newest last. Any of them may be found after a kill.
    pub ours: Vec<Value>,
}

impl Held {
    /// What it should be now.
    pub fn wanted(&self) -> &Value {
        self.ours.last().unwrap_or(&self.original)
    }
}

/// What is held, and what was refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    held: BTreeMap<Target, Held>,
    refused: BTreeMap<Target, Refusal>,
    next: u64,
}

impl Ledger {
    pub(super) fn add_intent(&mut self, intent: Intent) {
        let Intent { target, label, before, new } = intent;
        self.refused.remove(&target);
        let seq = self.next;
        self.next += 1;
        let fresh = |seq| Held { seq, label, original: before.clone(), ours: Vec::new() };
        let held = match self.held.remove(&target) {
            Some(held) if held.original == before || held.ours.contains(&before) => held,
            Some(held) => fresh(held.seq),
            None => fresh(seq),
        };
        let held = self.held.entry(target).or_insert(held);
        held.ours.retain(|ours| *ours != new);
        held.ours.push(new);
    }

    pub(super) fn add_refusal(&mut self, target: Target, refusal: Refusal) {
        // A first change that was refused changed nothing; a later one leaves what was before.
        if let Some(held) = self.held.get_mut(&target) {
            held.ours.retain(|ours| *ours != refusal.new);
            if held.ours.is_empty() {
                self.held.remove(&target);
            }
        }
        self.refused.insert(target, refusal);
    }

    pub(super) fn release_target(&mut self, target: &Target) {
        self.held.remove(target);
        self.refused.remove(target);
    }

    /// Drop everything, as a reboot has undone it; says how much was held.
    pub(super) fn forget_boot(&mut self) -> usize {
        std::mem::take(self).held.len()
    }

    /// The fewest changes that amount to what is held, in an order that undo can go back.
    pub(super) fn list_intents(&self) -> Vec<Intent> {
        let mut all = self.newest_first();
        all.reverse();
        let of_held = |(target, held): (Target, Held)| {
            let Held { label, original, ours, .. } = held;
            let befores: Vec<Value> =
                std::iter::once(original).chain(ours.iter().cloned()).collect();
            let intent = move |(before, new): (Value, Value)| Intent {
                target: target.clone(),
                label: label.clone(),
                before,
                new,
            };
            befores.into_iter().zip(ours).map(intent)
        };
        all.into_iter().flat_map(of_held).collect()
    }

    /// The same with a clean sheet for the kernel: what it refused may be tried again.
    pub fn without_refusals(&self) -> Self {
        Self { refused: BTreeMap::new(), ..self.clone() }
    }

    pub(super) fn forget_refusals(&mut self) {
        self.refused.clear();
    }

    /// The fewest records that amount to it.
    pub(super) fn nr_records(&self) -> usize {
        let intents: usize = self.held.values().map(|held| held.ours.len()).sum();
        intents + self.refused.len()
    }

    /// True if nothing is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Every target that has a value of ours, with its values.
    pub fn held(&self) -> impl Iterator<Item = (&Target, &Held)> {
        self.held.iter()
    }

    /// What is held of this target.
    pub fn get(&self, target: &Target) -> Option<&Held> {
        self.held.get(target)
    }

    /// What is held, the last change first.
    pub fn newest_first(&self) -> Vec<(Target, Held)> {
        let mut all: Vec<_> = self.held.clone().into_iter().collect();
        all.sort_by_key(|(_, held)| std::cmp::Reverse(held.seq));
        all
    }

    /// Every target whose value the kernel refused.
    pub fn refused(&self) -> impl Iterator<Item = (&Target, &Refusal)> {
        self.refused.iter()
    }

    /// Why the kernel refused to change this target, if it did when last asked.
    pub fn refusal(&self, target: &Target) -> Option<&Refusal> {
        self.refused.get(target)
    }
}
