// SPDX-License-Identifier: GPL-2.0-or-later
//! Compiles `harness.c` once per test run and feeds it scripts.
//!
//! The sanitizers of clang watch every run where they are installed; whatever they report fails
//! the test. Without clang a test says `skipped: no clang` and passes, except in CI.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::thread;

/// Tasks that most scripts use; a task that is not declared is a user task in a system call.
const CAST: &str = "
    task 10 app user 20
    task 11 other user 30
    task 12 faulter fault
    task 20 irq/42-dev kernel 49
    task 21 ksoftirqd/0 kernel
    task 22 kworker/0:1 kernel
    task 23 rcu_exp kernel
    task 24 napi/eth0-1 kernel
    task 25 ktimers/0 kernel
    action 1 0
    action 2 20
    action 3 0 1
";

/// Settings and events, `None` where there is no clang.
pub fn run(script: &str) -> Option<String> {
    let program = HARNESS.as_ref()?;
    let mut child = Command::new(program)
        .env("UBSAN_OPTIONS", "print_stacktrace=1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the harness starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = format!("{CAST}{script}");
    let feeder = thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the harness ends");
    let _ = feeder.join(); // a broken pipe shows in the status below
    assert!(output.status.success(), "{}{script}", text(&output.stderr));
    Some(text(&output.stdout))
}

/// Runs `script` with every path recorded and compares the paths and losses.
#[track_caller]
pub fn paths(script: &str, want: &str) {
    check(&format!("config record_all 1\n{script}"), &["path", "loss"], want);
}

/// Runs `script` and compares the lines that begin with one of `kinds`.
#[track_caller]
pub fn check(script: &str, kinds: &[&str], want: &str) {
    let Some(out) = run(script) else { return };
    let kind = |l: &&str| kinds.contains(&l.split(' ').next().unwrap_or_default());
    let got: Vec<&str> = out.lines().filter(kind).collect();
    let want: Vec<&str> = want.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert_eq!(got, want, "\n{script}\ngot:\n{}\n", got.join("\n"));
}

static HARNESS: LazyLock<Option<PathBuf>> = LazyLock::new(build);

#[allow(clippy::print_stdout)] // a test says what it skipped
fn build() -> Option<PathBuf> {
    let clang = env::var_os("CLANG").unwrap_or_else(|| OsString::from("clang"));
    if Command::new(&clang).arg("--version").output().is_err() {
        assert!(env::var_os("CI").is_none_or(|v| v != "true"), "clang is missing: install it");
        println!("skipped: no clang");
        return None;
    }
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Another run may be using the last one: build aside, then replace.
    let fresh = dir.join(format!("joiner.{}", std::process::id()));
    let sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    if !compile(&clang, &sanitizers, &fresh).status.success() {
        println!("without sanitizers: clang has no runtime for them");
        let output = compile(&clang, &[], &fresh);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let program = dir.join("joiner");
    fs::rename(&fresh, &program).expect("the directory is ours");
    Some(program)
}

fn compile(clang: &OsString, flags: &[&str], program: &Path) -> Output {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/joiner");
    Command::new(clang)
        .args(["-std=gnu11", "-pthread", "-O1", "-g", "-D__TARGET_ARCH_x86", "-Wall", "-Werror"])
        // CO-RE attributes mean nothing here, and not every script uses every shim.
        .args(["-Wno-unknown-attributes", "-Wno-ignored-attributes", "-Wno-unused"])
        .args(flags)
        .arg("-I")
        .arg(dir.join("shim"))
        .arg(dir.join("harness.c"))
        .arg("-o")
        .arg(program)
        .output()
        .expect("clang starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
