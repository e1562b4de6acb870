// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath shield repair`: one look of a watch, as after the machine has slept.

use std::process::ExitCode;

use irqpath_model::shield::Document;
use irqpath_report::text;
use irqpath_system::shield;

use super::args::ShieldRepair;
use super::context::{empty_document, open_host};
use crate::host::signals;
use crate::output::console;

/// That there is no shield is no error: whoever wakes the machine up does not know.
pub fn run(arguments: &ShieldRepair) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    let stop = signals::listen()?;
    let set = shield::repair(&host, &access, &|| stop.is_requested())?;
    if arguments.json {
        console::print_json(&Document { set, ..empty_document() }, false)?;
    } else if let Some(set) = set {
        console::print_page(&text::shield::render_repaired(&set))?;
    }
    Ok(ExitCode::SUCCESS)
}
