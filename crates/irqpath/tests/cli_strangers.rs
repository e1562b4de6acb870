// SPDX-License-Identifier: GPL-2.0-or-later
//! Root runs the commands where a user without privileges has prepared files. That user really
//! is another one: a shell under another uid.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use irqpath_testing::cli::{error_line, irqpath, is_root, names};
use irqpath_testing::recordings::replay;

/// A directory for everybody below one of root's, beside a file of root's.
struct Scene {
    root: tempfile::TempDir,
}

impl Scene {
    fn new(test: &str) -> Option<Self> {
        if !is_root(test) {
            return None;
        }
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(root.path().join("shared")).unwrap();
        let scene = Self { root };
        let everybody = fs::Permissions::from_mode(0o1777);
        fs::set_permissions(scene.shared_path(), everybody).unwrap();
        fs::write(scene.secret_path(), "root's").unwrap();
        fs::set_permissions(scene.secret_path(), fs::Permissions::from_mode(0o600)).unwrap();
        Some(scene)
    }

    fn secret_path(&self) -> PathBuf {
        self.root.path().join("secret")
    }

    fn shared_path(&self) -> PathBuf {
        self.root.path().join("shared")
    }

    /// What the stranger does, in the shared directory.
    fn act_as_stranger(&self, script: &str) {
        let uid = ["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-ec", script];
        let status = Command::new("setpriv").args(uid).current_dir(self.shared_path()).status();
        assert!(status.unwrap().success(), "{script}");
    }

    fn assert_untouched(&self) {
        assert_eq!(fs::read_to_string(self.secret_path()).unwrap(), "root's");
        assert_eq!(self.secret_path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn output_follows_no_link_of_a_stranger() {
    let Some(scene) = Scene::new("output_follows_no_link") else { return };
    let at = |name: &str| scene.shared_path().join(name);
    scene.act_as_stranger("ln -s ../secret out; mkdir d; ln -s ../../secret d/out; ln -s .. up");
    for flag in ["--json", "--report", "--perfetto", "--openmetrics", "--record"] {
        for name in ["out", "d/out", "up/secret"] {
            let output = replay(scene.root.path()).arg(flag).arg(at(name)).output().unwrap();
            let line = error_line(&output);
            assert!(line.contains("link"), "{flag} {name}: {line}");
            scene.assert_untouched();
        }
    }
    for name in ["out", "up/new", "d/out"] {
        let output = replay(scene.root.path()).arg("--force").arg("-o").arg(at(name)).output();
        assert!(error_line(&output.unwrap()).contains("link"), "{name}");
        scene.assert_untouched();
    }
    assert_eq!(names(&scene.shared_path()), ["d", "out", "up"]);
}

#[test]
fn a_report_of_a_strangers_result_stays_in_its_directory() {
    let Some(scene) = Scene::new("a_report_of_a_strangers_result") else { return };
    let result = scene.shared_path().join("r");
    replay(scene.root.path()).arg("-o").arg(scene.root.path().join("mine")).assert().success();
    fs::set_permissions(scene.root.path().join("mine"), fs::Permissions::from_mode(0o755)).unwrap();
    scene.act_as_stranger("cp -r ../mine r; rm r/report.html; ln -s ../../secret r/report.html");
    let line = error_line(&irqpath().arg("report").arg(&result).output().unwrap());
    assert!(line.contains("report.html is a link"), "{line}");
    scene.assert_untouched();
    scene.act_as_stranger("rm r/report.html");
    irqpath().arg("report").arg(&result).assert().success();
    assert!(fs::read_to_string(result.join("report.html")).unwrap().contains("postgres"));
}

#[test]
fn force_removes_nothing_but_results_of_ones_own() {
    let Some(scene) = Scene::new("force_removes_nothing") else { return };
    let force = |target: &Path| {
        error_line(
            &replay(scene.root.path()).arg("--force").arg("-o").arg(target).output().unwrap(),
        )
    };
    // A directory of root's in which somebody else's program left a meta.json.
    let thesis = scene.root.path().join("thesis");
    fs::create_dir(&thesis).unwrap();
    fs::write(thesis.join("meta.json"), "{\"author\": \"me\"}").unwrap();
    assert!(force(&thesis).contains("no result of irqpath"));
    scene.act_as_stranger("ln -s ../thesis r");
    assert!(force(&scene.shared_path().join("r")).contains("is a link"));
    assert_eq!(names(&thesis), ["meta.json"]);
    // A result of a stranger's.
    replay(scene.root.path()).arg("-o").arg(scene.root.path().join("mine")).assert().success();
    scene.act_as_stranger("cp -r ../mine theirs");
    assert!(force(&scene.shared_path().join("theirs")).contains("belongs to nobody (uid 65534)"));
    assert!(scene.shared_path().join("theirs/summary.json").exists());
}

#[test]
fn a_lab_and_manual_pages_are_written_below_no_link() {
    let Some(scene) = Scene::new("a_lab_and_manual_pages") else { return };
    scene.act_as_stranger("mkdir man; ln -s ../../secret man/irqpath.1; ln -s .. up");
    for name in ["man", "up/new"] {
        let output =
            irqpath().args(["generate", "man"]).arg(scene.shared_path().join(name)).output();
        assert!(error_line(&output.unwrap()).contains("link"), "{name}");
    }
    scene.assert_untouched();
    assert!(!scene.root.path().join("new").exists());
}

#[test]
fn a_lab_tree_of_a_stranger_above_is_not_used() {
    let Some(scene) = Scene::new("a_lab_tree_of_a_stranger") else { return };
    let list = |here: &Path, sudo: Option<&str>, more: &[&str]| {
        let mut command = irqpath();
        command.args(["lab", "list"]).args(more).current_dir(here).env_remove("IRQPATH_PROJECT");
        match sudo {
            Some(uid) => command.env("SUDO_UID", uid),
            None => command.env_remove("SUDO_UID"),
        };
        command.output().unwrap()
    };
    let plant = "mkdir -p t/lab t/experiments t/deep && : > t/lab/kernels.toml && chmod 755 t";
    scene.act_as_stranger(plant);
    let tree = scene.shared_path().join("t");
    let deep = tree.join("deep");
    let line = error_line(&list(&deep, None, &[]));
    assert!(line.contains("belongs to nobody (uid 65534)"), "{line}");
    assert!(line.contains("--project"), "{line}");
    // Nor in a directory of root's below it, which is where root often stands.
    let own = scene.shared_path().join("own");
    fs::create_dir(&own).unwrap();
    scene.act_as_stranger("mkdir lab && : > lab/kernels.toml");
    assert!(error_line(&list(&own, None, &[])).contains("can be written by others"));
    // Named, it is trusted as far as it goes: the next error is of its content.
    let named = list(&own, None, &["--project", tree.to_str().unwrap()]);
    assert!(!String::from_utf8_lossy(&named.stderr).contains("belongs to"), "{named:?}");
    // The user who called sudo uses a checkout of his own; not one of somebody else's.
    let own = list(&deep, Some("65534"), &[]);
    assert!(!String::from_utf8_lossy(&own.stderr).contains("belongs to"), "{own:?}");
    assert!(error_line(&list(&deep, Some("65533"), &[])).contains("belongs to nobody"));
}
