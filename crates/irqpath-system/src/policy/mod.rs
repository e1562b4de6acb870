// SPDX-License-Identifier: GPL-2.0-or-later
//! The policies of the irqpath kernel, as `/sys/kernel/irqpath` shows them: `state` reads them,
//! `switch` sets and switches them, `associations` reads what the kernel learned, and adds to it.
//!
//! The rule to know: which policies there are, and what can be set, is for the kernel to say. A
//! policy is a directory with a file `enabled`; of its other files those that can be written are
//! settings, the others are counters. Neighbour: `docs/kernel.md` is about the kernel.
//!
//! A switch is runtime state that the user asks for by name, and off after a boot: no journal.

mod associations;
mod state;
mod switch;
#[cfg(test)]
mod tests;

use std::io;

pub use associations::{pin_association, read_associations};

pub use state::read_policies;
pub use switch::{ALL, disable, enable};

use crate::{Host, SystemError};

/// Where the kernel shows everything.
const ROOT: &str = "sys/kernel/irqpath";

/// Why policies could not be looked at or switched. Nothing was written, unless the message says so.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the message says what each field is
pub enum PolicyError {
    /// A file could not be read.
    #[error(transparent)]
    System(#[from] SystemError),
    /// Another kernel runs.
    #[error(
        "this kernel has no policies: there is no /{ROOT} (CONFIG_IRQPATH); boot the kernel that irqpath lab build --flavour irqpath makes, or use irqpath tune and shield, which need none"
    )]
    NoPolicies,
    /// No policy has this name.
    #[error("there is no policy '{name}'; this kernel has: {}", .known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// None of the policies has this setting.
    #[error("there is no setting '{name}' of {}; there is: {}", .policies.join(", "),
        if .known.is_empty() { "none".to_owned() } else { .known.join(", ") })]
    UnknownSetting {
        /// What was asked for.
        name: String,
        policies: Vec<String>,
        /// The settings that they have.
        known: Vec<String>,
    },
    /// Several of the policies have this setting.
    #[error("{} each have a setting '{name}'; enable them one after the other", .policies.join(" and "))]
    AmbiguousSetting {
        /// What was asked for.
        name: String,
        /// Those that have it.
        policies: Vec<String>,
    },
    /// A file that names other users' tasks may not be read.
    #[error("this user may not read /{path}; run with sudo")]
    Hidden {
        /// Relative to the host's root.
        path: String,
    },
    /// A file that has to be written may not be.
    #[error("this user may not write /{path}; run with sudo")]
    Forbidden {
        /// Relative to the host's root.
        path: String,
    },
    /// The kernel did not take a value.
    #[error("the kernel refused '{value}' for /{path}: {source}; Documentation/ABI/testing/sysfs-kernel-irqpath-* says what it takes{}", done_before(.done))]
    Refused {
        /// Relative to the host's root.
        path: String,
        value: String,
        /// What the kernel said.
        source: io::Error,
        /// What was written before, as `migrate/watchdog_us=500`, and stays.
        done: Vec<String>,
    },
    /// An association could not be made by hand, or left to learning again.
    #[error(
        "interrupt {irq} cannot be {what} task {tid}: {why}; irqpath policy assoc shows those that there are"
    )]
    NotPinned {
        /// Number of the interrupt.
        irq: u32,
        /// `given to` or `taken from`.
        what: &'static str,
        tid: u32,
        /// What the kernel said.
        why: String,
    },
    /// The table of associations is not the one that this irqpath knows.
    #[error(
        "/{path} has other columns than this irqpath knows ({found}); use the irqpath of the kernel's release"
    )]
    OtherColumns {
        /// Relative to the host's root.
        path: String,
        found: String,
    },
}

fn done_before(done: &[String]) -> String {
    if done.is_empty() { String::new() } else { format!("; written before: {}", done.join(", ")) }
}

fn require_policies(host: &Host) -> Result<(), PolicyError> {
    if host.path(ROOT).is_dir() { Ok(()) } else { Err(PolicyError::NoPolicies) }
}
