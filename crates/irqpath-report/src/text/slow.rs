// SPDX-License-Identifier: GPL-2.0-or-later
//! Slow paths as trees: the path's total, its stages, and what took the time of each stage.
//!
//! Percentages are of the whole path, so that they can be compared over stages. The unexplained
//! remainder is always a row of its own.

use std::io::{self, Write};

use irqpath_model::{CauseKind, Meta, PathEnd, Point, SlowPath, StageCauses, Summary};

use super::style::{
    Style, align_left, align_points, align_right, cut_to, escape_line, format_us, group_digits,
    text_width, to_percent,
};
use super::{TextOptions, write_heading};
use crate::causes::{self, CauseRow};

/// Rows below one stage.
const MAX_CAUSES: usize = 8;

/// Columns right of the labels: time, percentage, pieces.
const NUMBERS: usize = 29;

pub(super) fn write(
    out: &mut impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    let shown = summary.slow().len().min(options.max_slow);
    let about = match summary.traced().threshold_ns {
        Some(ns) => {
            format!(
                "{} over {} us{}, {shown} shown, slowest to run first, us",
                summary.traced().nr_slow,
                format_us(ns),
                causes::hypervisor_suffix(summary)
            )
        }
        None if !summary.response().is_empty() => {
            format!("to the tasks that waited, the {shown} slowest, us")
        }
        None => format!("no threshold given, the {shown} slowest to run, us"),
    };
    if shown == 0 && summary.traced().threshold_ns.is_none() {
        return Ok(());
    }
    write_heading(out, options, "SLOW PATHS", &about)?;
    for (i, path) in summary.slow().iter().take(shown).enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        write_tree(out, (meta, summary), path, options)?;
    }
    Ok(())
}

fn write_tree(
    out: &mut impl Write,
    (meta, summary): (&Meta, &Summary),
    path: &SlowPath,
    options: &TextOptions,
) -> io::Result<()> {
    let rows = tree_rows(meta, summary, path);
    // Numbers stand close to the labels, and within the width where the labels can be cut.
    let longest = rows.iter().map(|r| text_width(&r.label)).max().unwrap_or(0);
    let columns = longest.min(options.width.saturating_sub(NUMBERS).max(20));
    let style = options.style();
    let mut times: Vec<String> = rows.iter().map(|row| format_us(row.ns)).collect();
    align_points(&mut times);
    for (i, (row, time)) in rows.iter().zip(&times).enumerate() {
        let label = align_left(&cut_to(&row.label, columns), columns);
        let share = format!("{:.1}%", to_percent(row.ns, path.record.total_ns()));
        let mut text = format!("{label}{}{}", align_right(time, 13), align_right(&share, 8));
        if row.pieces > 1 {
            text.push_str(&align_right(&format!("{}\u{d7}", group_digits(row.pieces.into())), 8));
        }
        writeln!(out, "{}", row.tone.paint_row(style, &text))?;
        if i == 0 {
            writeln!(out, "{}", style.dim(&cut_to(&describe_path(meta, path), options.width)))?;
        }
    }
    Ok(())
}

/// How a row is painted.
#[derive(Clone, Copy)]
enum Tone {
    Title,
    Plain,
    Own,
    Main,
    Unexplained,
}

impl Tone {
    fn cause_tone(cause: &CauseRow, main: Option<&CauseRow>) -> Self {
        match cause.kind {
            _ if cause.is_rest => Self::Plain,
            CauseKind::Unexplained | CauseKind::Unseen => Self::Unexplained,
            CauseKind::Own => Self::Own,
            _ if main == Some(cause) => Self::Main,
            _ => Self::Plain,
        }
    }

    fn paint_row(self, style: Style, text: &str) -> String {
        match self {
            Self::Title => style.bold(text),
            Self::Plain => text.to_owned(),
            Self::Own => style.dim(text),
            Self::Main => style.bad(text),
            Self::Unexplained => style.warn(text),
        }
    }
}

struct Row {
    label: String,
    ns: u64,
    pieces: u32,
    tone: Tone,
}

fn tree_rows(meta: &Meta, summary: &Summary, path: &SlowPath) -> Vec<Row> {
    let record = &path.record;
    let label = format!(
        "{} \u{2192} {}:{} {}",
        escape_line(&meta.names.origin(record.origin)),
        escape_line(record.target.comm.as_str()),
        record.target.tid,
        record.target.effective_scheduling()
    );
    let mut rows = vec![Row { label, ns: record.total_ns(), pieces: 1, tone: Tone::Title }];
    let main = causes::main_cause(path, summary).map(|(_, cause)| cause);
    for (i, stage) in path.stages.iter().enumerate() {
        let is_last = i + 1 == path.stages.len();
        let stem = if is_last { "   " } else { "\u{2502}  " };
        let label =
            format!("{}{} ({})", branch_sign(is_last), stage.to.stage_title(), stage.place_text());
        rows.push(Row { label, ns: stage.ns, pieces: 1, tone: Tone::Plain });
        let causes = causes_below(stage);
        for (j, cause) in causes.iter().enumerate() {
            let words = escape_line(&cause.row_text(stage.to, meta.cpu.is_virtual()));
            let label = format!("{stem}{}{words}", branch_sign(j + 1 == causes.len()));
            let tone = Tone::cause_tone(cause, main.as_ref());
            rows.push(Row { label, ns: cause.ns, pieces: cause.nr_times, tone });
        }
    }
    rows
}

const fn branch_sign(is_last: bool) -> &'static str {
    if is_last { "\u{2514}\u{2500} " } else { "\u{251c}\u{2500} " }
}

fn describe_path(meta: &Meta, path: &SlowPath) -> String {
    let record = &path.record;
    let mut about = format!("via {}", record.via.describe());
    if record.stamps[Point::User.index()].is_some() {
        about.push_str(&format_ran(record.until_running_ns()));
    }
    if let Some(first) = record.first() {
        about.push_str(&format_begin(first.ns));
    }
    about.push_str(", ");
    about.push_str(end_phrase(record.end));
    about.push_str(&hypervisor_phrase(path.hypervisor_ns(meta.cpu.is_virtual())));
    if record.timer_fn != 0 {
        about.push_str(", timer ");
        about.push_str(&escape_line(&meta.names.symbol(record.timer_fn)));
    }
    about
}

fn format_ran(ns: u64) -> String {
    format!(", ran after {} us", format_us(ns))
}

fn format_begin(ns: u64) -> String {
    format!(", began at {}.{:06} s", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
}

fn hypervisor_phrase(ns: u64) -> String {
    if ns == 0 { String::new() } else { format!(", {} us by the hypervisor", format_us(ns)) }
}

const fn end_phrase(end: PathEnd) -> &'static str {
    match end {
        PathEnd::User => "reached user space",
        PathEnd::SwitchIn => "ends at the switch-in",
        PathEnd::SleptAgain => "target slept again before user space",
        PathEnd::AlreadyRunning => "target was still running",
    }
}

/// What stands below a stage. One that is all its own work needs no row that says so.
fn causes_below(stage: &StageCauses) -> Vec<CauseRow> {
    let mut rows = causes::select_rows(stage, MAX_CAUSES);
    if rows.iter().all(|row| row.kind == CauseKind::Own) {
        rows.clear();
    }
    rows
}
