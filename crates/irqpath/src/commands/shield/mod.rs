// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath shield`: one file per verb, `text` prints. What is done is in `irqpath_system::shield`.

mod reset;
mod run;
mod set;
mod status;
mod text;
mod traced;
mod watch;

use std::process::ExitCode;

use irqpath_model::SCHEMA_VERSION;
use irqpath_system::Host;
use irqpath_system::change::RealAccess;
use irqpath_system::shield::Document;

use crate::cli_shield::{Shield, ShieldVerb};

/// Run it.
pub fn run(arguments: &Shield) -> anyhow::Result<ExitCode> {
    match &arguments.verb {
        ShieldVerb::Set(arguments) => set::run(arguments),
        ShieldVerb::Run(arguments) => run::run(arguments),
        ShieldVerb::Status(arguments) => status::status(arguments),
        ShieldVerb::Verify(arguments) => status::verify(arguments),
        ShieldVerb::Reset(arguments) => reset::run(arguments),
    }
}

/// This machine, and the way to change it.
fn host() -> (Host, RealAccess) {
    let host = Host::real();
    let access = RealAccess::new(&host);
    (host, access)
}

/// A document without content.
fn document() -> Document {
    Document { schema_version: SCHEMA_VERSION, ..Document::default() }
}
