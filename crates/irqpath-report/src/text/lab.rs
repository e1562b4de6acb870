// SPDX-License-Identifier: GPL-2.0-or-later
//! The texts of `irqpath lab list`, `gate` and `flame`.

use irqpath_model::lab::{DrawnPath, GateChange, GateFinding, ListedExperiment};

use super::table::{Column, Table};
use super::{Page, group_digits};

/// Paths that are told if they are not as long as the guest measured them.
const MAX_DIFFERING: usize = 3;

/// The experiments, each with what became of it.
pub fn render_experiments(experiments: &[ListedExperiment]) -> Page {
    let mut page = Page::default();
    for line in experiments {
        let state = if line.state.is_empty() { "not run" } else { &line.state };
        page.add_line(format_args!("{:20} {:6} {state:18} {}", line.id, line.mode, line.title));
        page.add_line(format_args!("{:20} on {}", "", line.variants.join(", ")));
        for why in &line.not_run {
            page.add_line(format_args!("{:20} not run: {why}", ""));
        }
    }
    page
}

/// Each path length beside its budget, and the functions that made one longer.
pub fn render_findings(findings: &[GateFinding]) -> Page {
    let mut page = Page::default();
    for finding in findings {
        let GateFinding { experiment, variant, metric, now, change } = finding;
        let place = format!("{experiment} on {variant}: {metric}");
        match change {
            GateChange::Kept { budget } => {
                page.add_line(format_args!("ok      {place} {now} (budget {budget})"));
            }
            GateChange::Shrank { budget } => page.add_line(format_args!(
                "shorter {place} {now} (budget {budget}); --bless lowers it"
            )),
            GateChange::Missing => page.add_line(format_args!(
                "MISSING {place}; name it as `irqpath lab run` does, or --bless forgets it"
            )),
            GateChange::Unbudgeted => {
                page.add_line(format_args!("NEW     {place} {now}; --bless makes a budget"));
            }
            GateChange::Grew { budget, functions, same_kernel } => {
                let kernel = if *same_kernel { "" } else { ", another kernel image" };
                page.add_line(format_args!("LONGER  {place} {now} (budget {budget}{kernel})"));
                for (name, growth) in functions {
                    page.add_line(format_args!("          {:>+6} {name}", growth.cast_signed()));
                }
            }
        }
    }
    page
}

/// What was found of one series' path of `experiment` on `variant`.
pub fn render_drawn_path(experiment: &str, variant: &str, path: &DrawnPath) -> Page {
    let mut page = Page::from_line(format_args!(
        "{experiment} on {variant}, {}: {} paths, median {} instructions in {} cache lines of \
         code, worst {}",
        path.series, path.nr_paths, path.median, path.code_lines, path.worst,
    ));
    page.add_line(format_args!(
        "length as the guest measured it, less {} between its stamps and the marks: {} equal, {} \
         not",
        path.offset, path.nr_same, path.nr_other
    ));
    page.add_line(format_args!(
        "slow paths (over Q95): {}, without a named cause: {}",
        path.nr_slow, path.nr_unexplained
    ));
    for cause in &path.causes {
        page.add_line(cause);
    }
    for (at, counted, measured) in path.differing.iter().take(MAX_DIFFERING) {
        page.add_line(format_args!("path {at}: {counted} instructions, {measured} measured"));
    }
    page
}

/// The series beside each other: how long their paths are, and against each baseline.
pub fn render_drawn_paths(heading: &str, paths: &[DrawnPath]) -> Page {
    let baselines: Vec<_> = paths.iter().filter(|path| path.is_baseline).collect();
    let mut table = Table::new(&[Column::text("instructions", 12), Column::number("median")]);
    for base in &baselines {
        table.add_number(&format!("against {}", base.series));
    }
    for title in ["worst", "code lines"] {
        table.add_number(title);
    }
    for path in paths {
        let mut row = vec![path.series.clone(), group_digits(path.median)];
        row.extend(baselines.iter().map(|base| format_change(path.median, base.median)));
        row.extend([path.worst, path.code_lines].map(group_digits));
        table.add_row(row);
    }
    let mut page = Page::default();
    page.add_blank();
    page.add_line(heading);
    page.add_table(table);
    page
}

/// How much longer or shorter, percent; nothing beside itself.
fn format_change(length: u64, base: u64) -> String {
    if length == base {
        return String::new();
    }
    format!("{:+.1} %", (length as f64 / base as f64 - 1.0) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(series: &str, is_baseline: bool, median: u64) -> DrawnPath {
        DrawnPath {
            series: series.to_owned(),
            is_baseline,
            nr_paths: 100,
            median,
            worst: 2 * median,
            code_lines: 551,
            offset: 12,
            nr_same: 99,
            nr_other: 1,
            differing: vec![(7, 10, 11)],
            nr_slow: 5,
            nr_unexplained: 1,
            causes: vec!["4 slower by: \x1b[31mtick".to_owned()],
        }
    }

    #[test]
    fn each_path_is_beside_the_baselines() {
        let paths = [drawn("default", true, 7520), drawn("both", false, 3625)];
        let text = render_drawn_paths("Path lengths: irqpath", &paths);
        assert_eq!(
            text.lines().map(str::trim_end).collect::<Vec<_>>(),
            [
                "",
                "Path lengths: irqpath",
                "  instructions  median  against default   worst  code lines",
                "  default        7 520                   15 040         551",
                "  both           3 625          -51.8 %   7 250         551",
            ]
        );
    }

    #[test]
    fn a_path_that_the_guest_measured_otherwise_is_told_and_printable() {
        let text = render_drawn_path("ihm-net", "rt", &drawn("default", true, 7520));
        assert!(text.contains("99 equal, 1 not\n"), "{text}");
        assert!(text.contains("path 7: 10 instructions, 11 measured\n"), "{text}");
        assert!(text.contains("4 slower by: ") && !text.contains('\x1b'), "{text}");
    }

    #[test]
    fn a_length_that_grew_names_its_functions() {
        let grew = GateChange::Grew {
            budget: 10,
            functions: vec![("schedule".to_owned(), 40)],
            same_kernel: false,
        };
        for (change, line) in [
            (GateChange::Kept { budget: 10 }, "ok      e on rt: m 50 (budget 10)\n"),
            (GateChange::Missing, "MISSING e on rt: m; name it"),
            (
                grew,
                "LONGER  e on rt: m 50 (budget 10, another kernel image)\n             +40 schedule\n",
            ),
        ] {
            let finding = GateFinding {
                experiment: "e".to_owned(),
                variant: "rt".to_owned(),
                metric: "m".to_owned(),
                now: 50,
                change,
            };
            let text = render_findings(&[finding]);
            assert!(text.starts_with(line), "{text}");
        }
    }

    #[test]
    fn what_was_not_run_is_listed_with_its_reason() {
        let listed = ListedExperiment {
            id: "one".to_owned(),
            title: "First".to_owned(),
            exact: true,
            mode: "exact".to_owned(),
            variants: ["rt", "ours"].map(str::to_owned).to_vec(),
            recipe: String::new(),
            state: String::new(),
            not_run: vec!["ours: it changed".to_owned()],
        };
        let text = render_experiments(&[listed]);
        let lines: Vec<_> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
        let expected = [
            vec!["one", "exact", "not", "run", "First"],
            vec!["on", "rt,", "ours"],
            vec!["not", "run:", "ours:", "it", "changed"],
        ];
        assert_eq!(lines, expected);
    }
}
