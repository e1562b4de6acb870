// SPDX-License-Identifier: GPL-2.0-or-later
//! Shows a result in every form that the commands have, to see that nothing fails on the way and
//! that no foreign control character comes out.

use std::io::{self, Write};

use irqpath_model::{Meta, Summary};
use irqpath_report::openmetrics::Exposed;
use irqpath_report::text::{
    Scale, TextOptions, write_bench, write_hist, write_jitter, write_once, write_response,
};
use irqpath_report::{html, json, openmetrics};

/// Refuses what would steer a terminal.
pub struct Printable;

impl Write for Printable {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Characters of one byte; longer ones may be cut in two here.
        let is_control = |&&byte: &&u8| byte != b'\n' && byte.is_ascii_control();
        let found = bytes.iter().find(is_control);
        assert!(found.is_none(), "{found:?} in {:?}", String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Show it in every form.
pub fn show(meta: &Meta, summary: &Summary) {
    let options = TextOptions { width: 80, ..TextOptions::default() };
    let scale = Scale::Linear { bucket_ns: 1000, max_rows: 50 };
    let (owned, names) = (summary.clone(), meta.names.clone());
    let exposed = Exposed { summary: owned, names, ..Exposed::default() };
    let shown = [
        write_once(Printable, meta, summary, &options),
        write_hist(Printable, meta, summary, scale, &options),
        write_bench(Printable, meta, summary, &options),
        write_response(Printable, meta, summary, &options),
        write_jitter(Printable, meta, summary, 20, &options),
        html::write(&mut Printable, meta, summary, html::Options::default()),
        openmetrics::write(Printable, exposed.into()),
        json::write_document(Printable, meta, summary),
    ];
    for result in shown {
        result.expect("nothing can fail but the writer");
    }
}
