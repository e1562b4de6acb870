// SPDX-License-Identifier: GPL-2.0-or-later
//! Why a guest cannot be made: one line, what was wrong and what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::CacheError;
use crate::kernel::{Arch, KernelError};

/// What went wrong while a guest was made.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// A program that the guest was to have is not there.
    #[error("there is no program '{name}' in {root}; install its package, or leave it out of the guest",
        root = .root.display())]
    NoProgram {
        /// As it was asked for.
        name: String,
        /// Where it was looked for.
        root: PathBuf,
    },
    /// A shared library of a program is not there.
    #[error("{program} needs {name}, which is not there; install its package", program = .program.display())]
    NoLibrary {
        /// The library's file name.
        name: String,
        /// The program or library that needs it.
        program: PathBuf,
    },
    /// A program is for another machine, or damaged.
    #[error("{path} is no program for {arch}; take one that was built for it", path = .path.display())]
    Foreign { path: PathBuf, arch: Arch },
    /// There is no static busybox.
    #[error(
        "there is no static busybox for {arch}; list the version of busybox-static in lab/kernels.toml"
    )]
    NoBusybox { arch: Arch },
    /// A kernel module is not there, or is none.
    #[error("there is no kernel module '{name}'; correct the name, or take another kernel")]
    NoModule {
        /// The module, or its file.
        name: String,
    },
    /// A compiler or a decompressor failed.
    #[error("{what} failed: {log}")]
    Tool {
        /// What was being done.
        what: String,
        /// The last line that it printed.
        log: String,
    },
    /// A tool is not installed.
    #[error("cannot run {program}: {source}; install the package {package}")]
    NoTool {
        program: String,
        /// The package that has it.
        package: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("cannot {action} {path}: {source}", path = .path.display())]
    Io {
        path: PathBuf,
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Debian's archive does not give a program for another machine.
    #[error(transparent)]
    Package(#[from] KernelError),
}

impl GuestError {
    /// For `map_err`: an error at `path` while it was `action`.
    pub(super) fn at(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }
}
