// SPDX-License-Identifier: GPL-2.0-or-later
//! The page of the documentation, word for word. `IRQPATH_BLESS=1 cargo test` rewrites the file
//! under `tests/golden`; look at it before it is committed.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::path::Path;

use irqpath_model::bench::BenchQuantiles;
use irqpath_model::{
    Claim, Figures, Made, NotRun, Outcome, OutcomeVerdict, Reproduced, ReproducedVariant,
    Reproduction, SlowRuns,
};
use irqpath_report::markdown::{render_parts, write_overview, write_page};

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn made(command: &str) -> Made {
    Made { command: words(command), irqpath_version: "0.1.0".into(), commit: "0123456789ab".into() }
}

fn variant(name: &str, splats: &[&str]) -> ReproducedVariant {
    ReproducedVariant {
        name: name.into(),
        kernel: format!("6.12.1-{name} 6.12.1-1"),
        image_sha256: "f0".repeat(32),
        directory: name.into(),
        splats: splats.iter().map(|splat| (*splat).to_owned()).collect(),
        ..ReproducedVariant::default()
    }
}

fn outcome(variant: &str, ours: &str, verdict: OutcomeVerdict) -> Outcome {
    Outcome { variant: variant.into(), ours: ours.into(), verdict }
}

fn left_out(series: &str) -> NotRun {
    NotRun {
        variant: "rt".into(),
        series: series.into(),
        ..NotRun::whole_experiment("this kernel has none")
    }
}

fn load() -> Reproduced {
    let quantiles =
        BenchQuantiles { n: 50_000, min_ns: 1, q05_ns: 2, q50_ns: 3, q95_ns: 4, max_ns: 1_005 };
    Reproduced {
        id: "intspect-load".into(),
        title: "Delay under load".into(),
        document: "001".into(),
        source: "document 001, 5.6".into(),
        workload: "CPU-bound tasks.\n".into(),
        exact: true,
        variants: vec![variant("rt", &["WARNING: here"]), variant("stock", &[])],
        claims: vec![
            Claim {
                claim: "a|b grows".into(),
                paper: "2.0".into(),
                expect: "at least 1".into(),
                differs: Some("\nBecause of try_to_wake_up().\nAnd more.".into()),
                note: None,
                must: true,
                outcomes: vec![
                    outcome("rt", "3.25", OutcomeVerdict::Holds),
                    outcome("stock", "0.5", OutcomeVerdict::Differs),
                ],
            },
            Claim {
                claim: "How many".into(),
                paper: "-".into(),
                expect: "stated".into(),
                differs: None,
                note: Some("Without the second CPU.\n".into()),
                must: false,
                outcomes: vec![outcome("rt", "7", OutcomeVerdict::Stated)],
            },
        ],
        figures: vec![Figures {
            variant: "rt".into(),
            series: "softirq".into(),
            interval: String::new(),
            quantiles,
            max_irq_ns: None,
        }],
        slow: vec![SlowRuns {
            variant: "rt".into(),
            series: "softirq".into(),
            cause: "add_timer_on < asm_sysvec_irq_work".into(),
            nr: 98,
        }],
        not_run: ["tasklet", "tasklet_hi"].map(left_out).into(),
        made: Some(made("/opt/irqpath lab run all -o /srv/results")),
        ..Reproduced::default()
    }
}

fn small(id: &str, document: &str) -> Reproduced {
    Reproduced {
        id: id.into(),
        title: "Small".into(),
        document: document.into(),
        not_run: vec![NotRun::whole_experiment("there is no result")],
        ..Reproduced::default()
    }
}

#[test]
fn the_page() {
    let table = Reproduction {
        experiments: vec![
            small("ihm-mixed", "000"),
            load(),
            small("off-cost", "irqpath"),
            small("next", "005"),
        ],
        ..Reproduction::new("0.1.0", words("irqpath lab list --page docs/reproduction.md"))
    };
    let mut out = Vec::new();
    write_page(&mut out, &table).unwrap();
    let got = String::from_utf8(out).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/reproduction.md");
    if std::env::var_os("IRQPATH_BLESS").is_some() {
        std::fs::write(&path, &got).unwrap();
    }
    assert_eq!(got, std::fs::read_to_string(&path).unwrap());
}

