// SPDX-License-Identifier: GPL-2.0-or-later
//! Compiles programs for the guest statically, once: our own, `lab/guest/NAME.c`, and selftests of
//! the kernel.
//!
//! Our own may include the headers beside them and those of the `intsight` module, which are inputs
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
/// What the kernel's own have of warnings is not ours to know.
const SELFTEST_FLAGS: [&str; 5] = ["-static", "-O2", "-w", "-pthread", "-D_GNU_SOURCE"];

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
    let made = make(lab, arch, name, &source, inputs, &FLAGS, &includes)?;
    Ok(made.join(name))
}

/// The kernel's selftest `DIRECTORY/.../name`, from a source of the kernel.
///
/// # Errors
/// If there is no such test or compiler, or it does not compile.
pub fn selftest(lab: &Lab, arch: Arch, kernel: &Path, test: &str) -> Result<PathBuf, GuestError> {
    let root = kernel.join("tools/testing/selftests");
    let source = root.join(format!("{test}.c"));
    if !source.is_file() {
        return Err(GuestError::NoProgram { name: format!("{test}.c"), root });
    }
    let directory = source.parent().unwrap_or(&root).to_owned();
    let includes = [directory.join("../include"), directory, root];
    let inputs = Inputs::of("selftest", RECIPE)
        .value("compiler", &version(&format!("{}gcc", arch.cross_prefix()), arch)?)
        .value("flags", &SELFTEST_FLAGS.join(" "))
        // Whatever it includes: the name has the source's hash.
        .value("kernel", &kernel.file_name().unwrap_or_default().to_string_lossy())
        .value("test", test);
    let name = source.file_stem().unwrap_or_default().to_string_lossy();
    let made = make(lab, arch, &name, &source, inputs, &SELFTEST_FLAGS, &includes)?;
    Ok(made.join(&*name))
}

/// Compiles one source into a directory of the cache.
fn make(
    lab: &Lab,
    arch: Arch,
    name: &str,
    source: &Path,
    inputs: Inputs,
    flags: &[&str],
    includes: &[PathBuf],
) -> Result<PathBuf, GuestError> {
    let product =
        Product { kind: "guest", label: format!("{name}-{arch}"), inputs, resumable: false };
    lab.cache.product(&product, &lab.progress, |staging| {
        let mut command = Command::new(format!("{}gcc", arch.cross_prefix()));
        command.args(flags).arg("-o").arg(staging.directory.join(name)).arg(source);
        command.args(includes.iter().flat_map(|dir| [OsStr::new("-I"), dir.as_os_str()]));
        run(command.arg("-lm"), arch).map(drop)
    })
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
