// SPDX-License-Identifier: GPL-2.0-or-later
//! What changed between a budget and a measurement. Pure.

use std::collections::BTreeSet;

use irqpath_model::lab::{GateChange, GateFinding};

use super::budgets::{Budgets, Measured, VariantBudget};

/// How many functions are named.
const NR_FUNCTIONS: usize = 5;

/// Every metric that was measured, should have been, or was once, beside its budget.
pub fn compare_budgets(measured: &Measured, budgets: &Budgets) -> Vec<GateFinding> {
    let budget = budgets.find_budget(&measured.experiment, &measured.variant);
    let mut names: BTreeSet<&String> = measured.figures.metrics.keys().collect();
    names.extend(&measured.missing);
    names.extend(budget.iter().flat_map(|budget| budget.metrics.keys()));
    let finding = |metric: &String| {
        let now = measured.figures.metrics.get(metric).copied();
        GateFinding {
            experiment: measured.experiment.clone(),
            variant: measured.variant.clone(),
            metric: metric.clone(),
            now: now.unwrap_or(0),
            change: now
                .map_or(GateChange::Missing, |now| judge_change(metric, now, measured, budget)),
        }
    };
    names.into_iter().map(finding).collect()
}

fn judge_change(
    metric: &str,
    now: u64,
    measured: &Measured,
    budget: Option<&VariantBudget>,
) -> GateChange {
    let found = budget.and_then(|budget| Some((budget, *budget.metrics.get(metric)?)));
    let Some((figures, budget)) = found else { return GateChange::Unbudgeted };
    let allowance = budget as f64 * measured.allowance_percent / 100.0;
    let grown = now as f64 - budget as f64;
    if grown > allowance {
        GateChange::Grew {
            budget,
            functions: grown_functions(metric, measured, figures),
            same_kernel: figures.image_sha256 == measured.figures.image_sha256,
        }
    } else if -grown > allowance {
        GateChange::Shrank { budget }
    } else {
        GateChange::Kept { budget }
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

    fn change_of(now: u64, budget: Option<u64>) -> GateChange {
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
        assert_eq!(change_of(10_100, Some(10_000)), GateChange::Kept { budget: 10_000 });
        assert_eq!(change_of(9_900, Some(10_000)), GateChange::Kept { budget: 10_000 });
        assert_eq!(change_of(9_899, Some(10_000)), GateChange::Shrank { budget: 10_000 });
        assert!(matches!(change_of(10_101, Some(10_000)), GateChange::Grew { .. }));
    }

    #[test]
    fn what_grew_is_named_most_first() {
        let GateChange::Grew { functions, same_kernel, .. } = change_of(20_000, Some(10_000))
        else {
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
            GateChange::Grew { budget: 10_000, functions: Vec::new(), same_kernel: true }
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
        assert!(found.iter().all(|f| f.change == GateChange::Missing && f.fails()));
    }

    #[test]
    fn a_metric_without_a_budget_fails() {
        let now = measured_with(budget_of(1, &[]));
        assert!(compare_budgets(&now, &Budgets::default()).iter().all(GateFinding::fails));
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
