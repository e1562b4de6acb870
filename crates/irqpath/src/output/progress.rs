// SPDX-License-Identifier: GPL-2.0-or-later
//! Progress of a measurement on standard error, and only when that is a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line that fills while the measurement runs; cleared when dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
}

impl Progress {
    /// Start it; `what` is shown in front of it.
    pub fn start(what: &str, duration: Option<Duration>) -> Self {
        let bar = match duration {
            Some(d) => ProgressBar::new(d.as_millis() as u64),
            None => ProgressBar::no_length(),
        };
        // stderr() draws nothing unless it is a terminal.
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        let template = match duration {
            Some(_) => "{prefix} [{bar:30}] {elapsed}/{msg}  Ctrl-C ends it early",
            None => "{prefix} {spinner} {elapsed}  Ctrl-C ends it early",
        };
        bar.set_style(ProgressStyle::with_template(template).expect("the template is constant"));
        bar.set_prefix(what.to_owned());
        if let Some(d) = duration {
            bar.set_message(format!("{:.0}s", d.as_secs_f64()));
        }
        Self { bar, started: Instant::now() }
    }

    /// Move it to the present.
    pub fn tick(&self) {
        self.bar.set_position(self.started.elapsed().as_millis() as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
