// SPDX-License-Identifier: GPL-2.0-or-later
//! How far something long has come: a bar on a terminal, nothing elsewhere.
//!
//! A library does not know who watches. The binary makes a [`Progress`] and hands it down;
//! tests hand down a hidden one. Notes are for what a reader of a log must know too, and
//! always appear.

use std::fmt;
use std::io::Write as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use irqpath_model::printable;

/// What the amounts of a bar are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Steps of some kind; shown as a share.
    Steps,
    Bytes,
}

/// A line on standard error; cleared when the last clone is dropped.
#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
    notes: bool,
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("notes", &self.notes).finish_non_exhaustive()
    }
}

impl Progress {
    /// Draws on standard error if that is a terminal; notes appear there in any case.
    pub fn stderr() -> Self {
        let bar = ProgressBar::no_length();
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        Self { bar, notes: true }
    }

    /// Draws nothing and says nothing.
    pub fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), notes: false }
    }

    /// A new step begins, of `total` parts if that is known.
    pub fn begin_step(&self, what: &str, total: Option<u64>, unit: Unit) {
        let template = match (total, unit) {
            (None, _) => "{prefix} {spinner} {elapsed}",
            (_, Unit::Steps) => "{prefix} [{bar:30}] {percent}% {elapsed}, {eta} left",
            (_, Unit::Bytes) => "{prefix} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        match total {
            Some(total) => self.bar.set_length(total),
            None => self.bar.unset_length(),
        }
        self.bar.set_prefix(printable(what).into_owned());
        self.bar.reset();
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }

    /// So many parts are done. More than the total moves the total, which was an estimate.
    pub fn set_done(&self, parts: u64) {
        if self.bar.length().is_some_and(|total| total < parts) {
            self.bar.set_length(parts);
        }
        self.bar.set_position(parts);
    }

    /// A line that stays.
    pub fn print_note(&self, text: &str) {
        if self.notes {
            self.bar.suspend(|| {
                // Nothing can be done if standard error is closed.
                let _ = writeln!(std::io::stderr().lock(), "irqpath: {}", printable(text));
            });
        }
    }

    /// Take the line away until the next step.
    pub fn clear_line(&self) {
        self.bar.disable_steady_tick();
        self.bar.finish_and_clear();
    }
}
