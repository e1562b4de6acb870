// SPDX-License-Identifier: GPL-2.0-or-later
//! Building the QEMU plugins from `lab/plugin`, and their arguments.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{Inputs, Product, Staging};
use crate::flame::FlameError;
use crate::kernel::Arch;
use crate::vm::{PluginUse, QemuVersion};
use crate::{Lab, Unit};

/// Version of the recipe below.
const RECIPE: u32 = 3;
const COMPILER: &str = "gcc";
/// No glib, no headers of QEMU: what QEMU exports is declared in `qemu_api.h`.
const FLAGS: [&str; 8] =
    ["-std=gnu11", "-O2", "-g1", "-Wall", "-Wextra", "-fPIC", "-shared", "-fvisibility=hidden"];
/// File in the product: the plugin that follows paths.
const FLAME: &str = "flame.so";
/// The one that only counts.
const COUNT: &str = "count.so";
/// What the counter is made of; the other one is every source beside them.
const COUNT_SOURCES: [&str; 3] = ["count/count.c", "x86.c", "arm64.c"];

/// The path from one mark to another; marks are those of `intsight_mark.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathMarks {
    /// Where it begins; the mark's instruction belongs to the path.
    pub from: u8,
    /// Where it ends; the mark's instruction does not belong to it.
    pub to: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    directory: PathBuf,
}

impl Plugin {
    /// The plugins for the QEMU of this kind of machine, compiled if the cache does not have them.
    ///
    /// # Errors
    /// [`FlameError::NoQemu`], [`FlameError::NoCompiler`], [`FlameError::Compile`], or what the cache
    /// says.
    pub fn build(lab: &Lab, arch: Arch) -> Result<Self, FlameError> {
        let qemu = QemuVersion::query(arch).ok_or(FlameError::NoQemu { arch })?;
        let interface = format!("-DQEMU_PLUGIN_VERSION={}", qemu.plugin_interface());
        let source = lab.project.lab().join("plugin");
        let inputs = Inputs::new("plugin", RECIPE)
            .value("compiler", &compiler_version()?)
            .value("flags", &FLAGS.join(" "))
            .value("interface", &interface)
            .tree("source", &source)?;
        let label = "flame".to_owned();
        let product = Product { kind: "plugins", label, inputs, resumable: false };
        lab.progress.begin_step("building the QEMU plugins", None, Unit::Steps);
        let made = lab.cache.provide_product(&product, &lab.progress, |staging| {
            compile_plugins(&source, &interface, staging)
        });
        lab.progress.clear_line();
        Ok(Self { directory: made? })
    }

    /// For [`crate::vm::Machine::plugin`]: count these paths (at most 8) and leave the recording in
    /// `out`. `stack_size` is that of a kernel stack in bytes (16384; with KASAN 32768).
    pub fn for_machine(&self, out: &Path, paths: &[PathMarks], stack_size: u64) -> PluginUse {
        let mut parts = vec![format!("stack={stack_size}")];
        parts.extend(paths.iter().copied().map(path_argument));
        self.to_use(FLAME, parts.join(","), out)
    }

    /// For [`crate::vm::Machine::plugin`]: leave how many instructions a virtual CPU executes on
    /// each instance of a path in `out`, in all and in user space, one instance a line. The marks are
    /// in user space; the machine may have several virtual CPUs.
    pub fn use_counter(&self, out: &Path, path: PathMarks) -> PluginUse {
        self.to_use(COUNT, path_argument(path), out)
    }

    fn to_use(&self, library: &str, arguments: String, out: &Path) -> PluginUse {
        PluginUse { library: self.directory.join(library), arguments, out: out.to_owned() }
    }
}

fn path_argument(path: PathMarks) -> String {
    format!("path={}-{}", path.from, path.to)
}

fn compiler_version() -> Result<String, FlameError> {
    let output = Command::new(COMPILER).arg("--version").env("LC_ALL", "C").output();
    let output = output.map_err(|source| FlameError::NoCompiler { source })?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn compile_plugins(source: &Path, interface: &str, staging: &Staging) -> Result<(), FlameError> {
    let files = crate::cache::list_files(source)?;
    let sources = files
        .iter()
        .filter(|p| p.parent() == Some(source) && p.extension().is_some_and(|x| x == "c"));
    let sources: Vec<_> = sources.cloned().collect();
    link_library(&sources, interface, FLAME, staging)?;
    link_library(&COUNT_SOURCES.map(|name| source.join(name)), interface, COUNT, staging)
}

fn link_library(
    sources: &[PathBuf],
    interface: &str,
    library: &str,
    staging: &Staging,
) -> Result<(), FlameError> {
    let mut command = Command::new(COMPILER);
    command.args(FLAGS).arg(interface).args(sources).arg("-o").arg(staging.directory.join(library));
    command.env("LC_ALL", "C").stdin(staging.stdin());
    let output = command.output().map_err(|source| FlameError::NoCompiler { source })?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().find(|line| line.contains("error")).or(text.lines().last());
    Err(FlameError::Compile { reason: first.unwrap_or("it printed nothing").trim().to_owned() })
}
