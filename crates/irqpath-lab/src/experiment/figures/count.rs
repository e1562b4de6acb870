// SPDX-License-Identifier: GPL-2.0-or-later
//! Loops and responses in instructions: what the lab's counter (`lab/plugin/count`) left of them.
//!
//! Where several virtual CPUs run, time is the host's: a loop takes longer because the host was
//! busy. The instructions that its virtual CPU executed until the loop's end are not: they are the
//! loop's own, always as many, and those of this kernel and of other tasks, which kept it waiting.

use std::collections::BTreeMap;

use crate::experiment::definition::Counted;

/// The metric by which the job says how many of the first loops ran without load.
const UNLOADED: &str = "unloaded";
/// The metric by which the job says how many of the first responses warmed up.
const WARMUP: &str = "warmup";
/// The metric by which the job says how many responses there were, those first ones with them.
const ASKED: &str = "asked";

/// An instance of the path, in instructions.
#[derive(Debug, Clone, Copy)]
struct Instance {
    /// Of the virtual CPU on which it ended.
    own: u64,
    /// Of these in user space.
    user: u64,
    /// Of all virtual CPUs meanwhile.
    together: u64,
}

/// Figures of what was counted. `text` has a line for each instance: its length, how much of that
/// was in user space, and what all virtual CPUs executed meanwhile; `series` are the metrics that
/// the job left.
///
/// # Errors
/// What is missing, for a person.
pub fn compute_counted_metrics(
    counted: Counted,
    text: &str,
    series: &BTreeMap<String, f64>,
) -> Result<BTreeMap<String, f64>, String> {
    let all = text.lines().map(parse_instance).collect::<Result<Vec<_>, _>>()?;
    let metric = |name: &str| {
        let value = series.get(name).ok_or_else(|| format!("the job left no {name}"));
        value.map(|value| *value as usize)
    };
    let figures = match counted {
        Counted::Loops => loop_metrics(&all, metric(UNLOADED)?)?,
        Counted::Responses => {
            let (warmup, asked) = (metric(WARMUP)?, metric(ASKED)?);
            // A raise that came before the last one was answered has no response of its own.
            let merged = asked.checked_sub(all.len()).filter(|merged| *merged <= asked / 10);
            let merged =
                merged.ok_or_else(|| format!("{} responses were counted of {asked}", all.len()))?;
            let mut figures = response_metrics(all.get(warmup..).unwrap_or_default())?;
            figures.push(("merged", merged as f64));
            figures
        }
    };
    Ok(figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Of loops: `own`, what each executes itself, which is the least in user space that one of them had;
/// and of those under load, what kept them waiting: `q50`, and `jitter`, the most (document 002,
/// section 5.1, where the ideal is a loop's own time), in instructions and as `jitter_percent` of
/// `own`.
fn loop_metrics(loops: &[Instance], unloaded: usize) -> Result<Vec<(&'static str, f64)>, String> {
    if unloaded == 0 || loops.len() <= unloaded {
        return Err(format!("{} loops, {unloaded} of them without load", loops.len()));
    }
    let own = loops.iter().map(|instance| instance.user).min().unwrap_or_default();
    let others = sorted(loops[unloaded..].iter().map(|instance| instance.own - own));
    let jitter = others.last().copied().unwrap_or_default() as f64;
    Ok(vec![
        ("n", others.len() as f64),
        ("own", own as f64),
        ("q50", others[others.len() / 2] as f64),
        ("jitter", jitter),
        ("jitter_percent", jitter * 100.0 / own as f64),
    ])
}

/// Of responses, each from the earliest raise that was not answered: quantiles of the length, and
/// `max`. `max_together` is the most that all virtual CPUs executed during one response, which is more
/// than its length where it waited for its turn.
fn response_metrics(responses: &[Instance]) -> Result<Vec<(&'static str, f64)>, String> {
    if responses.is_empty() {
        return Err("no response was counted".to_owned());
    }
    let lengths = sorted(responses.iter().map(|instance| instance.own));
    let together = responses.iter().map(|instance| instance.together).max().unwrap_or_default();
    let at = |permille: usize| lengths[(lengths.len() - 1) * permille / 1000] as f64;
    Ok(vec![
        ("n", lengths.len() as f64),
        ("min", at(0)),
        ("q50", at(500)),
        ("q95", at(950)),
        ("q99", at(990)),
        ("q999", at(999)),
        ("max", at(1000)),
        ("max_together", together as f64),
    ])
}

fn sorted(lengths: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut lengths: Vec<_> = lengths.collect();
    lengths.sort_unstable();
    lengths
}

fn parse_instance(line: &str) -> Result<Instance, String> {
    let numbers: Vec<_> = line.split(' ').map(|number| number.parse().ok()).collect();
    match numbers[..] {
        [Some(own), Some(user), Some(together)] if user <= own => {
            Ok(Instance { own, user, together })
        }
        _ => Err(format!("{line:?} is not a length, its part in user space, and that of all CPUs")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics_of(
        counted: Counted,
        text: &str,
        series: &[(&str, f64)],
    ) -> Result<BTreeMap<String, f64>, String> {
        let series = series.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        compute_counted_metrics(counted, text, &series)
    }

    fn named<const N: usize>(figures: [(&str, f64); N]) -> BTreeMap<String, f64> {
        figures.map(|(name, value)| (name.to_owned(), value)).into()
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
        // What was without load says only what a loop's own is; other tasks are in user space, too.
        let text =
            "1900 1000 1900\n1010 1000 1010\n1100 1090 1100\n1050 1000 1050\n1020 1000 1020\n";
        assert_eq!(metrics_of(Counted::Loops, text, &[("unloaded", 2.0)]), Ok(named(figures)));
    }

    #[test]
    fn the_slowest_response_is_that_of_its_own_cpu() {
        let figures = [
            ("n", 4.0),
            ("min", 10.0),
            ("q50", 11.0),
            ("q95", 12.0),
            ("q99", 12.0),
            ("q999", 12.0),
            ("max", 40.0),
            ("max_together", 90.0),
            ("merged", 0.0),
        ];
        // The first one warmed up.
        let text = "500 0 999\n11 1 11\n12 1 90\n40 1 41\n10 1 10\n";
        let series = [("warmup", 1.0), ("asked", 5.0)];
        assert_eq!(metrics_of(Counted::Responses, text, &series), Ok(named(figures)));
    }

    #[test]
    fn raises_that_met_are_one_response() {
        let text = "10 1 10\n".repeat(95);
        let metrics =
            metrics_of(Counted::Responses, &text, &[("warmup", 0.0), ("asked", 100.0)]).unwrap();
        assert_eq!((metrics["n"], metrics["merged"]), (95.0, 5.0));
    }

    #[test]
    fn what_is_missing_is_said() {
        use Counted::{Loops, Responses};
        let line = |text: &str| {
            format!("{text:?} is not a length, its part in user space, and that of all CPUs")
        };
        let two = "1 1 1\n2 1 2\n";
        let unloaded = |n: f64| vec![("unloaded", n)];
        let table = [
            (Loops, two, unloaded(2.0), "2 loops, 2 of them without load".to_owned()),
            (Loops, two, unloaded(0.0), "2 loops, 0 of them without load".to_owned()),
            (Loops, "", unloaded(1.0), "0 loops, 1 of them without load".to_owned()),
            (Loops, "x 1 1\n", unloaded(1.0), line("x 1 1")),
            (Loops, "1 1\n", unloaded(1.0), line("1 1")),
            (Loops, "1 2 3\n", unloaded(1.0), line("1 2 3")),
            (Loops, two, vec![], "the job left no unloaded".to_owned()),
            (
                Responses,
                two,
                vec![("warmup", 1.0), ("asked", 3.0)],
                "2 responses were counted of 3".to_owned(),
            ),
            (
                Responses,
                two,
                vec![("warmup", 2.0), ("asked", 2.0)],
                "no response was counted".to_owned(),
            ),
        ];
        for (counted, text, series, expected) in table {
            assert_eq!(metrics_of(counted, text, &series), Err(expected));
        }
    }
}
