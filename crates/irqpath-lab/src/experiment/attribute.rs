// SPDX-License-Identifier: GPL-2.0-or-later
//! A column's path, every instruction of it attributed: the median and the worst instance, and
//! why the slow ones are slow.
//!
//! The recording has one instance per repetition, in order, of the first series that the job
//! makes; those after it belong to other series and are left out, as are the first `skip` that
//! warm up. The rule: a slow instance is explained by what it executed more than the median one,
//! and growth that no symbol names stays unexplained.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use super::definition::FlamePath;
use crate::flame::svg::{self, Caption};
use crate::flame::{
    Attribution, FlameError, Growth, PathMarks, PathRecording, Profile, Recording, Symbols,
};

/// An instance is explained if this share of its growth has names.
const EXPLAINED_SHARE: f64 = 0.8;

/// Names for slow instances: the cause, and how many it made slow.
pub type Causes = BTreeMap<String, u64>;

/// What the recording of a path says.
#[derive(Debug)]
pub struct Attributed {
    /// Instructions of the median instance.
    pub median: Profile,
    /// Instructions of the longest one.
    pub worst: Profile,
    /// Instances looked at.
    pub nr_instances: u64,
    /// Instances longer than the 95 % quantile.
    pub nr_slow: u64,
    /// Those of them whose growth has no name.
    pub nr_unexplained: u64,
    /// What made the others slow.
    pub causes: Causes,
    /// Instructions that the guest's stamps lie further apart than the marks, the same for every
    /// instance: a stamp is not its mark.
    pub offset: i64,
    /// Instances whose length is what the guest measured, but for `offset`, and those where it
    /// is not.
    pub agreement: (usize, usize),
}

/// Reads a recording and the guest's symbols. `measured` are the guest's own lengths.
pub fn attribute(
    recording: &Path,
    kallsyms: &str,
    flame: &FlamePath,
    measured: &[u64],
) -> Result<Attributed, FlameError> {
    let recording = Recording::read(recording)?;
    let symbols = Symbols::from_kallsyms(kallsyms)?;
    let marks = PathMarks { from: flame.from, to: flame.to };
    let none =
        || FlameError::Draw { reason: format!("no path from mark {} to {}", flame.from, flame.to) };
    let whole = recording.path(marks).ok_or_else(none)?;
    let path = slice(whole, flame.skip as usize, measured.len());
    let offset = offset(&path, measured);
    let shifted: Vec<u64> =
        measured.iter().map(|length| length.saturating_add_signed(-offset)).collect();
    let found = path.compare(&shifted);
    let attribution = Attribution::new(&recording, &symbols);
    let at = |q: f64| {
        let instance = path.quantile(q).ok_or_else(none)?;
        path.variant_of(instance).ok_or_else(none)
    };
    let (median, worst) = (attribution.profile(at(0.5)?), attribution.profile(at(1.0)?));
    let limit = path.quantile(0.95).map_or(0, |instance| path.instances[instance].length);
    let mut causes = Causes::new();
    let (mut nr_slow, mut nr_unexplained) = (0, 0);
    for (variant, times) in slow_variants(&path, limit) {
        let growth = Growth::between(&median, &attribution.profile(&path.variants[variant]));
        nr_slow += times;
        match name(&growth) {
            Some(name) => *causes.entry(name).or_default() += times,
            None => nr_unexplained += times,
        }
    }
    Ok(Attributed {
        median,
        worst,
        nr_instances: path.instances.len() as u64,
        nr_slow,
        nr_unexplained,
        causes,
        offset,
        agreement: (found.exact + found.idle, found.differing.len() + found.unpaired),
    })
}

/// The most frequent difference between what was measured and what was counted.
fn offset(path: &PathRecording, measured: &[u64]) -> i64 {
    let mut seen: BTreeMap<i64, usize> = BTreeMap::new();
    for (instance, length) in path.instances.iter().zip(measured) {
        *seen.entry(length.cast_signed() - instance.length.cast_signed()).or_default() += 1;
    }
    seen.into_iter().max_by_key(|(_, times)| *times).map_or(0, |(offset, _)| offset)
}

fn slice(path: &PathRecording, skip: usize, count: usize) -> PathRecording {
    let instances = path.instances.iter().skip(skip).take(count).copied().collect();
    PathRecording { instances, ..path.clone() }
}

/// Variants of the instances above a limit, and how often they occur there.
fn slow_variants(path: &PathRecording, limit: u64) -> BTreeMap<usize, u64> {
    let mut variants = BTreeMap::new();
    for instance in path.instances.iter().filter(|instance| instance.length > limit) {
        *variants.entry(instance.variant).or_default() += 1;
    }
    variants
}

/// The functions that grew most, unless symbols cannot tell.
fn name(growth: &Growth) -> Option<String> {
    let named = growth.frames.first()?;
    let function = named.chain.last()?;
    let known = !function.starts_with('[');
    let entry = named.chain.first().filter(|entry| named.chain.len() > 1 && **entry != *function);
    (known && 1.0 - growth.unexplained_share() >= EXPLAINED_SHARE).then(|| {
        entry.map_or_else(|| function.to_string(), |entry| format!("{function} < {entry}"))
    })
}

impl Attributed {
    /// Metrics of the series: `slow_runs`, `unexplained` (percent of them), `agree` (percent).
    pub fn metrics(&self) -> Vec<(String, f64)> {
        let percent = |part: u64, all: u64| part as f64 * 100.0 / all.max(1) as f64;
        let (same, other) = (self.agreement.0 as u64, self.agreement.1 as u64);
        vec![
            ("slow_runs".to_owned(), self.nr_slow as f64),
            ("unexplained".to_owned(), percent(self.nr_unexplained, self.nr_slow)),
            ("agree".to_owned(), percent(same, same + other)),
            ("attributed".to_owned(), self.median.total() as f64),
        ]
    }

    /// The causes as lines, most frequent first.
    pub fn causes_text(&self) -> String {
        let mut causes: Vec<_> = self.causes.iter().collect();
        causes.sort_by_key(|(name, times)| (std::cmp::Reverse(**times), (*name).clone()));
        let mut text = String::new();
        for (name, times) in causes {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{times:8} {name}");
        }
        text
    }

    /// Writes the flame graphs, the folded stacks and the causes into a directory.
    pub fn store(&self, directory: &Path, title: &str) -> io::Result<()> {
        for (name, profile) in [("median", &self.median), ("worst", &self.worst)] {
            let caption = Caption { title: format!("{title}, {name} path"), note: String::new() };
            let svg = svg::graph(profile, &caption).map_err(io::Error::other)?;
            fs::write(directory.join(format!("flame-{name}.svg")), svg)?;
            fs::write(directory.join(format!("flame-{name}.folded")), profile.folded())?;
        }
        fs::write(directory.join("causes.txt"), self.causes_text())
    }
}
