// SPDX-License-Identifier: GPL-2.0-or-later
//! The thread that serves and pushes. Each of its tasks lasts as long as the process: one that ends,
//! by a panic for example, ends the agent, and systemd starts it again. systemd hears that the agent
//! is alive only while this thread goes round, too.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use tokio::task::{JoinError, JoinSet};

/// How often the thread shows that it goes round.
const BEAT_EVERY: Duration = Duration::from_secs(1);

/// The thread, as the measurement sees it.
#[derive(Debug)]
pub struct Serving {
    /// `None` once it has ended.
    thread: Option<JoinHandle<String>>,
    beats: Arc<AtomicU64>,
    /// The last beat, and when it was seen first.
    last: (u64, Instant),
}

impl Serving {
    /// Starts the tasks that `add` makes.
    ///
    /// # Errors
    /// If the thread cannot be made.
    pub fn start(add: impl FnOnce(&mut JoinSet<()>) + Send + 'static) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot start the HTTP server")?;
        let beats = Arc::new(AtomicU64::new(0));
        let beating = Arc::clone(&beats);
        let serve = move || {
            runtime.block_on(async {
                let mut tasks = JoinSet::new();
                tasks.spawn(beat(beating));
                add(&mut tasks);
                describe_end(tasks.join_next().await)
            })
        };
        let thread = std::thread::Builder::new().name("http".to_owned()).spawn(serve);
        let thread =
            thread.context("cannot start a thread for HTTP; check the limits of this session")?;
        Ok(Self { thread: Some(thread), beats, last: (0, Instant::now()) })
    }

    /// # Errors
    /// Once the thread has ended, which it never should.
    pub fn check(&mut self) -> anyhow::Result<()> {
        let Some(thread) = self.thread.take_if(|thread| thread.is_finished()) else {
            return Ok(());
        };
        let why = thread.join().unwrap_or_else(|panic| describe_panic(panic.as_ref()));
        Err(anyhow!("the thread that serves HTTP has ended ({why}); start the agent again"))
    }

    /// True if the thread went round within `patience`.
    pub fn is_alive(&mut self, patience: Duration) -> bool {
        let beat = self.beats.load(Ordering::Relaxed);
        if beat != self.last.0 {
            self.last = (beat, Instant::now());
        }
        self.last.1.elapsed() < patience
    }
}

async fn beat(beats: Arc<AtomicU64>) {
    loop {
        beats.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(BEAT_EVERY).await;
    }
}

fn describe_end(ended: Option<Result<(), JoinError>>) -> String {
    match ended {
        Some(Err(error)) if error.is_panic() => describe_panic(error.into_panic().as_ref()),
        _ => "nothing was left to do".to_owned(),
    }
}

fn describe_panic(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    // Of one line, as all errors are.
    text.unwrap_or_default().lines().next().unwrap_or("it panicked").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn wait_for_end(serving: &mut Serving) -> String {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Err(error) = serving.check() {
                return error.to_string();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("nobody notices that the thread has ended");
    }

    #[test]
    fn a_task_that_panics_ends_the_agent_even_while_others_go_on() {
        let mut serving = Serving::start(|tasks| {
            tasks.spawn(std::future::pending());
            tasks.spawn(async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                panic!("out of order");
            });
        })
        .unwrap();
        assert!(serving.check().is_ok());
        let why = wait_for_end(&mut serving);
        assert!(why.contains("(out of order); start the agent again"), "{why}");
    }

    #[test]
    fn a_task_that_returns_or_never_starts_ends_the_agent_too() {
        let mut serving = Serving::start(|tasks| drop(tasks.spawn(async {}))).unwrap();
        assert!(wait_for_end(&mut serving).contains("(nothing was left to do)"));
        let mut serving = Serving::start(|_| panic!("no {}", "socket")).unwrap();
        assert!(wait_for_end(&mut serving).contains("(no socket)"));
    }

    #[test]
    fn a_thread_that_hangs_is_not_alive() {
        let (release, held) = std::sync::mpsc::channel::<()>();
        let mut serving = Serving::start(move |tasks| {
            drop(tasks.spawn(async move {
                // Not a wait of the runtime: nothing else runs on its thread.
                let _ = held.recv();
                std::future::pending::<()>().await;
            }));
        })
        .unwrap();
        let (patience, end) = (2 * BEAT_EVERY, Instant::now() + PATIENCE);
        while serving.is_alive(patience) {
            assert!(Instant::now() < end, "it is taken for alive");
            std::thread::sleep(Duration::from_millis(10));
        }
        release.send(()).unwrap();
        while !serving.is_alive(patience) {
            assert!(Instant::now() < end, "it is not alive again");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(serving.check().is_ok(), "it is slow, and there");
    }
}
