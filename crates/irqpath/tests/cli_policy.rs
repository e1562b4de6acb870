// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath policy` as a user runs it, on a kernel without policies and on one whose
//! `/sys/kernel/irqpath` is made of files.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use irqpath_testing::cli::{error_line, irqpath, is_root, unprivileged};
use serde_json::Value;

/// Files as the kernel's: two policies, and a task whose name has a space.
const KERNEL: &str = "\
set -e
mount -t tmpfs none /sys/kernel
mkdir -p /sys/kernel/irqpath/learn /sys/kernel/irqpath/migrate
cd /sys/kernel/irqpath
echo 0 | tee learn/enabled > migrate/enabled
echo 200 > migrate/watchdog_us
echo 3 > learn/learned
printf 'irq\\tname\\tpid\\tcomm\\tprio\\thits\\truns\\tmisses\\tage_ms\\tcredit\\tpinned\\tmm_switched\\n' > associations
printf '24\\tsnd\\t70\\tmy task\\t80\\t40\\t10\\t1\\t1500\\t12\\t0\\t10\\n' >> associations
chmod 444 learn/learned
chmod 400 associations
cd /
";

/// Run these lines in a mount namespace that has these files; `irqpath` is `$0`.
fn on_the_kernel(lines: &str) -> Output {
    let script = format!("{KERNEL}{lines}");
    let binary = assert_cmd::cargo::cargo_bin("irqpath");
    Command::new("unshare").args(["-m", "sh", "-c", &script]).arg(binary).output().unwrap()
}

#[test]
fn a_kernel_without_policies_is_told_in_one_line() {
    if Path::new("/sys/kernel/irqpath").exists() {
        eprintln!("skipped: a_kernel_without_policies: this one has them");
        return;
    }
    for verb in [&["status"][..], &["assoc", "--json"], &["enable", "learn"], &["disable", "all"]] {
        let line = error_line(&irqpath().arg("policy").args(verb).output().unwrap());
        for part in ["no policies", "CONFIG_IRQPATH", "irqpath lab build", "irqpath tune"] {
            assert!(line.contains(part), "{verb:?}: '{part}' is not in: {line}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    for (arguments, part) in [
        (&["enable"][..], "POLICY"),
        (&["disable"], "POLICY"),
        (&["enable", "learn", "--set", "quiet"], "NAME=VALUE"),
        (&["assoc", "--pin", "24"], "IRQ:TID"),
        (&["assoc", "--unpin", "24:0"], "IRQ:TID"),
        (&["again"], "again"),
    ] {
        let line = error_line(&irqpath().arg("policy").args(arguments).output().unwrap());
        assert!(line.contains(part), "{arguments:?}: '{part}' is not in: {line}");
    }
}

#[test]
fn policies_are_shown_and_switched() {
    if !is_root("policies_are_shown_and_switched") {
        return;
    }
    let output = on_the_kernel(
        "$0 policy enable migrate learn --set watchdog_us=500\n\
         $0 policy disable learn --json\n\
         $0 policy status\n\
         $0 policy disable all",
    );
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (before, json) = text.split_once('{').unwrap();
    let (json, after) = json.rsplit_once('}').unwrap();
    let migrate = "migrate: on\n  settings: watchdog_us=500\n";
    assert_eq!(before, format!("learn: on\n  counters: learned=3\n{migrate}"));
    let json: Value = serde_json::from_str(&format!("{{{json}}}")).unwrap();
    assert_eq!(json["policies"][0]["name"], "learn");
    assert_eq!(json["policies"][0]["enabled"], false);
    assert!(json["policies"][1].is_null(), "only what was named: {json}");
    let learn = "learn: off\n  counters: learned=3\n";
    let off = migrate.replace("on", "off");
    assert_eq!(after, format!("\n{learn}{migrate}{learn}{off}"));
}

#[test]
fn associations_are_shown() {
    if !is_root("associations_are_shown") {
        return;
    }
    let output = on_the_kernel("$0 policy assoc");
    let text = String::from_utf8(output.stdout).unwrap();
    let row = text.lines().nth(1).unwrap_or_default();
    for part in ["24:snd", "my task (70)", "80", "40", "90.0 %", "1.5 s", "12"] {
        assert!(row.contains(part), "'{part}' is not in: {text}");
    }
    let output = on_the_kernel("exec $0 policy assoc --json");
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all["associations"]["list"][0]["comm"], "my task");
    assert_eq!(all["associations"]["complete"], true);
}

#[test]
fn names_that_the_kernel_does_not_have() {
    if !is_root("names_that_the_kernel_does_not_have") {
        return;
    }
    for (arguments, part) in [
        ("enable all", "there is no policy 'all'; this kernel has: learn, migrate"),
        ("disable direct", "there is no policy 'direct'; this kernel has: learn, migrate"),
        ("enable migrate --set quiet=1", "there is no setting 'quiet' of migrate"),
        (
            "assoc --pin 4294967295:1",
            "4294967295 cannot be given to task 1: the interrupt has no handler",
        ),
    ] {
        let line = error_line(&on_the_kernel(&format!("exec $0 policy {arguments}")));
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn a_user_may_look_and_is_told_what_switching_needs() {
    if !is_root("a_user_may_look") {
        return;
    }
    let bin = tempfile::tempdir().unwrap();
    let copy = bin.path().join("irqpath");
    unprivileged(bin.path()); // makes the copy
    let user = "setpriv --reuid 65534 --clear-groups --bounding-set=-all --inh-caps=-all";
    let run = |verb: &str| on_the_kernel(&format!("exec {user} {} policy {verb}", copy.display()));
    let line = error_line(&run("enable learn"));
    assert!(line.contains("learn/enabled; run with sudo"), "{line}");
    assert_eq!(run("status").status.code(), Some(0));
    let line = error_line(&run("assoc"));
    assert!(line.contains("associations; run with sudo"), "{line}");
}

#[test]
fn the_schema_describes_it() {
    let output = irqpath().args(["schema", "policy"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["$id"], "urn:irqpath:schema:policy:2");
    for part in ["policies", "associations"] {
        assert!(schema["properties"][part].is_object(), "{part}");
    }
}
