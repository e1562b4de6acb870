// SPDX-License-Identifier: GPL-2.0-or-later
//! All that the lab knows of one experiment: what ran, its claims with the reasons where one does
//! not hold, its numbers, and the kernels.

use std::io::{self, Write};

use irqpath_model::{Claim, Outcome, Reproduced};

use super::escape::{
    code_span, command_block, escape_cell, escape_line, escape_text, experiment_anchor,
};
use super::papers::{paper_of, paper_section};
use crate::reproduction::{
    claim_remarks, figure_cells, figure_headings, figure_name, list_missing, slow_rows, unit_note,
    verdict_word,
};

/// Writes the part of an experiment; `#` of `level` begin its heading.
pub(super) fn write_experiment(
    mut out: &mut impl Write,
    experiment: &Reproduced,
    level: usize,
) -> io::Result<()> {
    let marks = "#".repeat(level);
    writeln!(
        out,
        "{marks} {}\n\n{}.\n",
        experiment_anchor(experiment),
        escape_line(&experiment.title)
    )?;
    write_source(out, experiment)?;
    writeln!(
        out,
        "\n{}\n\nFigures: {}.",
        escape_text(&experiment.workload),
        unit_note(experiment)
    )?;
    for variant in &experiment.variants {
        for splat in &variant.splats {
            writeln!(out, "\n**Splat on {}:** {}", escape_line(&variant.name), escape_line(splat))?;
        }
    }
    for part in list_missing(&experiment.not_run) {
        writeln!(out, "\n**Not run:** {}", escape_line(&part))?;
    }
    write_claims(&mut out, experiment, &marks)?;
    write_figures(&mut out, experiment, &marks)?;
    write_slow(&mut out, experiment, &marks)?;
    write_kernels(out, experiment, &marks)
}

/// Where it is from and what made it.
fn write_source(out: &mut impl Write, experiment: &Reproduced) -> io::Result<()> {
    let paper = paper_of(experiment);
    if experiment.document == "irqpath" {
        writeln!(out, "No paper measured this.")?;
    } else {
        let place = match paper_section(experiment) {
            "" => String::new(),
            section => format!(", section {}", escape_line(section)),
        };
        writeln!(out, "Source: {}, *{}*{place}.", paper.name, paper.title)?;
    }
    let Some(made) = &experiment.made else {
        return writeln!(out, "\nThere is no result.");
    };
    let commit = match made.commit.as_str() {
        "" => "of unknown commit".to_owned(),
        commit => escape_line(commit),
    };
    writeln!(
        out,
        "\n`{}`, irqpath {} {commit}",
        code_span(&command_block(&made.command)),
        escape_line(&made.irqpath_version)
    )
}

/// A row per claim; remarks stand below.
fn write_claims(out: &mut impl Write, experiment: &Reproduced, marks: &str) -> io::Result<()> {
    if experiment.claims.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{marks}# Claims\n\n| claim | paper | expected | kernel | ours | verdict |\n\
         |---|---|---|---|--:|---|"
    )?;
    for claim in &experiment.claims {
        writeln!(out, "| {} |", claim_row(claim).join(" | "))?;
    }
    for claim in &experiment.claims {
        let remarks = claim_remarks(claim);
        if !remarks.is_empty() {
            writeln!(
                out,
                "\n**{}**: {}",
                escape_line(&claim.claim),
                escape_text(&remarks.join("\n"))
            )?;
        }
    }
    Ok(())
}

/// The cells of a claim; kernels are lines of a cell.
fn claim_row(claim: &Claim) -> [String; 6] {
    let lines = |of: &dyn Fn(&Outcome) -> String| {
        claim.outcomes.iter().map(|o| escape_cell(&of(o))).collect::<Vec<_>>().join("<br>")
    };
    [
        escape_cell(&claim.claim),
        escape_cell(&claim.paper),
        escape_cell(&claim.expect),
        lines(&|o| o.variant.clone()),
        lines(&|o| o.ours.clone()),
        lines(&|o| verdict_word(o.verdict).to_owned()),
    ]
}

fn write_figures(out: &mut impl Write, experiment: &Reproduced, marks: &str) -> io::Result<()> {
    if experiment.figures.is_empty() {
        return Ok(());
    }
    let headings = figure_headings(&experiment.figures);
    writeln!(out, "\n{marks}# Figures\n\n| kernel | series | {} |", headings.join(" | "))?;
    writeln!(out, "|---|---|{}", "--:|".repeat(headings.len()))?;
    for row in &experiment.figures {
        let cells = figure_cells(row)[..headings.len()].join(" | ");
        writeln!(
            out,
            "| {} | {} | {cells} |",
            escape_cell(&row.variant),
            escape_cell(&figure_name(row))
        )?;
    }
    Ok(())
}

fn write_slow(out: &mut impl Write, experiment: &Reproduced, marks: &str) -> io::Result<()> {
    if experiment.slow.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{marks}# Slow runs\n\n| kernel | series | runs over Q95 | why |\n|---|---|--:|---|"
    )?;
    slow_rows(experiment).iter().try_for_each(|row| {
        writeln!(out, "| {} |", row.each_ref().map(|c| escape_cell(c)).join(" | "))
    })
}

fn write_kernels(out: &mut impl Write, experiment: &Reproduced, marks: &str) -> io::Result<()> {
    if experiment.variants.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{marks}# Kernels\n\n| kernel | version | SHA-256 of the image |\n|---|---|---|"
    )?;
    for variant in &experiment.variants {
        let image = variant.image_sha256.get(..16).unwrap_or(&variant.image_sha256);
        writeln!(
            out,
            "| {} | {} | {} |",
            escape_cell(&variant.name),
            escape_cell(&variant.kernel),
            escape_cell(image)
        )?;
    }
    Ok(())
}
