// SPDX-License-Identifier: GPL-2.0-or-later
//! What somebody asks of a run beside the experiments' names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::experiment::definition::{Definition, Parameter, Variant};
use crate::vm::InstructionTime;

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only variants with one of these names; empty means all.
    pub variants: Vec<String>,
    /// Not these variants of these experiments: they have results already.
    pub complete: BTreeSet<(String, String)>,
    pub replaced: Replaced,
    /// The irqpath binary for guests that need it.
    pub irqpath: Option<PathBuf>,
    /// Of the checkout; empty if unknown.
    pub commit: String,
    /// With the parameters that each definition has for the gate.
    pub gate: bool,
    /// Attribute every instruction of the experiment's path, where it names one.
    pub attribute: bool,
}

/// What stands in the place of what the definitions say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Replaced {
    /// Of every series, for a quick look.
    pub parameters: BTreeMap<String, Parameter>,
    /// Of every variant whose clock counts instructions.
    #[serde(default)]
    pub ns_per_instruction: Option<InstructionTime>,
    /// Of every experiment.
    #[serde(default)]
    pub draws: Option<u32>,
}

impl Options {
    /// The definition's recipe; what was replaced makes it another one.
    pub fn describe_recipe(&self, definition: &Definition) -> String {
        let replaced =
            self.replaced.parameters.iter().map(|(name, value)| format!(" {name}={value}"));
        let instruction = self.replaced.ns_per_instruction;
        let instruction = instruction.filter(|_| definition.mode.counts_instructions());
        let instruction = instruction.map(|time| format!(" ns_per_instruction={time}"));
        let draws = self.replaced.draws.filter(|draws| *draws != definition.draws);
        let draws = draws.map(|draws| format!(" draws={draws}"));
        let recipe = std::iter::once(definition.recipe.clone());
        recipe.chain(replaced).chain(instruction).chain(draws).collect()
    }

    /// How long an instruction takes on a variant; 1 ns where the clock does not count them.
    pub fn instruction_on(&self, definition: &Definition, variant: &Variant) -> InstructionTime {
        if !definition.mode.counts_instructions() {
            return InstructionTime::default();
        }
        self.replaced.ns_per_instruction.unwrap_or_else(|| definition.instruction_on(variant))
    }

    /// How many guests each variant has.
    pub fn draws_of(&self, definition: &Definition) -> u32 {
        // A budget is a path's length, which stands alone.
        if self.gate { 1 } else { self.replaced.draws.unwrap_or(definition.draws) }
    }

    /// Whether a variant of this name was asked for.
    pub fn wants(&self, variant: &str) -> bool {
        self.variants.is_empty() || self.variants.iter().any(|name| name == variant)
    }

    /// Whether a variant shall run.
    pub fn runs(&self, experiment: &str, variant: &str) -> bool {
        let is_complete = |(of, name): &(String, String)| of == experiment && name == variant;
        self.wants(variant) && !self.complete.iter().any(is_complete)
    }
}
