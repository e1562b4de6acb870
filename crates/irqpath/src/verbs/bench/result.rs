// SPDX-License-Identifier: GPL-2.0-or-later
//! From raw directories to a summary.

use std::path::Path;

use anyhow::anyhow;
use irqpath_analysis::bench::{Options, analyse, finish};
use irqpath_model::bench::{BenchCapture, BenchSeries, Clock};
use irqpath_model::{Measured, Summary};
use irqpath_source::intsight::{Room, read_raw};
use irqpath_system::Host;

use super::args::AllOr;

/// Analyse every directory by every clock.
pub fn summary(
    directories: &[impl AsRef<Path>],
    clocks: &[AllOr<Clock>],
    is_exact: bool,
    room: Room,
) -> anyhow::Result<Summary> {
    let mut bench = Vec::new();
    for directory in directories {
        bench.extend(series(directory.as_ref(), clocks, is_exact, room)?);
    }
    Ok(Summary::of(Measured::Bench { bench: finish(bench) }))
}

fn series(
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
    let wanted = wanted(&capture, clocks);
    if wanted.is_empty() {
        return Err(anyhow!("{}/csv_results has no clock; copy it again", directory.display()));
    }
    wanted
        .into_iter()
        .map(|clock| {
            analyse(&capture, clock, &options).map_err(|e| anyhow!("{}: {e}", directory.display()))
        })
        .collect()
}

fn wanted(capture: &BenchCapture, clocks: &[AllOr<Clock>]) -> Vec<Clock> {
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
