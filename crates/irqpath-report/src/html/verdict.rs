// SPDX-License-Identifier: GPL-2.0-or-later
//! The result in sentences: the verdict at the top of the page, and the notes below it.
//!
//! What limits the result (losses, overflow, a replay, missing features) is said here, next to the
//! verdict, and not only at the end of the page.

use irqpath_model::{CauseClass, Loss, LossReason, Meta, SlowPath, Summary};
use serde::Serialize;

use crate::causes;

/// How a note is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Something that is good to know.
    Info,
    /// The result is less than it seems.
    Warning,
}

/// One sentence about the result as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    pub level: Level,
    pub text: String,
}

/// Digits in groups of three, by a space that does not break.
pub fn count_word(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// Nanoseconds as microseconds: whole ones from 100 us on, one decimal below.
pub fn us_text(ns: u64) -> String {
    if ns >= 99_950 {
        format!("{} us", count_word((ns + 500) / 1000))
    } else {
        format!("{:.1} us", ns as f64 / 1e3)
    }
}

/// Part of a whole in percent, rounded.
pub fn whole_percent(part: u64, whole: u64) -> u64 {
    (u128::from(part) * 100 + u128::from(whole) / 2).checked_div(whole.into()).unwrap_or(0) as u64
}

/// `1 path`, `2 paths`.
fn plural_form(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count_word(n), if n == 1 { one } else { many })
}

/// `97 % interference by thread spinner:812 f:20`, for the main cause of a slow path.
pub fn main_cause_text(slow: &SlowPath, meta: &Meta, summary: &Summary) -> Option<String> {
    let (stage, cause) = causes::main_cause(slow, summary)?;
    let share = whole_percent(cause.ns, slow.record.until_running_ns());
    let words = cause.row_text(stage.to, meta.cpu.is_virtual());
    let text = match cause.kind.class() {
        CauseClass::Interference => format!("interference by {words}"),
        CauseClass::Blocking => format!("blocking by {words}"),
        CauseClass::Own | CauseClass::Idle | CauseClass::Stolen | CauseClass::Unexplained => words,
    };
    Some(format!("{share} % {text}"))
}

/// The result in one sentence.
pub fn trace_verdict(meta: &Meta, summary: &Summary) -> String {
    let Some(worst) = summary.traced().paths.iter().max_by_key(|p| p.slowest_ns) else {
        let seconds = meta.duration_ns as f64 / 1e9;
        return format!("No interrupt was joined to a task in {seconds:.1} s");
    };
    let paths = plural_form(summary.traced().paths.len() as u64, "path", "paths");
    let mut text = format!(
        "{paths}, slowest to run {}: {} → {}",
        us_text(worst.slowest_ns),
        worst.origin_name,
        worst.key.comm
    );
    let slow = summary.slow().iter().filter(|s| worst.key.is_covering(&s.record.key()));
    let slowest = slow.max_by_key(|s| s.record.until_running_ns());
    if let Some(cause) = slowest.and_then(|s| main_cause_text(s, meta, summary)) {
        text.push_str(", ");
        text.push_str(&cause);
    }
    text
}

/// What a reader must know besides the verdict; `nr_shown` slow paths are in the page.
pub fn trace_notes(meta: &Meta, summary: &Summary, nr_shown: usize) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut say = |level, text| notes.push(Note { level, text });
    if !meta.source.is_empty() && meta.source != "live" {
        say(
            Level::Warning,
            format!("Replayed from the recording {}, not measured now.", meta.source),
        );
    }
    say(Level::Info, threshold_note(summary, nr_shown));
    let (lost, rest) = loss_notes(&summary.loss);
    match lost {
        Some(lost) => say(Level::Warning, format!("Lost: {lost}.")),
        None => say(Level::Info, "No record was lost.".to_owned()),
    }
    if let Some(rest) = rest {
        say(Level::Info, format!("Not joined, but not lost: {rest}."));
    }
    let overflow: u64 = summary.traced().paths.iter().map(|p| p.total.nr_overflow).sum();
    if overflow > 0 {
        let times = plural_form(overflow, "time was", "times were");
        say(
            Level::Warning,
            format!("{times} too long for the histograms; the maxima include them."),
        );
    }
    if !summary.missing.is_empty() {
        let things = plural_form(summary.missing.len() as u64, "thing", "things");
        say(Level::Info, format!("This kernel lacks {things} that irqpath uses; see the end."));
    }
    notes
}

