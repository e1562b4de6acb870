// SPDX-License-Identifier: GPL-2.0-or-later
//! Draws the state of `top`: header, table, keys. The open path is drawn by `detail`.
//! Rule: nothing here changes the state, apart from clamping a scroll position that ran past
//! the end.

use irqpath_report::text::wrap_text;
use irqpath_report::{causes, target};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table as Grid, TableState};

use super::app::App;
use super::detail;
use super::tables::{Column, Value, cut_to, format_us};

const HELP: &str = " Up Down PgUp PgDn Home End   move
 s or >, <                    sort by the next, the previous column
 r                            reverse the order
 /                            filter: any text of a row; Esc clears it
 Enter                        open a path: its stages and causes
 Esc                          back
 i                            interrupts per line and CPU
 f                            softirqs per vector and CPU
 p or Space                   pause: keep the numbers, go on measuring
 ?                            this help
 q                            quit (results asked for are written)

 Times are microseconds. Q50 and Q99: half, and 99 of 100 paths, took at most
 this long. VIA: what carried the path from the interrupt to the wakeup;
 @cpu: the target ran on another CPU than the one that woke it.";

pub fn draw_screen(frame: &mut Frame<'_>, app: &mut App) {
    let lines = header_lines(app, frame.area().width.into());
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let [header, body, footer] =
        Layout::vertical([Constraint::Length(height), Constraint::Min(1), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(Paragraph::new(lines), header);
    if app.open.is_some() {
        detail::draw_path(frame, app, body);
    } else {
        draw_table(frame, app, body);
    }
    frame.render_widget(footer_text(app, footer.width.into()), footer);
    if app.help {
        draw_help(frame);
    }
}

/// Three lines, or more where a sentence would be cut.
fn header_lines(app: &App, width: usize) -> Vec<Line<'static>> {
    let s = &app.summary;
    let mut lines = match target::describe_folded(s) {
        Some(text) => break_text(&format!("irqpath {text}"), width, Style::new().yellow().bold()),
        None => vec![about_line(app)],
    };
    let interrupts: u64 = s.traced().lines.iter().map(|l| l.nr).sum();
    let joined: u64 = s.traced().paths.iter().map(|p| p.total.n).sum();
    let nr_events = s.overhead.nr_events;
    let mut counts: Vec<Span<'static>> =
        vec![format!("{interrupts} interrupts  {joined} paths joined  {nr_events} events").into()];
    if let Some(limit) = s.traced().threshold_ns {
        let suffix = causes::hypervisor_suffix(s);
        let text = format!("  {} over {} us{suffix}", s.traced().nr_slow, format_us(limit));
        counts.push(if s.traced().nr_slow_by_us() > 0 { text.red() } else { text.into() });
    }
    let lost = s.loss.nr_lost();
    // The reason that most were lost for, with what to do.
    let why = s.loss.0.iter().filter(|(r, _)| r.is_lost_data()).max_by_key(|(_, n)| **n);
    let why = why.filter(|_| lost > 0).map_or(String::new(), |(r, _)| format!(" ({})", r.advice()));
    let lost_style = if lost > 0 { Style::new().fg(Color::Red).bold() } else { Style::new() };
    let lost = format!("{lost} lost{why}");
    let counts = Line::from(counts);
    if counts.width() + 2 + width_of(&lost) <= width {
        let spans = counts.spans.into_iter().chain(["  ".into(), Span::styled(lost, lost_style)]);
        lines.push(spans.collect());
    } else {
        lines.push(counts);
        lines.extend(break_text(&lost, width, lost_style));
    }
    lines.push(Line::from(describe_cost(app)).dim());
    lines
}

fn about_line(app: &App) -> Line<'static> {
    let seconds = app.elapsed.as_secs_f64();
    let state = if app.paused { "  PAUSED" } else { "" };
    let about = &app.about;
    Line::from(vec![
        "irqpath ".bold(),
        format!("{}  {}  {}  {seconds:.0} s", about.host, about.kernel, about.source).into(),
        Span::styled(state, Style::new().fg(Color::Yellow).bold()),
    ])
}

/// A sentence in as many lines as it needs.
fn break_text(text: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    let text = wrap_text(text, width);
    text.lines().map(|line| Line::styled(line.to_owned(), style)).collect()
}

/// The observer's own cost, in words.
fn describe_cost(app: &App) -> String {
    let o = &app.summary.overhead;
    let elapsed_ns = app.elapsed.as_nanos() as f64;
    let process = if elapsed_ns > 0.0 { o.process_cpu_ns as f64 / elapsed_ns * 100.0 } else { 0.0 };
    let programs = match o.mean_event_ns {
        0 => "cost per event not measured".to_owned(),
        ns => {
            let share = (o.nr_events as f64) * (ns as f64) / elapsed_ns.max(1.0) * 100.0;
            format!("{ns} ns per event = {share:.1} % of one CPU")
        }
    };
    format!(
        "own cost: {programs}, irqpath itself {process:.1} %, {:.0} MiB",
        (o.peak_rss_bytes + o.map_bytes) as f64 / f64::from(1 << 20)
    )
}

