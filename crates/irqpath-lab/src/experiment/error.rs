// SPDX-License-Identifier: GPL-2.0-or-later
//! What can be wrong with an experiment: its file, its guest, its results.

use std::io;
use std::path::PathBuf;

/// Why an experiment could not be read or run.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A file of the project cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        source: io::Error,
    },
    /// There is no place for what a guest leaves.
    #[error("cannot make a temporary directory: {source}; set TMPDIR to one that can be written")]
    Scratch { source: io::Error },
    /// Not TOML, or a field that does not exist.
    #[error("{}: {source}", path.display())]
    Syntax { path: PathBuf, source: Box<toml::de::Error> },
    /// TOML, but it makes no sense.
    #[error("{}: {what}", path.display())]
    Invalid { path: PathBuf, what: String },
    /// A script of an experiment cannot be read.
    #[error(transparent)]
    Script(#[from] crate::cache::CacheError),
    /// There is no such experiment.
    #[error("there is no experiment {id}; `irqpath lab list` shows those there are")]
    Unknown {
        /// What was asked for.
        id: String,
    },
    /// A variant that was asked for is in no experiment that was asked for.
    #[error("no experiment asked for has a variant {name}; there are: {known}")]
    NoVariant { name: String, known: String },
    /// The same, of a parameter.
    #[error("no experiment asked for has a parameter {name}; there are: {known}")]
    NoParameter { name: String, known: String },
    /// A kernel or a module could not be made.
    #[error(transparent)]
    Kernel(#[from] crate::kernel::KernelError),
    /// A path could not be attributed.
    #[error(transparent)]
    Flame(#[from] crate::flame::FlameError),
    /// The guest's initramfs could not be made.
    #[error(transparent)]
    Guest(#[from] crate::guest::GuestError),
    /// An experiment runs irqpath in its guest, and nobody said where it is.
    #[error("this experiment runs irqpath in its guest; run it by `irqpath lab run`")]
    NoIrqpath,
    /// A guest went wrong.
    #[error("{experiment} on {variant}: {source}")]
    Vm { experiment: String, variant: String, source: Box<crate::vm::VmError> },
    /// The guest ended, but a file that the job should have written is missing or malformed.
    #[error("{experiment} on {variant}: {what}")]
    Result {
        experiment: String,
        variant: String,
        /// What is wrong with which file.
        what: String,
    },
}

impl ExperimentError {
    /// What a guest's console, a job or a compiler said before; may be empty.
    pub fn log(&self) -> String {
        match self {
            Self::Kernel(error) => error.log().to_owned(),
            Self::Vm { source, .. } => source.log().to_owned(),
            _ => String::new(),
        }
    }
}
