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

/// Figures of loops: `own`, what each executes itself, which is the least in user space that one of
/// them had; and of those under load, what kept them waiting: `q50`, and `jitter`, the most (document
/// 002, section 5.1, where the ideal is a loop's own time), in instructions and as `jitter_percent`
/// of `own`. `text` has a line for each loop, its length and how much of that was in user space;
/// `series` are the metrics that the job left.
///
/// # Errors
/// What is missing, for a person.
pub fn compute_loop_metrics(
    text: &str,
    series: &BTreeMap<String, f64>,
) -> Result<BTreeMap<String, f64>, String> {
    let loops = text.lines().map(parse_loop).collect::<Result<Vec<_>, _>>()?;
    let unloaded = series.get(UNLOADED).ok_or_else(|| format!("the job left no {UNLOADED}"))?;
    let unloaded = *unloaded as usize;
    if unloaded == 0 || loops.len() <= unloaded {
        return Err(format!("{} loops, {unloaded} of them without load", loops.len()));
    }
    let own = loops.iter().map(|(_, user)| *user).min().unwrap_or_default();
    let mut others: Vec<u64> = loops[unloaded..].iter().map(|(all, _)| all - own).collect();
    others.sort_unstable();
    let jitter = others.last().copied().unwrap_or_default() as f64;
    let figures = [
        ("n", others.len() as f64),
        ("own", own as f64),
        ("q50", others[others.len() / 2] as f64),
        ("jitter", jitter),
        ("jitter_percent", jitter * 100.0 / own as f64),
    ];
    Ok(figures.map(|(name, value)| (name.to_owned(), value)).into())
}

/// A loop's length, and how much of it was in user space.
fn parse_loop(line: &str) -> Result<(u64, u64), String> {
    let parts = line.split_once(' ').map(|(all, user)| (all.parse(), user.parse()));
    match parts {
        Some((Ok(all), Ok(user))) if user <= all => Ok((all, user)),
        _ => Err(format!("{line:?} is not a length and its part in user space")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics_of(text: &str, unloaded: f64) -> Result<BTreeMap<String, f64>, String> {
        compute_loop_metrics(text, &BTreeMap::from([(UNLOADED.to_owned(), unloaded)]))
    }

    #[test]
    fn jitter_is_the_most_that_was_not_the_loops_own() {
        let figures = [
            ("n", 3.0),
            ("own", 1000.0),
            ("q50", 50.0),
            ("jitter", 100.0),
            ("jitter_percent", 10.0),
        ];
        let figures = figures.map(|(name, value)| (name.to_owned(), value));
        // What was without load says only what a loop's own is; other tasks are in user space, too.
        let text = "1900 1000\n1010 1000\n1100 1090\n1050 1000\n1020 1000\n";
        assert_eq!(metrics_of(text, 2.0), Ok(figures.into()));
    }

    #[test]
    fn what_is_missing_is_said() {
        let line = |text: &str| format!("{text:?} is not a length and its part in user space");
        let table = [
            (metrics_of("1 1\n2 1\n", 2.0), "2 loops, 2 of them without load".to_owned()),
            (metrics_of("1 1\n2 1\n", 0.0), "2 loops, 0 of them without load".to_owned()),
            (metrics_of("", 1.0), "0 loops, 1 of them without load".to_owned()),
            (metrics_of("x 1\n", 1.0), line("x 1")),
            (metrics_of("1\n", 1.0), line("1")),
            (metrics_of("1 2\n", 1.0), line("1 2")),
            (
                compute_loop_metrics("1 1\n2 1\n", &BTreeMap::new()),
                "the job left no unloaded".to_owned(),
            ),
        ];
        for (found, expected) in table {
            assert_eq!(found, Err(expected));
        }
    }
}
