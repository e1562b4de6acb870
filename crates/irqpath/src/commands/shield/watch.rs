// SPDX-License-Identifier: GPL-2.0-or-later
//! Stays and repairs what drifts, with a line for each repair. The lock is held only while it
//! repairs. Ends with the shield (another process resets it) or with a signal, which leaves it.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use irqpath_system::Host;
use irqpath_system::shield::{self, Changed, Contest, Document, ShieldError};

use super::{document, host, text};
use crate::out;
use crate::signals::Stop;

/// Watch.
pub fn run(interval: Duration, json: bool, stop: &Stop) -> anyhow::Result<ExitCode> {
    let (host, access) = host();
    let mut contest = Contest::default();
    while sleep(contest.interval(interval), stop) {
        let repaired = match shield::repair(&host, &access) {
            Ok(Some(repaired)) => repaired,
            Ok(None) => {
                out::note("the shield was taken down; nothing is left to watch");
                return Ok(ExitCode::SUCCESS);
            }
            // Somebody else's turn; the next look will do.
            Err(ShieldError::Journal(error)) if error.is_locked() => {
                out::note(&error.to_string());
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let contested = contest.note(&repaired.changed);
        if let Some((first, others)) = contested.split_first() {
            out::note(&contention(&host, first, others.len(), contest.interval(interval)));
        }
        if repaired.changed.is_empty() {
            continue;
        }
        if json {
            out::json(&Document { set: Some(repaired), ..document() }, true)?;
        } else {
            out::print(&text::repaired(&repaired))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Who undoes the repairs, and what follows.
fn contention(host: &Host, first: &Changed, nr_others: usize, next: Duration) -> String {
    let others = match nr_others {
        0 => String::new(),
        1 => " (and one other value)".to_owned(),
        n => format!(" (and {n} other values)"),
    };
    format!(
        "{}{others} is changed after each repair, {}; the next look is in {} s",
        first.label,
        shield::opponent(host, first),
        next.as_secs()
    )
}

/// True when the time is over, false when a signal came.
fn sleep(interval: Duration, stop: &Stop) -> bool {
    const STEP: Duration = Duration::from_millis(100);
    let started = Instant::now();
    while !stop.requested() {
        let left = interval.saturating_sub(started.elapsed());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(STEP));
    }
    false
}
