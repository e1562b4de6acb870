// SPDX-License-Identifier: GPL-2.0-or-later
//! The path table, and the stages of one path.

use std::io::{self, Write};

use irqpath_model::{PathSummary, StageSummary, Summary};

use super::style::{
    cut_to, draw_bar, escape_line, format_us, format_us2, group_digits, to_percent,
};
use super::table::{Column, Table};
use super::{TextOptions, write_heading};
use crate::causes::stage_word;
use crate::target::Targets;

/// So many paths that were seen once have rows of their own.
const FEW: usize = 3;
/// Columns of a bar.
const BAR: usize = 12;

pub(super) fn write_table(
    out: &mut impl Write,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    let nr = summary.traced().paths.len();
    let (shown, rest) = choose_paths(summary, options);
    let about = match (nr, shown.len()) {
        (0, _) => String::new(),
        (nr, shown) if shown < nr => format!("{shown} of {nr}, slowest to run first, us"),
        _ => format!("{nr}, slowest to run first, us"),
    };
    write_heading(out, options, "PATHS", &about)?;
    if nr == 0 {
        return writeln!(out, "no path was completed in this time");
    }
    let mut table = Table::new(&[
        Column::text("origin", 12).rather_than_cut(15),
        Column::text("via", 5).rather_than_cut(12),
        Column::text("target", 8).rather_than_cut(18),
        Column::number("n"),
        Column::number("min").or_drop(4),
        Column::number("q50"),
        Column::number("q95").or_drop(3),
        Column::number("q99"),
        Column::number("max").or_drop(2),
        Column::number("to run"),
        Column::text("main stage", 10).or_drop(1),
        Column::number("").or_drop(2),
    ]);
    let targets = Targets::from_paths(&summary.traced().paths);
    for path in shown {
        let q = &path.total;
        let name = targets.target_name(path);
        let mut row = vec![path.origin_name.clone(), path.via.clone(), name, group_digits(q.n)];
        row.extend(
            [q.min_ns, q.q50_ns, q.q95_ns, q.q99_ns, q.max_ns, path.slowest_ns].map(format_us),
        );
        let (stage, share) = main_stage(path).map_or(("", String::new()), |(stage, share)| {
            (stage_word(stage.stage), format!("{share:.0}%"))
        });
        row.extend([stage.to_owned(), share]);
        table.add_row(row);
    }
    table.write(out, options.style(), options.width)?;
    let (once, often): (Vec<_>, Vec<_>) = rest.into_iter().partition(|path| path.total.n == 1);
    for (paths, what) in [(once, "seen once"), (often, "more")] {
        if let Some(longest) = paths.iter().map(|path| path.slowest_ns).max() {
            let nr = group_digits(paths.len() as u64);
            let line =
                format!("{nr} {} {what}, longest {} us", row_noun(paths.len()), format_us(longest));
            writeln!(out, "{}", options.style().dim(&line))?;
        }
    }
    Ok(())
}

const fn row_noun(nr: usize) -> &'static str {
    if nr == 1 { "path" } else { "paths" }
}

/// Paths that get a row, and the others. One that was seen once says little: it has a row if it
/// was slow, or if there are few.
fn choose_paths<'a>(
    summary: &'a Summary,
    options: &TextOptions,
) -> (Vec<&'a PathSummary>, Vec<&'a PathSummary>) {
    let is_slow = |at: usize, path: &PathSummary| {
        at < options.max_details
            || summary.traced().threshold_ns.is_some_and(|ns| path.total.max_ns > ns)
    };
    let nr_once = summary.traced().paths.iter().filter(|path| path.total.n == 1).count();
    let (mut shown, mut rest) = (Vec::new(), Vec::new());
    for (at, path) in summary.traced().paths.iter().enumerate() {
        let says_much = path.total.n > 1 || nr_once <= FEW || is_slow(at, path);
        if says_much && shown.len() < options.max_paths { &mut shown } else { &mut rest }
            .push(path);
    }
    (shown, rest)
}

/// Time that a stage took over the whole measurement, by its mean.
fn sum_ns(stage: &StageSummary) -> u64 {
    stage.quantiles.mean_ns.saturating_mul(stage.quantiles.n)
}

/// The stage that took the most time, and its share in percent.
fn main_stage(path: &PathSummary) -> Option<(&StageSummary, f64)> {
    let all = path.stages.iter().map(sum_ns).fold(0, u64::saturating_add);
    let stage = path.stages.iter().max_by_key(|s| sum_ns(s))?;
    (all > 0).then(|| (stage, to_percent(sum_ns(stage), all)))
}

pub(super) fn write_stages(
    out: &mut impl Write,
    path: &PathSummary,
    targets: &Targets<'_>,
    options: &TextOptions,
) -> io::Result<()> {
    let style = options.style();
    let title = format!(
        "{} \u{2192} {}",
        escape_line(&path.origin_name),
        escape_line(&targets.target_name(path))
    );
    let about = format!("via {}, stages, us", escape_line(&path.via));
    write_heading(out, options, &cut_to(&title, options.width), &about)?;
    let mut table = Table::new(&[
        Column::text("stage", 13),
        Column::text("what", 24).or_drop(2),
        Column::number("n").or_drop(3),
        Column::number("min").or_drop(5),
        Column::number("q50"),
        Column::number("q95").or_drop(4),
        Column::number("q99"),
        Column::number("max"),
        Column::number("share"),
        Column::text("", BAR).or_drop(1),
    ]);
    let all = path.stages.iter().map(sum_ns).fold(0, u64::saturating_add);
    for stage in &path.stages {
        let q = &stage.quantiles;
        let mut row = vec![stage.stage.name().to_owned(), stage.stage.stage_title().to_owned()];
        row.push(group_digits(q.n));
        row.extend([q.min_ns, q.q50_ns, q.q95_ns, q.q99_ns, q.max_ns].map(format_us2));
        row.push(format!("{:.1}%", to_percent(sum_ns(stage), all)));
        row.push(draw_bar(sum_ns(stage), all, BAR));
        table.add_row(row);
    }
    let q = &path.total;
    let mut row = vec!["total".to_owned(), String::new(), group_digits(q.n)];
    row.extend([q.min_ns, q.q50_ns, q.q95_ns, q.q99_ns, q.max_ns].map(format_us2));
    row.extend([String::new(), String::new()]);
    table.add_row(row);
    table.write(out, style, options.width)
}
