// SPDX-License-Identifier: GPL-2.0-or-later
//! An unprivileged user does what is possible to fill the tracer's tables. What a filter names is
//! seen all the same, other tasks keep their rows, the first line says what was folded, and memory
//! stays within its bound.
//!
//! The attacker is this program again, as the user nobody.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a test says what it measured, or fails

#[path = "../../examples/attack_load.rs"]
#[allow(dead_code)] // its main
mod attack_load;
#[path = "../common/mod.rs"]
mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use irqpath_model::{PathSummary, Summary};

const SECONDS: u64 = 12;
/// Of the process and its tables. The code of a debug build alone has 24 MiB in memory, and with
/// it 98 to 103 MiB were seen.
const MAX_BYTES: u64 = if cfg!(debug_assertions) { 110 << 20 } else { 100 << 20 };
/// Half of `IP_USERS_SHARE` of `bpf/irqpath.h`, and one row for each CPU that may race.
const USER_SHARE: usize = 320 + 8;

/// Not a test: what the attacking processes run.
#[test]
#[ignore = "run by the test of this file"]
fn attacker() {
    let words = std::env::var("ATTACK").unwrap_or_default();
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    println!("{} names", attack_load::run(&words));
}

/// Processes that end with the test.
struct Attack(Vec<Child>);

impl Attack {
    fn start(program: &Path, words: &[String]) -> Self {
        let start = |words: &String| {
            Command::new("setpriv")
                .args(["--reuid", "65534", "--clear-groups"])
                .args(["--bounding-set=-all", "--inh-caps=-all"])
                .arg(program)
                .args(["--ignored", "--exact", "attacker"])
                .env("ATTACK", words)
                .stdout(Stdio::null())
                .spawn()
                .expect("setpriv of util-linux")
        };
        Self(words.iter().map(start).collect())
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// This program where nobody can reach it.
fn reachable(directory: &Path) -> PathBuf {
    let program = directory.join("attack");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    for path in [directory, &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    program
}

/// Peak memory of a process, and of the tables that it has open, bytes.
fn memory(pid: u32) -> Option<(u64, u64)> {
    let number = |text: &str, key: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let infos = fs::read_dir(format!("/proc/{pid}/fdinfo")).ok()?;
    let memlock = infos
        .flatten()
        .filter_map(|info| number(&fs::read_to_string(info.path()).ok()?, "memlock:"))
        .sum();
    Some((number(&status, "VmHWM:")? << 10, memlock))
}

/// Trace until it ends. Returns what it printed and its peak memory.
fn trace(arguments: &[&str]) -> (String, u64) {
    let child = Command::new(env!("CARGO_BIN_EXE_irqpath"))
        .args(["trace", "once"])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let done = Arc::new(AtomicBool::new(false));
    let watcher = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            let (mut process, mut tables) = (0, 0);
            while !done.load(Ordering::Relaxed) {
                if let Some((rss, memlock)) = memory(pid) {
                    (process, tables) = (rss.max(process), memlock.max(tables));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            println!("process {} MiB, tables {} MiB", process >> 20, tables >> 20);
            process + tables
        }
    });
    let output = child.wait_with_output().unwrap();
    done.store(true, Ordering::Relaxed);
    assert!(output.status.success(), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), watcher.join().unwrap())
}

/// A root task that begins to sleep and wake when the tables are full already.
fn victim() -> std::thread::JoinHandle<()> {
    let sleep = || {
        std::thread::sleep(Duration::from_secs(2));
        for _ in 0..400 {
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    std::thread::Builder::new().name("victim".into()).spawn(sleep).unwrap()
}

/// True for a name that the floods take.
fn is_attacker(comm: &str) -> bool {
    let kind = comm.chars().next();
    let rest = comm.get(1..).unwrap_or_default();
    matches!(kind, Some('r' | 't' | 'f'))
        && !rest.is_empty()
        && rest.chars().all(|c| c.is_ascii_hexdigit())
}

fn rows(summary: &Summary, is: impl Fn(&str) -> bool) -> Vec<&PathSummary> {
    summary.paths.iter().filter(|p| !p.key.folded && is(p.key.comm.as_str())).collect()
}

#[test]
fn a_flood_of_names_hides_nobody_and_takes_no_memory() {
    if !common::is_root("a_flood_of_names_hides_nobody_and_takes_no_memory") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let program = reachable(place.path());
    let words = [
        format!("rename {SECONDS}"),
        format!("forks 1000 {SECONDS}"),
        format!("tasks 10000 {SECONDS}"),
        format!("quiet {SECONDS}"),
    ];
    let attack = Attack::start(&program, &words);
    std::thread::sleep(Duration::from_millis(500));

    let result = place.path().join("result");
    let victim = victim();
    let (text, bytes) = trace(&["-d", "5s", "-o", result.to_str().unwrap()]);
    let _ = victim.join();
    let first = text.lines().next().unwrap_or_default();
    println!("{first}");
    assert!(first.starts_with("irqpath: folded "), "{first}");
    assert!(bytes <= MAX_BYTES, "{} MiB", bytes >> 20);
    let summary: Summary =
        serde_json::from_slice(&fs::read(result.join("summary.json")).unwrap()).unwrap();
    assert!(summary.folded.nr_names > 1_000, "{:?}", summary.folded);
    let victims: u64 = rows(&summary, |comm| comm == "victim").iter().map(|p| p.total.n).sum();
    assert!(victims >= 200, "{victims} of 400 wakeups of another user's task");
    let attackers = rows(&summary, is_attacker).len();
    println!("{attackers} rows of the attacker, {} in all", summary.paths.len());
    assert!((50..=USER_SHARE).contains(&attackers), "{attackers} rows");

    // The same user's own task, if it is asked for.
    let (text, bytes) = trace(&["-d", "2s", "--task", attack_load::QUIET, "--json", "-"]);
    drop(attack);
    assert!(bytes <= MAX_BYTES, "{} MiB", bytes >> 20);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let summary: Summary = serde_json::from_value(document["summary"].clone()).unwrap();
    let quiet: u64 = rows(&summary, |c| c == attack_load::QUIET).iter().map(|p| p.total.n).sum();
    assert!(quiet >= 100, "{quiet} wakeups of the task that was named");
    assert_eq!(summary.folded.nr_paths, 0);
}
