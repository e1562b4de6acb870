// SPDX-License-Identifier: GPL-2.0-or-later
//! What the flight recorder lets others do: actions without privileges, probes in programs, and the
//! stacks of who blocked.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use irqpath_testing::cli::{is_installed, is_root};
use irqpath_testing::flight::{Flight, PATIENCE, read_meta};
use irqpath_testing::probed::{build_program, can_probe, say, start_program};
use rustix::process::Signal;

/// How long a left-behind command would sleep: told by this number from all others.
const NAP: &str = "98765.4321";

/// A directory that everybody may write to.
fn open_directory() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::set_permissions(root.path(), Permissions::from_mode(0o777)).unwrap();
    root
}

fn is_napping() -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok()).any(|line| {
        line.windows(NAP.len()).any(|word| word == NAP.as_bytes()) && line.starts_with(b"sleep")
    })
}

#[test]
fn a_command_has_no_privileges_and_leaves_nothing_behind() {
    if !is_root("a_command_has_no_privileges_and_leaves_nothing_behind") {
        return;
    }
    let root = open_directory();
    let (captures, told) = (root.path().join("captures"), root.path().join("told"));
    let command = format!(
        "shell,command=id -u > {told}; id -G >> {told}; ls /proc/self/fd | wc -l >> {told}; \
         echo $IRQPATH_TRIGGER >> {told}; ls $IRQPATH_CAPTURE/meta.json >> {told}; \
         grep -E 'CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs' /proc/self/status >> {told}; \
         cat /etc/shadow && echo read >> {told}; \
         setsid sleep {NAP} & sleep {NAP} & echo end >> {told}",
        told = told.display()
    );
    let arguments = [
        "--keep",
        "1s",
        "--on-threshold",
        "trace",
        "--on-threshold",
        &command,
        "--on-threshold",
        "continue",
    ];
    let mut flight = Flight::start(&captures, &arguments);
    fs::set_permissions(&captures, Permissions::from_mode(0o755)).unwrap();
    flight.signal(Signal::USR1);
    let is_told = |_: &Flight| fs::read_to_string(&told).is_ok_and(|text| text.contains("end\n"));
    flight.wait_until("the command has run", is_told);
    flight.wait_until("what it left has gone", |_| !is_napping());
    let (document, _) = flight.stop();
    let text = fs::read_to_string(&told).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["65534", "65534"], "{text}");
    // ls has standard input, output and error, and the directory that it lists.
    assert_eq!(lines[2], "4", "{text}");
    assert_eq!(lines[3], "signal", "{text}");
    assert!(lines[4].ends_with("0001-signal/meta.json"), "{text}");
    for line in &lines[5..9] {
        assert!(line.ends_with("\t0000000000000000"), "{text}");
    }
    assert_eq!(lines[9], "NoNewPrivs:\t1");
    assert!(!lines.contains(&"read"), "{text}");
    assert_eq!(document["actions"]["nr_done"], 1, "{document}");
}

#[test]
fn a_command_that_does_not_end_is_killed_and_others_are_skipped_meanwhile() {
    if !is_root("a_command_that_does_not_end_is_killed_and_others_are_skipped_meanwhile") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let command = format!("shell,command=sleep {NAP}");
    let arguments =
        ["--at-most", "100/s", "--on-threshold", &command, "--on-threshold", "continue"];
    let flight = Flight::start(&root.path().join("captures"), &arguments);
    let begun = Instant::now();
    flight.signal(Signal::USR1);
    sleep(Duration::from_secs(1));
    flight.signal(Signal::USR1);
    sleep(Duration::from_secs(1));
    let (document, _) = flight.stop();
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(document["actions"]["nr_failed"], 1, "{document}");
    assert_eq!(document["actions"]["nr_skipped"], 1, "{document}");
    assert_eq!(document["nr_captures"], 0, "no capture was asked for: {document}");
    assert_eq!(document["suppressed"]["unwanted"], 2, "{document}");
}

/// A process of this user that waits to be signalled.
fn start_waiter(uid: u32) -> Child {
    Command::new("sleep").arg("600").uid(uid).spawn().unwrap()
}

