// SPDX-License-Identifier: GPL-2.0-or-later
//! The verbs that read result directories back (`report`, `compare`), and the schema of what is in
//! them.

pub mod args;
mod compare;
mod directory;
mod merge;
mod report;
mod schema;

pub use compare::run as run_compare;
pub use directory::{MAX_FILE, Stored, read_result};
pub use report::run as run_report;
pub use schema::run as run_schema;
