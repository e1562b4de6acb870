// SPDX-License-Identifier: GPL-2.0-or-later
//! The compiler of everything that gets into a guest: that of `lab/kernels.toml`, from the lab's own
//! archive, so that the same sources make the same bytes on every host.
//!
//! The packages are unpacked, not installed. `tools` runs on the host, with the host's C library and
//! the libraries beside it; `sysroot` is what programs are linked with. Programs are started by the
//! scripts in `bin`, which find the rest by their own place: the cache may be moved.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::apt::{Apt, unpack_package};
use super::error::io_at;
use super::pins::{Pins, ToolchainPin};
use super::run::{run_for_output, tool_command};
use super::{Arch, KernelError, links};
use crate::cache::{Inputs, Product, Staging, remove_directory};
use crate::{Lab, Unit, own};

/// Version of the recipe below.
const RECIPE: u32 = 2;
/// The suite that has its packages, and those with programs for guests.
pub const SUITE: &str = "bookworm";
/// Started by scripts in `bin` if the packages have them; the compiler is another one.
const PROGRAMS: [&str; 9] =
    ["ar", "as", "ld", "nm", "objcopy", "objdump", "ranlib", "readelf", "strip"];
/// Makes the types of a kernel, and of a module where the headers have the kernel's (arm64's do).
const PAHOLE: &str = "pahole";

/// A compiler and its tools for one kind of machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    directory: PathBuf,
    compiler: String,
}

impl Toolchain {
    /// The toolchain of the project for `arch`; unpacked if the cache does not have it.
    ///
    /// # Errors
    /// [`KernelError::NoToolchain`] on a host that none is listed for, and what prevents its
    /// packages from being fetched.
    pub fn provide(lab: &Lab, arch: Arch) -> Result<Self, KernelError> {
        let pins = Pins::read(&lab.project)?;
        let host = Arch::host();
        let pin = host.and_then(|host| pins.toolchain.get(&host)?.get(&arch));
        let pin = pin.ok_or(KernelError::NoToolchain { arch, host: env::consts::ARCH })?;
        let compiler = format!("{}{}", arch.cross_prefix(), pins.compiler);
        let mut inputs = Inputs::new("toolchain", RECIPE)
            .value("compiler", &compiler)
            .value("host", env::consts::ARCH);
        for (part, packages) in [("tool", &pin.tools), ("sysroot", &pin.sysroot)] {
            for (name, version) in packages {
                inputs = inputs.value(part, &format!("{name} {version}"));
            }
        }
        let label = format!("toolchain-{arch}");
        let product = Product { kind: "packages", label, inputs, resumable: false };
        let directory = lab.cache.provide_product(&product, &lab.progress, |staging| {
            let names = program_names(arch, &compiler);
            make_toolchain(lab, staging, pin, &names)
        })?;
        Ok(Self { directory, compiler })
    }

    /// Where the C compiler is.
    pub fn compiler_path(&self) -> PathBuf {
        self.program_path(&self.compiler)
    }

    /// Another of its programs, by the name that it has where it is installed.
    pub fn program_path(&self, name: &str) -> PathBuf {
        self.directory.join("bin").join(name)
    }

    /// Versions of what makes the bytes of a kernel or a module. Unlike [`identity`](Self::identity)
    /// they are the same for every toolchain that makes the same.
    ///
    /// # Errors
    /// If one of the programs does not start.
    pub fn read_versions(&self, programs: &[&str]) -> Result<String, KernelError> {
        let first_line = |name: &&str| {
            let path = self.program_path(name);
            let answer =
                run_for_output(tool_command(&path.to_string_lossy()).arg("--version"), name)?;
            Ok(answer.lines().next().unwrap_or_default().to_owned() + "\n")
        };
        programs.iter().map(first_line).collect()
    }

    /// The C compiler, to be given arguments: at work in `directory`, whose own path and everything
    /// else of the caller's environment do not get into what it makes.
    ///
    /// # Errors
    /// If there is no such directory.
    pub fn compiler_command(&self, directory: &Path) -> Result<Command, KernelError> {
        let directory = fs::canonicalize(directory).map_err(io_at(directory, "read"))?;
        let mut command = Command::new(self.compiler_path());
        command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C");
        command.env("SOURCE_DATE_EPOCH", "0").stdin(Stdio::null());
        command.arg(format!("-ffile-prefix-map={}=.", directory.display()));
        command.current_dir(directory);
        Ok(command)
    }

