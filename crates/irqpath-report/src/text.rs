// SPDX-License-Identifier: GPL-2.0-or-later
//! What every verb prints for people: tables, a tree of causes, histograms, and the [`Page`]s of
//! those that act on the host.
//!
//! Width and colour are given, never found out here. Times are us. Every text that came from
//! outside passes `style::clean`, in headings and tables by themselves. Whatever is
//! printed ends with what was lost, missing and spent: `lost: 0` is a statement.

use std::io::{self, Write};

use irqpath_model::{Meta, Summary};

mod bench;
pub mod check;
mod counts;
mod footer;
mod hist;
mod jitter;
pub mod lab;
pub mod merge;
mod page;
mod paths;
pub mod policy;
pub mod record;
mod response;
pub mod shield;
mod slow;
mod steer;
mod style;
pub(crate) mod table;
pub mod tune;

pub use bench::write_bench;
pub(crate) use bench::{EXACT, known_by};
pub use hist::Scale;
pub use jitter::write_jitter;
pub(crate) use jitter::{cause_words, describe_interruption as interruption_words};
pub use page::Page;
pub(crate) use response::format_share;
pub use response::write_response;
pub(crate) use style::format_us2;
use style::{Style, escape_line};
pub use style::{cut_to, format_us, group_digits, wrap_text};

use crate::target::{self, Targets};

/// How wide and how long the text may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal; lines are kept within it where they can be.
    pub width: usize,
    /// True to use ANSI colours.
    pub colour: bool,
    /// Rows of the path table; the rest is counted in a line.
    pub max_paths: usize,
    /// Paths, slowest first, that get a table of their stages or a histogram.
    pub max_details: usize,
    /// Slow paths that get a tree of causes.
    pub max_slow: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { width: 100, colour: false, max_paths: 40, max_details: 3, max_slow: 5 }
    }
}

impl TextOptions {
    fn style(&self) -> Style {
        Style::new(self.colour)
    }
}

/// Everything that `trace once` prints.
pub fn write_once(
    mut out: impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    write_folded(&mut out, summary, options)?;
    write_header(&mut out, meta, options)?;
    write_paths(&mut out, summary, options)?;
    write_stages(&mut out, summary, options)?;
    write_slow(&mut out, meta, summary, options)?;
    write_lines(&mut out, meta, summary, options)?;
    write_softirqs(&mut out, meta, summary, options)?;
    write_footer(&mut out, meta, summary, options)
}

/// Everything that `trace hist` prints: a histogram per path and the accounting.
pub fn write_hist(
    mut out: impl Write,
    meta: &Meta,
    summary: &Summary,
    scale: Scale,
    options: &TextOptions,
) -> io::Result<()> {
    write_folded(&mut out, summary, options)?;
    write_header(&mut out, meta, options)?;
    hist::write(&mut out, summary, scale, options)?;
    write_footer(&mut out, meta, summary, options)
}

/// The first line where paths are folded: who reads a table must know what it does not show.
fn write_folded(out: &mut impl Write, summary: &Summary, options: &TextOptions) -> io::Result<()> {
    let Some(text) = target::describe_folded(summary) else { return Ok(()) };
    writeln!(out, "{}", options.style().warn(&format!("irqpath: {text}")))
}

/// One line: what was measured where, and for how long.
pub fn write_header(mut out: impl Write, meta: &Meta, options: &TextOptions) -> io::Result<()> {
    let kernel = &meta.kernel;
    let preemption = match kernel.preemption.as_str() {
        "" => String::new(),
        p => format!(" preempt={p}"),
    };
    let text = format!(
        "{}, Linux {} {}{preemption}, CPUs {}, {:.1} s, {}{}",
        meta.host,
        kernel.release,
        kernel.machine,
        meta.cpu.online,
        meta.duration_ns as f64 / 1e9,
        meta.source,
        kernel.policies_suffix()
    );
    let style = options.style();
    writeln!(out, "{}{}", style.bold("irqpath: "), escape_line(&text))
}

/// The path table, slowest maximum first.
pub fn write_paths(
    mut out: impl Write,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    paths::write_table(&mut out, summary, options)
}

/// The stages of the first `max_details` paths.
pub fn write_stages(
    mut out: impl Write,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    let targets = Targets::from_paths(&summary.traced().paths);
    summary
        .traced()
        .paths
        .iter()
        .take(options.max_details)
        .try_for_each(|path| paths::write_stages(&mut out, path, &targets, options))
}

/// The first `max_slow` slow paths as trees: path, stages, causes.
pub fn write_slow(
    mut out: impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    slow::write(&mut out, meta, summary, options)
}

/// Interrupts per line and vector.
pub fn write_lines(
    mut out: impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    counts::write_lines(&mut out, meta, summary, options)
}

/// Softirqs per vector, and NAPI polls where there were any.
pub fn write_softirqs(
    mut out: impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    counts::write_softirqs(&mut out, meta, summary, options)
}

/// What was lost, missing and spent.
pub fn write_footer(
    mut out: impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    footer::write(&mut out, meta, summary, options)
}

/// A heading with an empty line before it and what is said about it after, or below where both
/// are too long for one line.
fn write_heading(
    out: &mut impl Write,
    options: &TextOptions,
    title: &str,
    about: &str,
) -> io::Result<()> {
    let (style, title, about) = (options.style(), escape_line(title), escape_line(about));
    writeln!(out)?;
    if about.is_empty() {
        return writeln!(out, "{}", style.bold(&title));
    }
    if style::text_width(&title) + 2 + style::text_width(&about) <= options.width {
        return writeln!(out, "{}  {}", style.bold(&title), style.dim(&about));
    }
    writeln!(out, "{}", style.bold(&title))?;
    let about = wrap_text(&about, options.width);
    about.lines().try_for_each(|line| writeln!(out, "{}", style.dim(line)))
}
