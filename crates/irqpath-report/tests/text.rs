// SPDX-License-Identifier: GPL-2.0-or-later
//! What the terminal shows, word for word. `IRQPATH_BLESS=1 cargo test` rewrites the files under
//! `tests/golden`; look at them before they are committed.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use std::path::Path;

use common::{meta, summary};
use irqpath_model::{Cause, CauseKind, Meta, Summary};
use irqpath_report::text::{Scale, TextOptions, write_hist, write_once};

fn golden(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("IRQPATH_BLESS").is_some() {
        std::fs::write(&path, got).unwrap();
    }
    let want = std::fs::read_to_string(&path).unwrap();
    assert_eq!(got, want, "{name}");
}

fn once(summary: &Summary, options: &TextOptions) -> String {
    let mut out = Vec::new();
    write_once(&mut out, &meta(), summary, options).unwrap();
    String::from_utf8(out).unwrap()
}

fn hist(scale: Scale) -> String {
    let mut out = Vec::new();
    let options = TextOptions { max_details: 1, ..TextOptions::default() };
    write_hist(&mut out, &meta(), &summary(), scale, &options).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn once_at_100_columns() {
    golden("once-100.txt", &once(&summary(), &TextOptions::default()));
}

#[test]
fn once_at_60_columns() {
    golden("once-60.txt", &once(&summary(), &TextOptions { width: 60, ..<_>::default() }));
}

#[test]
fn once_at_80_and_200_columns() {
    for width in [80, 200] {
        let options = TextOptions { width, ..<_>::default() };
        golden(&format!("once-{width}.txt"), &once(&many(), &options));
    }
}

/// As a busy desktop has them: many paths that were seen once.
fn many() -> Summary {
    let mut summary = summary();
    let many = summary.traced_mut().unwrap();
    for nr in 0..35_u64 {
        let mut once = many.paths[2].clone();
        once.key.comm = format!("job-{nr}").as_str().into();
        (once.tid, once.total.n) = (Some(9_000 + nr as u32), 1);
        once.total.max_ns = 40_000 + nr * 1_000;
        once.slowest_ns = once.total.max_ns - 1_000;
        many.paths.push(once);
    }
    summary
}

/// Long numbers and the names of a machine that compiles.
#[test]
fn names_at_80_columns_are_cut_only_when_no_column_is_left_to_leave_out() {
    let mut summary = summary();
    let busy = summary.traced_mut().unwrap();
    let model = busy.paths[1].clone();
    busy.paths.clear();
    for (origin, via, comm, tid) in [
        ("LOC:local_timer", "rcu+ksoftirqd @cpu", "rcu_preempt", 15),
        ("36:virtio1-req.0", "block+ksoftirqd", "fixdep", 5_012),
        ("36:virtio1-req.0", "block+work @cpu", "kworker/u8:3-ev", 24_881),
        ("LOC:local_timer", "-", "coordinator", 639),
    ] {
        let mut path = model.clone();
        path.key.comm = comm.into();
        (path.origin_name, path.via) = (origin.to_owned(), via.to_owned());
        (path.tid, path.total.n) = (Some(tid), 1_234_567);
        (path.total.q99_ns, path.slowest_ns) = (14_811_000, 1_011_276_000);
        busy.paths.push(path);
    }
    let options = TextOptions { width: 80, max_details: 0, max_slow: 0, ..<_>::default() };
    let text = once(&summary, &options);
    let paths = text.split("\nSLOW PATHS").next().unwrap();
    golden("once-names-80.txt", paths);
    for name in ["rcu_preem\u{2026}:15", "fixdep:5012", "coordina\u{2026}:639"] {
        assert!(paths.contains(name), "{name}: {paths}");
    }
}

#[test]
fn a_path_seen_once_has_a_row_only_if_it_was_slow() {
    let mut many = many();
    let text = |many: &Summary| once(many, &TextOptions::default());
    assert!(text(&many).contains("\n35 paths seen once, longest 73.0 us\n"), "{}", text(&many));
    many.traced_mut().unwrap().threshold_ns = Some(73_500);
    let found = text(&many);
    assert!(found.contains("job-34:9034") && !found.contains("job-33:9033"), "{found}");
    assert!(found.contains("\n34 paths seen once, longest 72.0 us\n"), "{found}");
    many.traced_mut().unwrap().paths.truncate(5);
    assert!(!text(&many).contains("seen once"), "{}", text(&many));
}

/// A body of 20 rows and a few values far away.
#[test]
fn the_tail_of_a_histogram_is_shorter_than_its_body() {
    let mut summary = summary();
    let path = &mut summary.traced_mut().unwrap().paths[0];
    for ns in 1..=2_000 {
        path.histogram.record_ns(10_000 + ns * 10);
    }
    for nr in 1..=60 {
        path.histogram.record_ns(nr * 400_000);
    }
    path.total = path.histogram.quantiles();
    for width in [80, 200] {
        let mut out = Vec::new();
        let options = TextOptions { width, max_details: 1, ..TextOptions::default() };
        write_hist(&mut out, &meta(), &summary, Scale::default(), &options).unwrap();
        let text = String::from_utf8(out).unwrap();
        golden(&format!("hist-tail-{width}.txt"), &text);
        let q95 = summary.traced().paths[0].total.q95_ns as f64 / 1e3;
        let low = |line: &str| line.split(" - ").next()?.trim().parse::<f64>().ok();
        let (tail, body): (Vec<f64>, Vec<f64>) =
            text.lines().filter_map(low).partition(|low| *low > q95);
        assert!(tail.len() < body.len() && tail.len() > 2, "{tail:?} {text}");
    }
}

#[test]
fn a_path_seen_once_takes_one_line_among_histograms() {
    let mut out = Vec::new();
    let options = TextOptions { width: 80, max_details: 8, ..TextOptions::default() };
    write_hist(&mut out, &meta(), &many(), Scale::default(), &options).unwrap();
    let text = String::from_utf8(out).unwrap();
    golden("hist-once-80.txt", &text);
    assert_eq!(text.matches("job-").count(), 5, "{text}");
    assert_eq!(text.matches("\nn ").count(), 3, "{text}");
}

#[test]
fn histograms() {
    golden("hist-linear.txt", &hist(Scale::default()));
    golden("hist-5us.txt", &hist(Scale::Linear { bucket_ns: 5_000, max_rows: 20 }));
    golden("hist-log2.txt", &hist(Scale::Log2));
}

#[test]
fn an_empty_measurement_still_accounts() {
    let mut out = Vec::new();
    let options = TextOptions::default();
    write_once(&mut out, &Meta::default(), &Summary::default(), &options).unwrap();
    write_hist(&mut out, &Meta::default(), &Summary::default(), Scale::Log2, &options).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("no path was completed"), "{text}");
    assert!(text.contains("\nlost: 0\n"), "{text}");
    assert!(!text.contains("NAPI"), "{text}");
}

