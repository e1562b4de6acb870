// SPDX-License-Identifier: GPL-2.0-or-later
//! Shared by the lab's verbs: which experiments, who made a result, and how errors are shown.

use irqpath_lab::Lab;
use irqpath_lab::experiment::{Definition, ExperimentError};
use irqpath_lab::kernel::KernelError;
use irqpath_model::Made;

use crate::host::meta;
use crate::output::console;

/// What makes results now: what is edited while guests run is not in them.
pub fn describe_making(lab: &Lab) -> Made {
    let commit = lab.project.read_commit().unwrap_or_else(|refused| {
        console::print_note(&format!(
            "no commit is recorded: {refused}; git would run what others put there"
        ));
        None
    });
    Made {
        command: meta::command_line(),
        irqpath_version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: commit.unwrap_or_else(meta::tested_commit),
    }
}

/// The experiments that were asked for, in the order in which they were named. `all` are those that
/// have a file, without those on request.
pub fn select_experiments<'a>(
    definitions: &'a [Definition],
    names: &[String],
) -> Result<Vec<&'a Definition>, ExperimentError> {
    if names.iter().any(|name| name == "all") {
        let in_all =
            |definition: &&Definition| !definition.is_on_newest() && !definition.on_request;
        return Ok(definitions.iter().filter(in_all).collect());
    }
    let find = |id: &String| {
        let found = definitions.iter().find(|definition| definition.id == *id);
        found.ok_or_else(|| ExperimentError::Unknown { id: id.clone() })
    };
    names.iter().map(find).collect()
}

/// Print all errors but the last; the last error ends the program.
pub fn report_errors(errors: Vec<ExperimentError>) -> Option<anyhow::Error> {
    let mut errors: Vec<anyhow::Error> = errors.into_iter().map(explain_experiment).collect();
    let last = errors.pop()?;
    for error in errors {
        console::print_note(&error.to_string());
    }
    Some(last)
}

/// The error as the program ends with it; what a guest or a compiler said is shown first.
pub fn explain_experiment(error: ExperimentError) -> anyhow::Error {
    console::print_quoted(&error.log());
    error.into()
}

/// The same for a kernel that could not be had.
pub fn explain_kernel(error: KernelError) -> anyhow::Error {
    console::print_quoted(error.log());
    error.into()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use irqpath_lab::experiment::read_all;

    use super::*;

    #[test]
    fn experiments_on_the_newest_kernels_run_if_they_are_named() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let definitions = read_all(&root.join("experiments")).unwrap();
        let select = |name: &str| {
            let found = select_experiments(&definitions, &[name.to_owned()])?;
            Ok::<_, ExperimentError>(found.iter().map(|found| found.id.clone()).collect::<Vec<_>>())
        };
        assert_eq!(select("ihm-net@7.x").unwrap(), ["ihm-net@7.x"]);
        let all = select("all").unwrap();
        assert!(all.iter().all(|id| !id.contains('@') && id != "net-scx"));
        assert_eq!(select("net-scx").unwrap(), ["net-scx"]);
        // It compares kernels already.
        assert!(matches!(select("net-polling@7.x"), Err(ExperimentError::Unknown { .. })));
    }
}
