// SPDX-License-Identifier: GPL-2.0-or-later
//! Hostile names through every command that prints: on standard output, on standard error and in
//! every file there is no character that a terminal, an editor or a journal obeys.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use assert_cmd::Command;
use irqpath_model::is_printable;
use irqpath_testing::cli::{irqpath, is_root};
use irqpath_testing::recordings::{recording, replay};
use serde_json::{Value, json};

/// In places where 15 bytes are too few for it all.
const LONG: &str =
    "a\x1b[2J\u{9b}31m\nFORGED: b\r\t\x07\x7f\u{202e}\u{200b}\u{2028}\u{e0041}<b>|=1+1";
/// What a task may be called.
const NAMES: [&[u8]; 5] = [
    b"\x1b[2J\x9b31m\nFORGED",
    b"\nFORGED \xe2\x80\xae\xff",
    b"\x1b]0;t\x07\xc2\x9b2J\\x1b",
    b"<b>%s%n{}|`\"&'",
    b"=1+1\xf0\x9f\x98\x80\xe2\x80\x8b\r\t",
];

fn check_printable(what: &str, text: &[u8]) {
    let text = std::str::from_utf8(text).unwrap_or_else(|e| panic!("{what}: {e}"));
    for line in text.split('\n') {
        let bad = line.chars().find(|&c| !is_printable(c) && !is_own(what, c));
        assert_eq!(bad, None, "{what}: {line:?}");
        assert!(!line.trim_start().starts_with("FORGED"), "{what}: a name began a line: {line:?}");
    }
}

/// What irqpath itself writes: thin spaces between digits, and what the libraries of a page need.
fn is_own(what: &str, c: char) -> bool {
    Path::new(what).extension() == Some(OsStr::new("html"))
        && (c == '\u{202f}' || c == '\u{a0}' || c == '\t')
}

/// Run it, and look at all that it says.
fn run_and_check(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let what = format!("{command:?}");
    check_printable(&format!("standard output of {what}"), &output.stdout);
    check_printable(&format!("standard error of {what}"), &output.stderr);
    output
}

/// Every file below a directory.
fn check_files(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            check_files(&path);
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let name = path.to_string_lossy();
        match path.extension().and_then(OsStr::to_str) {
            Some("parquet" | "pftrace" | "rec") => {
                let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
                assert!(!has(b"\x1b[2J") && !has(b"\x1b]0;"), "{name} has a raw name");
            }
            _ => check_printable(&name, &bytes),
        }
    }
}

/// Strings that anybody may have chosen are replaced.
fn poison_strings(value: &mut Value, free: bool) {
    const FREE: [&str; 15] = [
        "host",
        "release",
        "version",
        "machine",
        "cmdline",
        "model",
        "source",
        "comm",
        "who",
        "origin_name",
        "via",
        "what",
        "consequence",
        "command",
        "irqs",
    ];
    match value {
        Value::String(text) if free => LONG.clone_into(text),
        Value::Array(all) => all.iter_mut().for_each(|one| poison_strings(one, free)),
        Value::Object(all) => {
            for (key, one) in all {
                // A path's key has carriers as numbers or words of ours.
                let is_free = FREE.contains(&key.as_str()) && !(key == "via" && one.is_object());
                poison_strings(one, free || is_free);
            }
        }
        _ => {}
    }
}

#[test]
fn results_of_strangers() {
    let root = tempfile::tempdir().unwrap();
    let place = |name: &str| root.path().join(name);
    replay(root.path()).arg("-o").arg(place("a")).assert().success();
    for name in ["meta.json", "summary.json"] {
        let path = place("a").join(name);
        let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        // A record's carriers are words of ours.
        let via = value.pointer("/slow/0/record/via").cloned();
        let keys: Vec<Value> =
            summary_paths(&value).map(|path| path["key"]["via"].clone()).collect();
        poison_strings(&mut value, false);
        if let (Some(via), Some(place)) = (via, value.pointer_mut("/slow/0/record/via")) {
            *place = via;
        }
        for (at, key) in keys.into_iter().enumerate() {
            value["paths"][at]["key"]["via"] = key;
        }
        fs::write(&path, value.to_string()).unwrap();
    }
    assert!(run_and_check(irqpath().arg("report").arg(place("a"))).status.success());
    let page = fs::read_to_string(place("a").join("report.html")).unwrap();
    check_printable("report.html", page.as_bytes());
    assert!(page.contains(r"\\u{9b}31m") && !page.contains("<b>|"), "the name is shown as text");
    for flags in [&[][..], &["--json"]] {
        let output =
            run_and_check(irqpath().arg("compare").args(flags).args([place("a"), place("a")]));
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("FORGED"));
    }
}

fn summary_paths(value: &Value) -> impl Iterator<Item = &Value> {
    value["paths"].as_array().into_iter().flatten()
}