    /// A `PATH` in which its programs come first.
    pub fn search_path(&self) -> OsString {
        let mut path = self.directory.join("bin").into_os_string();
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()));
        path
    }

    /// What stands for its version among the inputs of what it makes.
    pub fn identity(&self) -> String {
        self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// What is started from `bin`.
fn program_names(arch: Arch, compiler: &str) -> Vec<String> {
    let prefix = arch.cross_prefix();
    let tools = PROGRAMS.iter().map(|name| format!("{prefix}{name}"));
    std::iter::once(compiler.to_owned()).chain(tools).chain([PAHOLE.to_owned()]).collect()
}

fn make_toolchain(
    lab: &Lab,
    staging: &Staging,
    pin: &ToolchainPin,
    names: &[String],
) -> Result<(), KernelError> {
    let apt = Apt::open(lab, SUITE)?;
    let host = super::source::source_arch()?;
    let directory = &staging.directory;
    let debs = directory.join("debs");
    let exact = |(name, version): (&String, &String)| apt.find_package(name, host, Some(version));
    let wanted = pin.tools.iter().chain(&pin.sysroot).map(exact).collect::<Result<Vec<_>, _>>()?;
    let files = apt.download_packages(&wanted, &debs, staging)?;
    lab.progress.begin_step("unpacking the toolchain", None, Unit::Steps);
    let (tools, sysroot) = (directory.join("tools"), directory.join("sysroot"));
    own::make_directory(&sysroot).map_err(io_at(&sysroot, "write"))?;
    for (nr, deb) in files.iter().enumerate() {
        unpack_package(deb, if nr < pin.tools.len() { &tools } else { &sysroot })?;
    }
    for root in [&tools, &sysroot] {
        links::keep_inside(root).map_err(io_at(root, "write"))?;
    }
    for gone in [&debs, &tools.join("usr/share"), &sysroot.join("usr/share")] {
        remove_directory(gone)?;
    }
    let bin = directory.join("bin");
    own::make_directory(&bin).map_err(io_at(&bin, "write"))?;
    names.iter().try_for_each(|name| write_script(&tools, &bin, name, host))
}

/// Starts a program with the libraries that it was built with, and no other program with them.
fn write_script(tools: &Path, bin: &Path, name: &str, host: Arch) -> Result<(), KernelError> {
    if !tools.join("usr/bin").join(name).exists() {
        return Err(KernelError::Incomplete {
            place: tools.to_owned(),
            missing: format!("program {name}"),
            advice: "list its package in the toolchain of lab/kernels.toml",
        });
    }
    let path = bin.join(name);
    own::write(&path, format_script(name, host)).map_err(io_at(&path, "write"))?;
    own::set_mode(&path, 0o755).map_err(io_at(&path, "write"))
}

fn format_script(name: &str, host: Arch) -> String {
    let libraries = format!("lib/{}", host.multiarch());
    // Where the toolchain lies must not get into what it makes; the compiler sees through links, so
    // the script does as well. A native compiler looks for `as` and
    // `ld` in PATH unless it is told; a cross compiler has its own beside it.
    let options = match name.rsplit_once("gcc") {
        None => "",
        Some(("", _)) => {
            " --sysroot=\"$here/sysroot\" -B\"$here/tools/usr/bin\" -ffile-prefix-map=\"$here\"=/toolchain"
        }
        Some(_) => " --sysroot=\"$here/sysroot\" -ffile-prefix-map=\"$here\"=/toolchain",
    };
    format!(
        "#!/bin/sh\nhere=$(cd \"${{0%/*/*}}\" && pwd -P)\n\
         export LD_LIBRARY_PATH=\"$here/tools/usr/{libraries}:$here/tools/{libraries}\"\n\
         exec \"$here/tools/usr/bin/{name}\"{options} \"$@\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_finds_its_toolchain_wherever_it_lies() {
        let dir = tempfile::tempdir().unwrap();
        let tools = dir.path().join("a/tools");
        let bin = dir.path().join("a/bin");
        fs::create_dir_all(tools.join("usr/bin")).unwrap();
        fs::create_dir_all(&bin).unwrap();
        let gcc = tools.join("usr/bin/gcc-12");
        fs::write(&gcc, "#!/bin/sh\necho \"$LD_LIBRARY_PATH\" \"$@\"\n").unwrap();
        own::set_mode(&gcc, 0o755).unwrap();
        write_script(&tools, &bin, "gcc-12", Arch::X86_64).unwrap();
        let missing = write_script(&tools, &bin, "ld", Arch::X86_64).unwrap_err().to_string();
        assert!(missing.contains("program ld"), "{missing}");
        let moved = dir.path().join("b c");
        fs::rename(dir.path().join("a"), &moved).unwrap();
        let printed = Command::new(moved.join("bin/gcc-12")).arg("x y").output().unwrap();
        let printed = String::from_utf8(printed.stdout).unwrap();
        let at = fs::canonicalize(&moved).unwrap();
        let at = at.display();
        assert!(printed.starts_with(&format!("{at}/tools/usr/lib/x86_64-linux-gnu:")), "{printed}");
        assert!(printed.contains(&format!(" --sysroot={at}/sysroot -B{at}/tools/usr/bin ")));
        assert!(printed.trim_end().ends_with(" x y"), "{printed}");
    }

    #[test]
    fn only_the_native_compiler_is_told_where_the_assembler_is() {
        assert!(format_script("gcc-12", Arch::X86_64).contains(" -B"));
        assert!(!format_script("aarch64-linux-gnu-gcc-12", Arch::X86_64).contains(" -B"));
        assert!(!format_script("ld", Arch::X86_64).contains("sysroot"));
    }
}
