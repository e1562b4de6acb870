// SPDX-License-Identifier: GPL-2.0-or-later
//! What the page of response and determinism tests shows: tables whose cells are text already, and
//! figures.
//!
//! Neighbour: `assets/determinism/*.js` reads this by field name. The words are those of the
//! terminal; what differs is that nothing is cut to a width.

use irqpath_model::{Interruptions, Jitter, Loops, Meta, Quantiles, Response, Summary};
use serde::Serialize;

use super::buckets::{Bars, histogram_bars};
use super::data::{Machine, machine_facts};
use super::verdict::{self, Level, Note, count_word, us_text};
use crate::causes;
use crate::conditions::{self, format_ms};
use crate::text::{cause_words, format_share, format_us2, interruption_words};

/// Interruptions in the list of one CPU.
const MAX_LIST: usize = 200;

/// Everything the page shows.
#[derive(Serialize)]
pub struct Page<'a> {
    verdict: String,
    notes: Vec<Note>,
    numbers: Vec<Table>,
    figures: Vec<Figure>,
    details: Vec<Table>,
    machine: Machine<'a>,
    virtual_note: Option<String>,
}

#[derive(Serialize)]
struct Table {
    title: String,
    about: String,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

#[derive(Clone, Copy, Serialize)]
struct Column {
    title: &'static str,
    is_number: bool,
}

const fn text_column(title: &'static str) -> Column {
    Column { title, is_number: false }
}

const fn number_column(title: &'static str) -> Column {
    Column { title, is_number: true }
}

#[derive(Serialize)]
struct Figure {
    title: String,
    about: String,
    bars: Bars,
    /// Median and maximum, ns.
    marks: [u64; 2],
}

impl Table {
    fn new(title: impl Into<String>, about: impl Into<String>, columns: &[Column]) -> Self {
        let columns = columns.to_vec();
        Self { title: title.into(), about: about.into(), columns, rows: Vec::new() }
    }
}

impl<'a> Page<'a> {
    /// The data of a page about `respond` or `jitter`.
    pub fn new(meta: &'a Meta, summary: &'a Summary) -> Self {
        let mut page = Self {
            verdict: timing_verdict(summary),
            notes: timing_notes(summary),
            numbers: Vec::new(),
            figures: Vec::new(),
            details: Vec::new(),
            machine: machine_facts(meta),
            virtual_note: causes::virtual_note(meta),
        };
        if !summary.response().is_empty() {
            page.numbers.push(response_table(summary.response()));
        }
        for response in summary.response().iter().filter(|r| r.quantiles.n > 0) {
            let title = format!("{} on CPU {}", response.source, response.cpu);
            page.add_figure(title, &response.quantiles, histogram_bars(&response.histogram));
            page.details.push(document_table(response));
        }
        if let Some(table) = loop_legend(summary.jitter()) {
            page.numbers.push(table);
        }
        if let Some(table) = jitter_overview(summary.jitter()) {
            page.numbers.push(table);
        }
        for jitter in summary.jitter() {
            page.add_jitter(meta, jitter);
        }
        if !summary.slow().is_empty() {
            page.details.push(slow_table(meta, summary));
        }
        page
    }

    fn add_figure(&mut self, title: String, q: &Quantiles, bars: Bars) {
        if !bars.is_empty() {
            let about = format!("n {}, max {}", count_word(q.n), us_text(q.max_ns));
            self.figures.push(Figure { title, about, bars, marks: [q.q50_ns, q.max_ns] });
        }
    }

