// SPDX-License-Identifier: GPL-2.0-or-later
//! The order and the names of the series of a result.
//!
//! A name says the mechanism and only what differs within the result, so that it is as short as
//! it can be and two results of the same benchmarks have the same names.

use std::collections::HashMap;

use irqpath_model::bench::BenchSeries;

/// What may tell one series from another, and its words.
const PARTS: [fn(&BenchSeries) -> String; 8] = [
    |s| s.set.clone(),
    |s| s.config.wait.to_string(),
    |s| s.config.nr_load.map_or_else(String::new, |n| format!("load {n}")),
    |s| s.config.rate_label(),
    |s| s.config.trigger.clone(),
    |s| if s.causes.is_empty() { String::new() } else { "traced".to_owned() },
    |s| s.config.cpu.map_or_else(String::new, |cpu| format!("CPU {cpu}")),
    |s| s.clock.to_string(),
];

/// Sort series as tables list them, and name each.
pub fn finish(mut series: Vec<BenchSeries>) -> Vec<BenchSeries> {
    series.sort_by(|a, b| {
        let key = |s: &BenchSeries| (s.config.wait, s.config.mechanism, s.config.nr_load);
        let rest = |s: &BenchSeries| (s.config.delay_us, s.clock);
        a.set.cmp(&b.set).then(key(a).cmp(&key(b))).then(rest(a).cmp(&rest(b)))
    });
    let differs = |part: &fn(&BenchSeries) -> String| {
        series.windows(2).any(|pair| part(&pair[0]) != part(&pair[1]))
    };
    let parts: Vec<_> = PARTS.into_iter().filter(|part| differs(part)).collect();
    let mut seen: HashMap<String, u32> = HashMap::new();
    for one in &mut series {
        let words = parts.iter().map(|part| part(one)).filter(|word| !word.is_empty());
        let label = std::iter::once(one.config.mechanism.to_string()).chain(words);
        let label = label.collect::<Vec<_>>().join(", ");
        let nr = seen.entry(label.clone()).or_default();
        *nr += 1;
        one.label = if *nr == 1 { label } else { format!("{label}, again {nr}") };
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
