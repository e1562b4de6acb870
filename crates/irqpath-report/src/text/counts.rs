// SPDX-License-Identifier: GPL-2.0-or-later
//! Interrupts per line and softirqs per vector, over all CPUs, the busiest first; NAPI polls.

use std::collections::BTreeMap;
use std::io::{self, Write};

use irqpath_model::{CpuList, LineStats, Meta, NapiStats, SoftirqStats, Summary};

use super::style::{format_us2, group_digits};
use super::table::{Column, Table};
use super::{TextOptions, write_heading};

/// Sums over the CPUs of one line or vector.
#[derive(Default)]
struct Sum {
    nr: u64,
    run_ns: u64,
    max_run_ns: u64,
    delay_ns: u64,
    max_delay_ns: u64,
    cpus: Vec<u16>,
}

impl Sum {
    fn add_line(&mut self, l: &LineStats) {
        self.add_counts(l.cpu, l.nr, l.run_ns, l.max_run_ns);
    }

    fn add_softirq(&mut self, s: &SoftirqStats) {
        self.add_counts(s.cpu, s.nr, s.run_ns, s.max_run_ns);
        self.delay_ns = self.delay_ns.saturating_add(s.delay_ns);
        self.max_delay_ns = self.max_delay_ns.max(s.max_delay_ns);
    }

    fn add_counts(&mut self, cpu: u16, nr: u64, run_ns: u64, max_run_ns: u64) {
        self.nr = self.nr.saturating_add(nr);
        self.run_ns = self.run_ns.saturating_add(run_ns);
        self.max_run_ns = self.max_run_ns.max(max_run_ns);
        if nr > 0 {
            self.cpus.push(cpu);
        }
    }

    fn mean_text(&self, ns: u64) -> String {
        format_us2(ns.checked_div(self.nr).unwrap_or(0))
    }

    fn cpus(&self) -> String {
        self.cpus.iter().copied().collect::<CpuList>().to_string()
    }

    /// Per second of the measurement.
    fn rate_text(&self, meta: &Meta) -> String {
        match meta.duration_ns {
            0 => "-".to_owned(),
            ns => group_digits((self.nr as f64 * 1e9 / ns as f64).round() as u64),
        }
    }
}

fn sort_busiest<K: Ord>(sums: BTreeMap<K, Sum>) -> Vec<(K, Sum)> {
    let mut rows: Vec<(K, Sum)> = sums.into_iter().filter(|(_, s)| s.nr > 0).collect();
    rows.sort_by_key(|(_, s)| std::cmp::Reverse(s.nr));
    rows
}

pub(super) fn write_lines(
    out: &mut impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    let mut sums: BTreeMap<_, Sum> = BTreeMap::new();
    for line in &summary.traced().lines {
        sums.entry(line.origin).or_default().add_line(line);
    }
    write_heading(out, options, "LINES", "hard interrupts, run time in us")?;
    let mut table = Table::new(&[
        Column::text("line", 12).rather_than_cut(20),
        Column::number("n"),
        Column::number("per s").or_drop(2),
        Column::number("run avg"),
        Column::number("run max"),
        Column::text("CPUs", 6).or_drop(1),
    ]);
    for (origin, sum) in sort_busiest(sums) {
        table.add_row(vec![
            meta.names.origin(origin),
            group_digits(sum.nr),
            sum.rate_text(meta),
            sum.mean_text(sum.run_ns),
            format_us2(sum.max_run_ns),
            sum.cpus(),
        ]);
    }
    table.write(out, options.style(), options.width)
}

pub(super) fn write_softirqs(
    out: &mut impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    let mut sums: BTreeMap<_, Sum> = BTreeMap::new();
    for softirq in &summary.traced().softirqs {
        sums.entry(softirq.vec).or_default().add_softirq(softirq);
    }
    write_heading(out, options, "SOFTIRQS", "delay from raise to entry and run time in us")?;
    let mut table = Table::new(&[
        Column::text("vector", 8),
        Column::number("n"),
        Column::number("per s").or_drop(2),
        Column::number("delay avg"),
        Column::number("delay max"),
        Column::number("run avg"),
        Column::number("run max"),
        Column::text("CPUs", 6).or_drop(1),
    ]);
    for (vec, sum) in sort_busiest(sums) {
        table.add_row(vec![
            vec.name().to_owned(),
            group_digits(sum.nr),
            sum.rate_text(meta),
            sum.mean_text(sum.delay_ns),
            format_us2(sum.max_delay_ns),
            sum.mean_text(sum.run_ns),
            format_us2(sum.max_run_ns),
            sum.cpus(),
        ]);
    }
    table.write(out, options.style(), options.width)?;
    write_napi(out, meta, summary, options)
}

/// What net_rx did in its runs: one row over all CPUs, or nothing where no device polled.
fn write_napi(
    out: &mut impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    let mut polls = Sum::default();
    summary.traced().napi.iter().for_each(|n| polls.add_counts(n.cpu, n.nr, 0, 0));
    if polls.nr == 0 {
        return Ok(());
    }
    let total = |value: fn(&NapiStats) -> u64| {
        group_digits(summary.traced().napi.iter().map(value).fold(0, u64::saturating_add))
    };
    write_heading(out, options, "NAPI", "polls of network devices")?;
    let mut table = Table::new(&[
        Column::number("polls"),
        Column::number("per s").or_drop(2),
        Column::number("packets"),
        Column::number("budget used up"),
        Column::text("CPUs", 6).or_drop(1),
    ]);
    table.add_row(vec![
        group_digits(polls.nr),
        polls.rate_text(meta),
        total(|n| n.nr_packets),
        total(|n| n.nr_exhausted),
        polls.cpus(),
    ]);
    table.write(out, options.style(), options.width)
}
