// SPDX-License-Identifier: GPL-2.0-or-later
//! Compiles our own programs for the guest, `lab/guest/NAME.c`, statically, once.
//!
//! They may include the headers beside them and those of the `intsight` module, which are inputs
//! of the cached result as well.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::GuestError;
use crate::Lab;
use crate::cache::{Inputs, Product};
use crate::kernel::Arch;

/// Raise it when the flags below change.
const RECIPE: u32 = 1;
const FLAGS: [&str; 6] = ["-static", "-O2", "-g1", "-Wall", "-Wextra", "-pthread"];

/// The program `name` for `arch`.
///
/// # Errors
/// If there is no such source or compiler, or it does not compile.
pub fn program(lab: &Lab, arch: Arch, name: &str) -> Result<PathBuf, GuestError> {
    let directory = lab.project.lab().join("guest");
    let source = directory.join(format!("{name}.c"));
    if !source.is_file() {
        return Err(GuestError::NoProgram { name: format!("{name}.c"), root: directory });
    }
    let includes = [directory, lab.project.module("intsight")];
    let compiler = format!("{}gcc", arch.cross_prefix());
    let mut inputs = Inputs::of("guest program", RECIPE)
        .value("compiler", &version(&compiler, arch)?)
        .value("flags", &FLAGS.join(" "))
        .file("source", &source)?;
    for header in headers(&includes) {
        inputs = inputs.file("header", &header)?;
    }
    let label = format!("{name}-{arch}");
    let product = Product { kind: "guest", label, inputs, resumable: false };
    let made = lab.cache.product(&product, &lab.progress, |staging| {
        let mut command = Command::new(&compiler);
        command.args(FLAGS).arg("-o").arg(staging.directory.join(name)).arg(&source);
        command.args(includes.iter().flat_map(|dir| [OsStr::new("-I"), dir.as_os_str()]));
        run(command.arg("-lm"), arch).map(drop)
    })?;
    Ok(made.join(name))
}

/// All headers in these directories that there are.
fn headers(directories: &[PathBuf]) -> Vec<PathBuf> {
    let entries = directories.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten();
    let mut headers: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_header).collect();
    headers.sort();
    headers
}

fn is_header(path: &PathBuf) -> bool {
    Path::new(path).extension() == Some(OsStr::new("h"))
}

fn version(compiler: &str, arch: Arch) -> Result<String, GuestError> {
    let output = run(Command::new(compiler).arg("--version"), arch)?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}

fn run(command: &mut Command, arch: Arch) -> Result<Output, GuestError> {
    let package = match arch {
        _ if arch.cross_prefix().is_empty() => "gcc",
        Arch::X86_64 => "gcc-x86-64-linux-gnu",
        Arch::Arm64 => "gcc-aarch64-linux-gnu",
    };
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|source| GuestError::NoTool {
        program: program.clone(),
        package,
        source,
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    // The first error explains the others.
    let log = errors.lines().find(|line| line.contains("error:")).or(errors.lines().last());
    Err(GuestError::Tool { what: program, log: log.unwrap_or("no message").to_owned() })
}
