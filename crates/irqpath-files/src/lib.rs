// SPDX-License-Identifier: GPL-2.0-or-later
//! Files in a world with other users. irqpath often runs as root, and its user names files in
//! directories that others can write to: `/tmp`, a colleague's results, a shared disk.
//!
//! - [`input`] is the only way a file is opened that may come from a stranger.
//! - [`output`] is the only way an output gets its name.
//! - [`tree`] decides whether a directory of programs and settings may be used at all.
//!
//! Rule for all of them: a path is walked one component at a time from an open directory, and a
//! link is followed only if root or the caller made it ([`owner`]), on a file system whose owners
//! are real (`mounts`). A name is never looked up
//! twice, so that nobody can put something else there between the check and the use. `cargo xtask
//! check` refuses direct calls of `File::create`, `fs::rename` and the like elsewhere.

mod bounded;
pub mod input;
mod mounts;
pub mod output;
pub mod owner;
pub mod tree;
mod walk;

pub use walk::WalkError;
