// SPDX-License-Identifier: GPL-2.0-or-later
//! A claim about the figures, and what became of it.
//!
//! Claims are data: a value made of one to three metrics, and the range in which the claim holds.
//! A metric is named `series.metric`, or `series.interval.metric` for results with intervals;
//! `variant:` in front takes it from another variant. Where a variant has several draws, the value is
//! computed in each of them, and the interval of their median decides. Nothing here rounds: printing
//! does.

use std::collections::BTreeMap;

use irqpath_model::{Claim, Outcome, OutcomeVerdict, ReproducedVariant};
use serde::Deserialize;

use super::estimate::Estimate;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What must be true, as a sentence for the table.
    pub claim: String,
    /// What the document reports, as it reports it.
    pub paper: String,
    pub value: Value,
    /// When the claim holds.
    pub expect: Range,
    /// Variants it is checked on; empty means every one.
    #[serde(default, alias = "columns")]
    pub variants: Vec<String>,
    /// Why a modern kernel differs, with the code path; printed when the claim does not hold.
    #[serde(default)]
    pub differs: Option<String>,
    /// What the figure is to be read with; printed whatever became of the claim. For what has no
    /// range, or holds, and is still not what the document reports.
    #[serde(default)]
    pub note: Option<String>,
    /// True if `lab run` fails when it does not hold; a finding about a kernel does not fail.
    #[serde(default)]
    pub must: bool,
}

/// A number computed from metrics.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Value {
    Metric(String),
    /// The first divided by the second.
    Ratio(String, String),
    /// The first minus the second.
    Difference(String, String),
    /// How much smaller (negative) or larger the first is than the second, percent.
    Change(String, String),
    /// The first minus the second, divided by the third: what each of something adds.
    Per(String, String, String),
}

/// A closed range; an absent end is open.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Smallest value that passes.
    pub min: Option<f64>,
    /// Largest value that passes.
    pub max: Option<f64>,
}

/// What became of a claim on one variant.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The value, or its whole interval, is in the range.
    Holds(Estimate),
    /// It is outside of it.
    Differs(Estimate),
    /// An end of the range lies in the interval: more draws would tell.
    Undecided(Estimate),
    /// A metric does not exist on this variant.
    Missing(String),
}

/// Metrics of every variant: variant name, metric name, value.
pub type Figures = BTreeMap<String, BTreeMap<String, f64>>;

impl Range {
    /// True if the value lies in it.
    pub fn contains(&self, value: f64) -> bool {
        self.min.is_none_or(|min| value >= min) && self.max.is_none_or(|max| value <= max)
    }

    fn judge(&self, estimate: Estimate) -> Verdict {
        let (low, high) = estimate.ends();
        let is_outside =
            self.min.is_some_and(|min| high < min) || self.max.is_some_and(|max| low > max);
        match self.contains(low) && self.contains(high) {
            true => Verdict::Holds(estimate),
            false if is_outside => Verdict::Differs(estimate),
            false => Verdict::Undecided(estimate),
        }
    }
}

impl Value {
    /// The metrics that it is made of.
    pub(super) fn metric_names(&self) -> Vec<&str> {
        match self {
            Self::Metric(metric) => vec![metric],
            Self::Ratio(one, other) | Self::Difference(one, other) | Self::Change(one, other) => {
                vec![one, other]
            }
            Self::Per(one, other, number) => vec![one, other, number],
        }
    }

    fn compute(&self, metric: impl Fn(&str) -> Result<f64, String>) -> Result<f64, String> {
        Ok(match self {
            Self::Metric(one) => metric(one)?,
            Self::Ratio(one, other) => metric(one)? / metric(other)?,
            Self::Difference(one, other) => metric(one)? - metric(other)?,
            Self::Change(one, other) => (metric(one)? / metric(other)? - 1.0) * 100.0,
            Self::Per(one, other, number) => (metric(one)? - metric(other)?) / metric(number)?,
        })
    }
}

