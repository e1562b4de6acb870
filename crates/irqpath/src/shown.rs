// SPDX-License-Identifier: GPL-2.0-or-later
//! How a measurement is shown: the one place that chooses exporters and their options. The
//! exporters themselves are in `irqpath-report`.

use std::io::{self, Write};

use irqpath_model::{Meta, Summary};
use irqpath_report::{html, json, openmetrics};

use crate::cli::{Hist, View};

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

/// Tables for a terminal.
pub fn text(
    w: &mut dyn Write,
    _view: View,
    _hist: &Hist,
    _meta: &Meta,
    summary: &Summary,
) -> io::Result<()> {
    for p in &summary.paths {
        writeln!(w, "{} {} {} {}", p.origin_name, p.via, p.key.comm, p.total.n)?;
    }
    Ok(())
}
