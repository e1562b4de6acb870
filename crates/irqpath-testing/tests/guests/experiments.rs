// SPDX-License-Identifier: GPL-2.0-or-later
//! An experiment gives the same numbers twice, and keeps what has ended.

use std::sync::Mutex;

use irqpath_files::output::Directory;
use irqpath_lab::Lab;
use irqpath_lab::experiment::{
    Definition, Options, Parameter, Replaced, Results, Variant, VariantRun, find_complete,
    read_table, run_experiments, variant_directory,
};
use irqpath_lab::kernel::{Arch, Flavour};
use irqpath_model::Made;
use irqpath_testing::guests;

/// An experiment with few repetitions on its first variant.
fn one_variant(lab: &Lab, definition: &Definition) -> VariantRun {
    let few = [("REPS".to_owned(), Parameter::Number(100))];
    let options = Options {
        variants: vec![definition.variants[0].name.clone()],
        replaced: Replaced { parameters: few.into(), ..Replaced::default() },
        ..Options::default()
    };
    let told = Mutex::new(Vec::new());
    let ended = |index, runs: &[VariantRun]| {
        let variants: Vec<_> = runs.iter().map(|run| run.variant.name.clone()).collect();
        told.lock().expect("no panic").push((index, variants));
    };
    // One of which no variant is asked for is told of, too, before any guest runs.
    let empty = Definition { variants: Vec::new(), ..definition.clone() };
    let mut runs = run_experiments(lab, &[definition, &empty], &options, &ended).expect("prepared");
    assert!(runs.errors.is_empty(), "{:?}", runs.errors);
    let expected = [(1, vec![]), (0, options.variants.clone())];
    assert_eq!(told.into_inner().expect("no panic"), expected);
    runs.variants.remove(0).remove(0)
}

#[test]
fn two_runs_give_the_same_summaries() {
    let Some((lab, _)) = guests::provide_kernel(Flavour::StockRt, Arch::X86_64) else { return };
    let path = lab.project.experiments().join("intspect-causes.toml");
    let mut definition = Definition::read(&path).expect("definition");
    definition.time_limit_s = guests::LIMIT.as_secs();
    let [one, other] = [(); 2].map(|()| one_variant(&lab, &definition));
    assert!(one.named_metrics().len() > 10);
    assert_eq!(one.named_metrics(), other.named_metrics());
    let samples = |run: &VariantRun| -> Vec<_> {
        run.series.iter().map(|series| (series.name.clone(), series.samples.clone())).collect()
    };
    assert_eq!(samples(&one), samples(&other));
    assert_eq!(one.outcome.console, other.outcome.console);
    let causes = |run: &VariantRun| -> Vec<_> {
        run.attributed.iter().map(|path| (path.causes_text(), path.median.fold_stacks())).collect()
    };
    assert_eq!(causes(&one), causes(&other));
}

/// Whoever kills a run keeps the variants that had ended, also of an experiment that goes on.
#[test]
fn a_variant_is_stored_when_it_ends_and_does_not_run_again() {
    let Some((lab, _)) = guests::provide_kernel(Flavour::StockRt, Arch::X86_64) else { return };
    let path = lab.project.experiments().join("intspect-causes.toml");
    let mut definition = Definition::read(&path).expect("definition");
    definition.time_limit_s = guests::LIMIT.as_secs();
    definition.variants.truncate(1);
    let first = definition.variants[0].name.clone();
    definition
        .variants
        .push(Variant { name: "again".to_owned(), ..definition.variants[0].clone() });
    let few = [("REPS".to_owned(), Parameter::Number(20))];
    let options = Options {
        replaced: Replaced { parameters: few.into(), draws: Some(2), ..Replaced::default() },
        ..Options::default()
    };
    let (root, made) = (tempfile::tempdir().expect("directory"), Made::default());
    let output = Directory::open(root.path(), false).expect("directory");
    let wanted = [&definition];
    let results = Results::begin(&wanted, &options, &made, &output, String::new()).expect("begun");
    let complete = || {
        let locate = |definition: &Definition, variant: &Variant, draw| {
            root.path().join(variant_directory(&definition.id, &variant.name, draw))
        };
        find_complete(&lab, &wanted, &options, locate).expect("readable")
    };
    let told = Mutex::new(Vec::new());
    let ended = |index, runs: &[VariantRun]| {
        results.store_experiment(index, runs);
        let table = read_table(root.path()).expect("table").experiments;
        let names = table[0].variants.iter().map(|known| known.name.clone()).collect::<Vec<_>>();
        told.lock().expect("no panic").push((runs.len(), names, complete().len()));
    };
    let runs = run_experiments(&lab, &wanted, &options, &ended).expect("prepared");
    assert!(runs.errors.is_empty(), "{:?}", runs.errors);
    let told = told.into_inner().expect("no panic");
    let [(2, one, 1), (4, both, 2)] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((one.len(), both), (1, &vec![first, "again".to_owned()]));
}
