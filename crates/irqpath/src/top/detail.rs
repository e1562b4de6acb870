// SPDX-License-Identifier: GPL-2.0-or-later
//! The open path of `top`: its stages as bars, and what its slowest recorded runs waited for.

use irqpath_model::{CauseClass, PathSummary, SlowPath, StageSummary};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use super::app::App;
use super::tables::{target, us};

/// Columns in front of the bars.
const LABEL_WIDTH: u16 = 58;

/// Draw the open path into `area`.
pub fn draw(frame: &mut Frame<'_>, app: &mut App, area: Rect) {
    let Some(path) = app.open_path() else {
        let text = "this path is gone from the tables; Esc leads back";
        frame.render_widget(Paragraph::new(text), area);
        return;
    };
    let stages = stage_lines(path, area.width);
    let causes = cause_lines(&app.slow_of_open());
    let height = (stages.len() as u16 + 1).min(area.height);
    let [upper, lower] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(stages), upper);
    let last = (causes.len() as u16).saturating_sub(lower.height.saturating_sub(1));
    app.scroll = app.scroll.min(last);
    let block = Block::new().borders(Borders::TOP).title(" slowest recorded runs ".bold());
    frame.render_widget(Paragraph::new(causes).scroll((app.scroll, 0)).block(block), lower);
}

fn stage_lines(path: &PathSummary, width: u16) -> Vec<Line<'static>> {
    let title = format!("{}  via {}  to {}", path.origin_name, path.via, target(path));
    let q = &path.total;
    let longest = path.stages.iter().map(|s| s.quantiles.max_ns).max().unwrap_or(0);
    let bar_width = usize::from(width.saturating_sub(LABEL_WIDTH + 1)).min(60);
    let mut lines = vec![
        Line::from(title).bold(),
        Line::from(format!(
            "{:<26} {:>9} {:>9} {:>9}  bars: log scale to {} us",
            "STAGE (us)",
            "Q50",
            "Q99",
            "MAX",
            us(longest)
        ))
        .dim(),
    ];
    lines.extend(path.stages.iter().map(|s| stage_line(s, longest, bar_width)));
    lines.push(
        Line::from(format!(
            "{:<26} {:>9} {:>9} {:>9}  {} times",
            "whole path",
            us(q.q50_ns),
            us(q.q99_ns),
            us(q.max_ns),
            q.n
        ))
        .bold(),
    );
    lines
}

fn stage_line(stage: &StageSummary, longest_ns: u64, width: usize) -> Line<'static> {
    let q = &stage.quantiles;
    let mut spans: Vec<Span<'static>> = vec![
        format!(
            "{:<26} {:>9} {:>9} {:>9}  ",
            stage.stage.stage_title(),
            us(q.q50_ns),
            us(q.q99_ns),
            us(q.max_ns)
        )
        .into(),
    ];
    let mut drawn = 0;
    for (ns, mark, colour) in [
        (q.q50_ns, "\u{2588}", Color::Green),
        (q.q99_ns, "\u{2593}", Color::Yellow),
        (q.max_ns, "\u{2591}", Color::Red),
    ] {
        let end = bar(ns, longest_ns, width).max(drawn);
        spans.push(Span::styled(mark.repeat(end - drawn), Style::new().fg(colour)));
        drawn = end;
    }
    Line::from(spans)
}

/// Length of a bar on a logarithmic scale from 100 ns to the longest.
fn bar(ns: u64, longest_ns: u64, width: usize) -> usize {
    let decades = |ns: u64| (ns.max(100) as f64 / 100.0).log10();
    let full = decades(longest_ns);
    if full <= 0.0 { 0 } else { (decades(ns) / full * width as f64).round() as usize }
}

fn cause_lines(slow: &[&SlowPath]) -> Vec<Line<'static>> {
    if slow.is_empty() {
        return vec![Line::from("none recorded yet; a lower -T records more of them").dim()];
    }
    slow.iter().flat_map(|path| one_path(path)).collect()
}

fn one_path(path: &SlowPath) -> Vec<Line<'static>> {
    let record = &path.record;
    let cpu = record.last().map_or(0, |s| s.cpu);
    let mut lines = vec![
        Line::from(format!(
            "{} us  to {}:{} ({}) on CPU {cpu}",
            us(record.total_ns()),
            record.target.comm,
            record.target.tid,
            record.target.sched(),
        ))
        .bold(),
    ];
    for stage in &path.stages {
        lines.push(Line::from(format!(
            "  {:<26} {:>9} us  CPU {}",
            stage.to.stage_title(),
            us(stage.ns),
            stage.cpu
        )));
        lines.extend(stage.causes.iter().map(|cause| {
            let who = if cause.who.is_empty() { String::new() } else { format!(" {}", cause.who) };
            let times =
                if cause.nr_times > 1 { format!("  {}x", cause.nr_times) } else { String::new() };
            let text = format!("    {:>9} us  {}{who}{times}", us(cause.ns), cause.kind.title());
            Span::styled(text, Style::new().fg(colour(cause.kind.class()))).into()
        }));
    }
    lines
}

fn colour(class: CauseClass) -> Color {
    match class {
        CauseClass::Interference => Color::Yellow,
        CauseClass::Blocking => Color::Red,
        CauseClass::Own => Color::Reset,
        CauseClass::Idle => Color::Cyan,
        CauseClass::Unexplained => Color::Magenta,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_with_the_logarithm_and_stay_inside() {
        assert_eq!(bar(0, 1_000_000, 40), 0);
        assert_eq!(bar(1_000_000, 1_000_000, 40), 40);
        assert_eq!(bar(10_000, 1_000_000, 40), 20);
        assert_eq!(bar(50, 50, 40), 0, "a scale of no length has no bars");
    }
}