#[test]
fn errors_that_quote_what_was_typed() {
    let root = tempfile::tempdir().unwrap();
    let name = OsString::from_vec([LONG.as_bytes(), b"\xff"].concat());
    let file = root.path().join(&name);
    fs::write(&file, LONG).unwrap();
    let directory = root.path().join(OsStr::from_bytes(b"d\x1b[2J\nFORGED"));
    fs::create_dir(&directory).unwrap();
    for name in ["meta.json", "summary.json"] {
        fs::write(directory.join(name), format!("{{\"schema_version\": \"{LONG}\"}}")).unwrap();
    }
    let recorded = recording(root.path(), 1);
    let all: [&[&OsStr]; 14] = [
        &[name.as_ref()],
        &["report".as_ref(), file.as_ref()],
        &["report".as_ref(), directory.as_ref()],
        &["compare".as_ref(), directory.as_ref(), file.as_ref()],
        &["trace".as_ref(), "once".as_ref(), "--replay".as_ref(), file.as_ref()],
        &[
            "trace".as_ref(),
            "once".as_ref(),
            "--irq".as_ref(),
            name.as_ref(),
            "--replay".as_ref(),
            recorded.as_ref(),
        ],
        &[
            "trace".as_ref(),
            "once".as_ref(),
            "-o".as_ref(),
            file.as_ref(),
            "--replay".as_ref(),
            recorded.as_ref(),
        ],
        &["trace".as_ref(), "once".as_ref(), "--cpus".as_ref(), name.as_ref()],
        &["tune".as_ref(), "--replay".as_ref(), file.as_ref()],
        &["schema".as_ref(), name.as_ref()],
        &[
            "respond".as_ref(),
            "--device".as_ref(),
            file.as_ref(),
            "--source".as_ref(),
            "rtc".as_ref(),
        ],
        &["bench".as_ref(), name.as_ref()],
        &["policy".as_ref(), "enable".as_ref(), name.as_ref()],
        &["lab".as_ref(), "--project".as_ref(), directory.as_ref(), "run".as_ref(), name.as_ref()],
    ];
    for arguments in all {
        let output = run_and_check(irqpath().args(arguments));
        assert_eq!(output.status.code(), Some(2), "{arguments:?} {output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text.lines().count(), 1, "an error is one line: {text}");
    }
}

/// Threads with such names, which sleep a little again and again until this is dropped.
struct Threads {
    tids: Vec<u32>,
    threads: Vec<JoinHandle<()>>,
}

static IS_OVER: AtomicBool = AtomicBool::new(false);

impl Threads {
    fn start() -> Self {
        let (sender, receiver) = mpsc::channel();
        let start = |name: &'static [u8]| {
            let sender = sender.clone();
            spawn(move || {
                fs::write("/proc/thread-self/comm", name).unwrap();
                let me = fs::read_link("/proc/thread-self").unwrap();
                let tid = me.file_name().unwrap().to_string_lossy().parse().unwrap();
                sender.send(tid).unwrap();
                while !IS_OVER.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(2));
                }
            })
        };
        let threads: Vec<_> = NAMES.into_iter().map(start).collect();
        let tids = receiver.into_iter().take(NAMES.len()).collect();
        Self { tids, threads }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        IS_OVER.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[test]
