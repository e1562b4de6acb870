// SPDX-License-Identifier: GPL-2.0-or-later
//! The project's experiments can be read, and say what a definition must say.

use std::path::Path;

use irqpath_lab::experiment::{Definition, ExperimentError, read_all};

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn every_experiment_of_the_project_is_understood() {
    let definitions = read_all(&project().join("experiments")).expect("experiments");
    assert!(definitions.iter().any(|definition| definition.id == "intspect-baseline"));
    for definition in &definitions {
        let job = project().join("experiments/jobs").join(&definition.guest.job);
        assert!(job.is_file(), "{}: no {}", definition.id, job.display());
        for program in &definition.guest.programs {
            let source = project().join("lab/guest").join(format!("{program}.c"));
            assert!(source.is_file(), "{}: no {}", definition.id, source.display());
        }
    }
}

#[test]
fn a_mistake_is_named_before_anything_boots() {
    let directory = tempfile::tempdir().expect("directory");
    let good = std::fs::read_to_string(project().join("experiments/ihm-timer.toml")).expect("file");
    let table = [
        ("id = \"ihm-timer\"", "id = \"ihm\"", "id is ihm, the file is ihm-timer.toml"),
        ("\"tuned.user.q50\"]", "\"tunde.user.q50\"]", "there is no series tunde"),
        ("name = \"tuned\"", "name = \"default\"", "default is there twice"),
        ("series = [\"default\"]", "series = [\"tuned\"]", "tuned, which are not the first"),
        ("mode = \"exact\"", "mode = \"exact\"\nmodes = 1", "unknown field `modes`"),
    ];
    for (old, new, expected) in table {
        assert!(good.contains(old), "{old}");
        let path = directory.path().join("ihm-timer.toml");
        std::fs::write(&path, good.replacen(old, new, 1)).expect("written");
        let error = Definition::read(&path).expect_err(new);
        assert!(error.to_string().contains(expected), "{new}: {error}");
    }
    let missing = Definition::read(&directory.path().join("none.toml"));
    assert!(matches!(missing, Err(ExperimentError::Read { .. })));
}
