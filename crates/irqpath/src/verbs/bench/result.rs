// SPDX-License-Identifier: GPL-2.0-or-later
//! From raw directories to a summary.

use std::path::Path;

use anyhow::anyhow;
use irqpath_analysis::bench::{Options, analyse_series, sort_and_label};
use irqpath_model::bench::{BenchCapture, BenchSeries, Clock};
use irqpath_model::{Measured, Summary};
use irqpath_source::intsight::{Room, read_raw};
use irqpath_system::Host;

use super::args::AllOr;

/// Analyse every directory by every clock.
pub fn summarize_directories(
    directories: &[impl AsRef<Path>],
    clocks: &[AllOr<Clock>],
    is_exact: bool,
    room: Room,
) -> anyhow::Result<Summary> {
    let mut bench = Vec::new();
    for directory in directories {
        bench.extend(read_series(directory.as_ref(), clocks, is_exact, room)?);
    }
    Ok(Summary::from_measured(Measured::Bench { bench: sort_and_label(bench) }))
}

fn read_series(
    directory: &Path,
    clocks: &[AllOr<Clock>],
    is_exact: bool,
    room: Room,
) -> anyhow::Result<Vec<BenchSeries>> {
    // Every clock is read: those that are not asked for may tell the rate of one that is.
    let mut capture = read_raw(directory, &[], room)?;
    capture.before = Host::new(directory.join("before")).interrupt_counts().ok();
    capture.after = Host::new(directory.join("after")).interrupt_counts().ok();
    let options = Options { is_exact, set: String::new() };
    let wanted = wanted_clocks(&capture, clocks);
    if wanted.is_empty() {
        return Err(anyhow!("{}/csv_results has no clock; copy it again", directory.display()));
    }
    wanted
        .into_iter()
        .map(|clock| {
            analyse_series(&capture, clock, &options)
                .map_err(|e| anyhow!("{}: {e}", directory.display()))
        })
        .collect()
}

fn wanted_clocks(capture: &BenchCapture, clocks: &[AllOr<Clock>]) -> Vec<Clock> {
    let mut recorded = capture.runs.clocks();
    let mut wanted: Vec<Clock> = match clocks {
        [] => return recorded.next().into_iter().collect(),
        _ if clocks.contains(&AllOr::All) => recorded.collect(),
        _ => clocks
            .iter()
            .filter_map(|clock| if let AllOr::One(clock) = clock { Some(*clock) } else { None })
            .collect(),
    };
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}
