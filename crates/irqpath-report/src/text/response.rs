// SPDX-License-Identifier: GPL-2.0-or-later
//! What `respond` prints: the row of numbers, the table below the documents' figures, doubling
//! buckets, the causes where they were traced, and the accounting.

use std::io::{self, Write};

use irqpath_model::{Bucket, Exceeded, Meta, Point, Response, SlowPath, Summary};

use super::hist::write_buckets;
use super::style::{escape_line, format_us, format_us2, group_digits, wrap_text};
use super::table::{Column, Table};
use super::{TextOptions, footer, write_header, write_heading, write_slow};
use crate::causes;
use crate::conditions::{self, format_ms};

/// Everything that `respond` prints.
pub fn write_response(
    mut out: impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    write_header(&mut out, meta, options)?;
    let all = summary.response();
    write_thresholds(&mut out, summary, options)?;
    write_numbers(&mut out, all, options)?;
    for response in all.iter().filter(|r| r.quantiles.n > 0) {
        write_table(&mut out, response, options)?;
        let title = format!("HISTOGRAM {} on CPU {}", response.source, response.cpu);
        write_heading(&mut out, options, &title, "us, bounds double")?;
        write_buckets(&mut out, &response.doubling, response.quantiles.n, options)?;
    }
    if !summary.slow().is_empty() {
        write_slow(&mut out, meta, summary, options)?;
    }
    write_accounting(&mut out, meta, summary, options)
}

/// What became of the threshold: what was over it, by how much, and when.
fn write_thresholds(
    out: &mut impl Write,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    for r in summary.response() {
        let Some(threshold_ns) = r.threshold_ns else { continue };
        let limit = format_us(threshold_ns);
        let line = match r.exceeded {
            Some(over) => {
                let (nr, took) = (group_digits(over.nr), format_us(over.ns));
                let after = over.nr.saturating_mul(r.period_ns) as f64 / 1e9;
                let beyond = format_us(over.ns.saturating_sub(threshold_ns));
                options.style().bad(&wrap_text(
                    &format!(
                        "Ended at the threshold of {limit} us: response {nr} on CPU {}, {after:.3} s \
                         after the start, took {took} us, {beyond} us too long.",
                        r.cpu
                    ),
                    options.width,
                ))
            }
            None => format!("CPU {}: no response took more than {limit} us", r.cpu),
        };
        writeln!(out, "{line}")?;
        let rest = r.exceeded.and_then(|over| beside_the_path(r.tid, over, summary.slow()));
        if let Some(rest) = rest {
            writeln!(out, "{}", wrap_text(&rest, options.width))?;
        }
    }
    Ok(())
}

/// Less than this is within what two readings of a clock differ by, ns.
const NOTHING_NS: u64 = 100;

/// What the path of a response leaves of it: the path ends where the task is in user space, the
/// response where the task has read the clock.
fn beside_the_path(tid: u32, over: Exceeded, slow: &[SlowPath]) -> Option<String> {
    let read_ns = over.read_ns.filter(|_| !slow.is_empty())?;
    let due_ns = read_ns.saturating_sub(over.ns);
    let in_time = |path: &&SlowPath| {
        let user = path.record.stamps[Point::User.index()];
        path.record.target.tid == tid && user.is_some_and(|s| (due_ns..=read_ns).contains(&s.ns))
    };
    let Some(path) = slow.iter().find(in_time) else {
        return Some(
            "The path of this response is not among those below: only the longest are kept, and \
             what lies between the return to user space and the task's reading of the clock is in \
             no path."
                .to_owned(),
        );
    };
    let (total, user) = (path.record.total_ns(), path.record.stamps[Point::User.index()]?);
    let rest = over.ns.saturating_sub(total);
    if rest < NOTHING_NS {
        return None;
    }
    let after = rest.min(read_ns.saturating_sub(user.ns));
    let before = rest - after;
    let (after, before) = if before < NOTHING_NS { (rest, 0) } else { (after, before) };
    // Cut and not rounded, as in the path's own line.
    let began = path.record.first()?.ns / 1_000;
    let began = format!("{}.{:06}", began / 1_000_000, began % 1_000_000);
    let mut text = format!(
        "Of these {} us, the path that began at {began} s explains {} us; {} us went by between \
         the return to user space and the task's reading of the clock",
        format_us(over.ns),
        format_us(total),
        format_us(after)
    );
    if before > 0 {
        text.extend([", ", &format_us(before), " us before the first point that was traced"]);
    }
    text.push('.');
    Some(text)
}

