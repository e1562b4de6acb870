// SPDX-License-Identifier: GPL-2.0-or-later
//! What an unprivileged user can do to fill a tracer's tables, by the words that [`run`] takes:
//!
//! `rename SECONDS`: one task that takes a new name before every sleep.
//! `tasks NR SECONDS`: so many tasks at once, each with its own name.
//! `forks RATE SECONDS`: so many new tasks a second, each with its own name.
//! `quiet NR`: beside them, one task that sleeps so many times and ends.
//!
//! Every sleep ends by the local timer, so that each is a path of its task.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// The smallest that the standard library gives; ten thousand of them must fit.
const STACK: usize = 16 << 10;
/// As short as a sleep gets.
const MOMENT: Duration = Duration::from_micros(1);

/// Name of the task that only sleeps.
pub const QUIET: &str = "quiet-task";

/// Does what the words say. Returns how many names there were.
pub fn run(words: &[String]) -> u64 {
    let number = |at: usize| -> u64 { words[at].parse().expect("a number") };
    let end = |at: usize| Instant::now() + Duration::from_secs(number(at));
    match words.first().map(String::as_str) {
        Some("rename") => rename(end(1)),
        Some("tasks") => tasks(number(1), end(2)),
        Some("forks") => forks(number(1), end(2)),
        Some("quiet") => quiet(number(1)),
        _ => panic!("rename SECONDS | tasks NR SECONDS | forks RATE SECONDS | quiet NR"),
    }
}

fn quiet(nr: u64) -> u64 {
    let body = move || (0..nr).for_each(|_| sleep(Duration::from_millis(2)));
    spawn(QUIET.to_owned(), body).join().expect("it sleeps and ends");
    1
}

fn rename(end: Instant) -> u64 {
    let mut nr = 0;
    while Instant::now() < end {
        let name = format!("r{nr:013x}\0");
        let name = std::ffi::CStr::from_bytes_with_nul(name.as_bytes()).expect("one NUL");
        rustix::thread::set_name(name).expect("a task may name itself");
        sleep(MOMENT);
        nr += 1;
    }
    nr
}

fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    Builder::new().name(name).stack_size(STACK).spawn(body).expect("a new task")
}

fn tasks(nr: u64, end: Instant) -> u64 {
    let barrier = Arc::new(Barrier::new(nr as usize + 1));
    let body = |at: u64| {
        let barrier = Arc::clone(&barrier);
        move || {
            barrier.wait();
            while Instant::now() < end {
                // Spread over the second, so that they do not all wake at once.
                sleep(Duration::from_micros(500_000 + at * 997 % 500_000));
            }
        }
    };
    let all: Vec<_> = (0..nr).map(|at| spawn(format!("t{at}"), body(at))).collect();
    barrier.wait();
    for task in all {
        task.join().expect("it sleeps and ends");
    }
    nr
}

fn forks(rate: u64, end: Instant) -> u64 {
    let started = Instant::now();
    let (mut nr, running) = (0, Arc::new(AtomicU64::new(0)));
    while Instant::now() < end {
        if nr >= started.elapsed().as_micros() as u64 * rate / 1_000_000 {
            sleep(Duration::from_micros(200));
            continue;
        }
        running.fetch_add(1, Ordering::Relaxed);
        let running = Arc::clone(&running);
        drop(spawn(format!("f{nr:x}"), move || {
            sleep(MOMENT);
            running.fetch_sub(1, Ordering::Relaxed);
        }));
        nr += 1;
    }
    while running.load(Ordering::Relaxed) > 0 {
        sleep(Duration::from_millis(1));
    }
    nr
}
