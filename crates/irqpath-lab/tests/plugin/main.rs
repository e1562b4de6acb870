// SPDX-License-Identifier: GPL-2.0-or-later
//! The QEMU plugin without QEMU: its decoder, its shadow stacks and its counting, driven by
//! scripts through `lab/plugin/test/script.c`. `stacks` and `links` compare the shadow stacks with
//! machines that know the truth (`model` is x86-64, `arm_model` arm64), `flow` and `arm_flow`
//! have the cases in which QEMU or an exception leave a block early.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic fails a test, which says what it skips

mod arm_flow;
mod arm_model;
mod decode;
mod flow;
mod links;
mod model;
mod stacks;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The built program; `None`, said aloud, without a C compiler.
fn script_program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM.get_or_init(build_script).as_deref()
}

fn build_script() -> Option<PathBuf> {
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/plugin");
    // Two runs at once must not write into each other's program.
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("script");
    let built = program.with_extension(std::process::id().to_string());
    let parts = std::fs::read_dir(&plugin).unwrap().map(|entry| entry.unwrap().path());
    // flame.c needs QEMU, everything else does not.
    let parts =
        parts.filter(|p| p.extension().is_some_and(|x| x == "c") && !p.ends_with("flame.c"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]);
    gcc.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    gcc.arg(plugin.join("test/script.c")).args(parts).arg("-o").arg(&built);
    match gcc.output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{text}");
            std::fs::rename(&built, &program).unwrap();
            Some(program)
        }
        Err(error) => {
            println!("skipped: the plugin's parts: gcc: {error}");
            None
        }
    }
}

/// The answers to these commands, one a line; `None` without a C compiler.
fn answers(commands: &[String]) -> Option<Vec<String>> {
    answers_on("x86_64", commands)
}

/// The same for another processor.
fn answers_on(arch: &str, commands: &[String]) -> Option<Vec<String>> {
    let mut program = Command::new(script_program()?);
    let mut child = program.arg(arch).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let script = commands.join("\n") + "\n";
    // In its own thread: both pipes are small.
    let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "the script ended with {}", output.status);
    let lines: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(|l| l.trim().to_owned()).collect();
    assert_eq!(lines.len(), commands.len());
    Some(lines)
}
