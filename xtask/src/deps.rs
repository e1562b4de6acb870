// SPDX-License-Identifier: GPL-2.0-or-later
//! Dependencies between the crates point one way:
//! `model <- analysis <- report <- irqpath`, `model <- source`, `model <- system`; the lab uses
//! all of these and only the binary uses the lab. Who opens files does so by `files`, which uses none.
//!
//! The table below is the rule. It holds for build and test dependencies too: a crate whose
//! tests need a layer above it is in the wrong place. A new crate gets a line here first.

use crate::finding::Finding;
use crate::tree::Tree;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::Command;

/// Crate, and the crates of this project that it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("irqpath-files", &[]),
    ("irqpath-model", &[]),
    // For tests: must not share what it judges.
    ("irqpath-witness", &["irqpath-model"]),
    ("irqpath-source", &["irqpath-files", "irqpath-model"]),
    ("irqpath-system", &["irqpath-files", "irqpath-model"]),
    ("irqpath-analysis", &["irqpath-model"]),
    ("irqpath-report", &["irqpath-model", "irqpath-analysis"]),
    (
        "irqpath-lab",
        &[
            "irqpath-files",
            "irqpath-model",
            "irqpath-source",
            "irqpath-system",
            "irqpath-analysis",
            "irqpath-report",
        ],
    ),
    // For tests: what those of several crates share, and those that boot guests.
    (
        "irqpath-testing",
        &[
            "irqpath-lab",
            "irqpath-witness",
            "irqpath-files",
            "irqpath-model",
            "irqpath-source",
            "irqpath-analysis",
        ],
    ),
    (
        "irqpath",
        &[
            "irqpath-testing",
            "irqpath-lab",
            "irqpath-witness",
            "irqpath-files",
            "irqpath-model",
            "irqpath-source",
            "irqpath-system",
            "irqpath-analysis",
            "irqpath-report",
        ],
    ),
    // For tests: feeds damaged files to what reads them.
    (
        "irqpath-fuzz",
        &[
            "irqpath-lab",
            "irqpath-model",
            "irqpath-source",
            "irqpath-system",
            "irqpath-analysis",
            "irqpath-report",
        ],
    ),
    ("xtask", &[]),
];

/// Asks cargo for the workspace and compares it with the table.
pub fn check(tree: &Tree) -> Result<Vec<Finding>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--locked"])
        .current_dir(&tree.root)
        .output()
        .context("cannot run cargo metadata")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let metadata = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
    Ok(compare(&metadata))
}

fn compare(metadata: &Value) -> Vec<Finding> {
    let packages = list(metadata, "packages");
    let own: Vec<&str> = packages.iter().filter_map(|package| name(package)).collect();
    packages.iter().flat_map(|package| package_findings(package, &own)).collect()
}

fn package_findings(package: &Value, own: &[&str]) -> Vec<Finding> {
    let crate_name = name(package).unwrap_or_default();
    let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == crate_name) else {
        return vec![Finding::fail(
            crate_name,
            "crate has no line in xtask/src/deps.rs; say there what it may use",
        )];
    };
    list(package, "dependencies")
        .iter()
        .filter_map(name)
        .filter(|used| own.contains(used) && !allowed.contains(used))
        .map(|used| Finding::fail(crate_name, format!("must not depend on {used}")))
        .collect()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn name(value: &Value) -> Option<&str> {
    value.get("name").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn workspace(crate_name: &str, uses: &[&str]) -> Value {
        let uses: Vec<Value> = uses.iter().map(|used| json!({"name": used})).collect();
        json!({"packages": [
            {"name": crate_name, "dependencies": uses},
            {"name": "irqpath-model", "dependencies": []},
            {"name": "irqpath-analysis", "dependencies": [{"name": "irqpath-model"}]},
            {"name": "irqpath-report", "dependencies": [{"name": "serde"}]},
        ]})
    }

    #[test]
    fn directions() {
        for (crate_name, uses, nr_broken) in [
            ("irqpath", &["irqpath-model", "irqpath-report", "clap"][..], 0),
            ("irqpath-system", &["irqpath-model", "rustix"], 0),
            ("irqpath-source", &["irqpath-analysis"], 1),
            ("irqpath-source", &["irqpath-analysis", "irqpath-report"], 2),
            ("xtask", &["irqpath-model"], 1),
            ("irqpath-new", &[], 1),
        ] {
            let findings = compare(&workspace(crate_name, uses));
            assert_eq!(findings.len(), nr_broken, "{crate_name} {uses:?}: {findings:?}");
        }
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (position, (crate_name, uses)) in MAY_USE.iter().enumerate() {
            for used in *uses {
                let at = MAY_USE.iter().position(|(known, _)| known == used);
                assert!(at.is_some_and(|at| at < position), "{crate_name} -> {used}");
            }
        }
    }
}
