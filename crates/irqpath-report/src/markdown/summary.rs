// SPDX-License-Identifier: GPL-2.0-or-later
//! The summary: for each paper what was reproduced, what was not and why, with a picture.

use std::collections::BTreeSet;
use std::io::{self, Write};

use irqpath_model::{OutcomeVerdict, Reproduced, Reproduction};

use super::escape::{code_span, command_block, escape_cell, escape_line, experiment_anchor};
use super::papers::{Paper, by_paper};
use super::picture;
use crate::reproduction::{claim_reason, is_unexplained, list_missing};

/// Where the summary's links lead: into the same page, or to pages in a directory.
pub(super) enum Details<'a> {
    Here,
    Pages(&'a str),
}

impl Details<'_> {
    fn experiment_link(&self, experiment: &Reproduced) -> String {
        let id = experiment_anchor(experiment);
        match self {
            Self::Here => format!("[{id}](#{})", id.to_lowercase()),
            Self::Pages(directory) => format!("[{id}]({directory}/{id}.md)"),
        }
    }
}

pub(super) fn write_summary(
    mut out: &mut impl Write,
    table: &Reproduction,
    details: &Details<'_>,
) -> io::Result<()> {
    writeln!(
        out,
        "# Reproduction\n\n\
         The lab repeats the experiments of five papers on current kernels. This page counts, for \
         each paper,\nthe claims that hold, and gives the reason for each one that differs.\n\
         `{}` generated it with irqpath {}; do not\nedit it.\n\n{}",
        code_span(&command_block(&table.command)),
        escape_line(&table.irqpath_version),
        count_summary(table)
    )?;
    for (paper, experiments) in by_paper(&table.experiments) {
        writeln!(out, "\n## {}\n\n*{}*", paper.name, paper.title)?;
        write_picture(&mut out, table, paper, details)?;
        write_experiments(&mut out, &experiments, details)?;
        write_differences(&mut out, &experiments, details)?;
    }
    Ok(())
}

fn count_verdict(experiment: &Reproduced, verdict: OutcomeVerdict) -> usize {
    let outcomes = experiment.claims.iter().flat_map(|claim| &claim.outcomes);
    outcomes.filter(|outcome| outcome.verdict == verdict).count()
}

fn count_summary(table: &Reproduction) -> String {
    let count =
        |verdict| table.experiments.iter().map(|e| count_verdict(e, verdict)).sum::<usize>();
    let claims = table.experiments.iter().flat_map(|experiment| &experiment.claims);
    let unexplained = match claims.filter(|claim| is_unexplained(claim)).count() {
        0 => String::new(),
        nr => format!(" {nr} of the claims that differ have no\nreason yet."),
    };
    let undecided = match count(OutcomeVerdict::Undecided) {
        0 => String::new(),
        nr => format!(" The draws of {nr} decide nothing yet."),
    };
    let run = table.experiments.iter().filter(|e| e.made.is_some()).count();
    format!(
        "{run} of {} experiments were run. A claim counts once for each kernel that it is about and \
         was run on.\n{} claims hold, {} differ and {} have no figure; {} figures are stated without \
         a claim.{undecided}{unexplained}",
        table.experiments.len(),
        count(OutcomeVerdict::Holds),
        count(OutcomeVerdict::Differs),
        count(OutcomeVerdict::Missing),
        count(OutcomeVerdict::Stated),
    )
}

fn write_picture(
    out: &mut impl Write,
    table: &Reproduction,
    paper: &Paper,
    details: &Details<'_>,
) -> io::Result<()> {
    let (Some(figure), Details::Pages(directory)) = (&paper.picture, details) else {
        return Ok(());
    };
    if picture::draw_figure(table, figure).is_none() {
        return Ok(());
    }
    writeln!(
        out,
        "\n![{}; a line from Q05 to Q95, a dot at the median, a red mark at the maximum]\
         ({directory}/{}.svg)",
        figure.caption, figure.file
    )
}

/// A row per experiment: how its claims ended.
fn write_experiments(
    out: &mut impl Write,
    experiments: &[&Reproduced],
    details: &Details<'_>,
) -> io::Result<()> {
    writeln!(out, "\n| experiment | question | hold | differ | stated |\n|---|---|--:|--:|--:|")?;
    for experiment in experiments {
        let (link, title) = (details.experiment_link(experiment), escape_cell(&experiment.title));
        if experiment.made.is_none() {
            let why = escape_cell(&list_missing(&experiment.not_run).join("; "));
            writeln!(out, "| {link} | {title} | not run: {why} | | |")?;
            continue;
        }
        let [holds, differs, stated] =
            [OutcomeVerdict::Holds, OutcomeVerdict::Differs, OutcomeVerdict::Stated]
                .map(|verdict| count_verdict(experiment, verdict));
        let undecided = match count_verdict(experiment, OutcomeVerdict::Undecided) {
            0 => String::new(),
            nr => format!(", {nr} undecided"),
        };
        writeln!(out, "| {link} | {title} | {holds} | {differs}{undecided} | {stated} |")?;
    }
    Ok(())
}

/// The reasons why claims differ, each once.
fn write_differences(
    out: &mut impl Write,
    experiments: &[&Reproduced],
    details: &Details<'_>,
) -> io::Result<()> {
    let mut begun = false;
    for experiment in experiments {
        let reasons: Vec<&str> = experiment.claims.iter().filter_map(claim_reason).collect();
        let mut shown = BTreeSet::new();
        for reason in reasons.iter().filter(|reason| shown.insert(**reason)) {
            if !std::mem::replace(&mut begun, true) {
                writeln!(out, "\nClaims that differ, and why:\n")?;
            }
            let nr = reasons.iter().filter(|other| other == &reason).count();
            let claims = if nr == 1 { "1 claim".to_owned() } else { format!("{nr} claims") };
            writeln!(
                out,
                "- {}, {claims}: {}",
                details.experiment_link(experiment),
                escape_line(reason)
            )?;
        }
    }
    Ok(())
}
