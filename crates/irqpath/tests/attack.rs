// SPDX-License-Identifier: GPL-2.0-or-later
//! An unprivileged user does what is possible to fill the tracer's tables. What a filter names is
//! seen all the same, other tasks keep their rows, the first line says what was folded, and memory
//! stays within its bound.
//!
//! The attacker is this program again, as the user nobody. The release build is attacked.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a test says what it measured, or fails

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use irqpath_model::{PathSummary, Summary};
use irqpath_testing::attack;
use irqpath_testing::cli::{is_root, read_memory, release_binary};

const SECONDS: u64 = 20;
/// How long a trace lasts, and when in it the tasks sleep whose wakeups are counted: after every
/// program is attached, and so that they end before the trace does.
const TRACED: Duration = Duration::from_secs(7);
const BEGIN: Duration = Duration::from_secs(2);
/// How often each of them is woken.
const NR_WAKEUPS: u64 = 400;
/// A wakeup that no filter may lose: all but one in twenty.
const NR_SEEN: u64 = NR_WAKEUPS * 95 / 100;
/// Half of `IP_USERS_SHARE` of `bpf/irqpath.h`, and one row for each CPU that may race.
const USER_SHARE: usize = 320 + 8;

/// The bound on the memory of the process and its tables.
const MEMORY_BYTES: u64 = 100 << 20;

/// Not a test: what the attacking processes run.
#[test]
#[ignore = "one attacking process, not a test: cargo test --locked -p irqpath --test attack starts it"]
fn attacker() {
    let words = std::env::var("ATTACK").unwrap_or_default();
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    println!("{} names", attack::run(&words));
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
fn copy_reachable(directory: &Path) -> PathBuf {
    let program = directory.join("attack");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    for path in [directory, &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    program
}

/// Trace until it ends. Returns what it printed and its peak memory.
fn trace_to_end(arguments: &[&str]) -> (String, u64) {
    let child = Command::new(release_binary())
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
                if let Some(memory) = read_memory(pid) {
                    (process, tables) = (memory.peak.max(process), memory.tables.max(tables));
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

/// Have tasks woken in the middle of a trace that begins now. Their wakeups are [`NR_WAKEUPS`], unless
/// this takes longer than the trace.
fn in_the_middle(woken: impl FnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    let started = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(BEGIN);
        woken();
        let took = started.elapsed();
        assert!(
            took < TRACED,
            "the load ended {took:?} after its trace began, and was not all seen"
        );
    })
}

/// A root task that begins to sleep and wake when the tables are full already.
fn victim() {
    let sleep = || (0..NR_WAKEUPS).for_each(|_| std::thread::sleep(Duration::from_millis(2)));
    std::thread::Builder::new().name("victim".into()).spawn(sleep).unwrap().join().unwrap();
}

/// True for a name that the floods take.
fn is_attacker(comm: &str) -> bool {
    let kind = comm.chars().next();
    let rest = comm.get(1..).unwrap_or_default();
    matches!(kind, Some('r' | 't' | 'f'))
        && !rest.is_empty()
        && rest.chars().all(|c| c.is_ascii_hexdigit())
}

fn select_rows(summary: &Summary, is: impl Fn(&str) -> bool) -> Vec<&PathSummary> {
    summary.traced().paths.iter().filter(|p| !p.key.folded && is(p.key.comm.as_str())).collect()
}

#[test]
fn a_flood_of_names_hides_nobody_and_takes_no_memory() {
    if !is_root("a_flood_of_names_hides_nobody_and_takes_no_memory") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let program = copy_reachable(place.path());
    let words = [
        format!("rename {SECONDS}"),
        format!("forks 1000 {SECONDS}"),
        format!("tasks 10000 {SECONDS}"),
    ];
    // The attack ends by itself, and the build may have to be made first.
    release_binary();
    let attack = Attack::start(&program, &words);
    std::thread::sleep(Duration::from_millis(500));

    let traced = format!("{}s", TRACED.as_secs());
    let result = place.path().join("result");
    let victim = in_the_middle(victim);
    let (text, bytes) = trace_to_end(&["-d", &traced, "-o", result.to_str().unwrap()]);
    victim.join().unwrap();
    let first = text.lines().next().unwrap_or_default();
    println!("{first}");
    assert!(first.starts_with("irqpath: folded "), "{first}");
    assert!(bytes <= MEMORY_BYTES, "{} MiB", bytes >> 20);
    let summary: Summary =
        serde_json::from_slice(&fs::read(result.join("summary.json")).unwrap()).unwrap();
    assert!(summary.traced().folded.nr_names > 1_000, "{:?}", summary.traced().folded);
    assert_seen(&summary, "victim");
    let attackers = select_rows(&summary, is_attacker).len();
    println!("{attackers} rows of the attacker, {} in all", summary.traced().paths.len());
    assert!((50..=USER_SHARE).contains(&attackers), "{attackers} rows");

    // The same user's own task, if it is asked for.
    let quiet = in_the_middle(move || {
        let mut quiet = Attack::start(&program, &[format!("quiet {NR_WAKEUPS}")]);
        assert!(quiet.0[0].wait().unwrap().success());
    });
    let (text, bytes) = trace_to_end(&["-d", &traced, "--task", attack::QUIET, "--json", "-"]);
    quiet.join().unwrap();
    drop(attack);
    assert!(bytes <= MEMORY_BYTES, "{} MiB", bytes >> 20);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let summary: Summary = serde_json::from_value(document["summary"].clone()).unwrap();
    assert_seen(&summary, attack::QUIET);
    assert_eq!(summary.traced().folded.nr_paths, 0);
}

/// Of a task that was woken [`NR_WAKEUPS`] times.
fn assert_seen(summary: &Summary, task: &str) {
    let seen: u64 = select_rows(summary, |comm| comm == task).iter().map(|p| p.total.n).sum();
    println!("{seen} of {NR_WAKEUPS} wakeups of {task}; {:?}", summary.loss);
    assert!((NR_SEEN..=NR_WAKEUPS).contains(&seen), "{seen} wakeups of {task}: {:?}", summary.loss);
}
