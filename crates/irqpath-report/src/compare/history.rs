// SPDX-License-Identifier: GPL-2.0-or-later
//! A history of results: where each number changes its level.

use irqpath_analysis::difference::{ERROR_RATE, MAX_HISTORY, RunValue, find_changes};
use irqpath_model::RunIdentity;
use schemars::JsonSchema;
use serde::Serialize;

use super::collect::Run;
use crate::text::{Page, format_us};

/// Version of the JSON form.
const FORMAT: u32 = 1;

/// A result of the history.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// The directory as it was given.
    pub directory: String,
    /// When it was measured.
    pub started_at: String,
    /// Host, run, commit and kernel.
    #[serde(flatten)]
    pub run: RunIdentity,
}

/// A number that changed its level.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Step {
    /// The path, series or test.
    pub name: String,
    /// `Q50`.
    pub number: &'static str,
    /// The place in `points` of the first result after it.
    pub at: usize,
    /// Mean before, ns.
    pub before_ns: u64,
    /// Mean after, ns.
    pub after_ns: u64,
    /// Probability that results of one level show such a change in this number.
    pub p: f64,
}

/// Results in the order of their time, and where they change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct History {
    schema_version: u32,
    /// A change anywhere is real with this probability.
    pub confidence: f64,
    /// Numbers that were looked at.
    pub nr_judged: u64,
    /// The results.
    pub points: Vec<Point>,
    /// The changes.
    pub changes: Vec<Step>,
}

impl History {
    /// Most results of a history.
    pub const MAX: usize = MAX_HISTORY;

    /// Looks for changes in every number of the last result.
    pub fn find(mut results: Vec<(Point, Run)>) -> Self {
        results.sort_by(|(a, _), (b, _)| a.started_at.cmp(&b.started_at));
        let numbers = list_numbers(&results);
        let error_rate = ERROR_RATE / numbers.len().max(1) as f64;
        let changes = numbers.iter().flat_map(|(name, number, values)| {
            let history: Vec<RunValue> = values.iter().map(|(_, value)| *value).collect();
            find_changes(&history, error_rate).into_iter().map(|change| Step {
                name: name.clone(),
                number,
                at: values[change.at].0,
                before_ns: change.before_ns.round() as u64,
                after_ns: change.after_ns.round() as u64,
                p: change.p,
            })
        });
        Self {
            schema_version: FORMAT,
            confidence: 1.0 - ERROR_RATE,
            nr_judged: numbers.len() as u64,
            changes: changes.collect(),
            points: results.into_iter().map(|(point, _)| point).collect(),
        }
    }

    /// A line for each change, and the verdict.
    pub fn render(&self) -> Page {
        let mut page = Page::default();
        for Step { name, number, at, before_ns, after_ns, p } in &self.changes {
            let Point { directory, started_at, run } = &self.points[*at];
            let percent = (*after_ns as f64 / (*before_ns).max(1) as f64 - 1.0) * 100.0;
            page.add_line(format_args!("{name}, {number}"));
            page.add_line(format_args!(
                "  {} us -> {} us ({percent:+.1} %), p {p:.1e}",
                format_us(*before_ns),
                format_us(*after_ns)
            ));
            let commit = if run.commit.is_empty() { "unknown" } else { &run.commit };
            page.add_line(format_args!("  since {directory}, commit {commit}, {started_at}"));
        }
        let (nr, results) = (self.nr_judged, self.points.len());
        if self.changes.is_empty() {
            page.add_line(format_args!(
                "no change that these {results} results can show ({nr} numbers)"
            ));
        } else {
            page.add_line(format_args!(
                "{} changes in {nr} numbers of {results} results",
                self.changes.len()
            ));
        }
        page
    }
}

/// A number with a quantile: names, and its value in each result that has it.
type Line = (String, &'static str, Vec<(usize, RunValue)>);

fn list_numbers(results: &[(Point, Run)]) -> Vec<Line> {
    let Some((_, last)) = results.last() else { return Vec::new() };
    let mut all = Vec::new();
    for entry in &last.entries {
        for (i, value) in entry.values.iter().enumerate().filter(|(_, v)| v.quantile.is_some()) {
            let in_result = |(at, (_, run)): (usize, &(Point, Run))| {
                let other = run.find(&entry.key).filter(|other| other.base_ns == entry.base_ns)?;
                Some((at, other.values[i].of_run?))
            };
            let values = results.iter().enumerate().filter_map(in_result).collect();
            all.push((entry.name.clone(), value.name, values));
        }
    }
    all
}
