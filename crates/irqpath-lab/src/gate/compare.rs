// SPDX-License-Identifier: GPL-2.0-or-later
//! What changed between a budget and a measurement. Pure.

use std::collections::BTreeSet;

use super::budgets::{Budgets, Measured, VariantBudget};

/// How many functions are named.
const NR_FUNCTIONS: usize = 5;

/// A metric, or the absence of a budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub experiment: String,
    pub variant: String,
    pub metric: String,
    /// What it is now, instructions; 0 if it is missing.
    pub now: u64,
    /// What became of it.
    pub change: Change,
}

/// What became of a metric.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Within the allowance of its budget.
    Kept {
        /// Instructions at the last blessing.
        budget: u64,
    },
    /// Longer than allowed; fails.
    Grew {
        /// Instructions at the last blessing.
        budget: u64,
        /// Functions that grew most, with their growth in instructions.
        functions: Vec<(String, u64)>,
        /// True if the budget was made on the same kernel image.
        same_kernel: bool,
    },
    /// Shorter than the allowance; the budget can be lowered.
    Shrank {
        /// Instructions at the last blessing.
        budget: u64,
    },
    /// There is no budget; fails, so that none is forgotten.
    Unbudgeted,
    /// It is watched or has a budget, and was not measured; fails.
    Missing,
}

impl Finding {
    /// True if the gate closes.
    pub fn fails(&self) -> bool {
        matches!(self.change, Change::Grew { .. } | Change::Unbudgeted | Change::Missing)
    }
}

/// Every metric that was measured, should have been, or was once, beside its budget.
pub fn compare_budgets(measured: &Measured, budgets: &Budgets) -> Vec<Finding> {
    let budget = budgets.find_budget(&measured.experiment, &measured.variant);
    let mut names: BTreeSet<&String> = measured.figures.metrics.keys().collect();
    names.extend(&measured.missing);
    names.extend(budget.iter().flat_map(|budget| budget.metrics.keys()));
    let finding = |metric: &String| {
        let now = measured.figures.metrics.get(metric).copied();
        Finding {
            experiment: measured.experiment.clone(),
            variant: measured.variant.clone(),
            metric: metric.clone(),
            now: now.unwrap_or(0),
            change: now.map_or(Change::Missing, |now| judge_change(metric, now, measured, budget)),
        }
    };
    names.into_iter().map(finding).collect()
}

fn judge_change(
    metric: &str,
    now: u64,
    measured: &Measured,
    budget: Option<&VariantBudget>,
) -> Change {
    let found = budget.and_then(|budget| Some((budget, *budget.metrics.get(metric)?)));
    let Some((figures, budget)) = found else { return Change::Unbudgeted };
    let allowance = budget as f64 * measured.allowance_percent / 100.0;
    let grown = now as f64 - budget as f64;
    if grown > allowance {
        Change::Grew {
            budget,
            functions: grown_functions(metric, measured, figures),
            same_kernel: figures.image_sha256 == measured.figures.image_sha256,
        }
    } else if -grown > allowance {
        Change::Shrank { budget }
    } else {
        Change::Kept { budget }
    }
}

/// The functions that grew, most first, if the metric is of the series that they are known of.
fn grown_functions(metric: &str, now: &Measured, before: &VariantBudget) -> Vec<(String, u64)> {
    let series = metric.split_once('.').map(|(series, _)| series);
    if series != now.drawn.as_deref() {
        return Vec::new();
    }
    let mut grown = now.figures.functions.grown_since(&before.functions);
    grown.truncate(NR_FUNCTIONS);
    grown
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::flame::FunctionTable;
    use crate::gate::GateError;

    fn budget_of(metric: u64, functions: &[(&str, u64)]) -> VariantBudget {
        VariantBudget {
            kernel: "6.12".to_owned(),
            image_sha256: "aa".to_owned(),
            metrics: BTreeMap::from([("default.user.q50".to_owned(), metric)]),
            functions: FunctionTable(
                functions.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
            ),
        }
    }

    fn measured_with(figures: VariantBudget) -> Measured {
        Measured {
            experiment: "ihm-timer".to_owned(),
            variant: "rt".to_owned(),
            allowance_percent: 1.0,
            figures,
            missing: Vec::new(),
            drawn: Some("default".to_owned()),
        }
    }

    fn change_of(now: u64, budget: Option<u64>) -> Change {
        let functions = [("schedule", 100), ("try_to_wake_up", 50)];
        let mut budgets = Budgets::default();
        if let Some(budget) = budget {
            budgets.bless(&measured_with(budget_of(budget, &functions)));
        }
        let now =
            measured_with(budget_of(now, &[("schedule", 90), ("try_to_wake_up", 80), ("new", 40)]));
        compare_budgets(&now, &budgets).remove(0).change
    }

    #[test]
    fn the_allowance_is_a_share_of_the_budget() {
        assert_eq!(change_of(10_100, Some(10_000)), Change::Kept { budget: 10_000 });
        assert_eq!(change_of(9_900, Some(10_000)), Change::Kept { budget: 10_000 });
        assert_eq!(change_of(9_899, Some(10_000)), Change::Shrank { budget: 10_000 });
        assert!(matches!(change_of(10_101, Some(10_000)), Change::Grew { .. }));
    }

    #[test]
    fn what_grew_is_named_most_first() {
        let Change::Grew { functions, same_kernel, .. } = change_of(20_000, Some(10_000)) else {
            panic!("did not grow");
        };
        assert_eq!(functions, vec![("new".to_owned(), 40), ("try_to_wake_up".to_owned(), 30)]);
        assert!(same_kernel);
    }

    #[test]
    fn functions_of_another_series_are_not_named() {
        let mut budgets = Budgets::default();
        budgets.bless(&measured_with(budget_of(10_000, &[("schedule", 100)])));
        let mut now = measured_with(budget_of(20_000, &[("schedule", 200)]));
        now.drawn = Some("tuned".to_owned());
        let change = compare_budgets(&now, &budgets).remove(0).change;
        assert_eq!(
            change,
            Change::Grew { budget: 10_000, functions: Vec::new(), same_kernel: true }
        );
    }

    #[test]
    fn a_metric_that_is_gone_fails() {
        let mut budgets = Budgets::default();
        budgets.bless(&measured_with(budget_of(10_000, &[])));
        let mut now = measured_with(budget_of(1, &[]));
        now.figures.metrics.clear();
        now.missing.push("tuned.user.q50".to_owned());
        let found = compare_budgets(&now, &budgets);
        let names: Vec<&str> = found.iter().map(|f| f.metric.as_str()).collect();
        assert_eq!(names, ["default.user.q50", "tuned.user.q50"]);
        assert!(found.iter().all(|f| f.change == Change::Missing && f.fails()));
    }

    #[test]
    fn a_metric_without_a_budget_fails() {
        let now = measured_with(budget_of(1, &[]));
        assert!(compare_budgets(&now, &Budgets::default()).iter().all(Finding::fails));
    }

    #[test]
    fn budgets_survive_the_file() {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("budgets.toml");
        assert_eq!(Budgets::read(&path).expect("none yet"), Budgets::default());
        let mut budgets = Budgets::default();
        budgets.bless(&measured_with(budget_of(7_520, &[("schedule", 100)])));
        budgets.write(&path).expect("written");
        assert_eq!(Budgets::read(&path).expect("read"), budgets);
        std::fs::write(&path, "x = 1\n").expect("written");
        assert!(matches!(Budgets::read(&path), Err(GateError::Malformed { .. })));
    }
}