#[test]
fn lines_keep_within_the_width_that_numbers_leave() {
    for width in [60, 80, 100, 140] {
        let text = once(&summary(), &TextOptions { width, max_details: 0, ..<_>::default() });
        let tables = text.split("\nACCOUNTING").next().unwrap();
        for line in tables.lines().skip(1) {
            let n = unicode_width::UnicodeWidthStr::width(line);
            assert!(n <= width, "{width}: {n}: {line}");
        }
    }
}

#[test]
fn no_width_panics() {
    for width in 0..40 {
        once(&summary(), &TextOptions { width, ..<_>::default() });
    }
}

#[test]
fn colour_only_when_asked_and_names_cannot_bring_their_own() {
    let plain = once(&summary(), &TextOptions::default());
    assert!(!plain.contains('\u{1b}'));
    let colour = once(&summary(), &TextOptions { colour: true, ..<_>::default() });
    assert!(colour.contains("\u{1b}[1mPATHS\u{1b}[0m"));
    let mut stripped = colour;
    for code in ["0", "1", "2", "31", "33", "36"] {
        stripped = stripped.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(stripped, plain);
}

#[test]
fn the_unexplained_row_shows_however_many_causes_there_are() {
    let mut summary = summary();
    let stage = &mut summary.traced_mut().unwrap().slow[0].stages[3];
    stage.causes = (0..20)
        .map(|i| Cause { kind: CauseKind::Thread, who: format!("t{i}"), ns: 30_000, nr_times: 1 })
        .collect();
    stage.causes.push(Cause {
        kind: CauseKind::Unexplained,
        who: String::new(),
        ns: 196_300,
        nr_times: 1,
    });
    let text = once(&summary, &TextOptions::default());
    assert!(text.contains("14 other causes"), "{text}");
    assert!(text.contains("unexplained"), "{text}");
}

#[test]
fn a_virtual_machine_is_named_once() {
    let mut meta = meta();
    meta.cpu.hypervisor = Some("KVM".to_owned());
    let mut out = Vec::new();
    write_once(&mut out, &meta, &summary(), &TextOptions::default()).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.matches("virtual machine (KVM)").count(), 1, "{text}");
    assert!(!once(&summary(), &TextOptions::default()).contains("virtual machine"));
}
