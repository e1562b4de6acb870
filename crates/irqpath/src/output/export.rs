// SPDX-License-Identifier: GPL-2.0-or-later
//! Which exporter makes which file, and what standard output can show. The exporters themselves are
//! in `irqpath-report`.

use std::io::{self, IsTerminal as _, Write};

use irqpath_model::{Meta, Summary};
use irqpath_report::openmetrics::Exposed;
use irqpath_report::text::TextOptions;
use irqpath_report::{html, json, openmetrics};
use rustix::termios::tcgetwinsize;

/// Writes one file of a result.
pub type Exporter = fn(&mut dyn Write, &Meta, &Summary) -> io::Result<()>;

/// The files of a result directory that are made at the end.
pub const DIRECTORY: [(&str, Exporter); 3] = [
    ("meta.json", |w, meta, _| json::write_meta(w, meta)),
    ("summary.json", |w, _, summary| json::write_summary(w, summary)),
    ("report.html", write_report),
];

/// Both parts of a result as one JSON document.
pub fn write_document(w: &mut dyn Write, meta: &Meta, summary: &Summary) -> io::Result<()> {
    json::write_document(w, meta, summary)
}

/// The self-contained HTML report.
pub fn write_report(w: &mut dyn Write, meta: &Meta, summary: &Summary) -> io::Result<()> {
    html::write(w, meta, summary, html::Options::default())
}

pub fn write_openmetrics(w: &mut dyn Write, meta: &Meta, summary: &Summary) -> io::Result<()> {
    let (summary, names) = (summary.clone(), meta.names.clone());
    openmetrics::write(w, Exposed { summary, names, ..Exposed::default() }.into())
}

/// Tables as wide and as colourful as standard output can show.
pub fn text_options() -> TextOptions {
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
