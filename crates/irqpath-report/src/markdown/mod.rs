// SPDX-License-Identifier: GPL-2.0-or-later
//! The reproduction table as pages of the documentation.
//!
//! [`write_page`] makes one page of it, for the directory of a run. [`pages`] makes a summary, a
//! page for each experiment and the pictures of the summary, for `docs/`. The same results give the
//! same pages: they have no date and no path of a machine.

mod escape;
mod experiment;
mod papers;
mod picture;
mod summary;

pub use escape::without_places;
pub use papers::is_listed as is_listed_paper;

use std::io::{self, Write};

use irqpath_model::Reproduction;

use crate::Guard;
use experiment::write_experiment;
use papers::by_paper;
use summary::{Details, write_summary};

/// A file beside the summary.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name in the directory of the parts.
    pub name: String,
    /// The whole text of the file.
    pub text: String,
}

/// Writes the summary and every experiment as one page. Fails only where `out` does.
pub fn write_page(out: impl Write, table: &Reproduction) -> io::Result<()> {
    let mut out = Guard::new(out, false);
    write_summary(&mut out, table, &Details::Here)?;
    for experiment in &table.experiments {
        writeln!(out)?;
        write_experiment(&mut out, experiment, 2)?;
    }
    out.finish()
}

/// Writes the summary, whose links lead to the [`render_parts`] in `directory`.
pub fn write_overview(out: impl Write, table: &Reproduction, directory: &str) -> io::Result<()> {
    let mut out = Guard::new(out, false);
    write_summary(&mut out, table, &Details::Pages(directory))?;
    out.finish()
}

/// A page for each experiment, and the pictures of the summary.
pub fn render_parts(table: &Reproduction) -> io::Result<Vec<Part>> {
    let mut parts = Vec::new();
    for experiment in &table.experiments {
        let mut text = Vec::new();
        let mut page = Guard::new(&mut text, false);
        write_experiment(&mut page, experiment, 1)?;
        page.finish()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        parts.push(Part { name: format!("{}.md", escape::experiment_anchor(experiment)), text });
    }
    for figure in
        by_paper(&table.experiments).iter().filter_map(|(paper, _)| paper.picture.as_ref())
    {
        let drawn = picture::draw_figure(table, figure);
        parts.extend(drawn.map(|text| Part { name: format!("{}.svg", figure.file), text }));
    }
    Ok(parts)
}
