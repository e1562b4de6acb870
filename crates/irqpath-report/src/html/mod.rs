// SPDX-License-Identifier: GPL-2.0-or-later
//! `report.html`: one file that works offline, made from `meta.json` and `summary.json`.
//!
//! The page is put together from the pieces in `assets/`: `report.html` is the frame with
//! `{{markers}}`, `report.css` the style, `report/*.js` the script, `uplot/` the chart library.
//! `data` reduces the result to what the page shows, `verdict` says it in sentences, `json`
//! embeds it. The rule to know: whatever was measured reaches the page as JSON only and is
//! inserted as text only; a task may call itself `</script>`.

mod buckets;
mod data;
mod json;
mod slow;
mod verdict;

use std::io::{self, Write};

use irqpath_model::{Meta, Summary};

const FRAME: &str = include_str!("../../assets/report.html");
const STYLE: [&str; 2] =
    [include_str!("../../assets/uplot/uPlot.min.css"), include_str!("../../assets/report.css")];
const CHART_LICENSE: &str = include_str!("../../assets/uplot/LICENSE");
/// In the order in which they use each other.
const SCRIPTS: [&str; 9] = [
    include_str!("../../assets/uplot/uPlot.iife.min.js"),
    include_str!("../../assets/report/base.js"),
    include_str!("../../assets/report/table.js"),
    include_str!("../../assets/report/histogram.js"),
    include_str!("../../assets/report/causes.js"),
    include_str!("../../assets/report/detail.js"),
    include_str!("../../assets/report/paths.js"),
    include_str!("../../assets/report/system.js"),
    include_str!("../../assets/report/main.js"),
];

/// What to put into the page, where there is a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How many slow paths are embedded with their causes: the slowest one of every path
    /// first, then the slowest of all. The page says how many there were.
    pub max_slow: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_slow: 400 }
    }
}

/// Write the page. Fails only where `w` does.
pub fn write<W: Write + ?Sized>(
    w: &mut W,
    meta: &Meta,
    summary: &Summary,
    options: Options,
) -> io::Result<()> {
    let page = data::Page::new(meta, summary, options.max_slow);
    let mut pieces = FRAME.split("{{");
    w.write_all(pieces.next().unwrap_or_default().as_bytes())?;
    for piece in pieces {
        let (marker, rest) = piece.split_once("}}").unwrap_or(("", piece));
        match marker {
            "style" => write_all(w, &STYLE)?,
            "chart_license" => write_all(w, &[CHART_LICENSE])?,
            "data" => json::write(w, &page)?,
            "scripts" => {
                for script in SCRIPTS {
                    write_all(w, &["<script>\n", script, "</script>\n"])?;
                }
            }
            other => unreachable!("assets/report.html has an unknown marker '{other}'"),
        }
        w.write_all(rest.as_bytes())?;
    }
    w.flush()
}

fn write_all<W: Write + ?Sized>(w: &mut W, texts: &[&str]) -> io::Result<()> {
    texts.iter().try_for_each(|text| w.write_all(text.as_bytes()))
}
