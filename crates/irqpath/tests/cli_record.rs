// SPDX-License-Identifier: GPL-2.0-or-later
//! The flight recorder on this machine: what it writes, its bounds, and that it goes on whatever
//! happens.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use irqpath_report::perfetto::proto::Trace;
use irqpath_testing::cli::{error_line, irqpath, is_root, names};
use irqpath_testing::flight::{Flight, PATIENCE, read_meta};
use prost::Message as _;
use rustix::process::Signal;
use serde_json::Value;

const DAC_OVERRIDE: u64 = 1 << 1;
const SYSLOG: u64 = 1 << 34;
const FILES: [&str; 6] =
    ["meta.json", "paths.parquet", "report.html", "summary.json", "trace.pftrace", "trace.rec"];

fn total(memory: &Value) -> u64 {
    ["rings", "tables", "process"].iter().map(|part| memory[part].as_u64().unwrap()).sum()
}

/// Everything that reads results reads a capture.
fn assert_readable(capture: &Path) {
    assert_eq!(names(capture), FILES);
    irqpath().arg("report").arg(capture).assert().success();
    let recording = capture.join("trace.rec");
    let output =
        irqpath().args(["trace", "once", "--json", "--replay"]).arg(recording).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let replayed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let stored: Value =
        serde_json::from_slice(&fs::read(capture.join("summary.json")).unwrap()).unwrap();
    assert_eq!(replayed["summary"]["paths"], stored["paths"], "a replay has the same numbers");
    assert!(!stored["paths"].as_array().unwrap().is_empty());
    assert!(!stored["lines"].as_array().unwrap().is_empty());
    let trace = fs::read(capture.join("trace.pftrace")).unwrap();
    let trace = Trace::decode(trace.as_slice()).unwrap();
    let nr_events = trace.packet.iter().filter(|packet| packet.track_event.is_some()).count();
    assert!(nr_events > 100, "{nr_events} events");
}

#[test]
fn captures_are_results_and_the_recorder_goes_on() {
    if !is_root("captures_are_results_and_the_recorder_goes_on") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let (fifo, socket) = (root.path().join("fifo"), root.path().join("socket"));
    let triggers = [&fifo, &socket].map(|path| path.display().to_string());
    let triggers = [format!("fifo:{}", triggers[0]), format!("socket:{}", triggers[1])];
    let mut arguments = vec!["--keep", "1s", "--at-most", "100/s", "--at-end"];
    arguments.extend(triggers.iter().flat_map(|trigger| ["--trigger", trigger]));
    let mut flight = Flight::start(&root.path().join("captures"), &arguments);
    std::thread::sleep(Duration::from_secs(1));
    flight.signal(Signal::USR1);
    let first = flight.wait_for_captures(1);
    assert_readable(&first[0]);
    writeln!(fs::File::options().write(true).open(&fifo).unwrap(), "late \u{9b}31m").unwrap();
    flight.wait_for_captures(2);
    writeln!(UnixStream::connect(&socket).unwrap(), "by socket").unwrap();
    let all = flight.wait_for_captures(3);
    let last: Vec<_> = all.iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    assert_eq!(last, ["0001-signal", "0002-fifo", "0003-socket"]);
    let meta = read_meta(&all[1]);
    assert_eq!(meta["capture"]["what"], "fifo: late \u{9b}31m");
    let raw = fs::read_to_string(all[1].join("meta.json")).unwrap();
    assert!(!raw.contains('\u{9b}'), "a stranger's text is escaped");
    let (document, said) = flight.stop();
    assert_eq!(said, "");
    assert_eq!(document["nr_captures"], 4, "{document}");
    assert_eq!(document["triggers"]["end"], 1);
    let memory = &document["memory"];
    assert!(total(memory) <= memory["limit"].as_u64().unwrap(), "{memory}");
    assert!(document["clocks"]["end"]["realtime_ns"].as_u64().unwrap() > 0);
}

#[test]
fn a_recorder_keeps_two_capabilities_and_its_filter() {
    if !is_root("a_recorder_keeps_two_capabilities_and_its_filter") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let flight = Flight::start(&root.path().join("captures"), &["--keep", "1s"]);
    let mut held = 0;
    for thread in fs::read_dir(format!("/proc/{}/task", flight.pid())).unwrap().flatten() {
        let status = fs::read_to_string(thread.path().join("status")).unwrap();
        let field = |name| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
        assert_eq!(field("Seccomp:"), "2", "{status}");
        assert_eq!(field("NoNewPrivs:"), "1", "{status}");
        held |= u64::from_str_radix(field("CapPrm:"), 16).unwrap();
    }
    assert_eq!(held & !(DAC_OVERRIDE | SYSLOG), 0, "{held:x}");
    flight.stop();
}

