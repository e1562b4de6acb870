// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs rules over the tree, prints what they found and decides the exit code.
//!
//! Exit code 0: nothing broken (notes may be printed), 1: a rule is broken.

use crate::finding::{Finding, Level};
use crate::tree::Tree;
use crate::{circles, deps, files, links, locked, machine, outputs, prose, sizes, spdx};
use anyhow::Result;
use std::process::ExitCode;

/// A named rule.
pub struct Rule {
    pub name: &'static str,
    check: fn(&Tree) -> Result<Vec<Finding>>,
}

/// All rules, in the order they are run.
pub const RULES: &[Rule] = &[
    Rule { name: "deps", check: deps::check },
    Rule { name: "circles", check: |tree| Ok(circles::check(tree)) },
    Rule { name: "sizes", check: |tree| Ok(sizes::check(tree)) },
    Rule { name: "spdx", check: |tree| Ok(spdx::check(tree)) },
    Rule { name: "machine", check: |tree| Ok(machine::check(tree)) },
    Rule { name: "outputs", check: |tree| Ok(outputs::check(tree)) },
    Rule { name: "files", check: |tree| Ok(files::check(tree)) },
    Rule { name: "locked", check: |tree| Ok(locked::check(tree)) },
    Rule { name: "links", check: |tree| Ok(links::check(tree)) },
    Rule { name: "prose", check: |tree| Ok(prose::check(tree)) },
];

/// Runs `rules` over the project.
pub fn run(rules: &[Rule]) -> Result<ExitCode> {
    let tree = Tree::load()?;
    let mut worst = None;
    for rule in rules {
        let findings = (rule.check)(&tree)?;
        for finding in &findings {
            eprintln!("{finding}");
        }
        let failed = findings.iter().filter(|finding| finding.level == Level::Fail).count();
        worst = worst.max(findings.iter().map(|finding| finding.level).max());
        let verdict = if failed == 0 { "ok".to_owned() } else { format!("{failed} broken") };
        eprintln!("{:<10} {verdict}, {} files", rule.name, tree.files.len());
    }
    Ok(if worst == Some(Level::Fail) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
