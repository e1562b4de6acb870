// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes of the host that can be taken back: what is changed ([`Target`]), from and to what
//! ([`Value`]), and the way to the host ([`Access`]).
//!
//! `apply` writes a change down in the [journal](crate::journal) before it makes it and looks
//! afterwards whether the kernel did it; `undo` puts a value back only where it still is one of
//! ours. Shield and tune use the same code, each with a journal of its own.
//!
//! The rule to know: values are compared by what they mean (`3` and `00000003` are one mask),
//! because the kernel does not print what was written.

mod access;
mod allowed;
mod apply;
mod irqbalance;
mod real;
mod undo;

use irqpath_model::change::{Target, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use access::Access;
pub use allowed::{Allowed, PARTITION_DIRECTORY, RUN_DIRECTORY, THREADS_PREFIX, home_of_threads};
pub(crate) use apply::error_reason;
pub use apply::{Step, StepOutcome, Verdict, apply_steps};
pub(crate) use irqbalance::is_genuine as is_genuine_irqbalance;
pub(crate) use irqbalance::{is_of_root, join_lines};
pub use real::{FlowCalls, RealAccess};
pub use undo::{put_back, undo_changes};

/// A change about to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// The file, task or cgroup that is changed.
    #[serde(flatten)]
    pub target: Target,
    /// What people call it: `irq 36 (virtio1-req.0)`.
    pub label: String,
    /// Its value just before.
    pub before: Value,
    /// What it will be.
    pub new: Value,
}
