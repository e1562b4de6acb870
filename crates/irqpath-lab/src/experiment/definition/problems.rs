// SPDX-License-Identifier: GPL-2.0-or-later
//! What is wrong with a definition although each of its parts can be read: names that nothing has, and
//! parts that exclude each other. Found when the file is read, before any boot.

use std::collections::BTreeSet;

use super::{Definition, series_of};
use crate::experiment::claims::Check;

/// Of one variant; each takes a guest.
const MAX_DRAWS: u32 = 1000;

impl Definition {
    /// The first problem, in words; `stem` is the file's name without its ending.
    pub(super) fn find_problem(&self, stem: &str) -> Option<String> {
        if self.id != stem {
            return Some(format!("id is {}, the file is {stem}.toml", self.id));
        }
        if self.variants.is_empty() || self.series.is_empty() {
            return Some("needs at least one variant and one series".to_owned());
        }
        let document = &self.source.document;
        if !irqpath_report::markdown::is_listed_paper(document) {
            return Some(format!(
                "document {document} is no paper that the reproduction page lists"
            ));
        }
        find_repeated(self.variants.iter().map(|variant| &variant.name))
            .or_else(|| find_repeated(self.series.iter().map(|series| &series.name)))
            .map(|name| format!("{name} is there twice"))
            .or_else(|| self.checks.iter().find_map(|check| self.check_problem(check)))
            .or_else(|| self.flame_problem())
            .or_else(|| self.count_problem())
            .or_else(|| self.gate_problem())
            .or_else(|| self.speed_problem())
            .or_else(|| self.draws_problem())
    }

    fn check_problem(&self, check: &Check) -> Option<String> {
        let is_variant = |name: &str| self.variants.iter().any(|variant| variant.name == name);
        if let Some(variant) = check.variants.iter().find(|variant| !is_variant(variant)) {
            let claim = &check.claim;
            return Some(format!(
                "the check {claim:?} names the variant {variant}, which is not there"
            ));
        }
        for name in check.value.metric_names() {
            let (variant, metric) = name.split_once(':').unwrap_or(("", name));
            if !variant.is_empty() && !is_variant(variant) {
                return Some(format!("{name}: there is no variant {variant}"));
            }
            let series = series_of(metric);
            if !self.series.iter().any(|known| known.name == series) {
                return Some(format!("{name}: there is no series {series}"));
            }
        }
        None
    }

    fn gate_problem(&self) -> Option<String> {
        let known = |metric: &&String| self.series.iter().any(|s| s.name == series_of(metric));
        let stranger = self.gate.iter().flat_map(|gate| &gate.metrics).find(|m| !known(m))?;
        Some(format!("the gate watches {stranger}, and there is no such series"))
    }

    /// The recording has the paths of all series one after the other, so that those which are
    /// drawn must be the first on every variant.
    fn flame_problem(&self) -> Option<String> {
        let drawn = &self.flame.as_ref()?.series;
        let first = |variant| self.series_on(variant).map(|series| &series.name).take(drawn.len());
        let fits = |variant| first(variant).eq(drawn);
        (drawn.is_empty() || !self.variants.iter().all(fits)).then(|| {
            format!("flame names the series {}, which are not the first", drawn.join(", "))
        })
    }

    fn speed_problem(&self) -> Option<String> {
        let is_one = |variant| self.instruction_on(variant).is_one();
        let asks = !self.variants.iter().all(is_one);
        (asks && !self.mode.counts_instructions()).then(|| {
            format!("ns_per_instruction needs a clock of instructions, mode {} has none", self.mode)
        })
    }

    fn draws_problem(&self) -> Option<String> {
        let fits = (1..=MAX_DRAWS).contains(&self.draws);
        (!fits).then(|| format!("draws is {}, needs 1 to {MAX_DRAWS}", self.draws))
    }

    fn count_problem(&self) -> Option<String> {
        let count = self.count.as_ref()?;
        let is_there = self.series.iter().any(|series| series.name == count.series);
        if !is_there {
            return Some(format!("counts {}, and there is no such series", count.series));
        }
        let both = "a path is drawn by flame or counted, not both in one guest";
        self.flame.is_some().then(|| both.to_owned())
    }
}

fn find_repeated<'a>(names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    let mut seen = BTreeSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}
