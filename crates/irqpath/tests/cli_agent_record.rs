// SPDX-License-Identifier: GPL-2.0-or-later
//! The flight recorder in the agent: captures beside the numbers, exemplars that point to them, and
//! what is counted if there is none.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

mod agent_support;

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use agent_support::{PATIENCE, Running, sum_of};
use irqpath_testing::cli::{error_line, irqpath, is_root, names, read_memory};
use irqpath_testing::flight::read_meta;
use irqpath_testing::probed::{build_program, can_probe, say, start_program};
use rustix::process::Signal;

/// `HERE` is the directory of the test.
const RECORD: &str = "[record]\ndirectory = 'HERE/captures'\nkeep_s = 1\nat_most = '100/s'\n";

fn metrics(agent: &Running) -> String {
    let (_, text) = agent.get("/metrics", "Accept: application/openmetrics-text\r\n");
    String::from_utf8(text).unwrap()
}

/// Until what the metrics say is so.
fn wait_until(agent: &Running, what: &str, is_so: impl Fn(&str) -> bool) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let text = metrics(agent);
        if is_so(&text) {
            return text;
        }
        assert!(Instant::now() < end, "{what} never comes: {text}");
        std::thread::sleep(Duration::from_millis(1_100));
    }
}

fn captures(agent: &Running) -> Vec<PathBuf> {
    let directory = agent.directory.path().join("captures");
    names(&directory).iter().map(|name| directory.join(name)).collect()
}

fn not_made(text: &str, why: &str) -> f64 {
    let start = format!("irqpath_captures_not_made_total{{why=\"{why}\"}} ");
    let row = text.lines().find_map(|line| line.strip_prefix(start.as_str()));
    row.unwrap_or_else(|| panic!("no {why}: {text}")).parse().unwrap()
}

#[test]
fn slow_paths_are_captured_and_exemplars_point_to_them() {
    if !is_root("slow_paths_are_captured_and_exemplars_point_to_them") {
        return;
    }
    let record = RECORD.replace("keep_s = 1", "keep_s = 3");
    let agent = Running::start(&format!("threshold_us = 1\n{record}threshold_us = 1\n"));
    let pointed = |text: &str| text.contains(",capture=\"");
    let text = wait_until(&agent, "an exemplar with its capture", pointed);
    for family in ["path_seconds_bucket{", "captures_disk_bytes{"] {
        assert!(text.contains(&format!("\nirqpath_{family}")), "no {family}: {text}");
    }
    for exemplar in text.lines().filter_map(|line| line.split_once(" # {")) {
        let labels = exemplar.1.split_once("} ").unwrap().0;
        let nr = labels.chars().filter(|c| !"=\",".contains(*c)).count();
        assert!(nr <= 128, "{nr} characters: {labels}");
    }
    // The path of the exemplar is in the capture, by the stamp that both have.
    let line = text.lines().find(|line| line.contains(",capture=\"")).unwrap();
    let label = |name: &str| line.split_once(name).unwrap().1.split('"').next().unwrap();
    let ns: u64 = label("{ns=\"").parse().unwrap();
    let capture = agent.directory.path().join("captures").join(label(",capture=\""));
    let meta = read_meta(&capture);
    let within = meta["capture"]["begins_ns"].as_u64().unwrap()
        ..=meta["capture"]["ends_ns"].as_u64().unwrap();
    assert!(within.contains(&ns), "{ns} {within:?}");
    irqpath().arg("report").arg(&capture).assert().success();
    let recording = capture.join("trace.rec");
    let output =
        irqpath().args(["trace", "once", "--json", "--replay"]).arg(recording).output().unwrap();
    let replayed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let summary = fs::read(capture.join("summary.json")).unwrap();
    let stored: serde_json::Value = serde_json::from_slice(&summary).unwrap();
    assert_eq!(replayed["summary"]["paths"], stored["paths"], "a replay has the same numbers");
    assert!(!stored["paths"].as_array().unwrap().is_empty());
    assert!(!stored["lines"].as_array().unwrap().is_empty());
    assert_eq!(agent.stop(), "");
}

