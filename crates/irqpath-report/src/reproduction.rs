// SPDX-License-Identifier: GPL-2.0-or-later
//! The reproduction table for a terminal, and what its other forms share with that.
//!
//! Every claim stands above its figures: claims are sentences and kernels are few, so a block per
//! claim reads better than one wide table. A claim that does not hold is followed by the reason.

use std::collections::BTreeSet;
use std::io::{self, Write};

use irqpath_model::{
    Claim, Figures, NotRun, Outcome, OutcomeVerdict, Reproduced, Reproduction, SlowRuns,
};

use crate::Guard;
use crate::text::group_digits;

/// The table for a terminal.
pub fn write_text(out: impl Write, table: &Reproduction) -> io::Result<()> {
    let mut out = Guard::new(out, false);
    for experiment in &table.experiments {
        writeln!(out, "{}  {}", experiment.id, experiment.title)?;
        writeln!(out, "  source    {}", experiment.source)?;
        writeln!(out, "  figures   {}", unit_note(experiment))?;
        for variant in &experiment.variants {
            writeln!(out, "  kernel    {}: {}", variant.name, variant.kernel)?;
            for splat in &variant.splats {
                writeln!(out, "  SPLAT     {}: {splat}", variant.name)?;
            }
        }
        for part in list_missing(&experiment.not_run) {
            writeln!(out, "  not run   {part}")?;
        }
        for claim in &experiment.claims {
            write_claim(&mut out, claim)?;
        }
        write_figures(&mut out, experiment)?;
        write_slow(&mut out, experiment)?;
        writeln!(out)?;
    }
    out.finish()
}

fn write_claim(out: &mut impl Write, claim: &Claim) -> io::Result<()> {
    let width = |text: &str| text.chars().count();
    let names = claim.outcomes.iter().map(|outcome| width(&outcome.variant)).max().unwrap_or(0);
    let figures = claim.outcomes.iter().map(|outcome| width(&outcome.ours)).max().unwrap_or(0);
    writeln!(out, "\n  {} ({})", claim.claim, claim.expect)?;
    writeln!(out, "    {:names$}  {}", "paper", claim.paper)?;
    for Outcome { variant, ours, verdict } in &claim.outcomes {
        writeln!(out, "    {variant:names$}  {ours:>figures$}  {}", verdict_word(*verdict))?;
    }
    let mut lines = claim_remarks(claim).into_iter().flat_map(str::lines);
    lines.try_for_each(|line| writeln!(out, "    {line}"))
}

