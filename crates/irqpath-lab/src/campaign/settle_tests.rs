// SPDX-License-Identifier: GPL-2.0-or-later
//! A line of a table is a history: `0 a x` is the result x of worker a for unit 0.

use super::*;

fn keys(nr: usize) -> Vec<String> {
    // The last unit has the lowest identity.
    (0..nr).map(|unit| format!("{:02}", 99 - unit)).collect()
}

fn parse_runs(history: &str) -> Vec<Seen<'_>> {
    let run = |text| {
        let [unit, worker, digest] = <[&str; 3]>::try_from(
            str::split(text, ' ').filter(|word| !word.is_empty()).collect::<Vec<_>>(),
        )
        .unwrap();
        Seen { unit: unit.parse().unwrap(), worker, digest }
    };
    history.split(',').filter(|text| !text.trim().is_empty()).map(run).collect()
}

/// `first 0; verify 1 not a` and so on.
fn format_wanted(standing: &Standing) -> String {
    let format = |wanted: &Wanted| {
        let not: Vec<&str> = wanted.exclude.iter().map(String::as_str).collect();
        let not = if not.is_empty() { String::new() } else { format!(" not {}", not.join(" ")) };
        format!("{:?} {}{not}", wanted.why, wanted.unit).to_lowercase()
    };
    standing.wanted.iter().map(format).collect::<Vec<_>>().join("; ")
}

fn format_wrong(standing: &Standing) -> String {
    let format = |(worker, units): (&String, &BTreeSet<usize>)| {
        let units: Vec<String> = units.iter().map(ToString::to_string).collect();
        format!("{worker} by {}", units.join(" "))
    };
    standing.wrong.iter().map(format).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_history_of_two_units_says_what_is_wanted_and_who_is_wrong() {
    // Unit 1 is verified, as its identity is the lowest and half of the units shall be.
    let table = [
        ("", "first 0; first 1", ""),
        ("0 a x", "first 1", ""),
        ("0 a x, 1 a y", "verify 1 not a", ""),
        // Each worker has something compared.
        ("0 a x, 1 b y", "verify 0 not a; verify 1 not b", ""),
        ("0 a x, 1 b y, 1 a y", "", ""),
        ("0 a x, 1 b y, 1 c y", "verify 0 not a", ""),
        // Two differ: nobody is wrong yet, and neither result counts.
        ("0 a x, 1 a y, 1 b z", "dispute 1 not a b", ""),
        // The third decides, and what the wrong one did elsewhere runs again.
        ("0 a x, 1 a y, 1 b z, 1 c y", "", "b by 1"),
        ("0 b x, 1 a y, 1 b z, 1 c y", "first 0 not b", "b by 1"),
        ("0 a x, 1 a y, 1 b z, 1 c z", "first 0 not a", "a by 1"),
        // Three differ.
        ("0 a x, 1 a y, 1 b z, 1 c w", "dispute 1 not a b c", ""),
        ("0 a x, 1 a y, 1 b z, 1 c w, 1 d w", "first 0 not a b", "a by 1; b by 1"),
        // Who differs from itself is wrong without a third.
        ("0 a x, 1 a y, 1 b z, 1 b y", "verify 1 not a b", "b by 1"),
        ("0 b x, 1 a y, 1 b z, 1 b y", "first 0 not b; verify 1 not a b", "b by 1"),
        // The same worker twice is no second worker.
        ("0 a x, 1 a y, 1 a y", "verify 1 not a", ""),
        // Two are wrong, each on another unit; the one that is always with the majority is right.
        ("1 a y, 1 b z, 1 c y, 0 a x, 0 b w, 0 c w", "verify 1 not a b c", "a by 0; b by 1"),
        // What is not of the campaign counts for nothing.
        ("7 a x, 0 a x, 1 a y, 1 b y", "", ""),
    ];
    for (history, wanted, wrong) in table {
        let standing = settle(&keys(2), &parse_runs(history), 50);
        assert_eq!(format_wanted(&standing), wanted, "{history}");
        assert_eq!(format_wrong(&standing), wrong, "{history}");
    }
}

#[test]
fn two_workers_that_each_repeat_themselves_are_undecided_in_the_end() {
    let mut history = "0 a x, 0 b y".to_owned();
    for nr in 3..=MAX_DISPUTED {
        assert_eq!(settle(&keys(1), &parse_runs(&history), 0).wanted.len(), 1, "{history}");
        history.push_str(if nr % 2 == 0 { ", 0 b y" } else { ", 0 a x" });
    }
    let standing = settle(&keys(1), &parse_runs(&history), 0);
    assert!(standing.wanted.is_empty() && standing.settled.is_empty(), "{standing:?}");
    assert_eq!((standing.undecided.len(), standing.wrong.len()), (1, 0));
}

#[test]
fn the_share_is_rounded_up_and_none_is_none() {
    for (nr, percent, expected) in
        [(10, 0, 0), (10, 1, 1), (10, 10, 1), (11, 10, 2), (3, 100, 3), (0, 100, 0), (3, 255, 3)]
    {
        let chosen = choose_verified(&keys(nr), percent);
        assert_eq!(chosen.len(), expected, "{nr} {percent}");
        // The last ones: theirs are the lowest.
        assert!(chosen.into_iter().eq(nr - expected..nr));
    }
    let standing = settle(&keys(2), &parse_runs("0 a x, 1 b y"), 0);
    assert!(standing.wanted.is_empty() && standing.verified.is_empty());
}

#[test]
fn one_run_counts_for_each_unit_and_it_is_a_right_one() {
    let history = "0 b w, 0 a x, 1 a y, 1 b z, 1 c y, 0 c x, 0 a x";
    let runs = parse_runs(history);
    let standing = settle(&keys(2), &runs, 100);
    assert_eq!(standing.settled, [(0, 1), (1, 2)].into());
    assert_eq!(standing.verified, [0, 1].into());
    assert_eq!(format_wrong(&standing), "b by 0 1");
}

/// Whatever ran where, a campaign whose workers are right but for one ends, and counts no result of
/// that one once it was compared.
#[test]
fn a_campaign_with_one_wrong_worker_ends_with_every_right_result() {
    let workers = ["a", "b", "c", "d"];
    let keys = keys(20);
    for wrong in workers {
        let mut runs: Vec<(usize, &str)> = Vec::new();
        for round in 0.. {
            assert!(round < 10, "it does not end");
            let digest = |unit: usize, worker: &str| {
                format!("{unit}{}", if worker == wrong { " wrong" } else { "" })
            };
            let digests: Vec<String> = runs.iter().map(|(u, w)| digest(*u, w)).collect();
            let seen: Vec<Seen<'_>> = std::iter::zip(&runs, &digests)
                .map(|((unit, worker), digest)| Seen { unit: *unit, worker, digest })
                .collect();
            let standing = settle(&keys, &seen, 10);
            if standing.wanted.is_empty() {
                assert_eq!(standing.wrong.keys().collect::<Vec<_>>(), [wrong]);
                assert_eq!(standing.settled.len(), keys.len());
                for (unit, run) in standing.settled {
                    assert_eq!(seen[run].digest, unit.to_string());
                }
                break;
            }
            for wanted in standing.wanted {
                let free: Vec<_> =
                    workers.iter().filter(|w| !wanted.exclude.contains(**w)).collect();
                runs.push((wanted.unit, free[wanted.unit % free.len()]));
            }
        }
    }
}
