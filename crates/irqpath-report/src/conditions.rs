// SPDX-License-Identifier: GPL-2.0-or-later
//! What the terminal and the page both say about tests of response and determinism, computed and
//! put into words once. Neighbours: `text/response.rs`, `text/jitter.rs`, `html/determinism.rs`;
//! whatever came from outside is not cleaned here.

use irqpath_model::{Bucket, IdealSource, Interruptions, Response};

/// What all of these have in common: `us, from the programmed expiry; hrtimer, 2048 Hz`.
pub(crate) fn of_responses(all: &[Response]) -> String {
    all.first().map_or_else(String::new, |first| {
        let hz = 1e9 / first.period_ns.max(1) as f64;
        format!("us, {}; {}, {hz:.0} Hz", first.basis.describe_source(), first.origin)
    })
}

/// Where the ideal time of a loop comes from.
pub(crate) const fn of_ideal(from: IdealSource) -> &'static str {
    match from {
        IdealSource::Given => "as given",
        IdealSource::Best => "the shortest loop of this run",
    }
}

/// Interruptions per second of the test; 0 if it took no time.
pub(crate) fn per_second(all: &Interruptions) -> f64 {
    if all.lasted_ns == 0 {
        return 0.0;
    }
    all.quantiles.n as f64 * 1e9 / all.lasted_ns as f64
}

/// The documents' table: each bound from the first that has something below it, with how many took
/// less than that.
pub(crate) fn cumulative_buckets(table: &[Bucket]) -> impl Iterator<Item = (&Bucket, u64)> {
    let sums = table.iter().scan(0, |sum, bucket| {
        *sum += bucket.n;
        Some((bucket, *sum))
    });
    sums.filter(|(_, sum)| *sum > 0)
}

/// Milliseconds without needless zeros.
pub(crate) fn format_ms(ns: u64) -> String {
    let text = format!("{:.4}", ns as f64 / 1e6);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_short() {
        assert_eq!(
            [20_000, 100_000, 1_000_000, 565_000].map(format_ms),
            ["0.02", "0.1", "1", "0.565"]
        );
    }

    #[test]
    fn the_table_begins_where_something_is() {
        let bucket = |low_ns, n| Bucket { low_ns, high_ns: Some(low_ns + 10), n };
        let table = [bucket(0, 0), bucket(10, 3), bucket(20, 0), bucket(30, 1)];
        let found: Vec<_> =
            cumulative_buckets(&table).map(|(bucket, sum)| (bucket.low_ns, sum)).collect();
        assert_eq!(found, [(10, 3), (20, 3), (30, 4)]);
    }
}
