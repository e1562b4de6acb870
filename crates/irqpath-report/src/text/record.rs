// SPDX-License-Identifier: GPL-2.0-or-later
//! What `irqpath record` prints for people.

use irqpath_model::record::{Recorded, Suppressed, Written};

use strum::VariantArray as _;

use super::Page;
use super::style::group_digits;

/// Rows of a list before the rest is counted.
const ROWS: usize = 20;

/// One capture, in one line.
pub fn describe_capture(written: &Written) -> String {
    let capture = &written.capture;
    let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e9;
    let held = seconds(capture.begins_ns, capture.ends_ns);
    let before = seconds(capture.begins_ns, capture.at_ns);
    let short = if before * 1.001 < capture.keep_ns as f64 / 1e9 {
        format!(", of {:.1} s asked for", capture.keep_ns as f64 / 1e9)
    } else {
        String::new()
    };
    format!(
        "{}: {}; {held:.1} s{short}, {:.1} MiB, written in {:.1} s",
        written.directory,
        capture.what,
        to_mib(written.nr_bytes),
        written.took_ns as f64 / 1e9
    )
}

/// Everything at the end.
pub fn render_recorded(recorded: &Recorded) -> Page {
    let seconds = recorded.duration_ns as f64 / 1e9;
    let mut page = Page::from_line(format_args!(
        "recorded {seconds:.1} s: {} transitions, {} paths; {} captures",
        group_digits(recorded.nr_transitions),
        group_digits(recorded.nr_paths),
        recorded.nr_captures
    ));
    let triggers: Vec<String> =
        recorded.triggers.iter().map(|(name, n)| format!("{name} {n}")).collect();
    if triggers.is_empty() {
        page.add_line("triggers: none");
    } else {
        page.add_line(format_args!("triggers: {}", triggers.join(", ")));
    }
    for (name, n) in &recorded.suppressed {
        page.add_line(format_args!("no capture: {n} {}", explain_suppressed(name)));
    }
    add_limits(&mut page, recorded);
    let actions = recorded.actions;
    if actions.nr_done + actions.nr_failed + actions.nr_skipped > 0 {
        page.add_line(format_args!(
            "actions: {} done, {} failed, {} skipped while others were at work",
            actions.nr_done, actions.nr_failed, actions.nr_skipped
        ));
    }
    if let Some(ns) = recorded.clocks.jump_ns() {
        page.add_line(format_args!(
            "the wall clock was set by {:+.3} s meanwhile",
            ns as f64 / 1e9
        ));
    }
    page.add_list("notes", &recorded.notes, ROWS, String::clone);
    add_cost(&mut page, recorded, seconds);
    page
}

fn explain_suppressed(name: &str) -> &str {
    let found = Suppressed::VARIANTS.iter().find(|one| <&'static str>::from(*one) == name);
    found.map_or(name, |one| one.explain())
}

fn add_limits(page: &mut Page, recorded: &Recorded) {
    if recorded.nr_short > 0 {
        page.add_line(format_args!(
            "captures shorter than asked for: {}; more --memory holds more",
            recorded.nr_short
        ));
    }
    page.add_line(format_args!(
        "disk: {:.1} of {:.1} MiB; captures dropped for newer ones: {}",
        to_mib(recorded.disk_bytes),
        to_mib(recorded.disk_limit),
        recorded.nr_dropped
    ));
    let memory = &recorded.memory;
    page.add_line(format_args!(
        "memory: {:.1} of {:.1} MiB (rings {:.1}, other tables {:.1}, process {:.1})",
        to_mib(memory.total()),
        to_mib(memory.limit),
        to_mib(memory.rings),
        to_mib(memory.tables),
        to_mib(memory.process)
    ));
}

fn add_cost(page: &mut Page, recorded: &Recorded, seconds: f64) {
    let lost = recorded.loss.nr_lost();
    page.add_line(format_args!("lost: {}", group_digits(lost)));
    for (reason, n) in recorded.loss.0.iter().filter(|(reason, _)| reason.is_lost_data()) {
        page.add_line(format_args!("  {}  {}", group_digits(*n), reason.advice()));
    }
    let cost = &recorded.overhead;
    let rate = cost.nr_events as f64 / seconds.max(1e-9);
    page.add_line(format_args!(
        "overhead: {} events/s of {} ns each, {:.2} % of a CPU; irqpath itself {:.2} %",
        group_digits(rate.round() as u64),
        cost.mean_event_ns,
        rate * cost.mean_event_ns as f64 / 1e7,
        cost.process_cpu_ns as f64 / 1e7 / seconds.max(1e-9)
    ));
    if recorded.nr_stacks > 0 {
        page.add_line(format_args!(
            "stacks of blockers: {}, {:.1} us each",
            group_digits(recorded.nr_stacks),
            recorded.stacks_ns as f64 / recorded.nr_stacks as f64 / 1e3
        ));
    }
    for missing in &recorded.missing {
        page.add_line(format_args!("missing: {}: {}", missing.what, missing.consequence));
    }
}

fn to_mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::record::{ActionCounts, Capture, RecorderMemory};

    #[test]
    fn everything_that_was_not_kept_is_said() {
        let mib = 1 << 20;
        let recorded = Recorded {
            duration_ns: 10_000_000_000,
            nr_transitions: 1_234_567,
            nr_paths: 1000,
            nr_captures: 3,
            triggers: [("threshold".to_owned(), 9), ("signal".to_owned(), 1)].into(),
            suppressed: [("rate", 5), ("failed", 1), ("memory", 2)]
                .map(|(why, n)| (why.to_owned(), n))
                .into(),
            nr_short: 1,
            nr_dropped: 2,
            disk_bytes: mib,
            disk_limit: 4 * mib,
            memory: RecorderMemory { limit: 9 * mib, rings: mib, tables: mib, process: 3 * mib },
            actions: ActionCounts { nr_done: 1, nr_failed: 2, nr_skipped: 3 },
            notes: vec!["a\u{9b}b".to_owned()],
            ..Recorded::default()
        };
        assert_eq!(
            render_recorded(&recorded),
            "recorded 10.0 s: 1 234 567 transitions, 1 000 paths; 3 captures\n\
             triggers: signal 1, threshold 9\n\
             no capture: 1 could not be written\n\
             no capture: 2 would have taken more than the memory (--memory)\n\
             no capture: 5 beyond the rate limit (--at-most)\n\
             captures shorter than asked for: 1; more --memory holds more\n\
             disk: 1.0 of 4.0 MiB; captures dropped for newer ones: 2\n\
             memory: 5.0 of 9.0 MiB (rings 1.0, other tables 1.0, process 3.0)\n\
             actions: 1 done, 2 failed, 3 skipped while others were at work\n\
             notes:\n  a\\u{9b}b\n\
             lost: 0\n\
             overhead: 0 events/s of 0 ns each, 0.00 % of a CPU; irqpath itself 0.00 %\n"
        );
    }

    #[test]
    fn a_capture_says_if_it_is_shorter_than_asked_for() {
        let capture = Capture {
            what: "by hand".to_owned(),
            at_ns: 12_000_000_000,
            begins_ns: 9_000_000_000,
            ends_ns: 12_100_000_000,
            keep_ns: 5_000_000_000,
            ..Capture::default()
        };
        let written = Written {
            directory: "d/0001-signal".to_owned(),
            capture,
            nr_bytes: 1 << 20,
            took_ns: 200_000_000,
        };
        assert_eq!(
            describe_capture(&written),
            "d/0001-signal: by hand; 3.1 s, of 5.0 s asked for, 1.0 MiB, written in 0.2 s"
        );
    }
}
