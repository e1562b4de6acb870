// SPDX-License-Identifier: GPL-2.0-or-later
//! SIGINT, SIGTERM and, but for the agent, SIGHUP: the first one asks for an early end with results
//! kept; the second one asks to give up. Who does not listen within a second is ended from here,
//! with what is half-written removed and the terminal as it was. And SIGXFSZ, which asks for
//! nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use irqpath_files::output;
use irqpath_source::confine::{Kept, give_up_capabilities};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::output::{console, exit};

/// How long the program may take to give up by itself.
const PATIENCE: Duration = Duration::from_secs(1);

/// What signals have asked for.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    early: Arc<AtomicBool>,
    abort: Arc<AtomicBool>,
}

impl Stop {
    /// True once a signal arrived: end early and write the results.
    pub fn is_requested(&self) -> bool {
        self.early.load(Ordering::Relaxed)
    }

    /// An error once a second signal arrived: to be called between steps that take long.
    pub fn check_abort(&self) -> anyhow::Result<()> {
        ensure!(!self.abort.load(Ordering::Relaxed), ABORTED);
        Ok(())
    }
}

const ABORTED: &str =
    "given up at the second signal, nothing was kept; the first one ends with results";

/// SIGHUP asked a process that stays to read its configuration again.
#[derive(Debug, Clone, Default)]
pub struct Reload(Arc<AtomicBool>);

impl Reload {
    /// True once after each time that it was asked.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// SIGUSR1 asked for something by hand.
#[derive(Debug, Clone, Default)]
pub struct ByHand(Arc<AtomicBool>);

impl ByHand {
    /// Listen to it.
    pub fn listen() -> anyhow::Result<Self> {
        let asked = Self::default();
        let handled = signal_hook::flag::register(SIGUSR1, Arc::clone(&asked.0));
        handled.context("signals cannot be watched; check the limits of this session")?;
        Ok(asked)
    }

    /// True once after each time that it was asked.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// Listen in a process that stays: SIGHUP does not end it.
pub fn listen_and_reload() -> anyhow::Result<(Stop, Reload)> {
    let reload = Reload::default();
    let handled = signal_hook::flag::register(SIGHUP, Arc::clone(&reload.0));
    handled.context("signals cannot be watched; check the limits of this session")?;
    Ok((listen_to(&[SIGINT, SIGTERM], Kept::default(), || ())?, reload))
}

/// Start to listen. Before this call a signal ends the process, which is right as long as
/// nothing was created yet.
pub fn listen() -> anyhow::Result<Stop> {
    listen_and_restore(|| ())
}

/// The same for a verb that changes the terminal: `restore` puts it back before the process ends
/// at the second signal.
pub fn listen_and_restore(restore: fn()) -> anyhow::Result<Stop> {
    // What is removed at the end may lie in another user's directory.
    let kept = Kept { files: true, ..Kept::default() };
    listen_to(&[SIGINT, SIGTERM, SIGHUP], kept, restore)
}

/// `kept` is what the end needs if it comes from here.
fn listen_to(asking: &[i32], kept: Kept, restore: fn()) -> anyhow::Result<Stop> {
    let stop = Stop::default();
    let mut signals = Signals::new(asking)
        .context("signals cannot be watched; check the limits of this session")?;
    let seen = stop.clone();
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            // Nothing depends on the kernel's answer.
            let _ = give_up_capabilities(kept);
            for _ in signals.forever() {
                if seen.early.swap(true, Ordering::Relaxed) {
                    seen.abort.store(true, Ordering::Relaxed);
                    thread::sleep(PATIENCE);
                    restore();
                    give_up();
                }
            }
        })
        .context("no thread for signals could be started; check the limits of this session")?;
    Ok(stop)
}

/// Beyond the limit of a file's size (`ulimit -f`) a write shall fail, not end the process amid
/// what it writes or changes. A handler, as programs that are started would keep an ignored signal.
pub fn outlive_file_limits() -> anyhow::Result<()> {
    let handled = signal_hook::flag::register(SIGXFSZ, Arc::default());
    handled.context("the signal SIGXFSZ cannot be handled; check the limits of this session")?;
    Ok(())
}

/// The kernel detaches the tracing programs when their descriptors close with the process.
fn give_up() -> ! {
    output::remove_all();
    console::print_note(ABORTED);
    std::process::exit(i32::from(exit::COULD_NOT_RUN));
}
