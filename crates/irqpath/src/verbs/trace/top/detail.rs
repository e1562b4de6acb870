// SPDX-License-Identifier: GPL-2.0-or-later
//! The open path of `top`: its stages as bars, and what its slowest recorded runs waited for.

use irqpath_model::{CauseClass, PathSummary, SlowPath, StageSummary};
use irqpath_report::causes;
use irqpath_report::target::Targets;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use super::app::App;
use super::tables::{format_us, group_digits};

/// Rows of causes below one stage.
const MAX_CAUSES: usize = 8;

/// Columns in front of the bars.
const LABEL_WIDTH: u16 = 56;

/// Draw the open path into `area`.
pub fn draw_path(frame: &mut Frame<'_>, app: &mut App, area: Rect) {
    let Some(path) = app.open_path() else {
        let text = "this path is gone from the tables; Esc leads back";
        frame.render_widget(Paragraph::new(text), area);
        return;
    };
    let target = Targets::from_paths(&app.summary.traced().paths).target_name(path);
    let stages = stage_lines(path, &target, area.width);
    let causes = cause_lines(&app.slow_of_open(), app.about.is_virtual);
    let height = (stages.len() as u16 + 1).min(area.height);
    let [upper, lower] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(stages), upper);
    let last = (causes.len() as u16).saturating_sub(lower.height.saturating_sub(1));
    app.scroll = app.scroll.min(last);
    let block = Block::new()
        .borders(Borders::TOP)
        .title(" slowest recorded runs: time, share of the run, what it waited for ".bold());
    frame.render_widget(Paragraph::new(causes).scroll((app.scroll, 0)).block(block), lower);
}

fn stage_lines(path: &PathSummary, target: &str, width: u16) -> Vec<Line<'static>> {
    let title = format!("{}  via {}  to {}", path.origin_name, path.via, target);
    let q = &path.total;
    let longest = path.stages.iter().map(|s| s.quantiles.max_ns).max().unwrap_or(0);
    let bar_width = usize::from(width.saturating_sub(LABEL_WIDTH + 1)).min(60);
    let mut lines = vec![
        Line::from(title).bold(),
        Line::from(format!(
            "{:<24} {:>9} {:>9} {:>9}  {}",
            "STAGE (us)",
            "Q50",
            "Q99",
            "MAX",
            describe_scale(longest, width)
        ))
        .dim(),
    ];
    lines.extend(path.stages.iter().map(|s| stage_line(s, longest, bar_width)));
    lines.push(
        Line::from(format!(
            "{:<24} {:>9} {:>9} {:>9}  {} times",
            "whole path",
            format_us(q.q50_ns),
            format_us(q.q99_ns),
            format_us(q.max_ns),
            group_digits(q.n)
        ))
        .bold(),
    );
    lines
}

/// What the bars mean, in as many words as there is room for beside the numbers.
fn describe_scale(longest_ns: u64, width: u16) -> String {
    let room = usize::from(width.saturating_sub(LABEL_WIDTH));
    let text = |words: &str| format!("{words} to {} us", format_us(longest_ns));
    let texts = ["bars: log scale", "log scale"].map(text);
    let fits = texts.into_iter().find(|text| text.len() <= room);
    fits.unwrap_or_else(|| text("log"))
}

fn stage_line(stage: &StageSummary, longest_ns: u64, width: usize) -> Line<'static> {
    let q = &stage.quantiles;
    let mut spans: Vec<Span<'static>> = vec![
        format!(
            "{:<24} {:>9} {:>9} {:>9}  ",
            stage.stage.stage_title(),
            format_us(q.q50_ns),
            format_us(q.q99_ns),
            format_us(q.max_ns)
        )
        .into(),
    ];
    let mut drawn = 0;
    for (ns, mark, colour) in [
        (q.q50_ns, "\u{2588}", Color::Green),
        (q.q99_ns, "\u{2593}", Color::Yellow),
        (q.max_ns, "\u{2591}", Color::Red),
    ] {
        let end = bar_width(ns, longest_ns, width).max(drawn);
        spans.push(Span::styled(mark.repeat(end - drawn), Style::new().fg(colour)));
        drawn = end;
    }
    Line::from(spans)
}

/// Length of a bar on a logarithmic scale from 100 ns to the longest.
fn bar_width(ns: u64, longest_ns: u64, width: usize) -> usize {
    let decades = |ns: u64| (ns.max(100) as f64 / 100.0).log10();
    let full = decades(longest_ns);
    if full <= 0.0 { 0 } else { (decades(ns) / full * width as f64).round() as usize }
}

fn cause_lines(slow: &[&SlowPath], is_virtual: bool) -> Vec<Line<'static>> {
    if slow.is_empty() {
        return vec![Line::from("none recorded yet; a lower -T records more of them").dim()];
    }
    slow.iter().flat_map(|path| one_path(path, is_virtual)).collect()
}

/// Time, share of the path, and what it was.
fn format_row(ns: u64, path: &SlowPath, indent: &str, what: &str) -> String {
    let share = ns as f64 * 100.0 / path.record.total_ns().max(1) as f64;
    format!("{:>11} us {share:>4.0} %  {indent}{what}", format_us(ns))
}

fn one_path(path: &SlowPath, is_virtual: bool) -> Vec<Line<'static>> {
    let target = &path.record.target;
    let title = format!("to {}:{} {}", target.comm, target.tid, target.effective_scheduling());
    let mut lines = vec![Line::from(format_row(path.record.total_ns(), path, "", &title)).bold()];
    for stage in &path.stages {
        let title = format!("{} ({})", stage.to.stage_title(), stage.place_text());
        lines.push(Line::from(format_row(stage.ns, path, "  ", &title)));
        for cause in causes::select_rows(stage, MAX_CAUSES) {
            let mut what = cause.row_text(stage.to, is_virtual);
            if cause.nr_times > 1 {
                what = format!("{what}  {}\u{d7}", group_digits(cause.nr_times.into()));
            }
            let text = format_row(cause.ns, path, "    ", &what);
            lines
                .push(Span::styled(text, Style::new().fg(class_colour(cause.kind.class()))).into());
        }
    }
    lines.push(Line::default());
    lines
}

fn class_colour(class: CauseClass) -> Color {
    match class {
        CauseClass::Interference => Color::Yellow,
        CauseClass::Blocking => Color::Red,
        CauseClass::Own => Color::Reset,
        CauseClass::Idle => Color::Cyan,
        CauseClass::Stolen => Color::Blue,
        CauseClass::Unexplained => Color::Magenta,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_with_the_logarithm_and_stay_inside() {
        assert_eq!(bar_width(0, 1_000_000, 40), 0);
        assert_eq!(bar_width(1_000_000, 1_000_000, 40), 40);
        assert_eq!(bar_width(10_000, 1_000_000, 40), 20);
        assert_eq!(bar_width(50, 50, 40), 0, "a scale of no length has no bars");
    }
}
