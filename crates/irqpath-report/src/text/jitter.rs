// SPDX-License-Identifier: GPL-2.0-or-later
//! What `jitter` prints: the legend below the documents' figures, what loops took beyond the
//! ideal, interruptions with their causes, and the accounting.

use std::cmp::Reverse;
use std::io::{self, Write};

use irqpath_model::{
    Cause, CauseKind, Interruption, InterruptionCause, Interruptions, Jitter, Loops, Meta, Summary,
};

use super::hist::{Scale, write_buckets, write_histogram};
use super::style::{
    align_points, escape_line, format_us, format_us2, group_digits, text_width, to_percent,
    wrap_text,
};
use super::table::{Column, GAP, Table};
use super::{TextOptions, footer, write_header, write_heading};
use crate::{causes, conditions};

/// Causes shown in the line of one interruption.
const MAX_CAUSES: usize = 4;
/// Percent of an interruption in which nothing was seen, from which on its line says so.
const MUCH: f64 = 3.0;
/// Kinds of causes shown for a CPU.
const MAX_KINDS: usize = 20;

/// Everything that `jitter` prints, with at most `max_list` interruptions of each CPU.
pub fn write_jitter(
    mut out: impl Write,
    meta: &Meta,
    summary: &Summary,
    max_list: usize,
    options: &TextOptions,
) -> io::Result<()> {
    write_header(&mut out, meta, options)?;
    for jitter in summary.jitter() {
        if let Some(loops) = &jitter.loops {
            write_legend(&mut out, jitter, loops, options)?;
        }
    }
    let continuous: Vec<_> =
        summary.jitter().iter().filter_map(|j| Some((j, j.interruptions.as_ref()?))).collect();
    if !continuous.is_empty() {
        write_overview(&mut out, &continuous, options)?;
    }
    for (jitter, all) in continuous.iter().filter(|(_, all)| all.quantiles.n > 0) {
        write_kinds(&mut out, jitter, all, options)?;
        write_longest(&mut out, meta, jitter, all, max_list, options)?;
    }
    write_accounting(&mut out, meta, summary, options)
}

fn write_legend(
    out: &mut impl Write,
    jitter: &Jitter,
    loops: &Loops,
    options: &TextOptions,
) -> io::Result<()> {
    let about = format!("{}, {} sines a loop", jitter.sched, group_digits(loops.nr_sines));
    write_heading(out, options, &format!("LOOPS on CPU {}", jitter.cpu), &about)?;
    let seconds = |ns: u64| format!("{:.6}sec", ns as f64 / 1e9);
    let from = conditions::of_ideal(loops.ideal_from);
    writeln!(out, "measured {} loops", loops.excess.n)?;
    writeln!(out, "ideal: {}  ({from})", seconds(loops.ideal_ns))?;
    writeln!(out, "max: {}", seconds(loops.max_ns))?;
    let share = loops.jitter_percent();
    writeln!(out, "jitter: {} ({share:.2}%)", seconds(loops.jitter_ns))?;
    let q = &loops.excess;
    let [min, mean, q50, q95, max] =
        [q.min_ns, q.mean_ns, q.q50_ns, q.q95_ns, q.max_ns].map(format_us);
    writeln!(out, "beyond the ideal, us: min {min}, avg {mean}, Q50 {q50}, Q95 {q95}, max {max}")?;
    write_histogram(out, &loops.histogram, Scale::default(), options)
}

fn write_overview(
    out: &mut impl Write,
    all: &[(&Jitter, &Interruptions)],
    options: &TextOptions,
) -> io::Result<()> {
    let threshold = all.first().map_or(0, |(_, a)| a.threshold_ns);
    let about = format!("of {} us and more, us", format_us2(threshold));
    write_heading(out, options, "INTERRUPTIONS", &about)?;
    let mut table = Table::new(&[
        Column::number("CPU"),
        Column::text("sched", 4),
        Column::number("n"),
        Column::number("a second"),
        Column::number("min").or_drop(2),
        Column::number("avg"),
        Column::number("Q50").or_drop(3),
        Column::number("Q99"),
        Column::number("max"),
        Column::number("% of time"),
        Column::number("look, ns").or_drop(1),
    ]);
    for (jitter, a) in all {
        let q = &a.quantiles;
        let mut row = vec![jitter.cpu.to_string(), jitter.sched.clone(), group_digits(q.n)];
        row.push(format!("{:.1}", conditions::per_second(a)));
        row.extend([q.min_ns, q.mean_ns, q.q50_ns, q.q99_ns, q.max_ns].map(format_us2));
        row.push(format!("{:.4}", to_percent(a.total_ns, a.lasted_ns)));
        row.push(group_digits(a.look_ns));
        table.add_row(row);
    }
    table.write(out, options.style(), options.width)
}

