// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath shield`: one file per verb, `text` prints. What is done is in `irqpath_system::shield`.

pub mod args;
mod attach;
mod context;
mod detach;
mod hook;
mod profile;
mod repair;
mod reset;
mod run;
mod set;
mod status;
mod traced;
mod watch;

use std::process::ExitCode;

use args::{Shield, ShieldVerb};

pub fn run(arguments: &Shield) -> anyhow::Result<ExitCode> {
    match &arguments.verb {
        ShieldVerb::Set(arguments) => set::run(arguments),
        ShieldVerb::Attach(arguments) => attach::run(arguments),
        ShieldVerb::Detach(arguments) => detach::run(arguments),
        ShieldVerb::Hook(arguments) => hook::run(arguments),
        ShieldVerb::Run(arguments) => run::run(arguments),
        ShieldVerb::Status(arguments) => status::show_status(arguments),
        ShieldVerb::Verify(arguments) => status::verify_shield(arguments),
        ShieldVerb::Repair(arguments) => repair::run(arguments),
        ShieldVerb::Reset(arguments) => reset::run(arguments),
    }
}
