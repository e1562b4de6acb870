// SPDX-License-Identifier: GPL-2.0-or-later
//! One table of all experiments from the results of several runs.
//!
//! The files in `experiments/` say which rows there are. A result counts if it was made by the
//! file and its scripts as they are now: what is measured must be the same, what is only said
//! about it may be newer. On a kernel of ours it must be the same kernel, too, by what it is made
//! of or by what is loaded, or else that variant does not count. A row or variant without such a
//! result says so. Not compared are the modules, the guest's programs, and irqpath itself; which
//! commit they are of stands in the table.

use std::collections::BTreeMap;

use irqpath_model::{Claim, NotRun, OutcomeVerdict, Reproduced, ReproducedVariant, Reproduction};

use super::table::{NOT_ASKED, describe_experiment};
use crate::experiment::claims::{Check, evaluate_check};
use crate::experiment::definition::Definition;
use crate::kernel::{Flavour, OwnKernel};

/// What [`crate::kernel::list_own_kernels`] says of the kernels as they are now.
type Kernels = BTreeMap<Flavour, OwnKernel>;

/// Every experiment with what its last run showed; the stored tables are in order.
pub fn collect_results(
    definitions: &[Definition],
    kernels: &Kernels,
    stored: &[Reproduction],
) -> Vec<Reproduced> {
    definitions.iter().map(|definition| find_result(definition, kernels, stored)).collect()
}

fn find_result(definition: &Definition, kernels: &Kernels, stored: &[Reproduction]) -> Reproduced {
    let results = || {
        let all = stored.iter().rev().flat_map(|table| &table.experiments);
        all.filter(|e| e.id == definition.id && !e.variants.is_empty())
    };
    let same = results().filter(|found| found.recipe == definition.recipe);
    let mut of_these_kernels = same.map(|found| on_these_kernels(definition, kernels, found));
    if let Some(found) = of_these_kernels.find(|found| !found.variants.is_empty()) {
        return reword_result(definition, found);
    }
    let why = match results().next() {
        None => "there is no result".to_owned(),
        Some(found) => why_not(definition, found),
    };
    Reproduced { not_run: vec![NotRun::whole_experiment(&why)], ..describe_experiment(definition) }
}

/// Why a result does not count at all.
fn why_not(definition: &Definition, found: &Reproduced) -> String {
    match found.recipe.strip_prefix(&definition.recipe) {
        Some("") => KERNEL_CHANGED.to_owned(),
        Some(replaced) => format!("the result there is was measured with{replaced}"),
        None => "the experiment has changed since the result there is".to_owned(),
    }
}

/// Why a variant does not count.
const KERNEL_CHANGED: &str = "the kernel has changed since the result there is";

/// A result without the variants whose kernel is another one now.
fn on_these_kernels(definition: &Definition, kernels: &Kernels, found: &Reproduced) -> Reproduced {
    let now = |variant: &ReproducedVariant| {
        let known = definition.variants.iter().find(|known| known.name == variant.name)?;
        kernels.get(&known.flavour)
    };
    let (mut kept, stale): (Vec<_>, Vec<_>) = found
        .variants
        .iter()
        .cloned()
        .partition(|variant| now(variant).is_none_or(matches_kernel(variant)));
    for variant in &mut kept {
        // For where the cache does not have the image.
        if let Some(kernel) = now(variant) {
            variant.kernel_digest.clone_from(&kernel.digest);
        }
    }
    if stale.is_empty() {
        return Reproduced { variants: kept, ..found.clone() };
    }
    let is_kept = |name: &str| !stale.iter().any(|variant| variant.name == name);
    let mut found = Reproduced { variants: kept, ..found.clone() };
    found.figures.retain(|row| is_kept(&row.variant));
    found.slow.retain(|row| is_kept(&row.variant));
    found.not_run.retain(|part| is_kept(&part.variant));
    let changed = |variant: &ReproducedVariant| NotRun {
        variant: variant.name.clone(),
        ..NotRun::whole_experiment(KERNEL_CHANGED)
    };
    found.not_run.extend(stale.iter().map(changed));
    // A claim may have been judged by a variant that is gone.
    found.claims.clear();
    found
}