fn footer_text(app: &App, width: usize) -> Paragraph<'static> {
    if app.editing {
        return Paragraph::new(Line::from(vec![
            "filter: ".bold(),
            app.filter.clone().into(),
            "\u{2588}".into(),
        ]));
    }
    // The longest that fits.
    let keys: &[&str] = if app.open.is_some() {
        &[" Up Down scroll  Esc back  p pause  ? help  q quit", " Esc back  ? help  q quit"]
    } else {
        &[
            " Enter open  s < > sort  r reverse  / filter  i interrupts  f softirqs  p pause  \
             ? help  q quit",
            " Enter open  s < > sort  / filter  i interrupts  f softirqs  ? help  q quit",
            " Enter open  s sort  / filter  ? help  q quit",
            " ? help  q quit",
        ]
    };
    let fits = |keys: &&&str| width_of(keys) <= width;
    let keys = *keys.iter().find(fits).unwrap_or(&"");
    Paragraph::new(keys).style(Style::new().add_modifier(Modifier::DIM))
}

/// A name is not cut below this.
const FEW_LETTERS: usize = 4;

/// Cells between columns.
const GAP: usize = 2;

fn heading_cell(column: &Column, arrow: &'static str) -> Cell<'static> {
    let text = Line::from(format!("{}{arrow}", column.title));
    let text = if column.is_name { text } else { text.alignment(Alignment::Right) };
    Cell::from(text)
}

fn width_of(text: &str) -> usize {
    Span::raw(text).width()
}

/// Columns that are shown, with their widths: as wide as what they hold. Where that is too much,
/// names give way to what still reads well, then columns that may be left out go, and only then
/// names shrink to a few letters.
fn lay_out_columns(app: &App, cells: &[Vec<String>], room: usize) -> Vec<(usize, usize)> {
    let columns = app.table.columns();
    let natural = |i: usize| {
        let widest = cells.iter().map(|row| width_of(&row[i])).max().unwrap_or(0);
        // The column that is sorted by has an arrow.
        let title = width_of(columns[i].title) + usize::from(i == app.sort);
        widest.max(title).max(columns[i].width.into())
    };
    let mut shown: Vec<(usize, usize)> = (0..columns.len()).map(|i| (i, natural(i))).collect();
    loop {
        let mut narrow = shown.clone();
        let fits = shrink_names(&mut narrow, columns, room, |c| c.rather.into());
        let last = shown.iter().filter(|(i, _)| columns[*i].drop > 0 && *i != app.sort);
        let last = last.max_by_key(|(i, _)| columns[*i].drop).map(|(i, _)| *i);
        match last {
            Some(last) if !fits => shown.retain(|(i, _)| *i != last),
            _ if fits => return narrow,
            _ => break,
        }
    }
    let least: [fn(&Column) -> usize; 2] = [|c| c.width.into(), |_| FEW_LETTERS];
    for least in least {
        if shrink_names(&mut shown, columns, room, least) {
            break;
        }
    }
    shown
}

/// Take from the widest name until the line fits; false if the names cannot give that much.
fn shrink_names(
    shown: &mut [(usize, usize)],
    columns: &[Column],
    room: usize,
    least: impl Fn(&Column) -> usize,
) -> bool {
    let total = shown.iter().map(|(_, w)| w + GAP).sum::<usize>().saturating_sub(GAP);
    for _ in room..total {
        let may_give = |(i, w): &(usize, usize)| columns[*i].is_name && *w > least(&columns[*i]);
        let widest = shown.iter_mut().filter(|one| may_give(one)).max_by_key(|(_, w)| *w);
        let Some((_, width)) = widest else { return false };
        *width -= 1;
    }
    true
}

/// A cell of a given width; a cut is marked.
fn make_cell(text: &str, width: usize, is_name: bool) -> Cell<'static> {
    if is_name {
        return Cell::from(cut_to(text, width));
    }
    Cell::from(Line::from(text.to_owned()).alignment(Alignment::Right))
}

fn draw_table(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let columns = app.table.columns();
    let arrow = |i: usize| match (i == app.sort, app.reverse) {
        (false, _) => "",
        (true, false) => "\u{25be}",
        (true, true) => "\u{25b4}",
    };
    let cells: Vec<Vec<String>> =
        app.rows.iter().map(|row| row.values.iter().map(Value::format_cell).collect()).collect();
    let shown = lay_out_columns(app, &cells, area.width.into());
    let header = Row::new(shown.iter().map(|&(i, _)| heading_cell(&columns[i], arrow(i))))
        .style(Style::new().add_modifier(Modifier::REVERSED));
    let rows = cells.iter().map(|row| {
        Row::new(shown.iter().map(|&(i, width)| make_cell(&row[i], width, columns[i].is_name)))
    });
    let lengths = shown.iter().map(|&(_, w)| Constraint::Length(w.try_into().unwrap_or(u16::MAX)));
    let grid = Grid::new(rows, lengths)
        .column_spacing(GAP as u16)
        .header(header)
        .block(Block::new().title(table_title(app)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::new();
    if !app.rows.is_empty() {
        state.select(Some(app.selected));
    }
    frame.render_stateful_widget(grid, area, &mut state);
}

fn table_title(app: &App) -> Line<'static> {
    let mut text = format!("{} {}", app.rows.len(), app.table.title());
    if !app.filter.is_empty() {
        text = format!("{text} with '{}'", app.filter);
    }
    Line::from(vec![text.bold(), ", times in us".dim()])
}

fn draw_help(frame: &mut Frame<'_>) {
    let lines = HELP.lines().count() as u16 + 2;
    let width = HELP.lines().map(str::len).max().unwrap_or(0) as u16 + 3;
    let area = frame.area();
    let width = width.min(area.width);
    let height = lines.min(area.height);
    let area = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(HELP).block(Block::bordered().title(" keys ")), area);
}
