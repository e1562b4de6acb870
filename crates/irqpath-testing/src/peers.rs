// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs that measure what irqpath measures, too: how to run them, and what their outputs say.

/// Time between two wakeups of cyclictest and of `irqpath respond` beside it, us.
pub const INTERVAL_US: u32 = 500;

/// Longest time that cyclictest's histogram holds, ns.
const MOST_NS: u32 = 2_000_000;

/// cyclictest as the test runs it: one FIFO 80 task with locked memory, a histogram in ns, and
/// power management left alone, as by `irqpath respond`.
pub fn cyclictest(cpu: &str, seconds: u32) -> String {
    format!(
        "cyclictest --default-system -q -m -p 80 -t 1 -a {cpu} -i {INTERVAL_US} -D {seconds} -N \
         -h {MOST_NS}"
    )
}

/// The median of cyclictest's histogram, ns.
pub fn cyclictest_median(output: &str) -> u64 {
    let row = |line: &str| -> Option<(u64, u64)> {
        let (ns, n) = line.split_once(' ')?;
        Some((ns.parse().ok()?, n.trim().parse().ok()?))
    };
    let rows: Vec<(u64, u64)> =
        output.lines().filter(|line| !line.starts_with('#')).filter_map(row).collect();
    let total: u64 = rows.iter().map(|(_, n)| n).sum();
    assert!(total > 0, "no histogram in:\n{output}");
    let mut seen = 0;
    let middle = rows.iter().find(|(_, n)| {
        seen += n;
        2 * seen >= total
    });
    middle.unwrap().0
}

/// How many of oslat's times took `us` and more.
pub fn oslat_over(output: &str, us: u64) -> u64 {
    let row = |line: &str| -> Option<(u64, u64)> {
        let (bucket, n) = line.split_once("(us):")?;
        let n = n.split_whitespace().next()?;
        Some((bucket.trim().parse().ok()?, n.parse().ok()?))
    };
    let rows = output.lines().filter_map(row);
    rows.filter(|(bucket, _)| *bucket >= us).map(|(_, n)| n).sum()
}

/// Interruptions that sysjitter found on its one CPU.
pub fn sysjitter_count(output: &str) -> u64 {
    let counts = output.lines().filter_map(|line| line.strip_prefix("int_n:"));
    counts.filter_map(|n| n.trim().parse::<u64>().ok()).sum()
}

/// The value in the middle.
pub fn median(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    all[all.len() / 2]
}

#[test]
fn medians_and_tails_are_read() {
    let cyclictest = "# Histogram\n000007 000001\n000010 000003\n000020 000002\n# Total: 6\n";
    assert_eq!(cyclictest_median(cyclictest), 10);
    let oslat = "    009 (us):\t 5\n    010 (us):\t 7\n    032 (us):\t 2 (including overflows)\n";
    assert_eq!(oslat_over(oslat, 10), 9);
    assert_eq!(sysjitter_count("core_i: 1\nint_n: 344\nint_n_per_sec: 343.1\n"), 344);
    assert_eq!(median(vec![3, 1, 2]), 2);
}
