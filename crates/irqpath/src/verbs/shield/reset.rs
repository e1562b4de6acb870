// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath shield reset`.

use std::process::ExitCode;

use anyhow::ensure;
use irqpath_model::shield::Document;
use irqpath_report::text;
use irqpath_system::shield;

use super::args::ShieldReset;
use super::context::{empty_document, open_host};
use crate::host::signals;
use crate::output::console;

/// A value that the system refused to take back is an error; reset can be repeated.
pub fn run(arguments: &ShieldReset) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    // It would be finished by the next reset, but why stop in the middle?
    let _stop = signals::listen()?;
    let reset = shield::reset(&host, &access)?;
    let unfinished = reset.undone.is_unfinished();
    if arguments.json {
        console::print_json(&Document { reset: Some(reset), ..empty_document() }, false)?;
    } else {
        console::print_page(&text::shield::render_reset(&reset))?;
    }
    ensure!(!unfinished, "some values are not restored yet (see above); run reset again");
    Ok(ExitCode::SUCCESS)
}
