// SPDX-License-Identifier: GPL-2.0-or-later
//! `report.html`: one file that works offline, made from `meta.json` and `summary.json`.
//!
//! The page is put together from the pieces in `assets/`: `report.html` is the frame with
//! `{{markers}}`, `report.css` the style, `report/*.js` the script, `uplot/` the chart library.
//! A result of benchmarks has its own frame and script, `bench.html` and `bench/*.js`, and so have
//! tests of response and determinism; their figures are SVG. `data`, `bench` and `determinism`
//! reduce the result to what a page shows, `verdict` says it in sentences, `json` embeds it. The
//! rule to know: whatever was measured reaches the page as JSON only and is inserted as text only;
//! a task may call itself `</script>`.

mod bench;
mod buckets;
mod cdf;
mod data;
mod determinism;
mod json;
mod reproduction;
mod slow;
mod verdict;

pub use cdf::{Curve, cdf};
pub use reproduction::{Picture, write_reproduction};

use std::io::{self, Write};

use irqpath_model::{Measured, Meta, Summary};

const STYLES: [&str; 2] =
    [include_str!("../../assets/uplot/uPlot.min.css"), include_str!("../../assets/report.css")];
const CHART_LICENSE: &str = include_str!("../../assets/uplot/LICENSE");
/// The page of paths; scripts in the order in which they use each other.
const PATHS: Pieces = Pieces {
    frame: include_str!("../../assets/report.html"),
    styles: &STYLES,
    scripts: &[
        include_str!("../../assets/uplot/uPlot.iife.min.js"),
        include_str!("../../assets/report/base.js"),
        include_str!("../../assets/report/table.js"),
        include_str!("../../assets/report/histogram.js"),
        include_str!("../../assets/report/causes.js"),
        include_str!("../../assets/report/detail.js"),
        include_str!("../../assets/report/paths.js"),
        include_str!("../../assets/report/facts.js"),
        include_str!("../../assets/report/system.js"),
        include_str!("../../assets/report/main.js"),
    ],
};
/// The page of benchmarks.
const BENCH: Pieces = Pieces {
    frame: include_str!("../../assets/bench.html"),
    styles: &[include_str!("../../assets/report.css"), include_str!("../../assets/bench.css")],
    scripts: &[
        include_str!("../../assets/report/base.js"),
        include_str!("../../assets/report/table.js"),
        include_str!("../../assets/report/facts.js"),
        include_str!("../../assets/bench/numbers.js"),
        include_str!("../../assets/bench/facet.js"),
        include_str!("../../assets/bench/grid.js"),
        include_str!("../../assets/bench/latency.js"),
        include_str!("../../assets/bench/causes.js"),
        include_str!("../../assets/bench/clocks.js"),
        include_str!("../../assets/bench/main.js"),
    ],
};

/// The page of response and determinism tests.
const DETERMINISM: Pieces = Pieces {
    frame: include_str!("../../assets/determinism.html"),
    styles: &[include_str!("../../assets/report.css"), include_str!("../../assets/bench.css")],
    scripts: &[
        include_str!("../../assets/report/base.js"),
        include_str!("../../assets/report/facts.js"),
        include_str!("../../assets/determinism/figure.js"),
        include_str!("../../assets/determinism/main.js"),
    ],
};

/// What a page is put together from.
struct Pieces {
    frame: &'static str,
    styles: &'static [&'static str],
    scripts: &'static [&'static str],
}

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

/// Write the page of what was measured. Fails only where `w` does.
pub fn write<W: Write + ?Sized>(
    w: &mut W,
    meta: &Meta,
    summary: &Summary,
    options: Options,
) -> io::Result<()> {
    match summary.measured {
        Measured::Paths(_) => {
            assemble(w, &PATHS, &data::Page::new(meta, summary, options.max_slow))
        }
        Measured::Bench { .. } => assemble(w, &BENCH, &bench::Page::new(meta, summary)),
        Measured::Response { .. } | Measured::Jitter { .. } => {
            assemble(w, &DETERMINISM, &determinism::Page::new(meta, summary))
        }
    }
}

fn assemble<W: Write + ?Sized, T: serde::Serialize>(
    w: &mut W,
    pieces: &Pieces,
    page: &T,
) -> io::Result<()> {
    let mut parts = pieces.frame.split("{{");
    w.write_all(parts.next().unwrap_or_default().as_bytes())?;
    for part in parts {
        let (marker, rest) = part.split_once("}}").unwrap_or(("", part));
        match marker {
            "style" => write_all(w, pieces.styles)?,
            "chart_license" => write_all(w, &[CHART_LICENSE])?,
            "data" => json::write(w, page)?,
            "scripts" => {
                for script in pieces.scripts {
                    write_all(w, &["<script>\n", script, "</script>\n"])?;
                }
            }
            other => unreachable!("a page of assets/ has an unknown marker '{other}'"),
        }
        w.write_all(rest.as_bytes())?;
    }
    w.flush()
}

fn write_all<W: Write + ?Sized>(w: &mut W, texts: &[&str]) -> io::Result<()> {
    texts.iter().try_for_each(|text| w.write_all(text.as_bytes()))
}