impl Check {
    /// True if the claim is about this variant.
    pub fn applies_to(&self, variant: &str) -> bool {
        self.variants.is_empty() || self.variants.iter().any(|name| name == variant)
    }

    /// What became of it on one variant, by the figures of each draw.
    pub fn judge(&self, variant: &str, draws: &[Figures]) -> Verdict {
        let compute = |figures: &Figures| {
            self.value.compute(|name| {
                let (place, metric) = name.split_once(':').unwrap_or((variant, name));
                let value = figures.get(place).and_then(|metrics| metrics.get(metric));
                value.copied().ok_or_else(|| format!("{place}: {metric}"))
            })
        };
        match draws.iter().map(compute).collect::<Result<_, _>>().map(Estimate::of_draws) {
            Err(missing) => Verdict::Missing(missing),
            Ok(None) => Verdict::Missing(format!("{variant}: a draw")),
            Ok(Some(estimate)) => self.expect.judge(estimate),
        }
    }

    /// The other variants that its value is made of.
    fn other_variants(&self) -> impl Iterator<Item = &str> {
        self.value.metric_names().into_iter().filter_map(|name| Some(name.split_once(':')?.0))
    }
}

/// The figures of every draw that a variant and the `others` have; a variant with one draw has the same
/// in each.
fn list_draws(variant: &str, others: &[&str], variants: &[ReproducedVariant]) -> Vec<Figures> {
    let takes_part = |name: &str| name == variant || others.contains(&name);
    let parts: Vec<_> = variants.iter().filter(|known| takes_part(&known.name)).collect();
    let drawn = || parts.iter().map(|known| &known.draws).filter(|draws| !draws.is_empty());
    let of_draw = |number: Option<u32>| -> Figures {
        let metrics = |known: &&ReproducedVariant| {
            let of_draw = number.and_then(|number| known.draws.get(&number));
            (known.name.clone(), of_draw.unwrap_or(&known.metrics).clone())
        };
        parts.iter().map(metrics).collect()
    };
    match drawn().next() {
        None => vec![of_draw(None)],
        Some(first) => {
            let in_all = |number: &&u32| drawn().all(|draws| draws.contains_key(*number));
            first.keys().filter(in_all).map(|number| of_draw(Some(*number))).collect()
        }
    }
}

/// The claim on each of the variants that it is about.
pub(super) fn evaluate_check(check: &Check, variants: &[ReproducedVariant]) -> Claim {
    let others: Vec<&str> = check.other_variants().collect();
    let holds = if check.expect == Range::default() {
        OutcomeVerdict::Stated
    } else {
        OutcomeVerdict::Holds
    };
    let outcome = |variant: &ReproducedVariant| {
        let draws = list_draws(&variant.name, &others, variants);
        let within = |of: &Estimate| {
            format!("{}{}", format_value(&check.value, of.value), format_interval(&check.value, of))
        };
        let (ours, verdict) = match check.judge(&variant.name, &draws) {
            Verdict::Holds(of) => (within(&of), holds),
            Verdict::Undecided(of) => (within(&of), OutcomeVerdict::Undecided),
            Verdict::Differs(of) => {
                let outside = format_outside(&check.value, of.value, check.expect);
                (outside + &format_interval(&check.value, &of), OutcomeVerdict::Differs)
            }
            Verdict::Missing(_) => (String::new(), OutcomeVerdict::Missing),
        };
        Outcome { variant: variant.name.clone(), ours, verdict }
    };
    Claim {
        claim: check.claim.clone(),
        paper: check.paper.clone(),
        expect: format_range(&check.value, check.expect),
        differs: check.differs.clone(),
        note: check.note.clone(),
        must: check.must,
        outcomes: variants.iter().filter(|c| check.applies_to(&c.name)).map(outcome).collect(),
    }
}

