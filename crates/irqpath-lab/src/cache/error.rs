// SPDX-License-Identifier: GPL-2.0-or-later
//! Why the cache cannot be used: one line, with the path and what to do.

use std::io;
use std::path::{Path, PathBuf};

use irqpath_files::output::OutputError;
use irqpath_files::tree::TreeError;

/// What went wrong with the cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// No environment variable says where the cache is.
    #[error("there is no place for the cache; set HOME, or IRQPATH_CACHE to a directory of yours")]
    NoPlace,
    /// The place of the cache is not an absolute path, and would depend on where one stands.
    #[error("{variable}={path} is not an absolute path; give one that starts with /", path = .path.display())]
    Relative { variable: &'static str, path: PathBuf },
    /// Somebody else could put programs into it.
    #[error(
        "{source}, so the cache is not used; set IRQPATH_CACHE to a directory in which nobody else can write"
    )]
    Unsafe {
        /// What others could do.
        source: TreeError,
    },
    /// It cannot be made or reached.
    #[error("cannot make the cache {path}; set IRQPATH_CACHE to a directory of yours", path = .path.display())]
    Place { path: PathBuf, source: OutputError },
    /// A product is not there, and this process makes none.
    #[error("the cache {} lacks {product}, and a unit makes nothing; start `irqpath lab campaign` with this cache, or share the cache it had", root.display())]
    Missing { root: PathBuf, product: String },
    /// An input of a product cannot be read.
    #[error("cannot read {path}, an input of what is built: {source}", path = .path.display())]
    Input {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something in the cache cannot be read or written.
    #[error("cannot {action} {path}: {source}; make room, or set IRQPATH_CACHE to another directory",
        path = .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried: `written`, `locked`.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// For `map_err`: an error at `path` while it was `action`.
pub(crate) fn io_at(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_owned();
    move |source| CacheError::Io { path, action, source }
}
