// SPDX-License-Identifier: GPL-2.0-or-later
//! The accounting at the end of every output: lost, not joined, overflow, overhead, missing.
//!
//! Printed always and in full: a result without it cannot be judged.

use std::io::{self, Write};

use irqpath_model::{Loss, Meta, Overhead, Summary};

use super::style::{align_right, escape_line, group_digits, wrap_text};
use super::{TextOptions, write_heading};
use crate::causes;

pub(super) fn write(
    out: &mut impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    write_heading(out, options, "ACCOUNTING", "")?;
    write_losses(out, "lost", summary, options)?;
    let overflow: u64 = summary.traced().paths.iter().map(|p| p.total.nr_overflow).sum();
    writeln!(out, "too long for the histograms: {}", group_digits(overflow))?;
    write_spent(out, summary)?;
    if let Some(note) = causes::virtual_note(meta) {
        writeln!(out, "{}", wrap_text(&escape_line(&note), options.width))?;
    }
    write_notes(out, meta, summary, options)
}

/// What the tracer lost and spent, for tests that need not trace: nothing if they did not.
pub(super) fn write_tracer(
    out: &mut impl Write,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    if summary.overhead == Overhead::default() && summary.loss.0.is_empty() {
        return Ok(());
    }
    write_losses(out, "lost by the tracer", summary, options)?;
    write_spent(out, summary)
}

fn write_losses(
    out: &mut impl Write,
    title: &str,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    let lost = summary.loss.nr_lost();
    let line = format!("{title}: {}", group_digits(lost));
    writeln!(out, "{}", if lost > 0 { options.style().warn(&line) } else { line })?;
    write_reasons(out, &summary.loss, true)?;
    let other = summary.loss.0.values().sum::<u64>().saturating_sub(lost);
    writeln!(out, "not joined, nothing lost: {}", group_digits(other))?;
    write_reasons(out, &summary.loss, false)
}

fn write_spent(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    writeln!(out, "{}", describe_overhead(&summary.overhead))?;
    writeln!(out, "{}", describe_process(&summary.overhead))
}

/// What is missing and what the observer changed.
pub(super) fn write_notes(
    out: &mut impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    let style = options.style();
    for missing in &summary.missing {
        let text = format!("missing: {}: {}", missing.what, missing.consequence);
        writeln!(out, "{}", style.warn(&wrap_text(&escape_line(&text), options.width)))?;
    }
    for effect in &meta.observer_effects {
        let text = format!("observer: {effect}");
        writeln!(out, "{}", wrap_text(&escape_line(&text), options.width))?;
    }
    Ok(())
}

fn write_reasons(out: &mut impl Write, loss: &Loss, is_lost: bool) -> io::Result<()> {
    for (reason, n) in loss.0.iter().filter(|(r, n)| r.is_lost_data() == is_lost && **n > 0) {
        writeln!(out, "{}  {}", align_right(&group_digits(*n), 12), reason.advice())?;
    }
    Ok(())
}

fn describe_overhead(o: &Overhead) -> String {
    let events = group_digits(o.nr_events);
    if o.nr_sampled == 0 {
        return format!("overhead: {events} events, mean time not measured");
    }
    let share = o.nr_events as f64 * o.mean_event_ns as f64 / 1e9;
    let sampled = group_digits(o.nr_sampled);
    let mean = o.mean_event_ns;
    format!("overhead: {events} events, {mean} ns each over {sampled} sampled, {share:.3} s CPU")
}

fn describe_process(o: &Overhead) -> String {
    format!(
        "irqpath itself: {:.3} s CPU, {:.1} MiB at most, kernel tables {:.1} MiB",
        o.process_cpu_ns as f64 / 1e9,
        to_mib(o.peak_rss_bytes),
        to_mib(o.map_bytes)
    )
}

fn to_mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