#[test]
fn a_signal_reaches_whom_nobody_may_signal_and_no_other() {
    if !is_root("a_signal_reaches_whom_nobody_may_signal_and_no_other") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    for (uid, is_reached) in [(65_534, true), (0, false)] {
        let mut waiter = start_waiter(uid);
        let action = format!("signal,num=10,pid={}", waiter.id());
        let directory = root.path().join(uid.to_string());
        // Without continue, the first trigger is the last one.
        let flight = Flight::start(&directory, &["--on-threshold", &action]);
        flight.signal(Signal::USR1);
        let (document, _) = flight.wait();
        let counts = &document["actions"];
        assert_eq!(counts["nr_done"], u64::from(is_reached), "{document}");
        assert_eq!(counts["nr_failed"], u64::from(!is_reached), "{document}");
        if !is_reached {
            assert!(waiter.try_wait().unwrap().is_none());
            waiter.kill().unwrap();
        }
        let status = waiter.wait().unwrap();
        assert_eq!(status.signal(), Some(if is_reached { 10 } else { 9 }));
    }
}

#[test]
fn a_program_at_a_probe_is_a_trigger_and_its_replacement_is_told() {
    let test = "a_program_at_a_probe_is_a_trigger_and_its_replacement_is_told";
    if !can_probe(test) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let program = build_program(root.path());
    let usdt = format!("usdt:{}:app:missed", program.display());
    let uprobe = format!("uprobe:{}:on_miss", program.display());
    let arguments =
        ["--keep", "1s", "--at-most", "100/s", "--trigger", &usdt, "--trigger", &uprobe];
    let mut flight = Flight::start(&root.path().join("captures"), &arguments);
    let mut running = start_program(&program);
    say(&mut running, "p");
    flight.wait_for_captures(1);
    say(&mut running, "f");
    let captures = flight.wait_for_captures(2);
    assert!(captures[0].ends_with("0001-usdt") && captures[1].ends_with("0002-uprobe"));
    let what = read_meta(&captures[0])["capture"]["what"].as_str().unwrap().to_owned();
    assert_eq!(what, format!("app:{} at app:missed", running.id()));
    // As a package manager does it: a new file takes the name.
    fs::copy(&program, root.path().join("new")).unwrap();
    fs::rename(root.path().join("new"), &program).unwrap();
    sleep(Duration::from_secs(2));
    say(&mut running, "p");
    flight.wait_for_captures(3);
    let (document, said) = flight.stop();
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(said.lines().count(), 2, "once for each probe: {said}");
    assert!(said.lines().all(|line| line.contains("app was replaced: programs that")), "{said}");
    assert_eq!(document["notes"].as_array().unwrap().len(), 2, "{document}");
    assert_eq!(document["probes"]["nr_replaced"], 2, "{document}");
    assert_eq!(document["probes"]["nr_rewritten"], 0, "{document}");
}

/// True if the code of a program that runs is not that of its file: the kernel puts breakpoints there.
fn has_breakpoint(running: &Child, program: &Path) -> bool {
    let maps = fs::read_to_string(format!("/proc/{}/maps", running.id())).unwrap();
    let is_code = |line: &&str| line.contains(" r-xp ") && line.ends_with("/app");
    let code = maps.lines().find(is_code).expect("its code");
    let words: Vec<&str> = code.split_whitespace().collect();
    let hex = |text| u64::from_str_radix(text, 16).unwrap();
    let (at, offset) = (hex(words[0].split_once('-').unwrap().0), hex(words[2]) as usize);
    let file = &fs::read(program).unwrap()[offset..];
    let mut memory = vec![0; file.len().min(4096)];
    let open = fs::File::open(format!("/proc/{}/mem", running.id())).unwrap();
    open.read_exact_at(&mut memory, at).unwrap();
    memory[..] != file[..memory.len()]
}

fn end(mut running: Child) {
    running.kill().unwrap();
    running.wait().unwrap();
}