/// What took the time on one CPU.
fn write_kinds(
    out: &mut impl Write,
    jitter: &Jitter,
    all: &Interruptions,
    options: &TextOptions,
) -> io::Result<()> {
    let style = options.style();
    let title = format!("HISTOGRAM of CPU {}", jitter.cpu);
    write_heading(out, options, &title, "us, bounds double")?;
    write_buckets(out, &all.doubling, all.quantiles.n, options)?;
    if all.causes.is_empty() {
        return Ok(());
    }
    write_heading(out, options, &format!("CAUSES on CPU {}", jitter.cpu), "us")?;
    let mut table = Table::new(&[
        Column::text("cause", 16).rather_than_cut(34),
        Column::number("in"),
        Column::number("total"),
        Column::number("%"),
        Column::number("max"),
    ]);
    for cause in all.causes.iter().take(MAX_KINDS) {
        let share = to_percent(cause.total_ns, all.total_ns);
        table.add_row(vec![
            kind_words(cause),
            group_digits(cause.n),
            format_us2(cause.total_ns),
            format!("{share:.1}"),
            format_us2(cause.max_ns),
        ]);
    }
    table.write(out, style, options.width)?;
    if let Some(rest) = all.causes.get(MAX_KINDS..).filter(|rest| !rest.is_empty()) {
        let ns = rest.iter().map(|c| c.total_ns).sum();
        writeln!(out, "{} more causes: {} us", group_digits(rest.len() as u64), format_us(ns))?;
    }
    Ok(())
}

fn kind_words(cause: &InterruptionCause) -> String {
    cause_words(cause.kind, &cause.who)
}

/// `hardirq LOC:local_timer`, `thread ksoftirqd/1:20 o:0`.
pub(crate) fn cause_words(kind: CauseKind, who: &str) -> String {
    match kind {
        CauseKind::Own => "kernel entry and exit, or unseen".to_owned(),
        // Not an exit from idle: the task never sleeps, so the kernel kept it from running.
        CauseKind::Idle => "CPU idle, task held off".to_owned(),
        CauseKind::Unexplained | CauseKind::Unseen | CauseKind::Steal => kind.title().to_owned(),
        CauseKind::Nmi => "NMI".to_owned(),
        _ => format!("{} {who}", kind.title()),
    }
}

fn write_longest(
    out: &mut impl Write,
    meta: &Meta,
    jitter: &Jitter,
    all: &Interruptions,
    max_list: usize,
    options: &TextOptions,
) -> io::Result<()> {
    let shown = all.longest.len().min(max_list);
    if shown == 0 {
        return Ok(());
    }
    let about = match shown as u64 {
        nr if nr < all.quantiles.n => {
            format!("the {shown} longest of {}, in order of time", group_digits(all.quantiles.n))
        }
        _ => "in order of time".to_owned(),
    };
    write_heading(out, options, &format!("LIST of CPU {}", jitter.cpu), &about)?;
    let mut table = Table::new(&[
        Column::number("at, s"),
        Column::number("us"),
        Column::text("what ran", 30).rather_than_cut(60),
    ]);
    let mut longest: Vec<_> = all.longest.iter().take(shown).collect();
    longest.sort_by_key(|i| i.at_ns);
    let ats: Vec<_> = longest.iter().map(|i| format!("{:.6}", i.at_ns as f64 / 1e9)).collect();
    let mut took: Vec<_> = longest.iter().map(|i| format_us2(i.ns)).collect();
    align_points(&mut took);
    let widest = |cells: &[String]| cells.iter().map(|cell| text_width(cell)).max().unwrap_or(0);
    let room = options.width.saturating_sub(widest(&ats) + widest(&took) + 2 * GAP);
    for ((i, at), us) in longest.into_iter().zip(ats).zip(took) {
        table.add_row(vec![at, us.trim_end().to_owned(), describe_interruption(meta, i, room)]);
    }
    table.write(out, options.style(), options.width)
}

