// SPDX-License-Identifier: GPL-2.0-or-later
//! The three tables of `top` as data: paths, interrupts per line, softirqs per vector. Pure:
//! a summary goes in, rows of sortable values come out. `app` sorts and filters, `draw` draws.

use std::cmp::Ordering;

use irqpath_model::{
    LineStats, Names, Origin, PathKey, PathSummary, SoftirqStats, SoftirqVec, Summary,
};
use irqpath_report::causes::stage_word;
use irqpath_report::target::Targets;
pub use irqpath_report::text::{cut_to, format_us, group_digits};

/// A value of a cell: sorted as what it is, shown as people read it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Count(u64),
    /// How many per second; `None` before the second refresh.
    Rate(Option<f64>),
    /// A time, shown in us.
    Ns(u64),
    /// A share, shown in percent; `None` before the second refresh.
    Share(Option<f64>),
}

impl Value {
    /// The text of the cell.
    pub fn format_cell(&self) -> String {
        match self {
            Self::Text(t) => t.clone(),
            Self::Count(n) => group_digits(*n),
            Self::Rate(Some(r)) if *r >= 100.0 => group_digits(r.round() as u64),
            Self::Rate(Some(r)) => format!("{r:.1}"),
            Self::Share(Some(s)) => format!("{:.1}", s * 100.0),
            Self::Rate(None) | Self::Share(None) => "-".to_owned(),
            Self::Ns(ns) => format_us(*ns),
        }
    }

    fn sort_number(&self) -> f64 {
        match self {
            Self::Text(_) => 0.0,
            Self::Count(n) | Self::Ns(n) => *n as f64,
            Self::Rate(r) | Self::Share(r) => r.unwrap_or(-1.0),
        }
    }

    /// Order of a column: names ascend, numbers descend, so that the top row matters most.
    pub fn order_in_column(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => other.sort_number().total_cmp(&self.sort_number()),
        }
    }
}

/// What a row stands for, so that the selection stays on it from refresh to refresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowId {
    Path(PathKey),
    /// An interrupt on a CPU.
    Line(Origin, u16),
    /// A softirq on a CPU.
    Softirq(SoftirqVec, u16),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What it stands for.
    pub id: RowId,
    /// One per column.
    pub values: Vec<Value>,
}

#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub title: &'static str,
    /// A name is not cut below this where there is any room, a number never takes less.
    pub width: u16,
    /// Names are aligned left, numbers right.
    pub is_name: bool,
    /// A name is not cut below this while another column may be left out.
    pub rather: u16,
    /// Left out before columns with a lower number; 0 stays.
    pub drop: u8,
}

impl Column {
    const fn with_preferred(self, rather: u16) -> Self {
        Self { rather, ..self }
    }

    const fn or_drop(self, drop: u8) -> Self {
        Self { drop, ..self }
    }
}

const fn name_column(title: &'static str, width: u16) -> Column {
    Column { title, width, is_name: true, rather: width, drop: 0 }
}

const fn number_column(title: &'static str, width: u16) -> Column {
    Column { title, width, is_name: false, rather: width, drop: 0 }
}

/// Columns of the path table; the last number is what it is sorted by at first.
pub const PATH_COLUMNS: &[Column] = &[
    name_column("INTERRUPT", 9),
    name_column("VIA", 5).with_preferred(9).or_drop(1),
    name_column("TARGET", 8).with_preferred(16),
    number_column("COUNT", 5),
    number_column("/S", 5).or_drop(3),
    number_column("Q50", 5),
    number_column("Q99", 5),
    number_column("MAX", 6).or_drop(4),
    number_column("TO RUN", 6),
    name_column("STAGE", 10).or_drop(2),
];

/// Columns of the interrupts.
pub const LINE_COLUMNS: &[Column] = &[
    name_column("INTERRUPT", 12),
    number_column("CPU", 3),
    number_column("COUNT", 6),
    number_column("/S", 5),
    number_column("MEAN", 5),
    number_column("MAX", 6),
    number_column("CPU %", 5),
];

/// Columns of the softirqs.
pub const SOFTIRQ_COLUMNS: &[Column] = &[
    name_column("SOFTIRQ", 8),
    number_column("CPU", 3),
    number_column("COUNT", 6),
    number_column("/S", 5),
    number_column("MEAN", 5),
    number_column("MAX", 6),
    number_column("DELAY MEAN", 10),
    number_column("DELAY MAX", 9),
    number_column("CPU %", 5),
];

/// The summary of the previous refresh, for rates.
pub struct Previous<'a> {
    pub summary: &'a Summary,
    /// Seconds between it and the present one.
    pub seconds: f64,
}

fn rate_per_second(now: u64, before: Option<u64>, previous: Option<&Previous<'_>>) -> Option<f64> {
    let p = previous?;
    (p.seconds > 0.0).then(|| now.saturating_sub(before.unwrap_or(0)) as f64 / p.seconds)
}

fn mean(sum: u64, n: u64) -> u64 {
    sum.checked_div(n).unwrap_or(0)
}

