// SPDX-License-Identifier: GPL-2.0-or-later
//! The agent on a host with ten thousand cgroups: whose the targets are, what becomes of cgroups
//! that are gone before anybody asks, and what the search for names costs.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a test says what it measured, or fails

mod agent_support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use agent_support::{PATIENCE, Running, sum_of};
use irqpath_testing::cli::{is_root, read_memory};

const NR_SLICES: usize = 100;
const NR_SERVICES: usize = 99;
/// Wakeups of each task by a timer.
const NR_WAKEUPS: u32 = 40;
/// To answer a scrape takes a look at the source and a part of the walk, of 150 ms together. The
/// machine may be busy with other tests.
const LONGEST_ANSWER: Duration = Duration::from_secs(3);
/// Names of the cgroups that still wait to be looked at, and the answer.
const GROWN_BYTES: u64 = 16 << 20;

/// Cgroups of our own with tasks in them. Dropped, all are gone.
struct Cgroups {
    root: PathBuf,
    tasks: Vec<Child>,
}

impl Cgroups {
    /// Nothing, and a reason, where there are no cgroups of version 2.
    fn make(test: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let of_line = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            (words[2] == "cgroup2").then(|| words[1].to_owned())
        };
        let Some(mount) = mounts.lines().find_map(of_line) else {
            eprintln!("skipped: {test}: needs a mount of cgroup2");
            return None;
        };
        let root = Path::new(&mount).join(format!("irqpath_test_{}.slice", std::process::id()));
        if let Err(error) = fs::create_dir(&root) {
            eprintln!("skipped: {test}: cannot make {}: {error}", root.display());
            return None;
        }
        let cgroups = Self { root, tasks: Vec::new() };
        for slice in 0..NR_SLICES {
            let directory = cgroups.root.join(format!("part{slice}.slice"));
            fs::create_dir(&directory).unwrap();
            for service in 0..NR_SERVICES {
                fs::create_dir(directory.join(format!("s{slice}_{service}.service"))).unwrap();
            }
        }
        Some(cgroups)
    }

    fn service(&self, slice: usize, service: usize) -> PathBuf {
        self.root.join(format!("part{slice}.slice/s{slice}_{service}.service"))
    }

    /// A task there that a timer wakes so many times, and that ends then.
    fn start_task(&mut self, slice: usize, service: usize) {
        let script = format!(
            "echo $$ > {}/cgroup.procs && for i in $(seq {NR_WAKEUPS}); do sleep 0.02; done",
            self.service(slice, service).display()
        );
        self.tasks.push(Command::new("sh").args(["-c", &script]).spawn().unwrap());
    }

    fn wait_for_tasks(&mut self) {
        for mut task in self.tasks.drain(..) {
            assert!(task.wait().unwrap().success());
        }
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        for task in &mut self.tasks {
            let _ = task.kill();
            let _ = task.wait();
        }
        // What a task had started may take a moment to end.
        let end = Instant::now() + Duration::from_secs(5);
        while remove_below(&self.root).is_err() && Instant::now() < end {
            sleep(Duration::from_millis(20));
        }
        if self.root.exists() {
            eprintln!("{} could not be removed", self.root.display());
        }
    }
}

fn remove_below(directory: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)?.flatten() {
        if entry.file_type()?.is_dir() {
            remove_below(&entry.path())?;
        }
    }
    fs::remove_dir(directory)
}

/// Answers of an agent, none of which may have lost anything that the one before had.
struct Scrapes<'a> {
    agent: &'a Running,
    total: f64,
    longest: Duration,
}

impl Scrapes<'_> {
    fn ask(&mut self) -> String {
        let begin = Instant::now();
        let text = String::from_utf8(self.agent.get("/metrics", "").1).unwrap();
        self.longest = self.longest.max(begin.elapsed());
        let total = sum_of(&text, "irqpath_path_seconds_count")
            + sum_of(&text, "irqpath_retired_path_seconds_count");
        assert!(total >= self.total, "{total} paths after {}: {text}", self.total);
        self.total = total;
        text
    }

    /// Until an answer is so.
    fn ask_until(&mut self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let text = self.ask();
            if is_so(&text) {
                return text;
            }
            assert!(Instant::now() < end, "{what} never comes: {text}");
            sleep(Duration::from_millis(1_050));
        }
    }
}

/// Paths to the tasks of a unit.
fn nr_paths_to(text: &str, unit: &str) -> f64 {
    let label = format!(",unit=\"{unit}\"");
    let is_its = |line: &&str| {
        line.starts_with("irqpath_path_seconds_count{") && line.contains(label.as_str())
    };
    let values = text.lines().filter(is_its).map(|line| line.rsplit(' ').next().unwrap());
    values.map(|value| value.parse::<f64>().unwrap()).sum()
}

#[test]
fn ten_thousand_cgroups_have_names_and_none_holds_an_answer_up() {
    let test = "ten_thousand_cgroups_have_names_and_none_holds_an_answer_up";
    if !is_root(test) {
        return;
    }
    let Some(mut cgroups) = Cgroups::make(test) else { return };
    let agent = Running::start("targets = 'units'\nidle_s = 4\n");
    let before = read_memory(agent.child.id()).unwrap();
    let (stays, goes) = ([(3, 7), (50, 50), (99, 98)], [(4, 8), (98, 0)]);
    for (slice, service) in stays.into_iter().chain(goes) {
        cgroups.start_task(slice, service);
    }
    cgroups.wait_for_tasks();
    for (slice, service) in goes {
        fs::remove_dir(cgroups.service(slice, service)).unwrap();
    }
    let mut scrapes = Scrapes { agent: &agent, total: 0.0, longest: Duration::ZERO };
    let names = stays.map(|(slice, service)| format!("s{slice}_{service}.service"));
    let least = f64::from(NR_WAKEUPS);
    let has_all = |text: &str| {
        names.iter().all(|name| nr_paths_to(text, name) >= least)
            && nr_paths_to(text, "gone") >= 2.0 * least
    };
    let text = scrapes.ask_until("the names", has_all);
    for (slice, service) in goes {
        assert!(!text.contains(&format!("s{slice}_{service}.service")), "{text}");
    }
    // A name outlives its cgroup, and what was counted outlives the row.
    fs::remove_dir(cgroups.service(3, 7)).unwrap();
    assert!(nr_paths_to(&scrapes.ask(), &names[0]) >= least);
    let has_ended = |text: &str| {
        names.iter().all(|name| nr_paths_to(text, name) == 0.0)
            && sum_of(text, "irqpath_retired_path_seconds_count") >= 5.0 * least
    };
    scrapes.ask_until("the end of their series", has_ended);
    let after = read_memory(agent.child.id()).unwrap();
    println!(
        "longest answer {:?}; resident {} KiB, then at most {} KiB",
        scrapes.longest,
        before.resident >> 10,
        after.peak >> 10
    );
    assert!(scrapes.longest <= LONGEST_ANSWER, "{:?}", scrapes.longest);
    assert!(after.peak <= before.peak + GROWN_BYTES, "{before:?} {after:?}");
    assert_eq!(agent.stop(), "");
    let root = cgroups.root.clone();
    drop(cgroups);
    assert!(!root.exists(), "{} is left", root.display());
}