#[test]
fn captures_beyond_the_rate_are_counted_and_not_made() {
    if !is_root("captures_beyond_the_rate_are_counted_and_not_made") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let arguments = ["-T", "1", "--keep", "300ms", "--after", "10ms", "--at-most", "2/h"];
    let mut flight = Flight::start(&root.path().join("captures"), &arguments);
    flight.wait_for_captures(2);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(flight.captures().len(), 2);
    let (document, _) = flight.stop();
    assert_eq!(document["nr_captures"], 2, "{document}");
    assert!(document["suppressed"]["rate"].as_u64().unwrap() > 10, "{document}");
    let heard = document["triggers"]["threshold"].as_u64().unwrap();
    let suppressed = document["suppressed"].as_object().unwrap();
    let unmade: u64 = suppressed.values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(heard, unmade + 2, "every trigger is accounted for: {document}");
    let capture = &document["captures"][0]["capture"];
    assert!(capture["what"].as_str().unwrap().contains(" us"), "{capture}");
}

#[test]
fn the_oldest_captures_go_when_the_disk_budget_is_used_up() {
    if !is_root("the_oldest_captures_go_when_the_disk_budget_is_used_up") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("captures");
    fs::create_dir(&directory).unwrap();
    fs::create_dir(directory.join("0000-mine")).unwrap();
    fs::write(directory.join("0000-mine/thesis"), "x").unwrap();
    let arguments =
        ["-T", "1", "--keep", "300ms", "--after", "10ms", "--at-most", "1000/s", "--disk", "8"];
    let mut flight = Flight::start(&directory, &arguments);
    let is_dropping = |flight: &Flight| {
        flight.captures().len() > 1 && !flight.directory.join("0001-threshold").exists()
    };
    flight.wait_until("room is made", is_dropping);
    let (document, _) = flight.stop();
    assert!(document["nr_dropped"].as_u64().unwrap() > 0, "{document}");
    assert!(document["disk_bytes"].as_u64().unwrap() <= 8 << 20, "{document}");
    assert!(directory.join("0000-mine/thesis").exists(), "what is not a capture stays");
    let usage = Command::new("du").args(["-s", "-B1"]).arg(&directory).output().unwrap();
    let usage = String::from_utf8(usage.stdout).unwrap();
    let bytes: u64 = usage.split_whitespace().next().unwrap().parse().unwrap();
    assert!(bytes <= (8 << 20) + (64 << 10), "{usage}");
}

#[test]
fn a_full_disk_costs_one_line_and_a_capture_and_the_recorder_goes_on() {
    if !is_root("a_full_disk_costs_one_line_and_a_capture_and_the_recorder_goes_on") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    // No file may grow beyond this; a full disk refuses the same write.
    let mut command = Command::new("prlimit");
    command.arg("--fsize=20000").arg(assert_cmd::cargo::cargo_bin("irqpath"));
    let arguments = ["--keep", "1s", "--at-most", "100/s"];
    let mut flight = Flight::start_by(command, &root.path().join("captures"), &arguments);
    std::thread::sleep(Duration::from_secs(1));
    flight.signal(Signal::USR1);
    let has_failed = |flight: &Flight| {
        // Its partial directory comes and goes; the writer's time tells that it worked.
        names(&flight.directory).is_empty() && flight.captures().is_empty()
    };
    std::thread::sleep(Duration::from_secs(3));
    flight.wait_until("the partial capture is gone", has_failed);
    flight.signal(Signal::USR1);
    std::thread::sleep(Duration::from_secs(3));
    let directory = flight.directory.clone();
    let (document, said) = flight.stop();
    assert_eq!(document["suppressed"]["failed"], 2, "{document} {said}");
    assert_eq!(said.lines().count(), 1, "the next line is due in an hour: {said}");
    assert!(said.contains("no capture was kept: cannot write"), "{said}");
    assert!(names(&directory).is_empty());
}

#[test]
fn memory_beyond_the_limit_is_refused_by_the_kernel_and_before_the_start() {
    if !is_root("memory_beyond_the_limit_is_refused_by_the_kernel_and_before_the_start") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let flight = Flight::start(&root.path().join("captures"), &["--keep", "1s"]);
    let limits = fs::read_to_string(format!("/proc/{}/limits", flight.pid())).unwrap();
    let data = limits.lines().find_map(|line| line.strip_prefix("Max data size")).unwrap();
    let data: u64 = data.split_whitespace().next().unwrap().parse().expect("a limit is set");
    let (document, _) = flight.stop();
    let memory = &document["memory"];
    let in_kernel = memory["rings"].as_u64().unwrap() + memory["tables"].as_u64().unwrap();
    let stacks = 8 << 20;
    assert!(data + in_kernel <= memory["limit"].as_u64().unwrap() + stacks, "{data} {memory}");
    // A session that allows less than the copy of the rings.
    let mut command = Command::new("prlimit");
    command.arg("--data=60000000").arg(assert_cmd::cargo::cargo_bin("irqpath"));
    command.args(["record", "--memory", "256", "-o"]).arg(root.path().join("none"));
    let output = command.output().unwrap();
    assert!(error_line(&output).contains("57 MiB of data (ulimit -d)"), "{output:?}");
}

