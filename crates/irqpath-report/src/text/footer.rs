// SPDX-License-Identifier: GPL-2.0-or-later
//! The accounting at the end of every output: lost, not joined, overflow, overhead, missing.
//!
//! Printed always and in full: a result without it cannot be judged.

use std::io::{self, Write};

use irqpath_model::{Loss, Meta, Overhead, Summary};

use super::style::{clean, grouped, right, wrapped};
use super::{TextOptions, heading};
use crate::causes;

pub(super) fn write(
    out: &mut impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    heading(out, options, "ACCOUNTING", "")?;
    losses(out, "lost", summary, options)?;
    let overflow: u64 = summary.traced().paths.iter().map(|p| p.total.nr_overflow).sum();
    writeln!(out, "too long for the histograms: {}", grouped(overflow))?;
    spent(out, summary)?;
    if let Some(note) = causes::virtual_note(meta) {
        writeln!(out, "{}", wrapped(&clean(&note), options.width))?;
    }
    notes(out, meta, summary, options)
}

/// What the tracer lost and spent, for tests that need not trace: nothing if they did not.
pub(super) fn tracer(
    out: &mut impl Write,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    if summary.overhead == Overhead::default() && summary.loss.0.is_empty() {
        return Ok(());
    }
    losses(out, "lost by the tracer", summary, options)?;
    spent(out, summary)
}

fn losses(
    out: &mut impl Write,
    title: &str,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    let lost = summary.loss.lost();
    let line = format!("{title}: {}", grouped(lost));
    writeln!(out, "{}", if lost > 0 { options.style().warn(&line) } else { line })?;
    reasons(out, &summary.loss, true)?;
    let other = summary.loss.0.values().sum::<u64>().saturating_sub(lost);
    writeln!(out, "not joined, nothing lost: {}", grouped(other))?;
    reasons(out, &summary.loss, false)
}

fn spent(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    writeln!(out, "{}", overhead(&summary.overhead))?;
    writeln!(out, "{}", process(&summary.overhead))
}

/// What is missing and what the observer changed.
pub(super) fn notes(
    out: &mut impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    let style = options.style();
    for missing in &summary.missing {
        let text = format!("missing: {}: {}", missing.what, missing.consequence);
        writeln!(out, "{}", style.warn(&wrapped(&clean(&text), options.width)))?;
    }
    for effect in &meta.observer_effects {
        let text = format!("observer: {effect}");
        writeln!(out, "{}", wrapped(&clean(&text), options.width))?;
    }
    Ok(())
}

fn reasons(out: &mut impl Write, loss: &Loss, is_lost: bool) -> io::Result<()> {
    for (reason, n) in loss.0.iter().filter(|(r, n)| r.is_lost_data() == is_lost && **n > 0) {
        writeln!(out, "{}  {}", right(&grouped(*n), 12), reason.advice())?;
    }
    Ok(())
}

fn overhead(o: &Overhead) -> String {
    let events = grouped(o.nr_events);
    if o.nr_sampled == 0 {
        return format!("overhead: {events} events, mean time not measured");
    }
    let share = o.nr_events as f64 * o.mean_event_ns as f64 / 1e9;
    let sampled = grouped(o.nr_sampled);
    let mean = o.mean_event_ns;
    format!("overhead: {events} events, {mean} ns each over {sampled} sampled, {share:.3} s CPU")
}

fn process(o: &Overhead) -> String {
    format!(
        "irqpath itself: {:.3} s CPU, {:.1} MiB at most, kernel tables {:.1} MiB",
        o.process_cpu_ns as f64 / 1e9,
        mib(o.peak_rss_bytes),
        mib(o.map_bytes)
    )
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
