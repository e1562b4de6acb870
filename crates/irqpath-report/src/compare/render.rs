// SPDX-License-Identifier: GPL-2.0-or-later
//! A comparison for people, within 80 columns.

use super::{Basis, Comparison, Number, Verdict};
use crate::text::Page;
use crate::text::table::{Column, Table};

/// Columns of the page without its indent.
const WIDTH: usize = 78;

fn format_time(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e3)
}

/// With its sign, to the ns: intervals are often narrower than a tenth of a us.
fn format_difference(ns: i64) -> String {
    format!("{:+.3}", ns as f64 / 1e3)
}

fn format_interval(number: &Number) -> String {
    match number.verdict.interval() {
        Some((low, high)) if low == high => format_difference(low),
        Some((low, high)) => format!("{} to {}", format_difference(low), format_difference(high)),
        None => String::new(),
    }
}

fn describe_verdict(verdict: Verdict, basis: Basis) -> String {
    match verdict {
        Verdict::Equal => "equal".to_owned(),
        Verdict::Longer { .. } => "B longer".to_owned(),
        Verdict::Shorter { .. } => "B shorter".to_owned(),
        Verdict::NotShown { .. } => "none shown".to_owned(),
        Verdict::TooFew { needed } if basis == Basis::Runs => format!("too few runs: {needed}"),
        Verdict::TooFew { needed } => format!("needs {needed} samples"),
        Verdict::NotJudged => "not judged".to_owned(),
    }
}

impl Comparison {
    /// A line for each number that both have, what only one of them has, and the verdict. Times
    /// are us.
    pub fn render_table(&self) -> Page {
        let mut table = Table::new(&[
            Column::text("", 5),
            Column::number("A us"),
            Column::number("B us"),
            Column::text("B-A us, interval", 16),
            Column::text("difference", 10),
        ]);
        let numbers = self.rows.iter().flat_map(|row| &row.numbers);
        for number in numbers {
            table.add_row(vec![
                number.name.to_owned(),
                format_time(number.a_ns),
                format_time(number.b_ns),
                format_interval(number),
                describe_verdict(number.verdict, self.basis),
            ]);
        }
        let mut lines = table.into_lines(WIDTH).into_iter();
        let titles = lines.next().unwrap_or_default();
        let mut page = Page::default();
        for (i, row) in self.rows.iter().enumerate() {
            page.add_line(&row.name);
            page.add_line(format_args!("  {}", describe_count(row, self.basis)));
            if i == 0 {
                page.add_line(format_args!("  {titles}"));
            }
            for line in lines.by_ref().take(row.numbers.len()) {
                page.add_line(format_args!("  {line}"));
            }
        }
        for (name, only) in [("A", &self.only_a), ("B", &self.only_b)] {
            for label in only {
                page.add_line(format_args!("only in {name}: {label}"));
            }
        }
        self.add_verdict(&mut page);
        page
    }

    fn add_verdict(&self, page: &mut Page) {
        if self.rows.is_empty() {
            page.add_line("Nothing is in both results.");
            return;
        }
        let numbers = || self.rows.iter().flat_map(|row| &row.numbers);
        let nr_different = numbers().filter(|n| n.verdict.is_different()).count();
        let nr_few = numbers().filter(|n| matches!(n.verdict, Verdict::TooFew { .. })).count();
        page.add_blank();
        let is_other = self.rows.iter().any(|row| row.is_same == Some(false));
        page.add_line(match (nr_different, self.basis) {
            (0, Basis::Exact) if is_other => {
                "verdict: these numbers are equal, other samples differ; exact, so it is real"
                    .to_owned()
            }
            (0, Basis::Exact) => "verdict: equal; exact runs, in which nothing varies".to_owned(),
            (0, _) => "verdict: no difference that these samples can show".to_owned(),
            (n, Basis::Exact) => {
                format!("verdict: {n} numbers differ; exact, so all of it is real")
            }
            (n, _) => format!("verdict: {n} of {} numbers differ", self.nr_judged),
        });
        if nr_few > 0 {
            page.add_line(format_args!("{nr_few} numbers have too few samples for an interval."));
        }
        let percent = self.confidence * 100.0;
        match self.basis {
            Basis::Exact => {}
            Basis::Samples => {
                page.add_line(format_args!("All intervals hold together with {percent:.0} %."));
                page.add_line("One run a side: how much runs differ by chance is not in them.");
                page.add_line("Measure several, and compare them with A... -- B...");
            }
            Basis::Runs => {
                page.add_line(format_args!(
                    "All intervals hold together with {percent:.0} %, from run to run."
                ));
            }
        }
    }
}

fn describe_count(row: &super::Row, basis: Basis) -> String {
    let samples = format!("samples: {} and {}", row.a_n, row.b_n);
    if basis == Basis::Runs {
        return format!("{samples}, in {} and {} runs", row.a_runs, row.b_runs);
    }
    samples
}
