// SPDX-License-Identifier: GPL-2.0-or-later
//! The order and the names of the series of a result.
//!
//! A name says the mechanism and only what differs within the result, so that it is as short as
//! it can be and two results of the same benchmarks have the same names.

use std::collections::HashMap;

use irqpath_model::bench::BenchSeries;

type Part = fn(&BenchSeries) -> String;

/// What may tell one series from another, and its words.
const PARTS: [Part; 6] = [
    |s| s.set.clone(),
    |s| s.config.wait.to_string(),
    |s| s.config.nr_load.map_or_else(String::new, |n| format!("load {n}")),
    |s| s.config.rate_label(),
    |s| s.config.trigger.clone(),
    |s| s.config.cpu.map_or_else(String::new, |cpu| format!("CPU {cpu}")),
];

/// How it was looked at: said only where a mechanism was looked at in several ways.
const LOOKS: [Part; 2] = [
    |s| if s.causes.is_empty() { String::new() } else { "traced".to_owned() },
    |s| s.clock.to_string(),
];

/// Sort series as tables list them, and name each.
pub fn sort_and_label(mut series: Vec<BenchSeries>) -> Vec<BenchSeries> {
    series.sort_by(|a, b| {
        let key = |s: &BenchSeries| (s.config.wait, s.config.mechanism, s.config.nr_load);
        let rest = |s: &BenchSeries| (s.config.delay_us, s.clock);
        a.set.cmp(&b.set).then(key(a).cmp(&key(b))).then(rest(a).cmp(&rest(b)))
    });
    let differs = |part: &Part, all: &[&BenchSeries]| {
        all.windows(2).any(|pair| part(pair[0]) != part(pair[1]))
    };
    let all: Vec<&BenchSeries> = series.iter().collect();
    let conditions: Vec<Part> = PARTS.into_iter().filter(|part| differs(part, &all)).collect();
    let label = |one: &BenchSeries| {
        let mechanism = one.config.mechanism;
        let same: Vec<_> =
            all.iter().copied().filter(|s| s.config.mechanism == mechanism).collect();
        let looks = LOOKS.iter().filter(|part| differs(part, &same));
        let words = conditions.iter().chain(looks).map(|part| part(one));
        let words = words.filter(|word| !word.is_empty());
        std::iter::once(mechanism.to_string()).chain(words).collect::<Vec<_>>().join(", ")
    };
    let labels: Vec<String> = series.iter().map(label).collect();
    let mut seen: HashMap<&str, u32> = HashMap::new();
    for (one, label) in series.iter_mut().zip(&labels) {
        let nr = seen.entry(label).or_default();
        *nr += 1;
        one.label = if *nr == 1 { label.clone() } else { format!("{label}, again {nr}") };
    }
    series
}

/// The next number of the steps 1, 1.5, 2, 3, 5, 7, 10: where an axis may end.
pub fn rounded_up(ns: u64) -> u64 {
    let mut decade = 10u64;
    loop {
        for tenths in [10, 15, 20, 30, 50, 70] {
            let step = decade.saturating_mul(tenths) / 10;
            if step >= ns || step == u64::MAX / 10 {
                return step;
            }
        }
        decade = decade.saturating_mul(10);
    }
}