/// Rows of the path table.
pub fn path_rows(summary: &Summary, previous: Option<&Previous<'_>>) -> Vec<Row> {
    let targets = Targets::from_paths(&summary.traced().paths);
    let row = |p: &PathSummary| {
        let before = previous
            .and_then(|b| b.summary.traced().paths.iter().find(|q| q.key == p.key))
            .map(|q| q.total.n);
        let longest = p.stages.iter().max_by_key(|s| s.quantiles.q99_ns);
        Row {
            id: RowId::Path(p.key.clone()),
            values: vec![
                Value::Text(p.origin_name.clone()),
                Value::Text(p.via.clone()),
                Value::Text(targets.target_name(p)),
                Value::Count(p.total.n),
                Value::Rate(rate_per_second(p.total.n, before, previous)),
                Value::Ns(p.total.q50_ns),
                Value::Ns(p.total.q99_ns),
                Value::Ns(p.total.max_ns),
                Value::Ns(p.slowest_ns),
                Value::Text(longest.map_or("", |s| stage_word(s.stage)).to_owned()),
            ],
        }
    };
    summary.traced().paths.iter().map(row).collect()
}

/// Rows of the interrupts per line and CPU.
pub fn line_rows(summary: &Summary, previous: Option<&Previous<'_>>, names: &Names) -> Vec<Row> {
    let row = |l: &LineStats| {
        let before = previous.and_then(|b| {
            b.summary.traced().lines.iter().find(|m| m.origin == l.origin && m.cpu == l.cpu)
        });
        Row {
            id: RowId::Line(l.origin, l.cpu),
            values: vec![
                Value::Text(names.origin(l.origin)),
                Value::Count(u64::from(l.cpu)),
                Value::Count(l.nr),
                Value::Rate(rate_per_second(l.nr, before.map(|m| m.nr), previous)),
                Value::Ns(mean(l.run_ns, l.nr)),
                Value::Ns(l.max_run_ns),
                Value::Share(
                    rate_per_second(l.run_ns, before.map(|m| m.run_ns), previous).map(|r| r / 1e9),
                ),
            ],
        }
    };
    summary.traced().lines.iter().map(row).collect()
}

/// Rows of the softirqs per vector and CPU.
pub fn softirq_rows(summary: &Summary, previous: Option<&Previous<'_>>) -> Vec<Row> {
    let row = |s: &SoftirqStats| {
        let before = previous.and_then(|b| {
            b.summary.traced().softirqs.iter().find(|t| t.vec == s.vec && t.cpu == s.cpu)
        });
        Row {
            id: RowId::Softirq(s.vec, s.cpu),
            values: vec![
                Value::Text(s.vec.name().to_owned()),
                Value::Count(u64::from(s.cpu)),
                Value::Count(s.nr),
                Value::Rate(rate_per_second(s.nr, before.map(|t| t.nr), previous)),
                Value::Ns(mean(s.run_ns, s.nr)),
                Value::Ns(s.max_run_ns),
                Value::Ns(mean(s.delay_ns, s.nr)),
                Value::Ns(s.max_delay_ns),
                Value::Share(
                    rate_per_second(s.run_ns, before.map(|t| t.run_ns), previous).map(|r| r / 1e9),
                ),
            ],
        }
    };
    summary.traced().softirqs.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{Measured, Paths};

    #[test]
    fn names_ascend_and_numbers_descend() {
        let text = |t: &str| Value::Text(t.to_owned());
        assert_eq!(text("a").order_in_column(&text("b")), Ordering::Less);
        assert_eq!(Value::Ns(5).order_in_column(&Value::Ns(9)), Ordering::Greater);
        assert_eq!(Value::Rate(None).order_in_column(&Value::Rate(Some(0.0))), Ordering::Greater);
    }

    #[test]
    fn values_read_well() {
        for (value, want) in [
            (Value::Ns(1_234), "1.2"),
            (Value::Ns(2_345_678), "2 346"),
            (Value::Rate(Some(1234.4)), "1 234"),
            (Value::Rate(None), "-"),
            (Value::Share(Some(0.123)), "12.3"),
        ] {
            assert_eq!(value.format_cell(), want);
        }
    }

    #[test]
    fn rates_come_from_two_refreshes() {
        let line = |nr| LineStats {
            origin: Origin::Irq(36),
            cpu: 1,
            nr,
            run_ns: nr * 1000,
            max_run_ns: 2000,
        };
        let then = Summary::from_measured(Measured::Paths(Paths {
            lines: vec![line(100)],
            ..Paths::default()
        }));
        let now = Summary::from_measured(Measured::Paths(Paths {
            lines: vec![line(300)],
            ..Paths::default()
        }));
        let names = Names::default();
        assert_eq!(line_rows(&now, None, &names)[0].values[3], Value::Rate(None));
        let previous = Previous { summary: &then, seconds: 2.0 };
        assert_eq!(line_rows(&now, Some(&previous), &names)[0].values[3], Value::Rate(Some(100.0)));
    }
}