/// The page of one experiment, changed.
fn page(change: impl FnOnce(&mut Reproduced)) -> String {
    let mut experiment = load();
    change(&mut experiment);
    let mut out = Vec::new();
    let experiments = vec![experiment];
    let table = Reproduction { experiments, ..Reproduction::new("0.1.0", words("irqpath")) };
    write_page(&mut out, &table).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_claim_that_differs_without_a_reason_says_so() {
    let page = page(|experiment| experiment.claims[0].differs = None);
    assert!(page.contains("**a|b grows**: No reason given.\n"), "{page}");
    assert!(page.contains("1 of the claims that differ have no\nreason yet.\n"), "{page}");
}

/// Wherever a text of a result goes, it stays text.
#[test]
fn html_and_links_of_a_result_are_shown_and_not_obeyed() {
    let hostile = "<script>alert(1)</script>\n<img src=x onerror=alert(1)> & `[x](javascript:y)`";
    let page = page(|experiment| {
        let every = || hostile.to_owned();
        (experiment.id, experiment.title, experiment.document) = (every(), every(), every());
        (experiment.source, experiment.workload) = (every(), every());
        let command = vec!["irqpath".to_owned(), every()];
        experiment.made = Some(Made { command, irqpath_version: every(), commit: every() });
        experiment.not_run = vec![NotRun { variant: every(), ..NotRun::whole_experiment(hostile) }];
        let variant = &mut experiment.variants[0];
        (variant.name, variant.kernel, variant.image_sha256) = (every(), every(), every());
        variant.splats = vec![every()];
        let claim = &mut experiment.claims[0];
        (claim.claim, claim.paper, claim.expect) = (every(), every(), every());
        (claim.differs, claim.note) = (Some(every()), Some(every()));
        claim.outcomes = vec![outcome(hostile, hostile, OutcomeVerdict::Differs)];
        let row = &mut experiment.figures[0];
        (row.variant, row.series, row.interval) = (every(), every(), every());
        let slow = &mut experiment.slow[0];
        (slow.variant, slow.series, slow.cause) = (every(), every(), every());
    });
    let ours = page.replace("<br>", "");
    assert!(!ours.contains(['<', '>']), "{page}");
    // Of the brackets, only those of a command are bare; they stand between backticks.
    for line in page.lines().filter(|line| line.contains("[x]")) {
        assert!(line.starts_with("`irqpath '_script_"), "{line}");
    }
    assert!(page.matches("&lt;script&gt;").count() > 20, "{page}");
    assert!(page.contains("&amp; &#96;&#91;x]"), "{page}");
}

#[test]
fn no_directory_of_a_command_is_on_the_page() {
    let table = [
        ("-o /srv/x", ""),
        ("-o/srv/x", ""),
        ("--output=/srv/x/", ""),
        ("-o=/srv/x", ""),
        ("--output results/x --set FILE=/srv/y", " --set FILE=y"),
    ];
    for (typed, shown) in table {
        let command = made(&format!("/opt/irqpath lab run all {typed}"));
        let page = page(|experiment| experiment.made = Some(command));
        assert!(page.contains(&format!("\n`irqpath lab run all{shown}`, ")), "{typed}: {page}");
        assert!(!page.contains("/srv"), "{typed}: {page}");
    }
}

#[test]
fn the_overview_links_to_a_page_for_each_experiment_and_to_the_pictures() {
    let mut migrate = load();
    (migrate.id, migrate.document) = ("ihm-migrate".into(), "000".into());
    migrate.figures[0].interval = "user".into();
    let experiments = vec![migrate, load()];
    let table = Reproduction { experiments, ..Reproduction::new("0.1.0", words("irqpath")) };
    let names: Vec<String> =
        render_parts(&table).unwrap().into_iter().map(|part| part.name).collect();
    assert_eq!(names, ["ihm-migrate.md", "intspect-load.md", "lee-park.svg"]);
    let mut out = Vec::new();
    write_overview(&mut out, &table, "pages").unwrap();
    let page = String::from_utf8(out).unwrap();
    for name in names {
        assert!(page.contains(&format!("](pages/{name})")), "{name}: {page}");
    }
}
