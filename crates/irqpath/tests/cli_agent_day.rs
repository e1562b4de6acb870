// SPDX-License-Identifier: GPL-2.0-or-later
//! An agent that is left on: what it needs in memory, with its tables, is bounded and does not grow.
//! A day is a flood of wakeups here, by tasks that come and go, with a question every second.
//! It lasts 30 s, or `IRQPATH_DAY` seconds. The release build is measured.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a test says what it measured, or fails

mod agent_support;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use agent_support::Running;
use irqpath_testing::attack;
use irqpath_testing::cli::{is_root, read_memory, release_binary};

/// The process and its tables together, at any time. On two CPUs 56 to 61 MiB were measured; before
/// its memory was bounded it was 79, and grew.
const MOST_BYTES: u64 = 64 << 20;
/// What the last third of the day may need more than the third before it: one page of histograms in
/// every row, and what the allocator rounds.
const GROWN_BYTES: u64 = 4 << 20;
const PROTOBUF: &str = "Accept: application/vnd.google.protobuf;\
    proto=io.prometheus.client.MetricFamily;encoding=delimited\r\n";

/// A load that is begun again whenever it ends.
struct Flood {
    program: PathBuf,
    child: Child,
}

impl Flood {
    fn start() -> Self {
        let target =
            std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().to_owned();
        let program = target.join("examples/bench_load");
        let child = Self::spawn(&program);
        Self { program, child }
    }

    fn spawn(program: &PathBuf) -> Child {
        let started = Command::new(program).arg("400000").spawn();
        started.unwrap_or_else(|error| {
            panic!("{}: {error}; run cargo build -p irqpath --examples", program.display())
        })
    }

    fn go_on(&mut self) {
        if self.child.try_wait().unwrap().is_some() {
            self.child = Self::spawn(&self.program);
        }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_agent_needs_no_more_in_the_evening_than_at_noon() {
    if !is_root("an_agent_needs_no_more_in_the_evening_than_at_noon") {
        return;
    }
    let seconds = std::env::var("IRQPATH_DAY").map_or(30, |text| text.parse().expect("seconds"));
    let agent = Running::start_by(Command::new(release_binary()), &[], "");
    let mut flood = Flood::start();
    let words = ["forks".to_owned(), "200".to_owned(), seconds.to_string()];
    let tasks = std::thread::spawn(move || attack::run(&words));

    let (begin, day) = (Instant::now(), Duration::from_secs(seconds));
    let mut thirds = [0_u64; 3];
    let mut nr_asked = 0_u32;
    while begin.elapsed() < day {
        sleep(Duration::from_secs(1));
        flood.go_on();
        let (head, _) =
            agent.get("/metrics", if nr_asked.is_multiple_of(2) { PROTOBUF } else { "" });
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        nr_asked += 1;
        let memory = read_memory(agent.child.id()).unwrap();
        let third = (3 * begin.elapsed().as_secs() / seconds).min(2) as usize;
        thirds[third] = thirds[third].max(memory.resident + memory.tables);
        if nr_asked.is_multiple_of(10) {
            println!(
                "{:?} {} KiB, tables {} KiB",
                begin.elapsed(),
                memory.resident >> 10,
                memory.tables >> 10
            );
        }
    }
    drop(flood);
    println!("{} tasks, {nr_asked} questions", tasks.join().unwrap());
    println!("KiB by third: {:?}", thirds.map(|bytes| bytes >> 10));
    fs::metadata(agent.socket()).expect("it still serves");
    assert!(
        thirds.iter().all(|&bytes| bytes <= MOST_BYTES),
        "{thirds:?} bytes by third of the day"
    );
    assert!(thirds[2] <= thirds[1] + GROWN_BYTES, "{thirds:?} bytes by third of the day");
}
