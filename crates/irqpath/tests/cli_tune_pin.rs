// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath tune pin`, `export` and `apply` as a user runs them: what is refused, and what comes from
//! strangers. What pins mean and set is for the unit tests of irqpath-system and the guest.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use irqpath_testing::cli::{error_line, irqpath, is_root, unprivileged};
use serde_json::Value;

const GOOD: &str = "version = 1\n[[serve]]\nirq = \"no-such-device\"\ncomm = \"stop\"\n";

fn write(directory: &Path, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

fn refuse(path: &Path) -> String {
    error_line(&irqpath().args(["tune", "apply"]).arg(path).output().unwrap())
}

#[test]
fn a_file_that_others_made_or_may_write_is_refused() {
    if !is_root("a_file_that_others_made") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    for mode in [0o666, 0o664, 0o622] {
        let line = refuse(&write(root.path(), "open.toml", GOOD, mode));
        assert!(line.contains("written by others") && line.contains("chmod"), "{mode:o}: {line}");
    }
    let foreign = write(root.path(), "foreign.toml", GOOD, 0o644);
    chown(&foreign, Some(4242), None).unwrap();
    assert!(refuse(&foreign).contains("belongs to uid 4242"));
    let link = root.path().join("link.toml");
    symlink(&foreign, &link).unwrap();
    assert!(refuse(&link).contains("belongs to uid 4242"));
    assert!(refuse(Path::new("/dev/zero")).contains("not a regular file"));
    assert!(refuse(&root.path().join("none.toml")).contains("none.toml"));
}

#[test]
fn a_damaged_file_is_refused_in_one_printable_line() {
    if !is_root("a_damaged_file_is_refused") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    for (text, part) in [
        ("version = 9\n", "version 9"),
        ("version = 1\n[[serve]]\nirq = \"a\"\n", "entry 1"),
        ("version = 1\n\"\u{1b}[2J\" = 1\n", "line 2"),
        ("version = 1\n[[serve]]\nirq = \"a\"\ncomm = \"x\"\nexec = \"sh\"\n", "exec"),
    ] {
        let line = refuse(&write(root.path(), "bad.toml", text, 0o644));
        assert!(line.contains(part), "'{part}' is not in: {line}");
        assert!(!line.contains('\u{1b}'), "{line:?}");
    }
    let long = "#".repeat(2 << 20);
    assert!(refuse(&write(root.path(), "long.toml", &long, 0o644)).contains("megabyte"));
}

#[test]
fn pinning_needs_the_right_and_exporting_does_not() {
    if !is_root("pinning_needs_the_right") {
        return;
    }
    let bin = tempfile::tempdir().unwrap();
    let run =
        |arguments: &[&str]| unprivileged(bin.path()).arg("tune").args(arguments).output().unwrap();
    for arguments in [
        &["pin", "no-such-device", "--task", "stop"][..],
        &["unpin", "no-such-device"],
        &["apply", "/nonexistent.toml"],
    ] {
        let line = error_line(&run(arguments));
        assert!(line.contains("CAP_SYS_NICE"), "{arguments:?}: {line}");
    }
    let output = run(&["export", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(all["pins"]["version"] == 1 && all["pins"]["serve"].is_array(), "{all}");
    let text = String::from_utf8(run(&["export"]).stdout).unwrap();
    assert!(text.contains("version = 1"), "{text}");
}

#[test]
fn what_cannot_be_pinned_is_refused() {
    for (arguments, part) in [
        (&["pin", "36"][..], "--task"),
        (&["pin", "--task", "x"], "IRQ|NAME"),
        (&["export", "--json", "-o", "x"], "--output"),
    ] {
        let line = error_line(&irqpath().arg("tune").args(arguments).output().unwrap());
        assert!(line.contains(part), "{arguments:?}: {line}");
    }
    let output = irqpath().args(["schema", "tune"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema["properties"]["pins"].is_object());
}