fn threshold_note(summary: &Summary, nr_shown: usize) -> String {
    let runs = plural_form(summary.traced().nr_slow, "slow run", "slow runs");
    let recorded = match summary.traced().threshold_ns {
        Some(ns) => {
            let suffix = causes::hypervisor_suffix(summary);
            format!("Threshold {}: {runs} over it{suffix}", us_text(ns))
        }
        None => format!("No threshold was given: {runs} recorded"),
    };
    match (nr_shown as u64, summary.traced().nr_slow) {
        (_, 0) => format!("{recorded}."),
        (shown, all) if shown == all => format!("{recorded}, shown with causes."),
        (shown, all) if shown < all => {
            format!("{recorded}, {} of them shown with causes.", count_word(shown))
        }
        // The slowest run of every path is kept even if it is below the threshold.
        (shown, _) => format!("{recorded}; the {} slowest shown with causes.", count_word(shown)),
    }
}

/// The reasons for lost data, and those that only kept something from being joined.
pub fn loss_notes(loss: &Loss) -> (Option<String>, Option<String>) {
    let found = loss.0.iter().filter(|(_, n)| **n > 0);
    let (lost, rest): (Vec<_>, Vec<_>) = found.partition(|(reason, _)| reason.is_lost_data());
    let words = |reasons: Vec<(&LossReason, &u64)>| {
        let parts =
            reasons.iter().map(|(reason, n)| format!("{} {}", count_word(**n), reason.advice()));
        (!reasons.is_empty()).then(|| parts.collect::<Vec<_>>().join("; "))
    };
    (words(lost), words(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{Measured, Paths};

    #[test]
    fn numbers_read_as_people_write_them() {
        let grouped = [(0, "0"), (999, "999"), (1_000, "1 000"), (1_234_567, "1 234 567")];
        for (n, want) in grouped {
            assert_eq!(count_word(n).replace('\u{202f}', " "), want);
        }
        let times = [(0, "0.0 us"), (1_250, "1.2 us"), (99_949, "99.9 us"), (99_950, "100 us")];
        for (ns, want) in times {
            assert_eq!(us_text(ns), want, "{ns} ns");
        }
        assert_eq!(us_text(3_102_499).replace('\u{202f}', " "), "3 102 us");
        assert_eq!((whole_percent(1, 3), whole_percent(2, 3), whole_percent(5, 0)), (33, 67, 0));
    }

    #[test]
    fn says_what_limits_the_result() {
        let traced = Paths { nr_slow: 12, threshold_ns: Some(200_000), ..Paths::default() };
        let mut summary = Summary::from_measured(Measured::Paths(traced));
        let text = |s: &Summary| {
            let notes = trace_notes(&Meta::default(), s, 10);
            notes.iter().map(|n| n.text.as_str()).collect::<Vec<_>>().join("\n")
        };
        let good = text(&summary);
        assert!(good.contains("Threshold 200 us: 12 slow runs over it, 10 of them"), "{good}");
        assert!(good.contains("No record was lost."), "{good}");
        summary.traced_mut().unwrap().nr_slow = 4;
        let more = text(&summary);
        assert!(more.contains("4 slow runs over it; the 10 slowest shown"), "{more}");

        summary.loss.add_loss(LossReason::RingbufFull, 52);
        summary.loss.add_loss(LossReason::TaskExit, 3);
        let bad = text(&summary);
        assert!(bad.contains("Lost: 52 records dropped; raise --buffer"), "{bad}");
        assert!(bad.contains("Not joined, but not lost: 3 targets exited"), "{bad}");
        assert!(!bad.contains("No record was lost"), "{bad}");
    }

    #[test]
    fn an_empty_result_says_so() {
        let meta = Meta { duration_ns: 10_000_000_000, ..Meta::default() };
        let text = trace_verdict(&meta, &Summary::default());
        assert_eq!(text, "No interrupt was joined to a task in 10.0 s");
    }
}