#[test]
fn a_program_that_is_overwritten_in_place_gets_no_breakpoint_and_is_told() {
    let test = "a_program_that_is_overwritten_in_place_gets_no_breakpoint_and_is_told";
    if !can_probe(test) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let program = build_program(root.path());
    let old = fs::read(&program).unwrap();
    for nr_more in [0, 1] {
        fs::write(&program, &old).unwrap();
        let uprobe = format!("uprobe:{}:on_miss", program.display());
        let directory = root.path().join(format!("captures-{nr_more}"));
        let arguments = ["--keep", "1s", "--at-most", "100/s", "--trigger", &uprobe];
        let mut flight = Flight::start(&directory, &arguments);
        let mut running = start_program(&program);
        say(&mut running, "f");
        flight.wait_for_captures(1);
        assert!(has_breakpoint(&running, &program));
        end(running);
        // Bytes that nobody reads, in the header and behind the end.
        let mut new = old.clone();
        new[15] = 1;
        new.resize(old.len() + nr_more, 0);
        fs::write(&program, &new).unwrap();
        sleep(Duration::from_secs(1));
        let mut running = start_program(&program);
        say(&mut running, "f");
        sleep(Duration::from_secs(1));
        assert!(!has_breakpoint(&running, &program), "{nr_more} bytes more");
        end(running);
        let (document, said) = flight.stop();
        assert_eq!(document["nr_captures"], 1, "{document}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("app was changed in place: its probe on_miss is detached"), "{said}");
        assert_eq!(document["probes"]["nr_rewritten"], 1, "{document}");
        assert_eq!(document["probes"]["nr_replaced"], 0, "{document}");
    }
}

#[test]
fn a_strangers_program_is_not_read() {
    if !is_root("a_strangers_program_is_not_read") || !is_installed("cc") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let program = build_program(root.path());
    std::os::unix::fs::chown(&program, Some(65_533), None).unwrap();
    let output = irqpath_testing::cli::irqpath()
        .timeout(PATIENCE)
        .args(["record", "-o"])
        .arg(root.path().join("captures"))
        .args(["--trigger", &format!("uprobe:{}:on_miss", program.display())])
        .output()
        .unwrap();
    let line = irqpath_testing::cli::error_line(&output);
    assert!(line.contains("it belongs to uid 65533, who is not you"), "{line}");
}

#[test]
fn who_blocked_is_in_the_capture_with_its_functions() {
    if !is_root("who_blocked_is_in_the_capture_with_its_functions") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let arguments = ["--keep", "5s", "--stacks", "5"];
    let mut flight = Flight::start(&root.path().join("captures"), &arguments);
    // On one CPU, each waits for the other.
    let spin = "taskset -c 0 sh -c 'while :; do :; done'";
    let mut spinner = Command::new("timeout").args(["5", "sh", "-c", spin]).spawn().unwrap();
    let wake = "for i in $(seq 200); do sleep 0.005; done";
    let status = Command::new("taskset").args(["-c", "0", "sh", "-c", wake]).status().unwrap();
    assert!(status.success());
    flight.signal(Signal::USR1);
    let captures = flight.wait_for_captures(1);
    let folded = fs::read_to_string(captures[0].join("stacks.folded")).unwrap();
    let (document, _) = flight.stop();
    spinner.wait().unwrap();
    assert!(document["nr_stacks"].as_u64().unwrap() > 0, "{document}");
    assert!(document["stacks_ns"].as_u64().unwrap() > 0, "{document}");
    let is_line = |line: &str| {
        let (stack, us) = line.rsplit_once(' ').unwrap();
        us.parse::<u64>().is_ok() && stack.split(';').count() >= 3 && stack.contains(";[")
    };
    assert!(folded.lines().all(is_line), "{folded}");
    assert!(folded.contains(";[cpu];"), "{folded}");
    let hidden = fs::read_to_string("/proc/kallsyms").unwrap().starts_with("0000000000000000");
    let has_names = folded.lines().any(|line| !line.contains(";0x"));
    assert!(hidden || has_names, "no function has a name: {folded}");
}
