// SPDX-License-Identifier: GPL-2.0-or-later
//! Compiles programs for the guest statically, once: our own, `lab/guest/NAME.c`, and selftests of
//! the kernel.
//!
//! Our own may include the headers beside them and those of the `intsight` module, which are inputs
//! of the cached result as well.
//!
//! The rule: the same sources make the same bytes on every host and in every directory. So the
//! compiler is the lab's, it sees none of the caller's environment, and it works in the directory
//! that all sources are below, whose place is mapped away.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::GuestError;
use crate::Lab;
use crate::cache::{Inputs, Product};
use crate::kernel::{Arch, Toolchain};

/// Raise it when the flags below change.
const RECIPE: u32 = 2;
const FLAGS: [&str; 6] = ["-static", "-O2", "-g1", "-Wall", "-Wextra", "-pthread"];
/// What the kernel's own have of warnings is not ours to know.
const SELFTEST_FLAGS: [&str; 5] = ["-static", "-O2", "-w", "-pthread", "-D_GNU_SOURCE"];

/// What one program is compiled from. All paths are below `root` and relative to it.
struct Unit<'a> {
    root: &'a Path,
    source: PathBuf,
    includes: Vec<PathBuf>,
    flags: &'a [&'a str],
}

/// Compile our own program `name` for `arch`; returns its path in the cache.
///
/// # Errors
/// If there is no such source or compiler, or it does not compile.
pub fn compile_program(lab: &Lab, arch: Arch, name: &str) -> Result<PathBuf, GuestError> {
    let root = lab.project.root();
    let directory = lab.project.lab().join("guest");
    let source = directory.join(format!("{name}.c"));
    if !source.is_file() {
        return Err(GuestError::NoProgram { name: format!("{name}.c"), root: directory });
    }
    let includes = [directory, lab.project.module_source("intsight")];
    let toolchain = Toolchain::provide(lab, arch)?;
    let mut inputs = Inputs::new("guest program", RECIPE)
        .value("toolchain", &toolchain.identity())
        .value("flags", &FLAGS.join(" "))
        .file("source", &source)?;
    for header in list_headers(&includes) {
        inputs = inputs.file("header", &header)?;
    }
    let below = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
    let includes = includes.iter().map(|path| below(path)).collect();
    let unit = Unit { root, source: below(&source), includes, flags: &FLAGS };
    unit.compile(lab, arch, &toolchain, inputs)
}

/// Compile the kernel's selftest `DIRECTORY/.../name`, from a source of the kernel.
///
/// # Errors
/// If there is no such test or compiler, or it does not compile.
pub fn compile_selftest(
    lab: &Lab,
    arch: Arch,
    kernel: &Path,
    test: &str,
) -> Result<PathBuf, GuestError> {
    let selftests = Path::new("tools/testing/selftests");
    let source = selftests.join(format!("{test}.c"));
    if !kernel.join(&source).is_file() {
        return Err(GuestError::NoProgram {
            name: format!("{test}.c"),
            root: kernel.join(selftests),
        });
    }
    let directory = source.parent().unwrap_or(selftests).to_owned();
    let includes = vec![directory.join("../include"), directory, selftests.to_owned()];
    let toolchain = Toolchain::provide(lab, arch)?;
    let inputs = Inputs::new("selftest", RECIPE)
        .value("toolchain", &toolchain.identity())
        .value("flags", &SELFTEST_FLAGS.join(" "))
        // Whatever it includes: the name has the source's hash.
        .value("kernel", &kernel.file_name().unwrap_or_default().to_string_lossy())
        .value("test", test);
    let unit = Unit { root: kernel, source, includes, flags: &SELFTEST_FLAGS };
    unit.compile(lab, arch, &toolchain, inputs)
}

impl Unit<'_> {
    /// Compile it into a directory of the cache; returns the program.
    fn compile(
        &self,
        lab: &Lab,
        arch: Arch,
        toolchain: &Toolchain,
        inputs: Inputs,
    ) -> Result<PathBuf, GuestError> {
        let name = self.source.file_stem().unwrap_or_default().to_string_lossy();
        let label = format!("{name}-{arch}");
        let product = Product { kind: "guest", label, inputs, resumable: false };
        let made = lab.cache.provide_product(&product, &lab.progress, |staging| {
            let mut command = toolchain.compiler_command(self.root)?;
            command.args(self.flags).arg("-o").arg(staging.directory.join(&*name));
            command.arg(&self.source);
            for directory in &self.includes {
                command.arg("-I").arg(directory);
            }
            let output = command.arg("-lm").output();
            let output = output.map_err(GuestError::at(&toolchain.compiler_path(), "start"))?;
            if output.status.success() {
                return Ok(());
            }
            let errors = String::from_utf8_lossy(&output.stderr);
            // The first error explains the others.
            let log = errors.lines().find(|line| line.contains("error:")).or(errors.lines().last());
            let what = format!("compiling {}", self.source.display());
            Err(GuestError::Tool { what, log: log.unwrap_or("no message").to_owned() })
        })?;
        Ok(made.join(&*name))
    }
}

/// All headers in these directories that there are.
fn list_headers(directories: &[PathBuf]) -> Vec<PathBuf> {
    let entries = directories.iter().filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten();
    let mut headers: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_header).collect();
    headers.sort();
    headers
}

fn is_header(path: &PathBuf) -> bool {
    Path::new(path).extension() == Some(OsStr::new("h"))
}
