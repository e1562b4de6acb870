// SPDX-License-Identifier: GPL-2.0-or-later
//! `report.html`: one file that works offline, made from `meta.json` and `summary.json`.
//!
//! The page is put together from the pieces in `assets/`: `report.html` is the body, `report.css`
//! the style, `report/*.js` the script, `uplot/` the chart library; `document` is around them.
//! A result of benchmarks has its own body and script, `bench.html` and `bench/*.js`, and so have
//! tests of response and determinism; their figures are SVG. `data`, `bench` and `determinism`
//! reduce the result to what a page shows, `verdict` says it in sentences, `json` embeds it. The
//! rule to know: whatever was measured reaches the page as JSON only and is inserted as text only;
//! a task may call itself `</script>`.

mod bench;
mod buckets;
mod cdf;
mod data;
mod determinism;
mod document;
mod json;
mod reproduction;
mod slow;
mod verdict;

pub use cdf::{Curve, draw_cdf};
pub(crate) use document::escape_markup;
pub use reproduction::{Picture, write_reproduction};

use std::io::{self, Write};

use document::{pre_escaped, render_document};
use irqpath_model::{Measured, Meta, Summary};
use maud::html;

const STYLES: [&str; 2] =
    [include_str!("../../assets/uplot/uPlot.min.css"), include_str!("../../assets/report.css")];
/// The page of paths; scripts in the order in which they use each other.
const PATHS: Pieces = Pieces {
    title: "irqpath report",
    body: concat!(
        include_str!("../../assets/report.html"),
        "<!-- Charts: uPlot.\n",
        include_str!("../../assets/uplot/LICENSE"),
        "-->\n"
    ),
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
    title: "irqpath bench",
    body: include_str!("../../assets/bench.html"),
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
    title: "irqpath",
    body: include_str!("../../assets/determinism.html"),
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
    title: &'static str,
    body: &'static str,
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
    let (pieces, data) = match summary.measured {
        Measured::Paths(_) => {
            (&PATHS, json::script_text(&data::Page::new(meta, summary, options.max_slow)))
        }
        Measured::Bench { .. } => (&BENCH, json::script_text(&bench::Page::new(meta, summary))),
        Measured::Response { .. } | Measured::Jitter { .. } => {
            (&DETERMINISM, json::script_text(&determinism::Page::new(meta, summary)))
        }
    };
    let body = html! {
        (pre_escaped(pieces.body))
        script type="application/json" id="data" { (pre_escaped(&data?)) }
        @for script in pieces.scripts { "\n" script { "\n" (pre_escaped(script)) } }
    };
    let page = render_document(pieces.title, "img-src data:", pieces.styles, &body);
    w.write_all(page.as_bytes())?;
    w.flush()
}
