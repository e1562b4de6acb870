// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab list`: the experiments, and what became of them when they last ran.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use irqpath_lab::Lab;
use irqpath_lab::experiment::{self, Definition, Mode};
use irqpath_model::{OutcomeVerdict, Reproduced, Reproduction};
use serde::Serialize;

use crate::cli_lab::LabList;
use crate::out;

/// One line of the list.
#[derive(Debug, Serialize)]
struct Line {
    id: String,
    title: String,
    exact: bool,
    columns: Vec<String>,
    /// What the last run showed; empty if there is none.
    state: String,
}

/// Run it.
pub fn run(lab: &Lab, arguments: &LabList) -> anyhow::Result<ExitCode> {
    let definitions = experiment::read_all(&lab.project.experiments())?;
    let last = last(&arguments.results);
    let lines: Vec<Line> = definitions.iter().map(|d| line(d, last.as_ref())).collect();
    if arguments.json {
        out::json(&lines, false)?;
    } else {
        out::print(&text(&lines))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn last(results: &Path) -> Option<Reproduction> {
    let text = std::fs::read(results.join("reproduction.json")).ok()?;
    serde_json::from_slice(&text).ok()
}

fn line(definition: &Definition, last: Option<&Reproduction>) -> Line {
    let reproduced = |table: &Reproduction| {
        table.experiments.iter().find(|experiment| experiment.id == definition.id).map(state)
    };
    Line {
        id: definition.id.clone(),
        title: definition.title.clone(),
        exact: definition.mode == Mode::Exact,
        columns: definition.columns.iter().map(|column| column.name.clone()).collect(),
        state: last.and_then(reproduced).unwrap_or_default(),
    }
}

fn state(experiment: &Reproduced) -> String {
    let outcomes = || experiment.claims.iter().flat_map(|claim| &claim.outcomes);
    let count = |verdict| outcomes().filter(|outcome| outcome.verdict == verdict).count();
    let nr_claims = outcomes().count() - count(OutcomeVerdict::Stated);
    let mut state = format!("{} of {nr_claims} hold", count(OutcomeVerdict::Holds));
    if experiment.failed() {
        state.push_str(", FAILED");
    }
    state
}

fn text(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        let mode = if line.exact { "exact" } else { "smp" };
        let state = if line.state.is_empty() { "not run" } else { &line.state };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:20} {mode:6} {state:18} {}", line.id, line.title);
        let _ = writeln!(text, "{:20} on {}", "", line.columns.join(", "));
    }
    text
}
