// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath shield reset`.

use std::process::ExitCode;

use anyhow::ensure;
use irqpath_system::shield::{self, Document};

use super::args::ShieldReset;
use super::context::{empty_document, open_host};
use super::text;
use crate::host::signals;
use crate::output::console;

/// Run it. A value that the system refused to take back is an error; reset can be repeated.
pub fn run(arguments: &ShieldReset) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    // It would be finished by the next reset, but why stop in the middle?
    let _stop = signals::listen()?;
    let reset = shield::reset(&host, &access)?;
    let unfinished = reset.undone.is_unfinished();
    if arguments.json {
        console::json(&Document { reset: Some(reset), ..empty_document() }, false)?;
    } else {
        console::print(&text::reset(&reset))?;
    }
    ensure!(!unfinished, "some values could not be put back yet; see above, then reset again");
    Ok(ExitCode::SUCCESS)
}