#[test]
fn hosts_that_start_at_one_instant_are_merged_and_a_clock_that_was_set_is_told() {
    if !is_root("hosts_that_start_at_one_instant_are_merged_and_a_clock_that_was_set_is_told") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let at = (now.as_secs() + 20).to_string();
    let arguments = ["--at", &at, "-d", "1s", "--keep", "5s", "--at-end"];
    let hosts = ["a", "b"].map(|host| Flight::start(&root.path().join(host), &arguments));
    let starts = hosts.map(|host| {
        let (document, _) = host.wait();
        document["clocks"]["start"]["realtime_ns"].as_u64().unwrap()
    });
    for start in starts {
        let late = start - at.parse::<u64>().unwrap() * 1_000_000_000;
        assert!(late < 500_000_000, "{late} ns late");
    }
    let [a, b] = ["a", "b"].map(|host| root.path().join(host).join("0001-end"));
    let trace = root.path().join("both.pftrace");
    let merge = || {
        let mut command = irqpath();
        command.arg("report").args([&a, &b]).arg("--perfetto").arg(&trace);
        String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
    };
    assert!(!merge().contains("was set"));
    let decoded = Trace::decode(fs::read(&trace).unwrap().as_slice()).unwrap();
    let tracks = decoded.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref());
    let processes: Vec<_> = tracks.filter_map(|track| track.process.as_ref()).collect();
    assert_eq!(processes.len(), 2);
    assert!(processes.iter().all(|one| one.process_name().ends_with(" 0001-end")));
    // An hour back in between, on one of them.
    let mut meta = read_meta(&b);
    let end = meta["clocks"]["end"]["realtime_ns"].as_u64().unwrap();
    meta["clocks"]["end"]["realtime_ns"] = (end - 3_600_000_000_000).into();
    fs::write(b.join("meta.json"), meta.to_string()).unwrap();
    let told = merge();
    assert!(told.contains("its wall clock was set by -3600.000 s"), "{told}");
}

#[test]
fn a_hostile_name_reaches_no_output() {
    if !is_root("a_hostile_name_reaches_no_output") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let program = root.path().join("x\u{1b}[2J\n\u{9b};y");
    fs::copy("/bin/sleep", &program).unwrap();
    let run = format!("while :; do '{}' 0.01; done", program.display());
    let mut load = Command::new("sh").args(["-c", &run]).spawn().unwrap();
    let name = program.file_name().unwrap().to_str().unwrap().to_owned();
    let arguments =
        ["-T", "1", "--keep", "1s", "--at-most", "1/h", "--task", &name, "--stacks", "1"];
    let mut flight = Flight::start(&root.path().join("captures"), &arguments);
    let captures = flight.wait_for_captures(1);
    let (_, said) = flight.stop();
    load.kill().unwrap();
    load.wait().unwrap();
    assert_eq!(said, "");
    assert_eq!(names(captures[0].parent().unwrap()), ["0001-threshold"]);
    let what = read_meta(&captures[0])["capture"]["what"].as_str().unwrap().to_owned();
    assert!(what.contains("x\\x1b[2J\\n"), "{what}");
    for file in ["meta.json", "summary.json", "stacks.folded"] {
        let Ok(text) = fs::read_to_string(captures[0].join(file)) else { continue };
        let is_clean = |c: char| c == '\n' || irqpath_model::is_printable(c);
        assert!(text.chars().all(is_clean), "{file}");
        let is_cut = |line: &str| file != "stacks.folded" || line.contains(";[");
        assert!(text.lines().all(is_cut), "a name began a line in {file}");
    }
}

#[test]
fn what_cannot_be_is_one_line_and_nothing_is_made() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("captures");
    fs::write(root.path().join("file"), "").unwrap();
    let fifo = format!("fifo:{}", root.path().join("file").display());
    let usdt = format!("usdt:{}:a:b", root.path().join("file").display());
    let mut cases: Vec<(Vec<&str>, &str)> = vec![
        (vec!["--stage", "lunch:5"], "write a stage and microseconds"),
        (vec!["--trigger", "smoke:/x"], "write fifo:PATH"),
        (vec!["--at-most", "often"], "write a number and a time"),
        (vec!["--on-threshold", "reboot"], "write trace, continue"),
        (vec!["--keep", "1s", "--after", "1s"], "--after must be less than --keep"),
        (vec!["--at", "2001-01-01T00:00:00Z"], "has passed"),
        (vec!["--memory", "5"], "5 is not in 64..=65536"),
    ];
    if is_root("what_cannot_be_is_one_line_and_nothing_is_made (as root)") {
        cases.push((vec!["--trigger", &fifo], "is no FIFO"));
        cases.push((vec!["--trigger", &usdt], "no 64-bit program"));
        cases.push((vec!["--on-threshold", "signal,num=10,pid=4194303"], "no such process"));
    }
    for (arguments, want) in cases {
        let mut command = irqpath();
        command.timeout(PATIENCE).args(["record", "-o"]).arg(&directory).args(&arguments);
        let output = command.output().unwrap();
        assert!(error_line(&output).contains(want), "{arguments:?}: {output:?}");
        assert!(names(root.path()).len() <= 2, "{:?}", names(root.path()));
    }
}
