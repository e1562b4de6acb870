// SPDX-License-Identifier: GPL-2.0-or-later
//! Stays and repairs what drifts, with a line for each repair. The lock is held only while it
//! repairs. Ends with the shield (another process resets it) or with a signal, which leaves it.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use irqpath_system::shield::{self, Document, ShieldError};

use super::{document, host, text};
use crate::out;
use crate::signals::Stop;

/// Watch.
pub fn run(interval: Duration, json: bool, stop: &Stop) -> anyhow::Result<ExitCode> {
    let (host, access) = host();
    while sleep(interval, stop) {
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
