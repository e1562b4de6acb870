// SPDX-License-Identifier: GPL-2.0-or-later
//! How evenly a virtual CPU computes, in instructions: what the lab's counter (`lab/plugin/count`)
//! left of loops that are always the same.
//!
//! Where several virtual CPUs run, time is the host's: a loop takes longer because the host was
//! busy. The instructions that its virtual CPU executed until the loop's end are not: they are the
//! loop's own, always as many, and those of this kernel and of other tasks, which kept it waiting.

use std::collections::BTreeMap;

/// The metric by which the job says how many of the first loops ran without load.
const UNLOADED: &str = "unloaded";

/// Figures of the loops' lengths, one a line in `text`: `ideal` (the shortest without load), `q50`,
/// `max`, `jitter` (the longest less the ideal; document 002, section 5.1), all in instructions,
/// and `jitter_percent` of the ideal. `series` are the metrics that the job left.
///
/// # Errors
/// What is missing, for a person.
pub fn metrics(
    text: &str,
    series: &BTreeMap<String, f64>,
) -> Result<BTreeMap<String, f64>, String> {
    let lengths = text.lines().map(str::parse::<u64>).collect::<Result<Vec<_>, _>>();
    let lengths = lengths.map_err(|error| format!("a line is not a length: {error}"))?;
    let unloaded = series.get(UNLOADED).ok_or_else(|| format!("the job left no {UNLOADED}"))?;
    let unloaded = *unloaded as usize;
    if unloaded == 0 || lengths.len() <= unloaded {
        return Err(format!("{} loops, {unloaded} of them without load", lengths.len()));
    }
    let (without, with) = lengths.split_at(unloaded);
    let mut with = with.to_vec();
    with.sort_unstable();
    let ideal = without.iter().min().copied().unwrap_or_default() as f64;
    let max = with.last().copied().unwrap_or_default() as f64;
    let figures = [
        ("n", with.len() as f64),
        ("ideal", ideal),
        ("q50", with[with.len() / 2] as f64),
        ("max", max),
        ("jitter", max - ideal),
        ("jitter_percent", (max - ideal) * 100.0 / ideal),
    ];
    Ok(figures.map(|(name, value)| (name.to_owned(), value)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, unloaded: f64) -> Result<BTreeMap<String, f64>, String> {
        metrics(text, &BTreeMap::from([(UNLOADED.to_owned(), unloaded)]))
    }

    #[test]
    fn jitter_is_from_the_shortest_without_load_to_the_longest_with_it() {
        let figures = [
            ("n", 3.0),
            ("ideal", 1000.0),
            ("q50", 1050.0),
            ("max", 1100.0),
            ("jitter", 100.0),
            ("jitter_percent", 10.0),
        ];
        let figures = figures.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(of("1010\n1000\n1900\n1100\n1050\n1020\n", 3.0), Ok(figures.into()));
    }

    #[test]
    fn what_is_missing_is_said() {
        let table = [
            (of("1\n2\n", 2.0), "2 loops, 2 of them without load"),
            (of("1\n2\n", 0.0), "2 loops, 0 of them without load"),
            (of("", 1.0), "0 loops, 1 of them without load"),
            (of("x\n", 1.0), "a line is not a length: invalid digit found in string"),
            (metrics("1\n2\n", &BTreeMap::new()), "the job left no unloaded"),
        ];
        for (found, expected) in table {
            assert_eq!(found, Err(expected.to_owned()));
        }
    }
}
