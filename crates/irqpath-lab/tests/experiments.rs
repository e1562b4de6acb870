// SPDX-License-Identifier: GPL-2.0-or-later
//! The project's experiments can be read, and say what a definition must say.

use std::path::Path;

use irqpath_lab::experiment::{Definition, ExperimentError, read_all, read_table};

fn project_root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn every_experiment_of_the_project_is_understood() {
    let definitions = read_all(&project_root().join("experiments")).expect("experiments");
    assert!(definitions.iter().any(|definition| definition.id == "intspect-baseline"));
    for definition in &definitions {
        let job = project_root().join("experiments/jobs").join(&definition.guest.job);
        assert!(job.is_file(), "{}: no {}", definition.id, job.display());
        for program in &definition.guest.programs {
            let source = project_root().join("lab/guest").join(format!("{program}.c"));
            assert!(source.is_file(), "{}: no {}", definition.id, source.display());
        }
    }
}

#[test]
fn a_mistake_is_named_before_anything_boots() {
    let directory = tempfile::tempdir().expect("directory");
    let good =
        std::fs::read_to_string(project_root().join("experiments/ihm-timer.toml")).expect("file");
    let table = [
        ("id = \"ihm-timer\"", "id = \"ihm\"", "id is ihm, the file is ihm-timer.toml"),
        ("\"tuned.user.q50\"]", "\"tunde.user.q50\"]", "there is no series tunde"),
        ("\"hardirq.user.q50\"]", "\"hard.user.q50\"]", "the gate watches hard.user.q50"),
        ("name = \"tuned\"", "name = \"default\"", "default is there twice"),
        ("series = [\"default\"]", "series = [\"tuned\"]", "tuned, which are not the first"),
        (
            "[flame]",
            "[count]\nseries = \"default\"\nfrom = 1\nto = 2\n[flame]",
            "drawn by flame or",
        ),
        ("[flame]", "[count]\nseries = \"none\"\nfrom = 1\nto = 2\n[flame]", "counts none, and"),
        ("mode = \"exact\"", "mode = \"exact\"\nmodes = 1", "unknown field `modes`"),
        ("guest = { ", "guest = { turns = true, ", "unknown field `turns`"),
        ("mode = \"exact\"", "mode = \"slow\"", "unknown variant `slow`"),
        (
            "mode = \"exact\"",
            "mode = \"exact\"\nns_per_instruction = 3",
            "1, 2, 4, 8 or 16 ns, not 3",
        ),
        (
            "mode = \"exact\"",
            "mode = \"smp\"\nns_per_instruction = 4",
            "needs a clock of instructions",
        ),
        ("mode = \"exact\"", "mode = \"exact\"\ndraws = 0", "draws is 0, needs 1 to 1000"),
        ("document = \"000\"", "document = \"042\"", "document 042 is no paper"),
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

/// A list that has lost values is still a valid one.
#[test]
fn a_variant_may_be_slower_than_its_experiment_says() {
    let directory = tempfile::tempdir().expect("directory");
    let text =
        std::fs::read_to_string(project_root().join("experiments/ihm-timer.toml")).expect("file");
    let slow =
        text.replace("mode = \"exact\"", "mode = \"exact\"\nns_per_instruction = 4\ndraws = 20");
    let slower = slow.replacen("flavour = ", "ns_per_instruction = 16\nflavour = ", 1);
    let jobs = directory.path().join("jobs");
    std::os::unix::fs::symlink(project_root().join("experiments/jobs"), jobs).expect("link");
    let path = directory.path().join("ihm-timer.toml");
    std::fs::write(&path, slower).expect("write");
    let definition = Definition::read(&path).expect("definition");
    let times: Vec<u32> =
        definition.variants.iter().map(|v| definition.instruction_on(v).ns()).collect();
    assert_eq!(times[0], 16);
    assert!(times[1..].iter().all(|ns| *ns == 4), "{times:?}");
    assert_eq!(definition.draws, 20);
    // Another speed is another experiment.
    let fast = Definition::read(&project_root().join("experiments/ihm-timer.toml")).expect("file");
    assert_ne!(definition.recipe, fast.recipe);
    assert_eq!((fast.draws, fast.ns_per_instruction.ns()), (1, 1));
}

#[test]
fn the_matrix_of_ihm_contend_has_all_its_series_and_claims() {
    let path = project_root().join("experiments/ihm-contend.toml");
    let definition = Definition::read(&path).expect("definition");
    assert_eq!((definition.series.len(), definition.checks.len()), (44, 118));
    let names: Vec<_> = definition.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names[..2], ["default_alone", "default_14000"]);
    assert_eq!(names[42..], ["demux_direct_500", "demux_direct_50"]);
    let mut claims: Vec<_> = definition.checks.iter().map(|check| &check.claim).collect();
    claims.sort_unstable();
    claims.dedup();
    assert_eq!(claims.len(), definition.checks.len());
}

#[test]
fn a_mistake_in_a_matrix_is_named_with_file_and_key() {
    let directory = tempfile::tempdir().expect("directory");
    let good = std::fs::read_to_string(project_root().join("experiments/ihm-contend.toml"));
    let good = good.expect("file");
    let table = [
        ("\"low\"]", "\"lo\"]", "series \"{path}_{low}\": each: [matrix] has no lo, only "),
        ("labels = {", "lables = {", "unknown field `lables`"),
        ("{figure.words}, low", "{figure.word}, low", "the figure rate has no word"),
    ];
    for (old, new, expected) in table {
        assert!(good.contains(old), "{old}");
        let path = directory.path().join("ihm-contend.toml");
        std::fs::write(&path, good.replacen(old, new, 1)).expect("written");
        let error = Definition::read(&path).expect_err(new).to_string();
        assert!(error.contains("ihm-contend.toml: ") && error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// A variant was called a column, in experiments and in tables.
#[test]
fn files_that_call_a_variant_a_column_are_read() {
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/old/reproduction-columns.json");
    let table = read_table(Path::new(old)).expect("table");
    let experiment = &table.experiments[0];
    let name = "rt x86-64";
    assert_eq!((experiment.variants.len(), experiment.variants[0].name.as_str()), (1, name));
    assert!(experiment.figures.iter().all(|row| row.variant == name));
    assert_eq!(experiment.claims[0].outcomes[0].variant, name);
    assert_eq!((experiment.slow[0].variant.as_str(), experiment.slow[0].nr), (name, 2));
    assert_eq!(experiment.not_run[0].variant, "irqpath");

    let directory = tempfile::tempdir().expect("directory");
    let experiments = project_root().join("experiments");
    std::os::unix::fs::symlink(experiments.join("jobs"), directory.path().join("jobs"))
        .expect("linked");
    let new = std::fs::read_to_string(experiments.join("rt-cost.toml")).expect("file");
    let path = directory.path().join("rt-cost.toml");
    let old = new.replace("[[variant]]", "[[column]]").replace("variants = ", "columns = ");
    assert_ne!(old, new);
    std::fs::write(&path, old).expect("written");
    let new = Definition::read(&experiments.join("rt-cost.toml")).expect("definition");
    assert_eq!(Definition::read(&path).expect("definition"), new);
}