#[test]
fn exemplars_point_to_captures_where_targets_are_units() {
    if !is_root("exemplars_point_to_captures_where_targets_are_units") {
        return;
    }
    let record = RECORD.replace("keep_s = 1", "keep_s = 3");
    let settings = "targets = 'units'\nthreshold_us = 1\n";
    let agent = Running::start(&format!("{settings}{record}threshold_us = 1\n"));
    let is_pointed = |line: &str| line.contains(",unit=\"") && line.contains(",capture=\"");
    let text = wait_until(&agent, "an exemplar", |text| text.lines().any(is_pointed));
    let line = text.lines().find(|line| is_pointed(line)).unwrap();
    let name = line.split_once(",capture=\"").unwrap().1.split('"').next().unwrap();
    let capture = agent.directory.path().join("captures").join(name);
    // The capture tells the tasks apart, which the numbers do not.
    let summary = fs::read(capture.join("summary.json")).unwrap();
    let stored: serde_json::Value = serde_json::from_slice(&summary).unwrap();
    let paths = stored["paths"].as_array().unwrap();
    let is_named =
        |path: &serde_json::Value| path["key"]["comm"].as_str().is_some_and(|c| !c.is_empty());
    assert!(paths.iter().any(is_named), "{paths:?}");
    assert!(paths.iter().all(|path| path["key"].get("cgroup").is_none()), "{paths:?}");
    assert_eq!(agent.stop(), "");
}

#[test]
fn every_trigger_is_heard_beside_the_numbers() {
    if !is_root("every_trigger_is_heard_beside_the_numbers") {
        return;
    }
    let triggers = "triggers = ['socket:HERE/socket', 'fifo:HERE/fifo', 'shield']\n";
    let agent = Running::start(&format!("{RECORD}{triggers}stages = ['switch_in:60s']\n"));
    let here = agent.directory.path();
    agent.signal(Signal::USR1);
    wait_until(&agent, "one", |text| sum_of(text, "irqpath_captures_total") >= 1.0);
    writeln!(UnixStream::connect(here.join("socket")).unwrap(), "late").unwrap();
    wait_until(&agent, "two", |text| sum_of(text, "irqpath_captures_total") >= 2.0);
    writeln!(fs::File::options().write(true).open(here.join("fifo")).unwrap(), "later").unwrap();
    let text = wait_until(&agent, "three", |text| sum_of(text, "irqpath_captures_total") >= 3.0);
    for trigger in ["signal", "socket", "fifo"] {
        let row = format!("irqpath_capture_triggers_total{{trigger=\"{trigger}\"}} 1");
        assert!(text.contains(&row), "no {row}: {text}");
    }
    let last: Vec<_> =
        captures(&agent).iter().map(|one| one.file_name().unwrap().to_owned()).collect();
    assert_eq!(last, ["0001-signal", "0002-socket", "0003-fifo"]);
    assert_eq!(read_meta(&captures(&agent)[1])["capture"]["what"], "socket: late");
    // Beside the right to write there, nothing is kept.
    let status = fs::read_to_string(format!("/proc/{}/status", agent.child.id())).unwrap();
    let held = status.lines().find_map(|line| line.strip_prefix("CapPrm:")).unwrap().trim();
    let (dac_override, sys_nice) = (1 << 1, 1 << 23);
    assert_eq!(u64::from_str_radix(held, 16).unwrap() & !(dac_override | sys_nice), 0, "{held}");
    assert_eq!(agent.stop(), "");
}

#[test]
fn the_oldest_captures_go_and_a_full_disk_is_counted() {
    if !is_root("the_oldest_captures_go_and_a_full_disk_is_counted") {
        return;
    }
    let agent = Running::start(&format!("{RECORD}disk_mib = 4\nthreshold_us = 1\nafter_ms = 10\n"));
    let text =
        wait_until(&agent, "room", |text| sum_of(text, "irqpath_captures_dropped_total") >= 1.0);
    let (bytes, limit) = (
        sum_of(&text, "irqpath_captures_disk_bytes"),
        sum_of(&text, "irqpath_captures_disk_limit_bytes"),
    );
    assert!(bytes > 0.0 && bytes <= limit, "{bytes} of {limit}");
    assert!(!agent.directory.path().join("captures/0001-threshold").exists());
    agent.stop();
    // No file may grow beyond this; a full disk refuses the same write.
    let mut command = Command::new("prlimit");
    command.arg("--fsize=20000").arg(assert_cmd::cargo::cargo_bin("irqpath"));
    let agent = Running::start_by(command, &[], RECORD);
    std::thread::sleep(Duration::from_secs(1));
    agent.signal(Signal::USR1);
    let text = wait_until(&agent, "the failure", |text| not_made(text, "failed") >= 1.0);
    assert!(sum_of(&text, "irqpath_captures_total") < 1.0 && text.contains("irqpath_hardirqs_"));
    assert!(captures(&agent).is_empty(), "{:?}", captures(&agent));
    let said = agent.stop();
    assert!(
        said.lines().count() == 1 && said.contains("no capture was kept: cannot write"),
        "{said}"
    );
}