/// The causes of one interruption with their times, longest first, in `columns` where that is
/// possible: then fewer are named. What they leave of the interruption is always told.
pub(crate) fn describe_interruption(
    meta: &Meta,
    interruption: &Interruption,
    columns: usize,
) -> String {
    let others = |c: &&Cause| c.kind != CauseKind::Own && c.ns > 0;
    let mut found: Vec<&Cause> = interruption.causes.iter().filter(others).collect();
    if found.is_empty() {
        return match (interruption.causes.is_empty(), meta.cpu.is_virtual()) {
            (true, _) => "not traced".to_owned(),
            (false, true) => "nothing in this kernel: the hypervisor, or an exception".to_owned(),
            (false, false) => "nothing in this kernel: firmware (SMI), or an exception".to_owned(),
        };
    }
    found.sort_by_key(|cause| Reverse(cause.ns));
    let seen: u64 = found.iter().map(|cause| cause.ns).sum();
    let rest = interruption.ns.saturating_sub(seen);
    let line = |nr: usize| {
        let (named, more) = found.split_at(nr);
        let mut parts: Vec<(u64, String)> =
            named.iter().map(|c| (c.ns, cause_words(c.kind, &c.who))).collect();
        if to_percent(rest, interruption.ns) > MUCH {
            parts.push((rest, "nothing seen".to_owned()));
        }
        parts.sort_by_key(|(ns, _)| Reverse(*ns));
        if !more.is_empty() {
            parts.push((more.iter().map(|c| c.ns).sum(), format!("{} more", more.len())));
        }
        let parts: Vec<String> =
            parts.into_iter().map(|(ns, text)| format!("{text} {}", format_us2(ns))).collect();
        parts.join(", ")
    };
    let most = found.len().min(MAX_CAUSES);
    (1..=most).rev().map(line).find(|text| text_width(text) <= columns).unwrap_or_else(|| line(1))
}

fn write_accounting(
    out: &mut impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    write_heading(out, options, "ACCOUNTING", "")?;
    let continuous = summary.jitter().iter().filter_map(|j| j.interruptions.as_ref());
    let continuous = continuous.map(|a| (a.nr_lost, a.quantiles.nr_overflow));
    let loops = summary.jitter().iter().filter_map(|j| j.loops.as_ref());
    let loops = loops.map(|l| (l.nr_lost, l.excess.nr_overflow));
    let (lost, overflow) =
        continuous.chain(loops).fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    let (lost, overflow) = (group_digits(lost), group_digits(overflow));
    writeln!(out, "lost: {lost}, too long for the histogram: {overflow}")?;
    footer::write_tracer(out, summary, options)?;
    if let Some(note) = causes::virtual_note(meta) {
        writeln!(out, "{}", wrap_text(&escape_line(&note), options.width))?;
    }
    footer::write_notes(out, meta, summary, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(kind: CauseKind, who: &str, ns: u64) -> Cause {
        Cause { kind, who: who.to_owned(), ns, nr_times: 1 }
    }

    #[test]
    fn what_a_line_of_the_list_does_not_name_is_told_with_its_time() {
        let own = |ns| cause(CauseKind::Own, "irqpath:77 f:80", ns);
        let timer = |ns| cause(CauseKind::Hardirq, "LOC:local_timer", ns);
        let thread = |who: &str, ns| cause(CauseKind::Thread, who, ns);
        for (ns, causes, columns, want) in [
            (
                530_000,
                vec![timer(7_930), own(522_070)],
                62,
                "nothing seen 522, hardirq LOC:local_timer 7.93",
            ),
            (
                241_000,
                vec![cause(CauseKind::Steal, "", 95_600), own(145_400)],
                62,
                "nothing seen 145, stolen by the hypervisor 95.6",
            ),
            (100_000, vec![timer(98_000), own(2_000)], 62, "hardirq LOC:local_timer 98.0"),
            (
                8_096_000,
                vec![cause(CauseKind::Idle, "idle", 8_096_000)],
                62,
                "CPU idle, task held off 8 096",
            ),
            (
                7_027_000,
                vec![
                    thread("objtool:14906 o:10", 3_576_000),
                    thread("sh:14907 o:10", 3_000_000),
                    timer(51_000),
                    own(400_000),
                ],
                62,
                "thread objtool:14906 o:10 3 576, nothing seen 400, 2 more 3 051",
            ),
        ] {
            let interruption = Interruption { at_ns: 0, ns, causes };
            assert_eq!(describe_interruption(&Meta::default(), &interruption, columns), want);
        }
    }
}