    fn add_jitter(&mut self, meta: &Meta, jitter: &Jitter) {
        let cpu = jitter.cpu;
        if let Some(loops) = &jitter.loops {
            let title = format!("loops on CPU {cpu}, beyond the ideal");
            self.add_figure(title, &loops.excess, histogram_bars(&loops.histogram));
        }
        if let Some(all) = jitter.interruptions.as_ref().filter(|a| a.quantiles.n > 0) {
            self.add_figure(
                format!("interruptions of CPU {cpu}"),
                &all.quantiles,
                histogram_bars(&all.histogram),
            );
            if !all.causes.is_empty() {
                self.details.push(cause_table(cpu, all));
            }
            self.details.push(interruption_list(meta, cpu, all));
        }
    }
}

/// The titles of [`quantile_cells`].
fn quantile_columns() -> [Column; 7] {
    ["min", "avg", "Q50", "Q95", "Q99", "Q99.9", "max"].map(number_column)
}

fn quantile_cells(q: &Quantiles) -> impl Iterator<Item = String> {
    [q.min_ns, q.mean_ns, q.q50_ns, q.q95_ns, q.q99_ns, q.q999_ns, q.max_ns]
        .into_iter()
        .map(format_us2)
}

fn response_table(all: &[Response]) -> Table {
    let mut columns = vec![
        text_column("source"),
        number_column("CPU"),
        text_column("scheduling"),
        number_column("n"),
    ];
    columns.extend(quantile_columns());
    columns.extend(["missed", "lost"].map(number_column));
    let mut table = Table::new("Response times", conditions::of_responses(all), &columns);
    for r in all {
        let mut row = vec![r.source.to_string(), r.cpu.to_string(), r.sched.clone()];
        row.push(count_word(r.quantiles.n));
        row.extend(quantile_cells(&r.quantiles));
        row.extend([count_word(r.nr_missed), count_word(r.nr_lost)]);
        table.rows.push(row);
    }
    table
}

/// How many took less than each bound, up to where all did.
fn document_table(r: &Response) -> Table {
    let title = format!("{} on CPU {}: how many took less", r.source, r.cpu);
    let mut table = Table::new(
        title,
        "",
        &[number_column("less than, ms"), number_column("responses"), number_column("%")],
    );
    let rows = conditions::cumulative_buckets(&r.table).map(|(bucket, sum)| {
        let bound = bucket.high_ns.map_or_else(|| "any".to_owned(), format_ms);
        vec![bound, count_word(sum), format_share(sum, r.quantiles.n)]
    });
    table.rows.extend(rows);
    table
}

fn loop_legend(all: &[Jitter]) -> Option<Table> {
    let loops: Vec<(&Jitter, &Loops)> =
        all.iter().filter_map(|j| Some((j, j.loops.as_ref()?))).collect();
    let from = format!("ideal: {}", conditions::of_ideal(loops.first()?.1.ideal_from));
    let columns = [
        number_column("CPU"),
        text_column("scheduling"),
        number_column("loops"),
        number_column("ideal, s"),
        number_column("max, s"),
        number_column("jitter, s"),
        number_column("jitter, %"),
        number_column("avg, s"),
    ];
    let mut table = Table::new("Loops", from, &columns);
    let seconds = |ns: u64| format!("{:.6}", ns as f64 / 1e9);
    for (jitter, l) in loops {
        table.rows.push(vec![
            jitter.cpu.to_string(),
            jitter.sched.clone(),
            count_word(l.excess.n),
            seconds(l.ideal_ns),
            seconds(l.max_ns),
            seconds(l.jitter_ns),
            format!("{:.2}", l.jitter_percent()),
            seconds(l.mean_ns),
        ]);
    }
    Some(table)
}

fn jitter_overview(all: &[Jitter]) -> Option<Table> {
    let rows: Vec<(&Jitter, &Interruptions)> =
        all.iter().filter_map(|j| Some((j, j.interruptions.as_ref()?))).collect();
    let about = format!("of {} and more, us", us_text(rows.first()?.1.threshold_ns));
    let mut columns = vec![
        number_column("CPU"),
        text_column("scheduling"),
        number_column("n"),
        number_column("a second"),
    ];
    columns.extend(quantile_columns());
    columns.extend(["% of time", "lost"].map(number_column));
    let mut table = Table::new("Interruptions", about, &columns);
    for (jitter, a) in rows {
        let lasted_ns = a.lasted_ns.max(1) as f64;
        let mut row = vec![jitter.cpu.to_string(), jitter.sched.clone(), count_word(a.quantiles.n)];
        row.push(format!("{:.1}", conditions::per_second(a)));
        row.extend(quantile_cells(&a.quantiles));
        row.push(format!("{:.4}", a.total_ns as f64 * 100.0 / lasted_ns));
        row.push(count_word(a.nr_lost));
        table.rows.push(row);
    }
    Some(table)
}

fn cause_table(cpu: u16, all: &Interruptions) -> Table {
    let title = format!("What interrupted CPU {cpu}");
    let mut table = Table::new(
        title,
        "us",
        &[
            text_column("cause"),
            number_column("in"),
            number_column("total"),
            number_column("%"),
            number_column("max"),
        ],
    );
    for c in &all.causes {
        table.rows.push(vec![
            cause_words(c.kind, &c.who),
            count_word(c.n),
            format_us2(c.total_ns),
            format!("{:.1}", c.total_ns as f64 * 100.0 / all.total_ns.max(1) as f64),
            format_us2(c.max_ns),
        ]);
    }
    table
}

fn interruption_list(meta: &Meta, cpu: u16, all: &Interruptions) -> Table {
    let shown = all.longest.len().min(MAX_LIST);
    let about = format!("the {shown} longest of {}", count_word(all.quantiles.n));
    let title = format!("Interruptions of CPU {cpu}");
    let mut table = Table::new(
        title,
        about,
        &[number_column("at, s"), number_column("us"), text_column("what ran")],
    );
    for i in all.longest.iter().take(shown) {
        let at = format!("{:.6}", i.at_ns as f64 / 1e9);
        table.rows.push(vec![at, format_us2(i.ns), interruption_words(meta, i, usize::MAX)]);
    }
    table
}

/// The slowest path that was traced, stage by stage.
fn slow_table(meta: &Meta, summary: &Summary) -> Table {
    let about = "the slowest traced path to the task, us";
    let mut table = Table::new(
        "Causes",
        about,
        &[text_column("stage"), text_column("cause"), number_column("us")],
    );
    let Some(path) = summary.slow().first() else { return table };
    for stage in &path.stages {
        let title = format!("{} ({})", stage.to.stage_title(), stage.place_text());
        table.rows.push(vec![title, String::new(), format_us2(stage.ns)]);
        for row in causes::group_causes(&stage.causes, stage.ns) {
            let words = row.row_text(stage.to, meta.cpu.is_virtual());
            table.rows.push(vec![String::new(), words, format_us2(row.ns)]);
        }
    }
    table
}

/// The worst of all, in one sentence.
fn timing_verdict(summary: &Summary) -> String {
    if let Some(worst) = summary.response().iter().max_by_key(|r| r.quantiles.max_ns) {
        let q = &worst.quantiles;
        if q.n == 0 {
            return format!("No response to {} was measured", worst.source);
        }
        return format!(
            "Responses to {}: longest {}, median {}, of {}",
            worst.source,
            us_text(q.max_ns),
            us_text(q.q50_ns),
            count_word(summary.response().iter().map(|r| r.quantiles.n).sum())
        );
    }
    let loops = summary.jitter().iter().filter_map(|j| j.loops.as_ref().map(|l| (j.cpu, l)));
    if let Some((cpu, worst)) = loops.max_by_key(|(_, l)| l.jitter_ns) {
        let percent = worst.jitter_percent();
        return format!("Jitter {percent:.2} %, {} on CPU {cpu}", us_text(worst.jitter_ns));
    }
    let continuous =
        summary.jitter().iter().filter_map(|j| Some((j.cpu, j.interruptions.as_ref()?)));
    match continuous.max_by_key(|(_, a)| a.quantiles.max_ns) {
        Some((cpu, a)) if a.quantiles.n > 0 => {
            format!("Longest interruption {}, of CPU {cpu}", us_text(a.quantiles.max_ns))
        }
        _ => "No CPU was interrupted".to_owned(),
    }
}

/// What a reader must know besides the verdict.
fn timing_notes(summary: &Summary) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut say = |level, text: String| notes.push(Note { level, text });
    for r in summary.response() {
        let Some(limit) = r.threshold_ns.map(us_text) else { continue };
        match r.exceeded {
            Some(over) => say(
                Level::Warning,
                format!(
                    "Response {} took {}, more than {limit}.",
                    count_word(over.nr),
                    us_text(over.ns)
                ),
            ),
            None => say(Level::Info, format!("No response on CPU {} took over {limit}.", r.cpu)),
        }
    }
    for r in summary.response() {
        if let Some(stand_in) = &r.stand_in {
            say(Level::Warning, format!("The {} is emulated by {stand_in}.", r.origin));
        }
    }
    let responses = summary.response().iter().map(|r| r.nr_lost);
    let continuous = summary.jitter().iter().filter_map(|j| j.interruptions.as_ref());
    let loops = summary.jitter().iter().filter_map(|j| j.loops.as_ref());
    let lost = responses.chain(continuous.map(|a| a.nr_lost)).chain(loops.map(|l| l.nr_lost));
    let lost: u64 = lost.sum();
    if lost > 0 {
        say(Level::Warning, format!("{} measurements found no room.", count_word(lost)));
    }
    match verdict::loss_notes(&summary.loss).0 {
        Some(of_tracer) => say(Level::Warning, format!("Lost by the tracer: {of_tracer}.")),
        None if lost == 0 => say(Level::Info, "Nothing was lost.".to_owned()),
        None => {}
    }
    for missing in &summary.missing {
        say(Level::Warning, format!("Missing {}: {}.", missing.what, missing.consequence));
    }
    let missed: u64 = summary.response().iter().map(|r| r.nr_missed).sum();
    if missed > 0 {
        let whole = missed + summary.response().iter().map(|r| r.quantiles.n).sum::<u64>();
        let percent = verdict::whole_percent(missed, whole);
        say(
            Level::Warning,
            format!("{} interrupts were missed ({percent} %).", count_word(missed)),
        );
    }
    notes
}
