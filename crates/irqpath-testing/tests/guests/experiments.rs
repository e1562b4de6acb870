// SPDX-License-Identifier: GPL-2.0-or-later
//! An experiment gives the same numbers twice.

use std::sync::Mutex;

use irqpath_lab::Lab;
use irqpath_lab::experiment::{
    Definition, Options, Parameter, Replaced, VariantRun, run_experiments,
};
use irqpath_lab::kernel::{Arch, Flavour};
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
    for id in ["intspect-causes", "ihm-timer"] {
        let path = lab.project.experiments().join(format!("{id}.toml"));
        let mut definition = Definition::read(&path).expect("definition");
        definition.time_limit_s = guests::LIMIT.as_secs();
        let [one, other] = [(); 2].map(|()| one_variant(&lab, &definition));
        assert!(one.named_metrics().len() > 10);
        assert_eq!(one.named_metrics(), other.named_metrics(), "{id}");
        let samples = |run: &VariantRun| -> Vec<_> {
            run.series.iter().map(|series| (series.name.clone(), series.samples.clone())).collect()
        };
        assert_eq!(samples(&one), samples(&other), "{id}");
        assert_eq!(one.outcome.console, other.outcome.console, "{id}");
        let causes = |run: &VariantRun| -> Vec<_> {
            run.attributed
                .iter()
                .map(|path| (path.causes_text(), path.median.fold_stacks()))
                .collect()
        };
        assert_eq!(causes(&one), causes(&other), "{id}");
    }
}
