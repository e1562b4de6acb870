// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads a directory of intsight, live or copied, into a [`BenchCapture`].

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use irqpath_model::bench::{BenchCapture, BenchOverflow, Clock, ClockRate, RateSource};

use super::csv::Room;
use super::{IntsightError, csv, params};

/// Rates that the maker of a capture knew: lines of a clock's name and its ticks per second.
pub const RATES_FILE: &str = "clock_rates";

/// Read what one benchmark left in intsight's directory, or in a copy of it.
///
/// Every clock is read, unless `only` names those that are wanted and recorded. The counts of
/// interrupts are not in there: `before` and `after` of the result are for the caller to fill.
pub fn read_raw(
    directory: &Path,
    only: &[Clock],
    mut room: Room,
) -> Result<BenchCapture, IntsightError> {
    let config = params::read(directory)?;
    let results = directory.join("csv_results");
    let mut runs = csv::read_names(&results.join("name"), &mut room)?;
    for clock in list_clocks(&results)? {
        if only.is_empty() || only.contains(&clock) {
            csv::read_clock(&results.join(clock.name()), clock, &mut runs, &mut room)?;
        }
    }
    Ok(BenchCapture {
        config,
        runs,
        rates: read_rates(directory)?,
        overflow: read_overflow(directory)?,
        checkpoint_cost_ticks: params::read_number(directory, "checkpoint_cost")?,
        before: None,
        after: None,
    })
}

/// The clocks that have a file, the finest first.
pub(super) fn list_clocks(results: &Path) -> Result<Vec<Clock>, IntsightError> {
    let unreadable = |source| IntsightError::Read { path: results.to_owned(), source };
    let mut clocks = Vec::new();
    for entry in fs::read_dir(results).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let name = name.to_string_lossy();
        if name == "name" || name.starts_with('.') {
            continue;
        }
        let clock = name.parse::<Clock>();
        clocks.push(clock.map_err(|e| IntsightError::from_word(results.join(&*name), &e))?);
    }
    clocks.sort_unstable();
    Ok(clocks)
}

fn read_rates(directory: &Path) -> Result<BTreeMap<Clock, ClockRate>, IntsightError> {
    let mut rates = BTreeMap::new();
    let Some(text) = params::read_text(directory, RATES_FILE)? else { return Ok(rates) };
    for (at, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let rate = line.split_once(' ').and_then(|(clock, hz)| {
            let hz = hz.trim().parse().ok().filter(|&hz: &u64| hz > 0)?;
            Some((clock.parse().ok()?, ClockRate { hz, source: RateSource::Given }))
        });
        let (clock, rate) = rate.ok_or_else(|| IntsightError::Malformed {
            path: directory.join(RATES_FILE),
            line: at + 1,
            reason: "not a clock and its ticks per second".to_owned(),
        })?;
        rates.insert(clock, rate);
    }
    Ok(rates)
}

/// Runs, then checkpoints; words around the numbers are for people.
fn read_overflow(directory: &Path) -> Result<Option<BenchOverflow>, IntsightError> {
    let file = "overflows";
    let Some(text) = params::read_text(directory, file)? else { return Ok(None) };
    let mut numbers = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|word| !word.is_empty())
        .map(str::parse::<u64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(nr_runs)), Some(Ok(nr_checkpoints))) => {
            Ok(Some(BenchOverflow { nr_runs, nr_checkpoints }))
        }
        _ => Err(IntsightError::Malformed {
            path: directory.join(file),
            line: 1,
            reason: "not a number of runs and one of checkpoints".to_owned(),
        }),
    }
}
