// SPDX-License-Identifier: GPL-2.0-or-later
//! `top`: the live view. `app` is the state, `tables` its rows, `draw` and `detail` show it; this
//! file owns the terminal and the loop that alternates between the source and the keys.
//!
//! Rule: whatever happens (error, panic, signal), the terminal is left as it was found.

mod app;
mod detail;
mod draw;
mod tables;
#[cfg(test)]
mod tests;

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

pub use app::{About, App, Flow};

use crate::host::signals::Stop;
use crate::session::Session;

/// How long one look at the source may take: the delay between a key and its effect.
const STEP: Duration = Duration::from_millis(50);

/// True while the terminal is ours.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// True if there is a person to watch: keys come from a terminal and the picture goes to one.
pub fn is_possible() -> bool {
    std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
}

/// Give the terminal back, if it is ours. Safe to call from any thread, any number of times.
pub fn restore_terminal() {
    if ACTIVE.swap(false, Ordering::SeqCst) {
        ratatui::restore();
    }
}

/// Holds the terminal and gives it back when dropped.
struct Screen(DefaultTerminal);

impl Screen {
    fn take() -> anyhow::Result<Self> {
        ensure!(is_possible(), "top needs a terminal; use trace once for a table");
        ACTIVE.store(true, Ordering::SeqCst);
        let terminal = ratatui::try_init().inspect_err(|_| restore_terminal());
        Ok(Self(terminal.context("cannot show top on this terminal; use trace once")?))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// Show the session until `q`, a signal, or the end of `duration`.
pub fn run(
    session: &mut Session,
    about: About,
    duration: Option<Duration>,
    interval: Duration,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut screen = Screen::take()?;
    let mut app = App::new(about);
    let mut next_refresh = Instant::now();
    while !stop.is_requested() && duration.is_none_or(|d| session.elapsed() < d) {
        let due = Instant::now() >= next_refresh;
        if due {
            app.take_summary(session.interim_summary()?, session.elapsed());
            next_refresh = Instant::now() + interval;
        }
        let Some(pressed) = handle_keys(&mut app)? else { break };
        if due || pressed {
            screen
                .0
                .draw(|frame| draw::draw_screen(frame, &mut app))
                .context("the terminal is gone")?;
        }
        if session.is_exhausted() {
            event::poll(STEP).context("cannot read the keyboard; use trace once")?;
        } else {
            session.poll_source(STEP)?;
        }
    }
    Ok(())
}

/// Handle the keys that wait: true if there were any, `None` to end.
fn handle_keys(app: &mut App) -> anyhow::Result<Option<bool>> {
    let mut any = false;
    while event::poll(Duration::ZERO).context("cannot read the keyboard; use trace once")? {
        any = true;
        let event = event::read().context("cannot read the keyboard; use trace once")?;
        if let Event::Key(key) = event
            && key.kind != KeyEventKind::Release
            && app.handle_key(key) == Flow::Quit
        {
            return Ok(None);
        }
    }
    Ok(Some(any))
}
