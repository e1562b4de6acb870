// SPDX-License-Identifier: GPL-2.0-or-later
//! The command under test, as its tests run it: by root and by a user, and what they expect of it.

use std::env;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use assert_cmd::Command;

/// The command under test.
pub fn irqpath() -> Command {
    Command::cargo_bin("irqpath").unwrap()
}

/// The command as users have it: the release build, made or brought up to date by the first test
/// that asks. It is smaller, and a guest holds it in memory twice. `IRQPATH_BINARY` names another.
pub fn release_binary() -> PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        if let Some(given) = env::var_os("IRQPATH_BINARY") {
            return project_root().join(given);
        }
        let status = forget_package(&mut std::process::Command::new(env!("CARGO")))
            .args(["build", "--locked", "--quiet", "--release", "-p", "irqpath"])
            .current_dir(project_root())
            .status();
        assert!(status.unwrap().success(), "cargo cannot build the release");
        target_directory().join("release/irqpath")
    };
    BINARY.get_or_init(build).clone()
}

/// Without what cargo tells a test of its package. ring is compiled again when that changes, and
/// everything that uses it, which is the whole command.
fn forget_package(command: &mut std::process::Command) -> &mut std::process::Command {
    let is_told =
        |name: &str| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|of| name.starts_with(of));
    for (name, _) in env::vars_os().filter(|(name, _)| is_told(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command
}

/// The root of the checkout.
pub fn project_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Cargo's target directory, as it and `scripts/arm64.sh` find it from the root of the checkout.
pub fn target_directory() -> PathBuf {
    project_root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The command under test by a user without any privilege, and without root's limits, which would be inherited.
/// Only root can become that user. The command is copied to where that user can reach it.
pub fn unprivileged(reachable: &Path) -> Command {
    let binary = reachable.join("irqpath");
    // By another process: a test that forks while this one writes would keep the file open for
    // writing, and it could not be executed.
    let copied = std::process::Command::new("cp")
        .arg(assert_cmd::cargo::cargo_bin("irqpath"))
        .arg(&binary)
        .status();
    assert!(copied.unwrap().success());
    for path in [reachable, &binary] {
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new("prlimit");
    command
        .args(["--memlock=0", "--rtprio=0", "--nice=0", "setpriv"])
        .args(["--reuid", "65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"])
        .arg(binary);
    command
}

/// True for root; says that the test was skipped otherwise.
pub fn is_root(test: &str) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let root = status.lines().any(|l| l.starts_with("Uid:\t0\t"));
    if !root {
        eprintln!("skipped: {test}: needs root");
    }
    root
}

/// Memory of a process, bytes.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// What it has now.
    pub resident: u64,
    /// The most that it ever had.
    pub peak: u64,
    /// The BPF maps that it has open, which the kernel keeps for it.
    pub tables: u64,
}

/// Memory of a process; `None` if it has ended.
pub fn read_memory(pid: u32) -> Option<Memory> {
    let number = |text: &str, key: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let infos = std::fs::read_dir(format!("/proc/{pid}/fdinfo")).ok()?;
    let memlock =
        |info: std::fs::DirEntry| number(&std::fs::read_to_string(info.path()).ok()?, "memlock:");
    Some(Memory {
        resident: number(&status, "VmRSS:")? << 10,
        peak: number(&status, "VmHWM:")? << 10,
        tables: infos.flatten().filter_map(memlock).sum(),
    })
}

/// Whether a program is there.
pub fn is_installed(program: &str) -> bool {
    std::process::Command::new(program).arg("--version").output().is_ok()
}

/// The one line of an error.
pub fn error_line(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(text.lines().count(), 1, "an error is one line: {text}");
    let line = text.trim_end().to_owned();
    assert!(line.starts_with("irqpath: "), "{line}");
    line
}

/// Names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
