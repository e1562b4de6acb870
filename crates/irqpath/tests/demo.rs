// SPDX-License-Identifier: GPL-2.0-or-later
//! `make demo` where part of it cannot run: its last lines name each part that was left out, and it
//! does not end as if everything had run.
//!
//! `scripts/demo.sh` runs in a tree of its own, as a user without privileges, with every program of
//! this machine but those that could provide QEMU.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use assert_cmd::Command;

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const NOBODY: u32 = 65534;

/// What the demo needs of a checkout, in which it may write.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        // Copies the command and lets others enter.
        irqpath_testing::cli::unprivileged(place.path());
        let tree = place.path().join("tree");
        for part in ["scripts", "tests/golden", "programs", "target/release"] {
            fs::create_dir_all(tree.join(part)).unwrap();
        }
        for part in
            ["scripts/demo.sh", "scripts/setup.sh", "tests/golden/demo.irqrec", "Cargo.toml"]
        {
            fs::copy(Path::new(PROJECT).join(part), tree.join(part)).unwrap();
        }
        symlink(place.path().join("irqpath"), tree.join("target/release/irqpath")).unwrap();
        link_programs(&tree.join("programs"));
        if rustix::process::geteuid().is_root() {
            chown(&tree, Some(NOBODY), None).unwrap();
        }
        Self(place)
    }

    fn tree_path(&self) -> PathBuf {
        self.0.path().join("tree")
    }

    /// Run the demo. Returns its exit code and which parts it says last, but for the live trace.
    fn run_demo(&self, setting: (&str, &str)) -> (i32, Vec<String>) {
        let mut demo = Command::new("setpriv");
        if rustix::process::geteuid().is_root() {
            demo.args(["--reuid", &NOBODY.to_string(), "--clear-groups", "--no-new-privs"]);
            demo.args(["--bounding-set=-all", "--inh-caps=-all"]);
        }
        demo.args(["bash", "scripts/demo.sh"]).current_dir(self.tree_path()).env_clear();
        demo.env("PATH", self.tree_path().join("programs")).env("HOME", self.tree_path());
        let output = demo.env(setting.0, setting.1).output().unwrap();
        let said = String::from_utf8(output.stdout.clone()).unwrap();
        let (_, last) = said.rsplit_once("\nLeft out:\n").unwrap_or_else(|| panic!("{output:?}"));
        let mut last: Vec<String> = last.lines().map(str::to_owned).collect();
        // The reason depends on the kernel.
        let live = last.remove(0);
        let is_replay = live.ends_with("; a recording was replayed");
        assert!(live.starts_with("  The live trace: ") && is_replay, "{live}");
        (output.status.code().unwrap(), last)
    }
}

fn link_programs(directory: &Path) {
    for place in ["/usr/sbin", "/usr/bin"] {
        for program in fs::read_dir(place).unwrap().flatten() {
            let name = program.file_name().into_string().unwrap();
            let is_left_out = ["qemu", "apt", "sudo"].iter().any(|start| name.starts_with(start));
            if !is_left_out {
                let _ = symlink(program.path(), directory.join(name));
            }
        }
    }
}

#[test]
fn a_demo_without_qemu_names_what_it_left_out_and_does_not_end_well() {
    let tree = Tree::new();
    let without = ": QEMU is not installed and could not be";
    let (code, last) = tree.run_demo(("IRQPATH_OWN_KERNEL", "1"));
    let expected = ["The exact lab", "The policies"].map(|part| format!("  {part}{without}"));
    assert_eq!(last, expected);
    assert_eq!(code, 1);

    // What somebody asked to leave out is named as well, and is no failure of its own.
    let (code, last) = tree.run_demo(("IRQPATH_OWN_KERNEL", "0"));
    assert_eq!(last[1], "  The policies: IRQPATH_OWN_KERNEL=0");
    assert_eq!((code, last.len()), (1, 2));
}

#[test]
fn a_part_of_the_demo_that_fails_is_named_with_its_exit_code() {
    let tree = Tree::new();
    // The lab is asked, and refuses: this tree has no lab/kernels.toml.
    let qemu = tree.tree_path().join("programs/qemu-system-x86_64");
    fs::write(&qemu, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
    let (code, last) = tree.run_demo(("IRQPATH_OWN_KERNEL", "0"));
    let lab = "  The exact lab: irqpath lab flame ihm-timer ended with 2, and said why above";
    assert_eq!(last, [lab, "  The policies: IRQPATH_OWN_KERNEL=0"]);
    assert_eq!(code, 1);
}
