// SPDX-License-Identifier: GPL-2.0-or-later
//! From runs to the reproduction table: every claim judged on every variant.

use irqpath_model::bench::Latencies;
use irqpath_model::{Figures as Rows, Made, NotRun, Reproduced, ReproducedVariant, SlowRuns};

use super::directory::variant_directory;
use crate::experiment::claims::evaluate_check;
use crate::experiment::definition::{Definition, Mode, Variant};
use crate::experiment::estimate::Estimate;
use crate::experiment::run::{Options, VariantRun};

/// Why a variant of a run of some variants is none.
pub(super) const NOT_ASKED: &str = "it was not asked for";

/// The experiment's part of the table: what `made` it, with which options.
pub fn tabulate_experiment(
    definition: &Definition,
    runs: &[VariantRun],
    options: &Options,
    made: &Made,
) -> Reproduced {
    let of_variants = || runs.chunk_by(|a, b| a.variant.name == b.variant.name);
    let variants: Vec<_> = of_variants().map(|runs| tabulate_variant(definition, runs)).collect();
    let firsts: Vec<_> = of_variants().map(|runs| &runs[0]).collect();
    Reproduced {
        claims: definition.checks.iter().map(|check| evaluate_check(check, &variants)).collect(),
        variants,
        figures: firsts.iter().flat_map(|run| collect_rows(run)).collect(),
        slow: firsts.iter().flat_map(|run| collect_slow(run)).collect(),
        not_run: not_run(definition, &firsts, options),
        recipe: options.describe_recipe(definition),
        made: Some(made.clone()),
        ..describe_experiment(definition)
    }
}

/// What a file says of its experiment, without any result.
pub(super) fn describe_experiment(definition: &Definition) -> Reproduced {
    Reproduced {
        id: definition.id.clone(),
        title: definition.title.clone(),
        document: definition.source.document.clone(),
        source: describe_source(definition),
        workload: definition.workload.trim().to_owned(),
        exact: definition.mode == Mode::Exact,
        ..Reproduced::default()
    }
}

/// Variants without a result, and series that a variant left out.
fn not_run(definition: &Definition, runs: &[&VariantRun], options: &Options) -> Vec<NotRun> {
    let absent = |variant: &&Variant| !runs.iter().any(|run| run.variant.name == variant.name);
    let why = |variant: &Variant| {
        let asked_for = options.runs(&definition.id, &variant.name);
        let why = if asked_for { "its guest went wrong" } else { NOT_ASKED };
        NotRun { variant: variant.name.clone(), ..NotRun::whole_experiment(why) }
    };
    let variants = definition.variants.iter().filter(absent).map(why);
    variants.chain(runs.iter().flat_map(|run| list_left_out(run))).collect()
}

/// Series that this kernel cannot do.
fn list_left_out(run: &VariantRun) -> impl Iterator<Item = NotRun> {
    run.series.iter().filter_map(|series| {
        Some(NotRun {
            variant: run.variant.name.clone(),
            series: series.name.clone(),
            why: series.left_out.clone()?,
        })
    })
}

/// The rows of numbers of a variant: intsight's series by their first clock, and intervals.
fn collect_rows(run: &VariantRun) -> Vec<Rows> {
    let mut rows = Vec::new();
    for series in &run.series {
        let row = |interval: &str, quantiles, max_irq_ns| Rows {
            variant: run.variant.name.clone(),
            series: series.name.clone(),
            interval: interval.to_owned(),
            quantiles,
            max_irq_ns,
        };
        let first = series.bench.first();
        rows.extend(first.map(|bench| row("", bench.quantiles, Some(bench.max_irq_ns))));
        let of = |(name, lengths): &(String, Latencies)| row(name, lengths.quantiles(), None);
        rows.extend(series.intervals.iter().map(of));
    }
    rows
}

/// Why runs of a variant were slow, where its path was attributed.
fn collect_slow(run: &VariantRun) -> impl Iterator<Item = SlowRuns> {
    run.attributed.iter().flat_map(|path| {
        path.list_causes().into_iter().map(|(cause, nr)| SlowRuns {
            variant: run.variant.name.clone(),
            series: path.series.clone(),
            cause: cause.to_owned(),
            nr,
        })
    })
}

fn describe_source(definition: &Definition) -> String {
    let source = &definition.source;
    if source.document == "irqpath" {
        return format!("ours: {}", source.section);
    }
    format!("document {}, {}", source.document, source.section)
}

/// Every draw of a variant, the first one first.
fn tabulate_variant(definition: &Definition, runs: &[VariantRun]) -> ReproducedVariant {
    let run = &runs[0];
    let drawn = runs.iter().filter(|run| run.draw.of > 1);
    let mut variant = ReproducedVariant {
        name: run.variant.name.clone(),
        kernel: format!("{} {}", run.kernel.release, run.kernel.package_version),
        image_sha256: run.kernel.sha256.clone(),
        kernel_digest: run.kernel.digest.clone(),
        directory: variant_directory(&definition.id, &run.variant.name, run.draw.number),
        splats: runs
            .iter()
            .flat_map(|run| &run.outcome.splats)
            .map(|s| format!("{}: {}", s.kind, s.title))
            .collect(),
        metrics: run.named_metrics(),
        ns_per_instruction: Some(run.instruction.ns()).filter(|ns| *ns > 1),
        draws: drawn.map(|run| (run.draw.number, run.named_metrics())).collect(),
    };
    take_medians(&mut variant);
    variant
}

/// Makes the metrics of a variant with draws the medians of theirs. One that a draw lacks has none.
pub(super) fn take_medians(variant: &mut ReproducedVariant) {
    let Some(first) = variant.draws.values().next() else { return };
    let median = |metric: &String| {
        let of_draws = variant.draws.values().map(|metrics| metrics.get(metric).copied());
        let estimate = Estimate::of_draws(of_draws.collect::<Option<Vec<f64>>>()?)?;
        Some((metric.clone(), estimate.value))
    };
    variant.metrics = first.keys().filter_map(median).collect();
}