/// Whether the variant's kernel is this one.
fn matches_kernel(variant: &ReproducedVariant) -> impl Fn(&OwnKernel) -> bool {
    |kernel| kernel.digest == variant.kernel_digest || kernel.images.contains(&variant.image_sha256)
}

/// A new result, with those variants of an older one, measured in the same way, that the new run was
/// not asked for.
pub fn merge_variants(definition: &Definition, new: &Reproduced, old: &Reproduced) -> Reproduced {
    let mut all = new.clone();
    let unasked = |name: &str| {
        new.not_run.iter().any(|part| part.variant == name && part.why == NOT_ASKED)
            && old.variants.iter().any(|variant| variant.name == name)
    };
    if new.recipe != old.recipe {
        return all;
    }
    all.not_run.retain(|part| !unasked(&part.variant));
    all.not_run.extend(old.not_run.iter().filter(|part| unasked(&part.variant)).cloned());
    all.variants.extend(old.variants.iter().filter(|variant| unasked(&variant.name)).cloned());
    all.figures.extend(old.figures.iter().filter(|row| unasked(&row.variant)).cloned());
    all.slow.extend(old.slow.iter().filter(|row| unasked(&row.variant)).cloned());
    let place = |name: &str| definition.variants.iter().position(|variant| variant.name == name);
    all.variants.sort_by_key(|variant| place(&variant.name));
    all.figures.sort_by_key(|row| place(&row.variant));
    all.claims =
        definition.checks.iter().map(|check| evaluate_check(check, &all.variants)).collect();
    all
}

/// A result in the words of today's file.
fn reword_result(definition: &Definition, found: Reproduced) -> Reproduced {
    let judged = |check: &Check| reevaluate_claim(check, &found.variants, &found.claims);
    Reproduced {
        claims: definition.checks.iter().map(judged).collect(),
        variants: found.variants.clone(),
        figures: found.figures,
        slow: found.slow,
        not_run: found.not_run,
        recipe: found.recipe,
        made: found.made,
        ..describe_experiment(definition)
    }
}

