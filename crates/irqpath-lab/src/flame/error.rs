// SPDX-License-Identifier: GPL-2.0-or-later
//! What can go wrong between the plugin and the flame graph: one line, and what to do.

use std::io;
use std::path::PathBuf;

use crate::CacheError;
use crate::kernel::Arch;

/// Why there is no flame graph.
#[derive(Debug, thiserror::Error)]
pub enum FlameError {
    /// The plugin could not be kept or its sources not be read.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// There is no QEMU that would load the plugin.
    #[error(
        "there is no QEMU for {arch}; run scripts/setup.sh --with lab in a checkout, or install it"
    )]
    NoQemu {
        /// The machine that it would have.
        arch: Arch,
    },
    /// There is no C compiler.
    #[error("cannot start gcc, which builds the QEMU plugin: {source}; install it")]
    NoCompiler {
        /// What the system said.
        source: io::Error,
    },
    /// The plugin does not compile.
    #[error("the QEMU plugin does not compile: {reason}")]
    Compile {
        /// The compiler's first error.
        reason: String,
    },
    /// A file cannot be read.
    #[error("cannot read {path}: {source}; did the guest run to its end?", path = .path.display())]
    Read {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A recording of the plugin is not what it should be.
    #[error("the plugin's recording is damaged at byte {offset}: {what}; run the experiment again")]
    Recording {
        /// Where in the file.
        offset: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// A recording of another version of the plugin.
    #[error(
        "the plugin's recording has format {found}, this program reads {known}; run the experiment again"
    )]
    Version {
        /// The format of the file.
        found: u8,
        /// The format that can be read.
        known: u8,
    },
    /// A symbol table makes no sense.
    #[error(
        "line {line} of the symbol table is no symbol: '{text}'; save the guest's /proc/kallsyms as root"
    )]
    Symbols {
        /// Number of the line, the first being 1.
        line: usize,
        text: String,
    },
    /// All symbols have the address 0.
    #[error(
        "the symbol table hides its addresses; write 0 to /proc/sys/kernel/kptr_restrict and read it as root"
    )]
    HiddenSymbols,
    /// A program's ELF file makes no sense.
    #[error("the program's ELF file is damaged: {source}")]
    Elf {
        #[from]
        source: object::read::Error,
    },
    #[error("cannot draw the flame graph: {reason}")]
    Draw {
        /// What the drawing library said.
        reason: String,
    },
}
