// SPDX-License-Identifier: GPL-2.0-or-later
//! How a measurement is shown: the one place that chooses exporters and their options. The
//! exporters themselves are in `irqpath-report`.

use std::io::{self, IsTerminal as _, Write};

use irqpath_model::{Meta, Summary};
use irqpath_report::text::{
    Scale, TextOptions, write_bench, write_hist, write_jitter, write_once, write_response,
};
use irqpath_report::{html, json, openmetrics};
use rustix::termios::tcgetwinsize;

use crate::cli::{Hist, View};

/// Rows of a histogram with a given size of bucket, as rtla has them.
const RTLA_ROWS: usize = 256;

/// `meta.json`.
pub fn meta(w: &mut dyn Write, meta: &Meta) -> io::Result<()> {
    json::write_meta(w, meta)
}

/// `summary.json`.
pub fn summary(w: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    json::write_summary(w, summary)
}

/// Both as one JSON document.
pub fn document(w: &mut dyn Write, meta: &Meta, summary: &Summary) -> io::Result<()> {
    json::write_document(w, meta, summary)
}

/// The self-contained report.
pub fn report(w: &mut dyn Write, meta: &Meta, summary: &Summary) -> io::Result<()> {
    html::write(w, meta, summary, html::Options::default())
}

/// OpenMetrics text.
pub fn openmetrics(w: &mut dyn Write, meta: &Meta, summary: &Summary) -> io::Result<()> {
    openmetrics::write(w, summary, &meta.names)
}

/// Tables or histograms, as wide and as colourful as standard output can show.
pub fn text(
    w: &mut dyn Write,
    view: View,
    hist: &Hist,
    meta: &Meta,
    summary: &Summary,
) -> io::Result<()> {
    let options = text_options();
    if view != View::Hist {
        return write_once(w, meta, summary, &options);
    }
    let max_rows = hist.entries.map(|entries| entries as usize);
    let scale = match hist.bucket_size {
        Some(bucket_ns) => Scale::Linear { bucket_ns, max_rows: max_rows.unwrap_or(RTLA_ROWS) },
        None => Scale::Auto { max_rows },
    };
    // Every path has been asked for.
    let options = TextOptions { max_details: usize::MAX, ..options };
    write_hist(w, meta, summary, scale, &options)
}

/// Tables of benchmarks, as wide and as colourful as standard output can show.
pub fn bench(w: &mut dyn Write, meta: &Meta, summary: &Summary) -> io::Result<()> {
    write_bench(w, meta, summary, &text_options())
}

/// Response times, as wide and as colourful as standard output can show.
pub fn response(w: &mut dyn Write, meta: &Meta, summary: &Summary) -> io::Result<()> {
    write_response(w, meta, summary, &text_options())
}

/// Jitter with at most `max_list` interruptions, as wide and as colourful as standard output can
/// show.
pub fn jitter(
    w: &mut dyn Write,
    meta: &Meta,
    summary: &Summary,
    max_list: usize,
) -> io::Result<()> {
    write_jitter(w, meta, summary, max_list, &text_options())
}

fn text_options() -> TextOptions {
    let stdout = io::stdout();
    let default = TextOptions::default();
    if !stdout.is_terminal() {
        return default;
    }
    let columns = tcgetwinsize(stdout).map_or(0, |size| usize::from(size.ws_col));
    TextOptions {
        // A terminal that does not know its width says 0.
        width: if columns == 0 { default.width } else { columns },
        // https://no-color.org: any value but the empty one.
        colour: std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        ..default
    }
}
