// SPDX-License-Identifier: GPL-2.0-or-later
//! Modules of ours, built against a kernel of the lab.
//!
//! The source is copied first: several kernels can be built for at once, and a checkout stays
//! clean. The path of the copy does not get into the module, so that two machines make the same with
//! the lab's compiler; that of a suite is of the day.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::elsewhere::BuildRoot;
use super::error::io_at;
use super::run::{Lines, run_watched, tool_command};
use super::{Kernel, KernelError, Toolchain};
use crate::cache::{Inputs, Product, Staging, list_files, remove_directory};
use crate::own;
use crate::{Lab, Unit};

/// Version of the recipe below.
const RECIPE: u32 = 1;

/// Build the module in `source`, a directory with a `Kbuild` and one module, for a kernel.
/// `variables` are handed to make. Returns the `.ko` file.
///
/// # Errors
/// [`KernelError::Failed`] with the first error of the compiler; its last lines are in
/// [`KernelError::log`].
pub fn build_module(
    lab: &Lab,
    kernel: &Kernel,
    source: &Path,
    variables: &[(&str, &str)],
) -> Result<PathBuf, KernelError> {
    let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let tools = Tools::provide(lab, kernel)?;
    let mut inputs = Inputs::new("module", RECIPE)
        .value("kernel", &kernel.directory.file_name().unwrap_or_default().to_string_lossy())
        .value("kernel image", &kernel.sha256)
        .value("compiler", &tools.identity(kernel)?)
        .tree("source", source)?;
    for (variable, value) in variables {
        inputs = inputs.value(variable, value);
    }
    let label = format!("{name}-{}-{}", kernel.flavour, kernel.arch);
    let product = Product { kind: "modules", label, inputs, resumable: false };
    let directory = lab.cache.provide_product(&product, &lab.progress, |staging| {
        make_module(lab, kernel, &tools, source, variables, staging)
    });
    lab.progress.clear_line();
    the_module(&directory?)
}

/// What compiles for a kernel.
enum Tools {
    /// The lab's own, on the host.
    Pinned { toolchain: Toolchain, build: PathBuf },
    /// Those of the kernel's suite.
    Root(BuildRoot),
}

impl Tools {
    fn provide(lab: &Lab, kernel: &Kernel) -> Result<Self, KernelError> {
        let Some(build) = kernel.build.clone() else {
            return BuildRoot::provide(lab, kernel).map(Self::Root);
        };
        Ok(Self::Pinned { toolchain: Toolchain::provide(lab, kernel.arch)?, build })
    }

    /// What makes a difference to the module beside the kernel, whose version a root goes by.
    fn identity(&self, kernel: &Kernel) -> Result<String, KernelError> {
        match self {
            Self::Pinned { toolchain, .. } => {
                let versions = toolchain.read_versions(&[&kernel.compiler_program()])?;
                Ok(versions.trim_end().to_owned())
            }
            Self::Root(_) => Ok("of the suite".to_owned()),
        }
    }

    /// `make` for the module in `sources`, without its variables and targets.
    fn make_command(&self, kernel: &Kernel, sources: &Path) -> Command {
        match self {
            Self::Pinned { toolchain, build } => {
                let mut make = tool_command("make");
                make.env("PATH", toolchain.search_path());
                make.arg("-C").arg(build).arg(format!("M={}", sources.display()));
                make.arg(format!("ARCH={}", kernel.arch.kbuild()));
                make.arg(format!("CROSS_COMPILE={}", kernel.arch.cross_prefix()));
                make.arg(format!("CC={}", kernel.compiler_program()));
                make.arg(format!("KCFLAGS=-ffile-prefix-map={}=.", sources.display()));
                make
            }
            Self::Root(root) => root.make_command(sources),
        }
    }
}

fn make_module(
    lab: &Lab,
    kernel: &Kernel,
    tools: &Tools,
    source: &Path,
    variables: &[(&str, &str)],
    staging: &Staging,
) -> Result<(), KernelError> {
    let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let what = format!("building {name} for {} {}", kernel.flavour, kernel.arch);
    let all = list_files(source)?;
    let objects = all.iter().filter(|p| p.extension().is_some_and(|x| x == "c")).count();
    lab.progress.begin_step(&what, Some(objects as u64 + 5), Unit::Steps);
    let copy = staging.directory.join("src");
    for path in &all {
        let to = copy.join(path.strip_prefix(source).unwrap_or(path));
        let parent = to.parent().unwrap_or(&copy);
        own::make_directory(parent).map_err(io_at(parent, "write"))?;
        own::copy(path, &to).map_err(io_at(path, "copy"))?;
    }
    let log = staging.directory.join("build.log");
    let mut make = tools.make_command(kernel, &copy);
    make.args(variables.iter().map(|(name, value)| format!("{name}={value}")));
    super::build::fix_builder(&mut make);
    make.arg("modules").stdin(staging.stdin());
    let mut lines = Lines::in_file(&log);
    run_watched(&mut make, &what, &log, || lab.progress.set_done(lines.count_lines()))?;
    let built = the_module(&copy)?;
    let kept = staging.directory.join(built.file_name().unwrap_or_default());
    own::rename(&built, kept).map_err(io_at(&built, "take"))?;
    remove_directory(&copy)?;
    Ok(())
}

/// The one module in a directory.
fn the_module(directory: &Path) -> Result<PathBuf, KernelError> {
    let mut found = list_files(directory)?;
    found.retain(|path| path.extension().is_some_and(|x| x == "ko"));
    match <[PathBuf; 1]>::try_from(found) {
        Ok([one]) => Ok(one),
        Err(other) => Err(KernelError::Incomplete {
            place: directory.to_owned(),
            missing: format!("single module (it has {})", other.len()),
            advice: "one directory makes one module; look at obj-m in its Kbuild",
        }),
    }
}
