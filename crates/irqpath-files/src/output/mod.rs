// SPDX-License-Identifier: GPL-2.0-or-later
//! Files and result directories appear under their final name only when they are complete: they
//! are written beside it under a random name, synced, and renamed. Whatever goes wrong before
//! that, the drop of the guard removes the partial one.
//!
//! - [`StagedFile`] is one file, [`StagedDir`] a result directory, [`Directory`] a directory in
//!   which several files are written over time, [`Store`] one of numbered results with a budget.
//! - Modes are the umask's.
//! - A final name that is a link is refused: following it would write where somebody else wants,
//!   replacing it would break `/dev/stdout`. Devices and pipes of root or of the caller are
//!   written directly: they have no content that could be half-written.
//!
//! Rule: create the guards before the measurement starts, so that a target that cannot be
//! written is refused before anybody waits for it.

mod directory;
mod error;
mod fifo;
mod file;
mod lock;
mod partial;
mod result;
mod socket;
mod store;
#[cfg(test)]
mod tests;

pub use directory::Directory;
pub use error::{OutputError, describe_failed_write};
pub use fifo::open_fifo;
pub use file::StagedFile;
pub use lock::Lock;
pub use partial::remove_all;
pub use result::StagedDir;
pub use socket::bind_socket;
pub use store::Store;