/// Behind a value: its interval, where it has one.
fn format_interval(value: &Value, of: &Estimate) -> String {
    let Some(interval) = of.interval else { return String::new() };
    let end = |number| format_value(value, number);
    let (low, high, nr_draws) = (end(interval.low), end(interval.high), interval.nr_draws);
    format!(" ({low} to {high}, {nr_draws} draws)")
}

/// A value with the unit that its computation gives it.
fn format_value(value: &Value, number: f64) -> String {
    format_with_digits(value, number, 0)
}

/// The same with so many more digits than usual.
fn format_with_digits(value: &Value, number: f64, more: usize) -> String {
    let digits = more + if matches!(value, Value::Ratio(..)) { 2 } else { 1 };
    match value {
        Value::Ratio(..) | Value::Per(..) => format!("{number:.digits$}"),
        Value::Change(..) => match format!("{number:+.digits$}") {
            // What rounds to nothing has no sign.
            zero if !zero.contains(|c: char| ('1'..='9').contains(&c)) => {
                format!("{:.digits$} %", 0.0)
            }
            other => format!("{other} %"),
        },
        Value::Metric(_) | Value::Difference(..) if number.fract() == 0.0 => format!("{number:.0}"),
        Value::Metric(_) | Value::Difference(..) => format!("{number:.0$}", more + 3),
    }
}

/// A value outside of its range, with as many digits as it takes to see that.
fn format_outside(value: &Value, number: f64, range: Range) -> String {
    let below = range.min.filter(|min| number < *min);
    let Some(end) = below.or(range.max) else { return format_value(value, number) };
    let pairs = (0..6).map(|more| {
        (format_with_digits(value, number, more), format_with_digits(value, end, more))
    });
    let seen = pairs.into_iter().find(|(number, end)| number != end);
    seen.map_or_else(|| format_value(value, number), |(number, _)| number)
}