/// What was measured: a table per variant.
fn write_figures(out: &mut impl Write, experiment: &Reproduced) -> io::Result<()> {
    let name = |row: &Figures| figure_name(row).chars().count();
    // Rows are two further to the right than their heading.
    let names = experiment.figures.iter().map(name).max().unwrap_or(0) + 2;
    let headings = figure_headings(&experiment.figures);
    let numbers = experiment.figures.iter().flat_map(figure_cells);
    let number = numbers.map(|cell| cell.chars().count()).max().unwrap_or(0).max(10) + 1;
    for variant in &experiment.variants {
        let mut rows =
            experiment.figures.iter().filter(|row| row.variant == variant.name).peekable();
        if rows.peek().is_none() {
            continue;
        }
        let width = names.max(variant.name.chars().count());
        write!(out, "\n  {:width$}", variant.name)?;
        headings.iter().try_for_each(|heading| write!(out, "{heading:>number$}"))?;
        writeln!(out)?;
        for row in rows {
            write!(out, "    {:1$}", figure_name(row), width - 2)?;
            let cells = &figure_cells(row)[..headings.len()];
            cells.iter().try_for_each(|cell| write!(out, "{cell:>number$}"))?;
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Causes of a series that a table shows; the others together are a row.
const MAX_CAUSES: usize = 5;

/// Why runs were slow: the most frequent causes of every series.
fn write_slow(out: &mut impl Write, experiment: &Reproduced) -> io::Result<()> {
    for [variant, series, nr, cause] in slow_rows(experiment) {
        if !variant.is_empty() {
            writeln!(out, "\n  {variant}: why {series} runs over Q95 were slow")?;
        }
        writeln!(out, "    {nr:>7}  {cause}")?;
    }
    Ok(())
}

/// Variant and series (where they begin), how many, and why.
pub(crate) fn slow_rows(experiment: &Reproduced) -> Vec<[String; 4]> {
    let mut rows = Vec::new();
    let same = |a: &SlowRuns, b: &SlowRuns| a.variant == b.variant && a.series == b.series;
    for group in experiment.slow.chunk_by(same) {
        let (shown, rest) = group.split_at(group.len().min(MAX_CAUSES));
        for (at, row) in shown.iter().enumerate() {
            let first = |text: &str| if at == 0 { text.to_owned() } else { String::new() };
            let place = [first(&row.variant), first(&row.series)];
            rows.push([
                place[0].clone(),
                place[1].clone(),
                group_digits(row.nr),
                row.cause.clone(),
            ]);
        }
        let others: u64 = rest.iter().map(|row| row.nr).sum();
        if others > 0 {
            let cause = format!("{} other combinations", rest.len());
            rows.push([String::new(), String::new(), group_digits(others), cause]);
        }
    }
    rows
}

/// Of the numbers of [`Figures`]; lengths are instructions in exact experiments, else ns.
const HEADINGS: [&str; 7] = ["n", "min", "Q05", "Q50", "Q95", "max", "max irq"];

/// Headings of these rows: without the last one, where no row has it.
pub(crate) fn figure_headings(rows: &[Figures]) -> &'static [&'static str] {
    let all = rows.iter().any(|row| row.max_irq_ns.is_some());
    if all { &HEADINGS } else { &HEADINGS[..HEADINGS.len() - 1] }
}

/// A row's numbers, one for each that [`figure_headings`] may have.
pub(crate) fn figure_cells(row: &Figures) -> [String; 7] {
    let q = row.quantiles;
    let [n, min, q05, q50, q95, max] =
        [q.n, q.min_ns, q.q05_ns, q.q50_ns, q.q95_ns, q.max_ns].map(group_digits);
    [n, min, q05, q50, q95, max, row.max_irq_ns.map(group_digits).unwrap_or_default()]
}

/// Series and interval of a row.
pub(crate) fn figure_name(row: &Figures) -> String {
    if row.interval.is_empty() {
        return row.series.clone();
    }
    format!("{} {}", row.series, row.interval)
}

/// What was not run, and why; series with the same reason are one line.
pub(crate) fn list_missing(parts: &[NotRun]) -> Vec<String> {
    let same = |a: &NotRun, b: &NotRun| (&a.variant, &a.why) == (&b.variant, &b.why);
    let line = |group: &[NotRun]| {
        let NotRun { variant, why, .. } = &group[0];
        let series: Vec<_> = group.iter().map(|part| part.series.as_str()).collect();
        match (variant.as_str(), series.join(", ").as_str()) {
            ("", _) => why.clone(),
            (variant, "") => format!("on {variant}: {why}"),
            (variant, series) => format!("{series} on {variant}: {why}"),
        }
    };
    parts.chunk_by(same).map(line).collect()
}

/// What stands for a reason that nobody has found yet.
const NO_REASON: &str = "No reason given.";

/// The reason why a claim does not hold, if it does not.
pub(crate) fn claim_reason(claim: &Claim) -> Option<&str> {
    let differs = claim.outcomes.iter().any(|outcome| outcome.verdict == OutcomeVerdict::Differs);
    let given = claim.differs.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
    differs.then(|| given.unwrap_or(NO_REASON))
}

/// What stands below a claim: what its figures are to be read with, and why it does not hold.
pub(crate) fn claim_remarks(claim: &Claim) -> Vec<&str> {
    let note = claim.note.as_deref().map(str::trim).filter(|note| !note.is_empty());
    note.into_iter().chain(claim_reason(claim)).collect()
}

/// True if a claim does not hold and nobody says why.
pub(crate) fn is_unexplained(claim: &Claim) -> bool {
    claim_reason(claim) == Some(NO_REASON)
}

pub(crate) fn unit_note(experiment: &Reproduced) -> String {
    if !experiment.exact {
        return "not exact: several virtual CPUs".to_owned();
    }
    if experiment.counts_instructions() {
        return "exact; 1 ns is one instruction, and instructions are not cycles".to_owned();
    }
    let times = experiment.variants.iter().map(|variant| variant.ns_per_instruction.unwrap_or(1));
    let times: BTreeSet<u32> = times.collect();
    let times: Vec<String> = times.into_iter().map(|ns| ns.to_string()).collect();
    let by = if times.len() > 1 { " by the variant" } else { "" };
    let times = times.join(" or ");
    format!("exact; an instruction takes {times} ns{by}, and is not a cycle")
}

pub(crate) fn verdict_word(verdict: OutcomeVerdict) -> &'static str {
    match verdict {
        OutcomeVerdict::Holds => "holds",
        OutcomeVerdict::Stated => "stated",
        OutcomeVerdict::Differs => "differs",
        OutcomeVerdict::Undecided => "undecided",
        OutcomeVerdict::Missing => "no figure",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::ReproducedVariant;
    use irqpath_model::bench::BenchQuantiles;

    fn table() -> Reproduction {
        let outcome = |variant: &str, ours: &str, verdict| Outcome {
            variant: variant.to_owned(),
            ours: ours.to_owned(),
            verdict,
        };
        let mut table =
            Reproduction::new("0.1.0", vec!["irqpath".into(), "lab".into(), "run".into()]);
        table.experiments.push(Reproduced {
            id: "intspect-load".into(),
            title: "Load".into(),
            source: "001, 5.6".into(),
            workload: "Work.".into(),
            exact: true,
            variants: vec![ReproducedVariant {
                name: "rt".into(),
                kernel: "6.12".into(),
                image_sha256: "00".into(),
                directory: "rt".into(),
                splats: vec!["WARNING: here".into()],
                ..ReproducedVariant::default()
            }],
            not_run: vec![NotRun {
                variant: "rt".into(),
                series: "tasklet".into(),
                why: "no tasklets".into(),
            }],
            claims: vec![Claim {
                claim: "a|b grows".into(),
                paper: "2.0".into(),
                expect: "at least 1".into(),
                differs: Some("\nBecause of try_to_wake_up.\nAnd more.".into()),
                note: None,
                must: true,
                outcomes: vec![
                    outcome("rt", "3.25", OutcomeVerdict::Holds),
                    outcome("stock", "0.5", OutcomeVerdict::Differs),
                ],
            }],
            slow: vec![SlowRuns {
                variant: "rt".into(),
                series: "softirq".into(),
                cause: "add_timer_on < asm_sysvec_irq_work".into(),
                nr: 98,
            }],
            figures: vec![Figures {
                variant: "rt".into(),
                series: "softirq".into(),
                interval: String::new(),
                quantiles: BenchQuantiles {
                    n: 50_000,
                    min_ns: 1,
                    q05_ns: 2,
                    q50_ns: 3,
                    q95_ns: 4,
                    max_ns: 1_005,
                },
                max_irq_ns: None,
            }],
            ..Reproduced::default()
        });
        table
    }

    #[test]
    fn the_reason_stands_below_a_claim_that_differs() {
        let mut out = Vec::new();
        write_text(&mut out, &table()).expect("text");
        let text = String::from_utf8(out).expect("utf-8");
        assert!(text.contains("rt     3.25  holds"), "{text}");
        assert!(
            text.contains("stock   0.5  differs\n    Because of try_to_wake_up.\n    And more.\n"),
            "{text}"
        );
        assert!(text.contains("SPLAT     rt: WARNING: here"), "{text}");
        assert!(text.contains("not run   tasklet on rt: no tasklets"), "{text}");
        assert!(text.contains("    softirq     50 000          1"), "{text}");
        assert!(text.contains("  rt                 n        min"), "{text}");
        let slow = "why softirq runs over Q95 were slow\n         98  add_timer_on < asm_sysvec";
        assert!(text.contains(slow), "{text}");
    }

    #[test]
    fn a_claim_that_differs_without_a_reason_says_so() {
        let mut table = table();
        for differs in [None, Some(" \n".to_owned())] {
            table.experiments[0].claims[0].differs = differs;
            let mut out = Vec::new();
            write_text(&mut out, &table).expect("text");
            let text = String::from_utf8(out).expect("utf-8");
            assert!(text.contains("stock   0.5  differs\n    No reason given.\n"), "{text}");
        }
        table.experiments[0].claims[0].outcomes.truncate(1);
        assert_eq!(claim_reason(&table.experiments[0].claims[0]), None);
    }

    #[test]
    fn a_note_stands_below_a_claim_whatever_became_of_it() {
        let mut table = table();
        table.experiments[0].claims[0].note = Some("The document has two CPUs.\n".into());
        let claim = &table.experiments[0].claims[0];
        let both = ["The document has two CPUs.", "Because of try_to_wake_up.\nAnd more."];
        assert_eq!(claim_remarks(claim), both);
        table.experiments[0].claims[0].outcomes.truncate(1);
        assert_eq!(claim_remarks(&table.experiments[0].claims[0]), both[..1]);
    }

    #[test]
    fn a_claim_that_must_hold_fails_the_experiment() {
        let mut table = table();
        assert!(table.experiments[0].has_failed());
        table.experiments[0].claims[0].must = false;
        assert!(!table.experiments[0].has_failed());
    }
}
