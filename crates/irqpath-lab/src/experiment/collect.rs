// SPDX-License-Identifier: GPL-2.0-or-later
//! One table of all experiments from the results of several runs.
//!
//! The files in `experiments/` say which rows there are. A result counts if it was made by the
//! file as it is now: what is measured must be the same, what is only said about it may be newer.
//! A row without such a result says so.

use irqpath_model::{Claim, NotRun, OutcomeVerdict, Reproduced, ReproducedColumn, Reproduction};

use super::check::Check;
use super::definition::Definition;
use super::table::{judged, said};

/// Every experiment with what its last run showed; the stored tables are in order.
pub fn collect(definitions: &[Definition], stored: &[Reproduction]) -> Vec<Reproduced> {
    definitions.iter().map(|definition| row(definition, stored)).collect()
}

fn row(definition: &Definition, stored: &[Reproduction]) -> Reproduced {
    let results = || {
        let all = stored.iter().rev().flat_map(|table| &table.experiments);
        all.filter(|e| e.id == definition.id && !e.columns.is_empty())
    };
    if let Some(found) = results().find(|found| found.recipe == definition.recipe) {
        return current(definition, found.clone());
    }
    let why = match results().next() {
        None => "there is no result",
        Some(_) => "the result there is was measured in another way",
    };
    Reproduced { not_run: vec![NotRun::all(why)], ..said(definition) }
}

/// A result in the words of today's file.
fn current(definition: &Definition, found: Reproduced) -> Reproduced {
    let judged = |check: &Check| claim(check, &found.columns, &found.claims);
    Reproduced {
        claims: definition.checks.iter().map(judged).collect(),
        columns: found.columns.clone(),
        figures: found.figures,
        slow: found.slow,
        not_run: found.not_run,
        recipe: found.recipe,
        made: found.made,
        ..said(definition)
    }
}

/// The claim judged anew. What the stored metrics cannot tell is as the run judged the same claim.
fn claim(check: &Check, columns: &[ReproducedColumn], of_run: &[Claim]) -> Claim {
    let mut claim = judged(check, columns);
    let same = |old: &&Claim| old.claim == claim.claim && old.expect == claim.expect;
    let Some(old) = of_run.iter().find(same) else { return claim };
    for outcome in &mut claim.outcomes {
        let of_run = old.outcomes.iter().find(|old| old.column == outcome.column);
        if let Some(of_run) = of_run.filter(|_| outcome.verdict == OutcomeVerdict::Missing) {
            outcome.clone_from(of_run);
        }
    }
    claim
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::read_all;

    const FILE: &str = r#"
id = "one"
title = "First"
source = { document = "000", section = "1" }
mode = "exact"
workload = "Work."
time_limit_s = 1
guest = { job = "one.sh" }
defaults = { REPS = 10 }
column = [{ name = "rt", flavour = "stock-rt" }, { name = "stock", flavour = "stock" }]
series = [{ name = "s" }]
check = [{ claim = "It grows", paper = "2", value = { metric = "s.n" }, expect = { min = 1 } }]
"#;

    fn definitions(file: &str, script: &str) -> Vec<Definition> {
        let directory = tempfile::tempdir().unwrap();
        let jobs = directory.path().join("jobs");
        std::fs::create_dir(&jobs).unwrap();
        std::fs::write(jobs.join("one.sh"), script).unwrap();
        std::fs::write(directory.path().join("one.toml"), file).unwrap();
        read_all(directory.path()).unwrap()
    }

    /// A result of the file above, on one of its kernels.
    fn result(value: f64) -> Reproduction {
        let definition = &definitions(FILE, "true")[0];
        let column = ReproducedColumn {
            name: "rt".to_owned(),
            metrics: [("s.n".to_owned(), value)].into(),
            ..Default::default()
        };
        let mut table = Reproduction::new("0.1.0", Vec::new());
        table.experiments.push(Reproduced {
            claims: vec![judged(&definition.checks[0], std::slice::from_ref(&column))],
            columns: vec![column],
            recipe: definition.recipe.clone(),
            made: Some(irqpath_model::Made::default()),
            ..said(definition)
        });
        table
    }

    #[test]
    fn the_last_result_counts_and_one_that_failed_does_not() {
        let definitions = definitions(FILE, "true");
        let mut failed = result(5.0);
        failed.experiments[0].columns.clear();
        let rows = collect(&definitions, &[result(3.0), result(4.0), failed]);
        assert_eq!(rows[0].claims[0].outcomes[0].ours, "4");
        let rows = collect(&definitions, &[]);
        assert_eq!(rows[0].not_run, [NotRun::all("there is no result")]);
        assert_eq!((rows[0].title.as_str(), &rows[0].made), ("First", &None));
    }

    #[test]
    fn a_result_that_was_measured_in_another_way_is_none() {
        let table = [
            (FILE.replace("REPS = 10", "REPS = 20"), "true"),
            (FILE.replace("stock-rt", "stock-6.1-rt"), "true"),
            (FILE.to_owned(), "false"),
        ];
        for (file, script) in table {
            let rows = collect(&definitions(&file, script), &[result(3.0)]);
            assert!(rows[0].made.is_none(), "{file}");
            assert!(rows[0].not_run[0].why.contains("in another way"), "{:?}", rows[0].not_run);
        }
    }

    #[test]
    fn words_may_be_newer_than_the_result_and_a_claim_too() {
        let file = FILE
            .replace("\"First\"", "\"Renamed\"")
            .replace("paper = \"2\"", "paper = \"3\", differs = \"Since 6.12.\"");
        let rows = collect(&definitions(&file, "true"), &[result(3.0)]);
        assert_eq!(rows[0].title, "Renamed");
        let claim = &rows[0].claims[0];
        assert_eq!((claim.paper.as_str(), claim.outcomes[0].ours.as_str()), ("3", "3"));
        assert_eq!(claim.differs.as_deref(), Some("Since 6.12."));

        let stricter = FILE.replace("min = 1", "min = 4");
        let rows = collect(&definitions(&stricter, "true"), &[result(3.0)]);
        assert_eq!(rows[0].claims[0].outcomes[0].verdict, OutcomeVerdict::Differs);
    }

    #[test]
    fn without_metrics_a_claim_is_as_the_run_judged_it() {
        let mut table = result(3.0);
        table.experiments[0].columns[0].metrics.clear();
        let rows = collect(&definitions(FILE, "true"), &[table.clone()]);
        assert_eq!(rows[0].claims[0].outcomes[0].ours, "3");
        let stricter = FILE.replace("min = 1", "min = 4");
        let rows = collect(&definitions(&stricter, "true"), &[table]);
        assert_eq!(rows[0].claims[0].outcomes[0].verdict, OutcomeVerdict::Missing);
    }
}
