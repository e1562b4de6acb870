// SPDX-License-Identifier: GPL-2.0-or-later
//! `/proc/interrupts` and `/proc/softirqs`: counts per label and CPU.
//!
//! Only the header says which CPUs the columns are: offline CPUs have none. Rows differ by
//! architecture: some have one total (`ERR`), some have no count at all (`FIQ` on arm), and
//! what follows the counts is free text (see `names.rs`).
//!
//! Container runtimes mask `/proc/interrupts` with `/dev/null`: an empty file is a table without rows.

use std::collections::BTreeMap;
use std::path::Path;

use irqpath_model::InterruptCounts;

use crate::{Host, SystemError};

/// A row of `/proc/interrupts`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    pub label: &'a str,
    /// One per CPU of the header, or fewer where the kernel prints fewer.
    pub counts: Vec<u64>,
    /// Chip, hwirq, trigger and actions, or a description.
    pub rest: &'a str,
}

/// The CPU of each column, and counts by label, as [`InterruptCounts`] has them.
pub type CountTable = (Vec<u16>, BTreeMap<String, Vec<u64>>);

/// Parse the text of `/proc/interrupts` or `/proc/softirqs` into the CPU of each column, and
/// counts by label. A row that has one total instead of counts per CPU has one element. `path`
/// is for the error.
pub fn parse_counts(path: &Path, text: &str) -> Result<CountTable, SystemError> {
    let (cpus, rows) = parse_rows(path, text)?;
    let counts = rows
        .into_iter()
        .filter(|row| !row.counts.is_empty())
        .map(|row| (row.label.to_owned(), row.counts))
        .collect();
    Ok((cpus, counts))
}

/// The CPUs of the columns, and every row.
pub(crate) fn parse_rows<'a>(
    path: &Path,
    text: &'a str,
) -> Result<(Vec<u16>, Vec<Row<'a>>), SystemError> {
    let malformed = |line: usize, reason: String| SystemError::Malformed {
        path: path.to_owned(),
        line,
        reason,
    };
    if text.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut lines = text.lines().enumerate();
    let header = lines.next().map_or("", |(_, l)| l);
    let cpus = header
        .split_whitespace()
        .map(|word| word.strip_prefix("CPU").and_then(|n| n.parse().ok()))
        .collect::<Option<Vec<u16>>>()
        .filter(|cpus| !cpus.is_empty())
        .ok_or_else(|| malformed(1, "the header does not name CPUs".to_owned()))?;
    let mut rows = Vec::new();
    for (index, line) in lines.filter(|(_, l)| !l.trim().is_empty()) {
        let row = parse_row(line, cpus.len()).map_err(|reason| malformed(index + 1, reason))?;
        rows.push(row);
    }
    Ok((cpus, rows))
}

fn parse_row(line: &str, nr_cpus: usize) -> Result<Row<'_>, String> {
    let (label, mut rest) =
        line.split_once(':').ok_or_else(|| "a row without a label".to_owned())?;
    let mut counts = Vec::with_capacity(nr_cpus);
    while counts.len() < nr_cpus {
        let text = rest.trim_start();
        let word = text.split_whitespace().next().unwrap_or("");
        if word.is_empty() || !word.bytes().all(|b| b.is_ascii_digit()) {
            break;
        }
        counts.push(word.parse().map_err(|_| format!("the count {word} is too large"))?);
        rest = &text[word.len()..];
    }
    Ok(Row { label: label.trim(), counts, rest })
}