/// The claim judged anew. What the stored metrics cannot tell is as the run judged the same claim.
fn reevaluate_claim(check: &Check, variants: &[ReproducedVariant], of_run: &[Claim]) -> Claim {
    let mut claim = evaluate_check(check, variants);
    let same = |old: &&Claim| old.claim == claim.claim && old.expect == claim.expect;
    let Some(old) = of_run.iter().find(same) else { return claim };
    for outcome in &mut claim.outcomes {
        let of_run = old.outcomes.iter().find(|old| old.variant == outcome.variant);
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
variant = [{ name = "rt", flavour = "stock-rt" }, { name = "stock", flavour = "stock" }]
series = [{ name = "s" }]
check = [{ claim = "It grows", paper = "2", value = { metric = "s.n" }, expect = { min = 1 } }]
"#;

    fn read_definitions(file: &str, script: &str) -> Vec<Definition> {
        let directory = tempfile::tempdir().unwrap();
        let jobs = directory.path().join("jobs");
        std::fs::create_dir(&jobs).unwrap();
        std::fs::write(jobs.join("one.sh"), script).unwrap();
        std::fs::write(directory.path().join("one.toml"), file).unwrap();
        read_all(directory.path()).unwrap()
    }

    /// A result of the file above, on one of its kernels.
    fn result_with(value: f64) -> Reproduction {
        let definition = &read_definitions(FILE, "true")[0];
        let variant = ReproducedVariant {
            name: "rt".to_owned(),
            metrics: [("s.n".to_owned(), value)].into(),
            ..Default::default()
        };
        let mut table = Reproduction::new("0.1.0", Vec::new());
        table.experiments.push(Reproduced {
            claims: vec![evaluate_check(&definition.checks[0], std::slice::from_ref(&variant))],
            variants: vec![variant],
            recipe: definition.recipe.clone(),
            made: Some(irqpath_model::Made::default()),
            ..describe_experiment(definition)
        });
        table
    }

    /// With kernels of ours as they were when [`result_with`] was made.
    fn collect_unchanged(definitions: &[Definition], stored: &[Reproduction]) -> Vec<Reproduced> {
        collected_with(&[], definitions, stored)
    }

    fn collected_with(
        images: &[&str],
        definitions: &[Definition],
        stored: &[Reproduction],
    ) -> Vec<Reproduced> {
        let images = images.iter().copied().map(str::to_owned).collect();
        let kernel = OwnKernel { digest: "then".to_owned(), images };
        collect_results(definitions, &[(Flavour::Irqpath, kernel)].into(), stored)
    }

    #[test]
    fn the_last_result_counts_and_one_that_failed_does_not() {
        let definitions = read_definitions(FILE, "true");
        let mut failed = result_with(5.0);
        failed.experiments[0].variants.clear();
        let rows = collect_unchanged(&definitions, &[result_with(3.0), result_with(4.0), failed]);
        assert_eq!(rows[0].claims[0].outcomes[0].ours, "4");
        let rows = collect_unchanged(&definitions, &[]);
        assert_eq!(rows[0].not_run, [NotRun::whole_experiment("there is no result")]);
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
            let rows = collect_unchanged(&read_definitions(&file, script), &[result_with(3.0)]);
            assert!(rows[0].made.is_none(), "{file}");
            assert!(rows[0].not_run[0].why.contains("has changed since"), "{:?}", rows[0].not_run);
        }
        let mut quick = result_with(3.0);
        quick.experiments[0].recipe.push_str(" REPS=3");
        let rows = collect_unchanged(&read_definitions(FILE, "true"), &[quick]);
        assert_eq!(
            rows[0].not_run,
            [NotRun::whole_experiment("the result there is was measured with REPS=3")]
        );
    }

    #[test]
    fn words_may_be_newer_than_the_result_and_a_claim_too() {
        let file = FILE
            .replace("\"First\"", "\"Renamed\"")
            .replace("paper = \"2\"", "paper = \"3\", differs = \"Since 6.12.\"");
        let rows = collect_unchanged(&read_definitions(&file, "true"), &[result_with(3.0)]);
        assert_eq!(rows[0].title, "Renamed");
        let claim = &rows[0].claims[0];
        assert_eq!((claim.paper.as_str(), claim.outcomes[0].ours.as_str()), ("3", "3"));
        assert_eq!(claim.differs.as_deref(), Some("Since 6.12."));

        let stricter = FILE.replace("min = 1", "min = 4");
        let rows = collect_unchanged(&read_definitions(&stricter, "true"), &[result_with(3.0)]);
        assert_eq!(rows[0].claims[0].outcomes[0].verdict, OutcomeVerdict::Differs);
    }

    #[test]
    fn without_metrics_a_claim_is_as_the_run_judged_it() {
        let mut table = result_with(3.0);
        table.experiments[0].variants[0].metrics.clear();
        let rows = collect_unchanged(&read_definitions(FILE, "true"), &[table.clone()]);
        assert_eq!(rows[0].claims[0].outcomes[0].ours, "3");
        let stricter = FILE.replace("min = 1", "min = 4");
        let rows = collect_unchanged(&read_definitions(&stricter, "true"), &[table]);
        assert_eq!(rows[0].claims[0].outcomes[0].verdict, OutcomeVerdict::Missing);
    }

    /// [`FILE`] with a claim that compares its kernel with one of ours.
    fn with_ours() -> String {
        FILE.replace(
            "[{ name = \"rt\"",
            "[{ name = \"ours\", flavour = \"irqpath\" }, { name = \"rt\"",
        )
        .replace("value = { metric = \"s.n\" }", "value = { ratio = [\"s.n\", \"ours:s.n\"] }")
    }

    /// A result on a stock kernel and on one of ours, with a row of numbers each.
    fn result_with_ours(digest: &str) -> Reproduction {
        let definition = &read_definitions(&with_ours(), "true")[0];
        let mut table = result_with(3.0);
        let found = &mut table.experiments[0];
        let ours = ReproducedVariant {
            name: "ours".to_owned(),
            kernel_digest: digest.to_owned(),
            ..found.variants[0].clone()
        };
        found.variants.insert(0, ours);
        let slow = |variant: &ReproducedVariant| irqpath_model::SlowRuns {
            variant: variant.name.clone(),
            series: "s".to_owned(),
            cause: "rcu".to_owned(),
            nr: 1,
        };
        found.slow = found.variants.iter().map(slow).collect();
        found.claims =
            definition.checks.iter().map(|c| evaluate_check(c, &found.variants)).collect();
        found.recipe.clone_from(&definition.recipe);
        table
    }

    #[test]
    fn a_kernel_of_ours_that_changed_makes_its_variant_none() {
        let definitions = read_definitions(&with_ours(), "true");
        let rows = collect_unchanged(&definitions, &[result_with_ours("then")]);
        assert_eq!((rows[0].variants.len(), rows[0].slow.len()), (2, 2));
        assert_eq!(rows[0].claims[0].outcomes[1].verdict, OutcomeVerdict::Holds);
        // Also what was stored before tables had the digest.
        for digest in ["before", ""] {
            let rows = collect_unchanged(&definitions, &[result_with_ours(digest)]);
            assert!(rows[0].made.is_some());
            assert_eq!((rows[0].variants.len(), rows[0].slow.len()), (1, 1));
            let stale =
                NotRun { variant: "ours".to_owned(), ..NotRun::whole_experiment(KERNEL_CHANGED) };
            assert_eq!(rows[0].not_run, [stale]);
            assert_eq!(rows[0].claims[0].outcomes.len(), 1);
            assert_eq!(rows[0].claims[0].outcomes[0].verdict, OutcomeVerdict::Missing);
        }
    }

    #[test]
    fn an_image_of_the_same_kernel_is_one_whatever_it_was_made_of() {
        let definitions = read_definitions(&with_ours(), "true");
        let mut stored = result_with_ours("before");
        stored.experiments[0].variants[0].image_sha256 = "bytes".to_owned();
        for (images, kept) in [(vec!["own", "bytes"], 2), (vec!["own"], 1), (vec![], 1)] {
            let rows = collected_with(&images, &definitions, std::slice::from_ref(&stored));
            assert_eq!(rows[0].variants.len(), kept, "{images:?}");
            // From here on it counts without the images, too.
            let digest = &rows[0].variants[0].kernel_digest;
            assert_eq!(digest.as_str(), if kept == 2 { "then" } else { "" });
        }
    }

    #[test]
    fn a_run_of_some_variants_keeps_the_others() {
        let definition = &read_definitions(&with_ours(), "true")[0];
        let old = result_with_ours("then").experiments.remove(0);
        let mut new = old.clone();
        new.variants.truncate(1);
        new.slow.truncate(1);
        new.variants[0].metrics = [("s.n".to_owned(), 6.0)].into();
        let not_run =
            |why: &str| vec![NotRun { variant: "rt".to_owned(), ..NotRun::whole_experiment(why) }];
        new.not_run = not_run(NOT_ASKED);
        let all = merge_variants(definition, &new, &old);
        assert_eq!(all.variants.len(), 2);
        assert_eq!((all.slow.len(), all.not_run.len()), (2, 0));
        let ours: Vec<&str> =
            all.claims[0].outcomes.iter().map(|outcome| outcome.ours.as_str()).collect();
        assert_eq!(ours, ["1.00", "0.50"]);

        let mut failed = new.clone();
        failed.not_run = not_run("its guest went wrong");
        assert_eq!(merge_variants(definition, &failed, &old).variants, failed.variants);
        let other = Reproduced { recipe: "other".to_owned(), ..new };
        assert_eq!(merge_variants(definition, &other, &old), other);
    }

    #[test]
    fn an_older_result_on_todays_kernel_counts_and_none_is_said() {
        let definitions = read_definitions(&with_ours(), "true");
        let only_ours = |digest: &str| {
            let mut table = result_with_ours(digest);
            table.experiments[0].variants.truncate(1);
            table
        };
        let rows = collect_unchanged(&definitions, &[only_ours("then"), only_ours("before")]);
        assert_eq!(rows[0].variants[0].kernel_digest, "then");
        let rows = collect_unchanged(&definitions, &[only_ours("before")]);
        assert_eq!(rows[0].not_run, [NotRun::whole_experiment(KERNEL_CHANGED)]);
        assert!(rows[0].made.is_none() && rows[0].variants.is_empty());
    }
}