fn write_numbers(out: &mut impl Write, all: &[Response], options: &TextOptions) -> io::Result<()> {
    write_heading(out, options, "RESPONSE TIMES", &escape_line(&conditions::of_responses(all)))?;
    let mut table = Table::new(&[
        Column::text("source", 7),
        Column::number("CPU"),
        Column::text("sched", 4),
        Column::number("n"),
        Column::number("min"),
        Column::number("avg"),
        Column::number("Q50"),
        Column::number("Q95").or_drop(2),
        Column::number("Q99"),
        Column::number("Q99.9").or_drop(1),
        Column::number("max"),
        Column::number("missed"),
    ]);
    for r in all {
        let q = &r.quantiles;
        let mut row =
            vec![r.source.to_string(), r.cpu.to_string(), r.sched.clone(), group_digits(q.n)];
        row.extend(
            [q.min_ns, q.mean_ns, q.q50_ns, q.q95_ns, q.q99_ns, q.q999_ns, q.max_ns]
                .map(format_us2),
        );
        row.push(group_digits(r.nr_missed));
        table.add_row(row);
    }
    table.write(out, options.style(), options.width)?;
    for r in all {
        let Some(stand_in) = &r.stand_in else { continue };
        let (origin, stand_in) = (escape_line(&r.origin), escape_line(stand_in));
        let text = format!("The {origin} is emulated: what interrupted was {stand_in}.");
        writeln!(out, "{}", options.style().warn(&wrap_text(&text, options.width)))?;
    }
    Ok(())
}

/// The table of the documents: how many took less than this, up to where all are.
fn write_table(out: &mut impl Write, response: &Response, options: &TextOptions) -> io::Result<()> {
    let title = format!("TABLE {} on CPU {}", response.source, response.cpu);
    write_heading(out, options, &title, "")?;
    let q = &response.quantiles;
    writeln!(out, "measured {} {} interrupts", q.n, response.source)?;
    for (name, ns) in [("minimum", q.min_ns), ("maximum", q.max_ns), ("average", q.mean_ns)] {
        writeln!(out, "{name} latency: {} ms", format_ms(ns))?;
    }
    conditions::cumulative_buckets(&response.table)
        .try_for_each(|(bucket, sum)| writeln!(out, "{}", bucket_row(bucket, sum, q.n)))
}

fn bucket_row(bucket: &Bucket, sum: u64, n: u64) -> String {
    match bucket.high_ns {
        Some(high) => format!("{sum} samples < {} ms ({}%)", format_ms(high), format_share(sum, n)),
        None => format!("{} samples >= {} ms", bucket.n, format_ms(bucket.low_ns)),
    }
}

/// A share in percent, cut and not rounded, with the digits that tell it from all: 99.99997.
pub(crate) fn format_share(part: u64, whole: u64) -> String {
    if part >= whole {
        return "100".to_owned();
    }
    let whole = u128::from(whole);
    for digits in 3..=9_usize {
        let scale = 10_u128.pow(digits as u32);
        let scaled = u128::from(part) * 100 * scale / whole;
        let text = format!("{}.{:0digits$}", scaled / scale, scaled % scale);
        if !text.ends_with('9') || !text.starts_with("99.999") || digits == 9 {
            return text;
        }
    }
    unreachable!("the last number of digits returns")
}

fn write_accounting(
    out: &mut impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    write_heading(out, options, "ACCOUNTING", "")?;
    let sum = |of: fn(&Response) -> u64| summary.response().iter().map(of).sum::<u64>();
    writeln!(
        out,
        "missed: {}, early: {}, lost: {}, too long for the histogram: {}",
        group_digits(sum(|r| r.nr_missed)),
        group_digits(sum(|r| r.nr_early)),
        group_digits(sum(|r| r.nr_lost)),
        group_digits(sum(|r| r.quantiles.nr_overflow))
    )?;
    footer::write_tracer(out, summary, options)?;
    if let Some(note) = causes::virtual_note(meta) {
        writeln!(out, "{}", wrap_text(&escape_line(&note), options.width))?;
    }
    footer::write_notes(out, meta, summary, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_documents() {
        for (part, whole, want) in [
            (44_374_681, 44_759_417, "99.140"),
            (44_757_000, 44_759_417, "99.994"),
            (59_999_983, 60_000_000, "99.99997"),
            (28_800_870, 28_800_882, "99.99995"),
            (5, 5, "100"),
            (0, 5, "0.000"),
            (999_999_999_999, 1_000_000_000_000, "99.999999999"),
        ] {
            assert_eq!(format_share(part, whole), want);
        }
    }
}