impl Host {
    /// Counts of hard interrupts and softirqs as of now.
    pub fn interrupt_counts(&self) -> Result<InterruptCounts, SystemError> {
        let (interrupts, softirqs) = ("proc/interrupts", "proc/softirqs");
        // Back to back, parsed afterwards: the two should be of one moment.
        let texts = (self.read(interrupts)?, self.read(softirqs)?);
        let (cpus, interrupts) = parse_counts(&self.path(interrupts), &texts.0)?;
        let (columns, softirqs) = parse_counts(&self.path(softirqs), &texts.1)?;
        let cpus = if interrupts.is_empty() { columns } else { cpus };
        Ok(InterruptCounts { cpus, interrupts, softirqs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;
    use proptest::prelude::*;

    const X86: &str = "           CPU0       CPU2       \n\
        \x20 8:          1          0  IO-APIC   8-edge      rtc0\n\
        \x2036:          7      89615 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n\
        LOC:      38250      35545   Local timer interrupts\n\
        ERR:          3\n";
    const ARM64: &str = "           CPU0       CPU1       CPU2       CPU3       \n\
        \x2011:   10   20   30   40     GICv3  27 Level     arch_timer\n\
        IPI0:    1    2    3    4       Rescheduling interrupts\n\
        FIQ:              fast interrupts\n\
        Err:          0\n";
    const SOFTIRQS: &str =
        "        CPU0  CPU1  CPU2\n      HI:   1   0   2\n  NET_RX:   5   6   7\n";

    fn parse(text: &str) -> Result<CountTable, SystemError> {
        parse_counts(Path::new("/proc/interrupts"), text)
    }

    #[test]
    fn x86_with_an_offline_cpu() {
        let (cpus, counts) = parse(X86).unwrap();
        assert_eq!(cpus, [0, 2]);
        assert_eq!(counts["36"], [7, 89615]);
        assert_eq!(counts["LOC"], [38250, 35545]);
        assert_eq!(counts["ERR"], [3]);
    }

    #[test]
    fn arm64_with_a_row_without_counts() {
        let (cpus, counts) = parse(ARM64).unwrap();
        assert_eq!(cpus, [0, 1, 2, 3]);
        assert_eq!(counts["11"], [10, 20, 30, 40]);
        assert_eq!(counts["IPI0"], [1, 2, 3, 4]);
        assert_eq!(counts["Err"], [0]);
        assert!(!counts.contains_key("FIQ"));
    }

    #[test]
    fn a_host_has_both_tables() {
        let fake =
            Fake::new().with_file("proc/interrupts", X86).with_file("proc/softirqs", SOFTIRQS);
        let counts = fake.host().interrupt_counts().unwrap();
        assert_eq!(counts.cpus, [0, 2]);
        assert_eq!(counts.softirqs["NET_RX"], [5, 6, 7]);
        assert_eq!(counts.softirqs.len(), 2);
    }

    #[test]
    fn a_masked_table_has_no_rows() {
        let fake =
            Fake::new().with_file("proc/interrupts", "").with_file("proc/softirqs", SOFTIRQS);
        let counts = fake.host().interrupt_counts().unwrap();
        assert!(counts.interrupts.is_empty());
        assert_eq!(counts.cpus, [0, 1, 2]);
        assert_eq!(counts.softirqs["NET_RX"], [5, 6, 7]);
    }

    #[test]
    fn malformed_text_names_the_line() {
        for (text, line, reason) in [
            ("\n", 1, "header"),
            ("CPU0 foo\n", 1, "header"),
            ("CPU0\nno colon here\n", 2, "label"),
            ("CPU0\n1: 1 x\n\n2: 99999999999999999999999\n", 4, "too large"),
        ] {
            let error = parse(text).unwrap_err();
            let SystemError::Malformed { line: got, .. } = &error else { panic!("{error}") };
            assert_eq!(*got, line, "{text:?}");
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    #[test]
    fn a_missing_softirqs_file_is_an_error() {
        let fake = Fake::new().with_file("proc/interrupts", X86);
        let error = fake.host().interrupt_counts().unwrap_err();
        assert!(error.to_string().contains("proc/softirqs"), "{error}");
    }

    #[test]
    fn lines_of_eight_thousand_cpus() {
        let header: Vec<_> = (0..8192).map(|n| format!("CPU{n}")).collect();
        let counts: Vec<_> = (0..8192).map(|n| format!("{n:10}")).collect();
        let (cpus, table) =
            parse(&format!("{}\nLOC: {}  Local timer\n", header.join(" "), counts.join(" ")))
                .unwrap();
        assert_eq!(cpus.len(), 8192);
        assert_eq!(table["LOC"][8191], 8191);
    }

    proptest! {
        #[test]
        fn any_text_parses_or_fails_cleanly(text in "( |\n|:|CPU|[0-9]|[a-z]|\u{fffd}){0,200}") {
            let _ = parse(&text);
        }

        #[test]
        fn counts_round_trip(rows in prop::collection::btree_map(
            0u32..5000, prop::collection::vec(0u64.., 3), 0..40,
        )) {
            let lines: Vec<String> = rows
                .iter()
                .map(|(irq, c)| format!("{irq:3}: {} {} {}  GICv3 27 Level  dev", c[0], c[1], c[2]))
                .collect();
            let text = format!("  CPU0 CPU1 CPU5\n{}\n", lines.join("\n"));
            let (_, table) = parse(&text).unwrap();
            let want: BTreeMap<String, Vec<u64>> =
                rows.into_iter().map(|(irq, c)| (irq.to_string(), c)).collect();
            prop_assert_eq!(table, want);
        }
    }
}
