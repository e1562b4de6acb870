// SPDX-License-Identifier: GPL-2.0-or-later
//! Progress of benchmarks on standard error, and only when that is a terminal.
//!
//! The thread that measures is in the kernel for minutes, so another one draws, and keeps off the
//! measured CPU if there is another. How far a benchmark is follows from its length: the module
//! does not say.

use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::host::cpus;

const REDRAW: Duration = Duration::from_millis(250);

struct State {
    /// What the benchmarks before the current one take.
    before: Duration,
    /// What the current one takes.
    current: Duration,
    since: Instant,
    ended: bool,
}

impl State {
    fn position(&self) -> Duration {
        self.before + self.since.elapsed().min(self.current)
    }
}

type Shared = Arc<(Mutex<State>, Condvar)>;

/// A line that fills while benchmarks run; cleared when dropped.
pub struct BenchProgress {
    bar: ProgressBar,
    shared: Shared,
    thread: Option<JoinHandle<()>>,
}

impl BenchProgress {
    /// Start it; `whole` is what all benchmarks take, `cpu` the one that is measured.
    pub fn start(whole: Duration, cpu: u16) -> Self {
        let state = State {
            before: Duration::ZERO,
            current: Duration::ZERO,
            since: Instant::now(),
            ended: false,
        };
        let shared: Shared = Arc::new((Mutex::new(state), Condvar::new()));
        if !io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden(), shared, thread: None };
        }
        let bar = ProgressBar::new(whole.as_millis() as u64);
        let template = "{prefix} [{bar:30}] {elapsed} of about {msg}  Ctrl-C ends it early";
        bar.set_style(ProgressStyle::with_template(template).expect("the template is constant"));
        bar.set_message(format_length(whole));
        let drawn = (bar.clone(), Arc::clone(&shared));
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(move || {
            // Where there is no other CPU it draws from this one.
            let _ = cpus::keep_off(&[cpu].into_iter().collect());
            draw_until_ended(&drawn.0, &drawn.1);
        });
        // Without that thread nothing is drawn, which is no reason not to measure.
        Self { bar, shared, thread: thread.ok() }
    }

    /// A benchmark begins that takes about `length`.
    pub fn begin_benchmark(&self, what: &str, length: Duration) {
        let mut state = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.before + state.current;
        *state = State { before, current: length, since: Instant::now(), ended: false };
        self.bar.set_prefix(what.to_owned());
    }
}

impl Drop for BenchProgress {
    fn drop(&mut self) {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

/// `40 s`, `50 min`, `3.5 h`.
fn format_length(whole: Duration) -> String {
    match whole.as_secs_f64() {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

fn draw_until_ended(bar: &ProgressBar, shared: &Shared) {
    let mut state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
    while !state.ended {
        bar.set_position(state.position().as_millis() as u64);
        let waited = shared.1.wait_timeout(state, REDRAW);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}
