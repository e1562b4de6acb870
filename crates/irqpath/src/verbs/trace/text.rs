// SPDX-License-Identifier: GPL-2.0-or-later
//! The tables and histograms that `once` and `hist` print.

use std::io::{self, Write};

use irqpath_model::{Meta, Summary};
use irqpath_report::text::{Scale, TextOptions, write_hist, write_once};

use super::args::{Hist, View};
use crate::output::export::text_options;

/// Rows of a histogram with a given size of bucket, as rtla has them.
const RTLA_ROWS: usize = 256;

/// What the view prints at the end; `top` has shown everything already.
pub fn write_view(
    w: &mut dyn Write,
    view: View,
    hist: &Hist,
    meta: &Meta,
    summary: &Summary,
) -> io::Result<()> {
    let options = text_options();
    match view {
        View::Top => return Ok(()),
        View::Once => return write_once(w, meta, summary, &options),
        View::Hist => {}
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
