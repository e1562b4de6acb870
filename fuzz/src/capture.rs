// SPDX-License-Identifier: GPL-2.0-or-later
//! Copies of intsight's directory, as `bench --raw` reads them. A section is a file: the first
//! line is its name.

use irqpath_analysis::bench::{Options, analyse_series, sort_and_label};
use irqpath_model::{Measured, Meta, Summary};
use irqpath_source::intsight::{Room, read_raw};
use irqpath_system::Host;

use crate::scratch::Scratch;
use crate::{output, sections};

/// Read one, analyse it by every clock, and show that.
pub fn run(data: &[u8]) -> bool {
    let scratch = Scratch::new();
    for section in sections(data) {
        let end = section.iter().position(|&byte| byte == b'\n').unwrap_or(section.len());
        let (name, content) = section.split_at(end);
        if let Ok(name) = std::str::from_utf8(name) {
            scratch.put(name, content.get(1..).unwrap_or_default());
        }
    }
    let Ok(mut capture) = read_raw(scratch.path(), &[], Room::OTHERS) else { return false };
    capture.before = Host::new(scratch.path().join("before")).interrupt_counts().ok();
    capture.after = Host::new(scratch.path().join("after")).interrupt_counts().ok();
    let options = Options { is_exact: false, set: String::new() };
    let clocks: Vec<_> = capture.runs.clocks().collect();
    let series =
        clocks.into_iter().filter_map(|clock| analyse_series(&capture, clock, &options).ok());
    let bench = sort_and_label(series.collect());
    let is_taken = !bench.is_empty();
    let summary = Summary::from_measured(Measured::Bench { bench });
    output::show(&Meta::default(), &summary);
    is_taken
}
