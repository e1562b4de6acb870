// SPDX-License-Identifier: GPL-2.0-or-later
//! Why there is no kernel: one line, what was wrong and what to do. Where a program failed,
//! its last lines are at [`KernelError::log`].

use std::io;
use std::path::{Path, PathBuf};

use super::{Arch, Flavour};
use crate::CacheError;

/// What went wrong on the way to a kernel or a module.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The list of kernels is wrong.
    #[error("{path}: {reason}; correct it as its first lines say", path = .path.display())]
    Pins { path: PathBuf, reason: String },
    /// The list has no such kernel.
    #[error(
        "there is no {flavour} kernel for {arch}; `irqpath lab build --help` lists what there is"
    )]
    NotOffered { flavour: Flavour, arch: Arch },
    /// Nothing can be built for a kernel.
    #[error(
        "modules for {flavour} are built in a Debian of its suite: by root, and on {arch}; use stock-rt otherwise"
    )]
    NoHeaders { flavour: Flavour, arch: Arch },
    /// The root of a newer suite, in which modules for its kernel are built, cannot be made.
    #[error(
        "cannot make a root of Debian's {suite} for modules: {reason}; its archive may be changing, try later"
    )]
    NoBuildRoot { suite: String, reason: String },
    /// No compiler of the lab for guests of a kind runs on this host.
    #[error(
        "lab/kernels.toml lists no toolchain for {arch} guests that runs on {host}; use an x86_64 host, or add one"
    )]
    NoToolchain {
        arch: Arch,
        /// What the host is, of which there is no toolchain.
        host: &'static str,
    },
    /// A program that is needed is not installed.
    #[error(
        "{program} is not installed; run scripts/setup.sh --with lab in a checkout, or install it"
    )]
    MissingProgram { program: String },
    /// Not a Debian system.
    #[error(
        "there is no {program} here, and kernels come as Debian packages; use Debian 12 or newer, also in a container"
    )]
    NoApt { program: String },
    /// Nobody says where Debian's archive is.
    #[error(
        "this host knows no mirror of Debian; install debootstrap, which knows one, or set {variable} to \
         the address of one, ending in /debian"
    )]
    NoMirror {
        /// The environment variable that names one.
        variable: &'static str,
    },
    /// A package that the archive does not have.
    #[error(
        "Debian's {suite} has no {package}; `irqpath lab build --repin` lists the newest versions in lab/kernels.toml, and exact figures then need `irqpath lab gate --bless`"
    )]
    NoPackage {
        /// The package, or a pattern.
        package: String,
        /// Where it was looked for.
        suite: String,
    },
    #[error("{what} failed ({status}): {reason}")]
    Failed {
        /// What it should do.
        what: String,
        status: String,
        /// The line of its output that tells most.
        reason: String,
        log: String,
    },
    /// A line of a configuration fragment is not one.
    #[error("{path}: '{line}' sets no option; write CONFIG_NAME=value", path = .path.display())]
    Fragment { path: PathBuf, line: String },
    /// Kconfig did not do as the fragments say.
    #[error("Kconfig dropped {}; add what they depend on to kernel/config, or leave them out", .options.join(", "))]
    ConfigLost {
        /// The options, with the value wanted and found.
        options: Vec<String>,
    },
    /// A file of a kernel cannot be read or written.
    #[error("cannot {action} {path}: {source}", path = .path.display())]
    Io {
        path: PathBuf,
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A package, a product or a build does not contain what it must.
    #[error("{place} has no {missing}; {advice}", place = .place.display())]
    Incomplete {
        /// Where it should be.
        place: PathBuf,
        /// What is not there.
        missing: String,
        advice: &'static str,
    },
}

impl KernelError {
    /// The last lines of the program that failed; empty if none did.
    pub fn log(&self) -> &str {
        match self {
            Self::Failed { log, .. } => log,
            _ => "",
        }
    }
}

/// For `map_err`: an error at `path` while it was `action`.
pub(super) fn io_at(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> KernelError {
    let path = path.to_owned();
    move |source| KernelError::Io { path, action, source }
}