#[test]
fn the_rate_is_read_again_and_thresholds_need_a_restart() {
    if !is_root("the_rate_is_read_again_and_thresholds_need_a_restart") {
        return;
    }
    let agent = Running::start(&RECORD.replace("100/s", "1/h"));
    let first = fs::read_to_string(agent.config()).unwrap();
    let capture_by_hand = |agent: &Running, captures: f64, beyond: f64| {
        agent.signal(Signal::USR1);
        wait_until(agent, "its end", |text| {
            sum_of(text, "irqpath_captures_total") >= captures && not_made(text, "rate") >= beyond
        })
    };
    capture_by_hand(&agent, 1.0, 0.0);
    capture_by_hand(&agent, 1.0, 1.0);
    for change in [first.replace("1/h", "9/h"), first + "threshold_us = 5\n"] {
        fs::write(agent.config(), change).unwrap();
        agent.signal(Signal::HUP);
        agent.wait_for_word("RELOADING=1");
        agent.wait_for_word("READY=1");
    }
    capture_by_hand(&agent, 2.0, 1.0);
    let said = agent.stop();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("restart the agent"), "{said}");
}

#[test]
fn agent_and_recorder_have_one_limit_of_memory() {
    if !is_root("agent_and_recorder_have_one_limit_of_memory") {
        return;
    }
    let limit = 256;
    let agent = Running::start(&format!("{RECORD}memory_mib = {limit}\n"));
    let limits = fs::read_to_string(format!("/proc/{}/limits", agent.child.id())).unwrap();
    let data = limits.lines().find_map(|line| line.strip_prefix("Max data size")).unwrap();
    let data: u64 = data.split_whitespace().next().unwrap().parse().expect("a limit is set");
    let memory = read_memory(agent.child.id()).unwrap();
    let stacks = 8 << 20;
    assert!(memory.tables > 32 << 20, "{memory:?}");
    assert!(data + memory.tables <= (limit << 20) + stacks, "{data} {memory:?}");
    // It suffices: the agent serves and captures.
    agent.signal(Signal::USR1);
    wait_until(&agent, "one", |text| sum_of(text, "irqpath_captures_total") >= 1.0);
    assert_eq!(agent.stop(), "");
}

#[test]
fn a_probe_whose_program_is_overwritten_is_counted_and_the_agent_goes_on() {
    let test = "a_probe_whose_program_is_overwritten_is_counted_and_the_agent_goes_on";
    if !can_probe(test) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let program = build_program(root.path());
    let agent =
        Running::start(&format!("{RECORD}triggers = ['uprobe:{}:on_miss']\n", program.display()));
    let changed = |text: &str, how: &str| {
        let row = format!("irqpath_capture_probes_changed_total{{how=\"{how}\"}} 1.0");
        text.lines().any(|line| line == row)
    };
    assert!(!changed(&metrics(&agent), "rewritten"));
    let bytes = fs::read(&program).unwrap();
    fs::write(&program, bytes).unwrap();
    let text = wait_until(&agent, "the change", |text| changed(text, "rewritten"));
    assert!(!changed(&text, "replaced"), "{text}");
    let mut running = start_program(&program);
    say(&mut running, "f");
    drop(running.stdin.take());
    running.wait().unwrap();
    agent.signal(Signal::USR1);
    let text = wait_until(&agent, "one", |text| sum_of(text, "irqpath_captures_total") >= 1.0);
    assert!(!text.contains("trigger=\"uprobe\""), "it triggers no more: {text}");
    let said = agent.stop();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("app was changed in place"), "{said}");
}

#[test]
fn a_recorder_that_cannot_be_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("agent.toml");
    for (text, want) in [
        ("[record]\ndirectory = 'captures'\n", "record.directory 'captures' is no absolute path"),
        ("[record]\ndirectory = '/x'\ncolour = 1\n", "line 3: unknown field `colour`"),
        ("[record]\ndirectory = '/x'\nmemory_mib = 64\n", "record.memory_mib 64 is too little"),
        ("[record]\ndirectory = '/x'\ntriggers = ['smoke:/x']\n", "write fifo:PATH"),
    ] {
        fs::write(&config, text).unwrap();
        let output =
            irqpath().args(["agent", "--check", "--config"]).arg(&config).output().unwrap();
        assert!(error_line(&output).contains(want), "{text}: {output:?}");
    }
    fs::write(&config, "[record]\ndirectory = '/no/where'\n").unwrap();
    let output = irqpath().args(["agent", "--check", "--config"]).arg(&config).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("captures below /no/where"), "{output:?}");
    assert!(!PathBuf::from("/no").exists(), "a check makes nothing");
}