fn format_range(value: &Value, range: Range) -> String {
    let end = |number| format_value(value, number);
    match (range.min, range.max) {
        (Some(min), Some(max)) if (max - min).abs() < f64::EPSILON => {
            format!("exactly {}", end(min))
        }
        (Some(min), Some(max)) => format!("{} to {}", end(min), end(max)),
        (Some(min), None) => format!("at least {}", end(min)),
        (None, Some(max)) => format!("at most {}", end(max)),
        (None, None) => "stated".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_figures() -> Vec<Figures> {
        let metrics = |pairs: &[(&str, f64)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
        };
        vec![BTreeMap::from([
            ("rt".to_owned(), metrics(&[("softirq.q50", 400.0), ("workqueue.q50", 2000.0)])),
            ("stock".to_owned(), metrics(&[("softirq.q50", 200.0)])),
        ])]
    }

    fn parse_check(text: &str) -> Check {
        toml::from_str(&format!("claim = 'c'\npaper = 'p'\n{text}")).expect("a check")
    }

    #[test]
    fn values_are_computed_from_metrics_of_the_variant() {
        let table = [
            ("value = { ratio = ['workqueue.q50', 'softirq.q50'] }", 5.0),
            ("value = { metric = 'softirq.q50' }", 400.0),
            ("value = { difference = ['workqueue.q50', 'softirq.q50'] }", 1600.0),
            ("value = { change = ['softirq.q50', 'workqueue.q50'] }", -80.0),
            ("value = { ratio = ['softirq.q50', 'stock:softirq.q50'] }", 2.0),
            ("value = { per = ['workqueue.q50', 'softirq.q50', 'stock:softirq.q50'] }", 8.0),
        ];
        for (value, expected) in table {
            let verdict =
                parse_check(&format!("{value}\nexpect = {{}}")).judge("rt", &make_figures());
            let Verdict::Holds(found) = verdict else { panic!("{value}: {verdict:?}") };
            assert!((found.value - expected).abs() < 1e-9, "{value}: {found:?}");
        }
    }

    #[test]
    fn ranges_are_closed() {
        let range = Range { min: Some(1.0), max: Some(2.0) };
        assert!(range.contains(1.0) && range.contains(2.0));
        assert!(!range.contains(0.999) && !range.contains(2.001));
        assert!(Range::default().contains(f64::MAX));
    }

    #[test]
    fn a_missing_metric_is_not_a_failed_claim() {
        let check = parse_check("value = { metric = 'workqueue.q50' }\nexpect = { max = 1.0 }");
        assert_eq!(
            check.judge("stock", &make_figures()),
            Verdict::Missing("stock: workqueue.q50".to_owned())
        );
        assert_eq!(check.judge("rt", &make_figures()), Verdict::Differs(Estimate::single(2000.0)));
    }

    #[test]
    fn the_interval_of_the_draws_decides() {
        let drawn = |name: &str, values: &[f64]| ReproducedVariant {
            name: name.to_owned(),
            metrics: [("s.n".to_owned(), values[0])].into(),
            draws: (0..).zip(values.iter().map(|v| [("s.n".to_owned(), *v)].into())).collect(),
            ..ReproducedVariant::default()
        };
        let rt = drawn("rt", &[10.0, 12.0, 11.0, 13.0, 14.0, 16.0]);
        let judge = |max: f64| {
            let check =
                parse_check(&format!("value = {{ metric = 's.n' }}\nexpect = {{ max = {max:?} }}"));
            let mut claim = evaluate_check(&check, std::slice::from_ref(&rt));
            let outcome = claim.outcomes.remove(0);
            (outcome.verdict, outcome.ours)
        };
        let shown = "12.500 (10 to 16, 6 draws)".to_owned();
        assert_eq!(judge(16.0), (OutcomeVerdict::Holds, shown.clone()));
        assert_eq!(judge(12.6), (OutcomeVerdict::Undecided, shown.clone()));
        assert_eq!(judge(9.0), (OutcomeVerdict::Differs, shown));
        // A ratio is one of the same draw, and a variant with one draw has the same in each.
        let check = parse_check("value = { ratio = ['s.n', 'other:s.n'] }\nexpect = { max = 2.0 }");
        let other = drawn("other", &[5.0, 6.0, 5.5, 6.5, 7.0, 8.0]);
        let once = ReproducedVariant { draws: BTreeMap::new(), ..other.clone() };
        for (other, ours) in
            [(other, "2.00 (2.00 to 2.00, 6 draws)"), (once, "2.50 (2.00 to 3.20, 6 draws)")]
        {
            let claim = evaluate_check(&check, &[rt.clone(), other]);
            assert_eq!(claim.outcomes[0].ours, ours);
        }
    }

    #[test]
    fn a_figure_outside_of_its_range_is_seen_to_be() {
        let ratio = Value::Ratio(String::new(), String::new());
        let change = Value::Change(String::new(), String::new());
        let metric = Value::Metric(String::new());
        let at_most = |max| Range { min: None, max: Some(max) };
        let at_least = |min| Range { min: Some(min), max: None };
        let table = [
            (&ratio, 1.5, at_most(1.0), "1.50"),
            (&ratio, 1.000_2, at_most(1.0), "1.0002"),
            (&ratio, 0.999_7, at_least(1.0), "0.9997"),
            (&change, 0.32, at_most(0.3), "+0.32 %"),
            (&change, -2.001, at_least(-2.0), "-2.001 %"),
            (&metric, 2101.0, at_most(2100.0), "2101"),
            (&ratio, 1.0 + 1e-12, at_most(1.0), "1.00"),
        ];
        for (value, number, range, expected) in table {
            assert_eq!(format_outside(value, number, range), expected, "{number}");
        }
        assert_eq!(format_value(&change, -0.04), "0.0 %");
        assert_eq!(format_value(&change, 0.06), "+0.1 %");
    }
}