fn tasks_that_are_there_while_it_is_measured() {
    if !is_root("tasks_that_are_there_while_it_is_measured") {
        return;
    }
    let threads = Threads::start();
    let root = tempfile::tempdir().unwrap();
    let file = |name: &str| root.path().join(name);
    let tasks = || threads.tids.iter().flat_map(|tid| ["--task".to_owned(), tid.to_string()]);
    let output = run_and_check(
        irqpath()
            .args(["trace", "once", "-d", "1s", "-T", "1", "--perfetto", "-o"])
            .arg(file("result"))
            .args(tasks())
            .arg("--openmetrics")
            .arg(file("metrics"))
            .arg("--record")
            .arg(file("run.rec")),
    );
    if output.status.code() == Some(2) {
        eprintln!("skipped: tracing does not work here: {output:?}");
        return;
    }
    // On a busy machine not every task runs in this time, but some do.
    let text = String::from_utf8(output.stdout).unwrap();
    let shown = [r"\x1b[2J\", r"\nFORGED", r"\x1b]0;t", "<b>%s%n{", "=1+1"];
    let nr_shown = shown.iter().filter(|shown| text.contains(**shown)).count();
    assert!(nr_shown > 0, "none of the names is in\n{text}");
    assert!(run_and_check(irqpath().arg("report").arg(file("result"))).status.success());
    check_files(root.path());
    for view in [&["once"][..], &["hist"], &["once", "--json"]] {
        run_and_check(irqpath().arg("trace").args(view).arg("--replay").arg(file("run.rec")));
    }
    run_and_check(irqpath().args(["trace", "hist", "-d", "1s"]).args(tasks()));
    run_and_check(irqpath().args(["tune", "--replay"]).arg(file("run.rec")));
    run_and_check(irqpath().args(["tune", "--learn", "1s"]));
    run_and_check(
        Command::new("timeout")
            .args(["-s", "INT", "4"])
            .arg(assert_cmd::cargo::cargo_bin("irqpath"))
            .args(["tune", "--watch", "--learn", "1s", "--interval", "200ms"]),
    );
    for json in [&[][..], &["--json"]] {
        run_and_check(irqpath().args(["shield", "set", "--cpus", "0", "--dry-run"]).args(json));
        run_and_check(irqpath().args(["shield", "status"]).args(json));
        run_and_check(irqpath().arg("check").args(json));
        run_and_check(
            irqpath().args(["respond", "-d", "500ms", "-T", "1", "-p", "o:0"]).args(json),
        );
        run_and_check(
            irqpath().args(["jitter", "--continuous", "-d", "500ms", "-p", "o:0"]).args(json),
        );
    }
}

/// A journal in a mount namespace of its own, whose labels are names of tasks and devices at the
/// time of `set`. It names only what is gone, or holds a value of somebody else: nothing of this
/// machine is changed.
#[test]
fn journals_that_hold_such_names() {
    if !is_root("journals_that_hold_such_names") {
        return;
    }
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let switches = ["tasks", "irqs", "ticks"];
    let file = |path: &str, form: &str| json!({"kind": "file", "path": path, "form": form});
    let mut records = vec![json!({
        "record": "begin", "version": 1, "boot_id": boot.trim(), "at_unix_s": 1_795_577_018_u64,
        "wanted": {"cpus": "0", "mechanism": "auto", "since_ticks": 90, "switches": switches},
    })];
    let mut intend = |mut target: Value, before: Value, new: Value| {
        let all = target.as_object_mut().unwrap();
        all.insert("record".to_owned(), "intend".into());
        all.insert("label".to_owned(), LONG.into());
        all.insert("before".to_owned(), before);
        all.insert("new".to_owned(), new);
        records.push(target);
    };
    let cpus = |list: &str| json!({"cpus": list});
    let gone = format!("sys/devices/virtual/workqueue/{}/cpumask", LONG.replace('/', ""));
    intend(file("proc/irq/default_smp_affinity", "mask"), cpus("3000"), cpus("3001"));
    intend(file(&gone, "mask"), cpus("0"), cpus("1"));
    let task = json!({"kind": "task_affinity", "task": {"tid": 1, "start_ticks": 1_u64 << 60}});
    intend(task, cpus("0-1"), cpus("0"));
    let scheduling =
        |priority: u8| json!({"scheduling": {"policy": "fifo", "priority": priority, "nice": 0}});
    let thread = json!({"kind": "task_scheduling", "task": {"tid": 1, "start_ticks": 1_u64 << 60}});
    intend(thread, scheduling(50), scheduling(81));
    records.push(json!({
        "record": "refused",
        "target": {"kind": "task_affinity", "task": {"tid": 2, "start_ticks": 2}},
        "refusal": {"label": LONG, "new": cpus("0"), "errno": 22, "reason": LONG},
    }));
    let sealed = records.iter().map(|record| {
        let line = record.to_string();
        format!("{:08x} {line}\n", crc32fast::hash(line.as_bytes()))
    });
    let root = tempfile::tempdir().unwrap();
    let journal = root.path().join("journal");
    fs::write(&journal, sealed.collect::<String>()).unwrap();

    let mut shown = 0;
    for owner in ["shield", "tune"] {
        for arguments in [&["status"][..], &["status", "--json"], &["reset"], &["reset", "--json"]]
        {
            // No other process sees what is mounted, and it goes with the command.
            let place = "mkdir -p /var/lib/irqpath && mount -t tmpfs tmpfs /var/lib/irqpath && \
                         mount -t tmpfs tmpfs /run && chmod 755 /var/lib/irqpath && \
                         cp \"$1\" /var/lib/irqpath/$2.journal && shift && exec \"$0\" \"$@\"";
            let mut command = Command::new("unshare");
            command.args(["--mount", "--propagation", "private", "sh", "-c", place]);
            command.arg(assert_cmd::cargo::cargo_bin("irqpath")).arg(&journal).arg(owner);
            let output = run_and_check(command.args(arguments));
            if String::from_utf8_lossy(&output.stderr).contains("unshare failed") {
                eprintln!(
                    "skipped: journals of hostile names: no mount namespace can be made here"
                );
                return;
            }
            let text = String::from_utf8(output.stdout).unwrap();
            shown += usize::from(text.contains("FORGED"));
            assert!(output.status.success(), "{owner} {arguments:?}: {}", output.status);
        }
    }
    assert!(shown >= 4, "{shown} commands showed a name");
}
