// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath shield detach`.

use std::process::ExitCode;

use anyhow::ensure;
use irqpath_model::shield::Document;
use irqpath_report::text;
use irqpath_system::shield::{self, Detached, Whose};

use super::args::ShieldDetach;
use super::context::{empty_document, open_host};
use crate::host::signals;
use crate::output::console;

/// A value that the system refused to take back is an error; detach can be repeated.
pub fn run(arguments: &ShieldDetach) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    let stop = signals::listen()?;
    match shield::detach(&host, &access, Whose::Named(&arguments.name), &|| stop.is_requested())? {
        Detached::Rest(set) if arguments.json => {
            console::print_json(&Document { set: Some(*set), ..empty_document() }, false)?;
        }
        Detached::Rest(set) => console::print_page(&text::shield::render_set(&set, false))?,
        Detached::Nothing(reset) => {
            let unfinished = reset.undone.is_unfinished();
            if arguments.json {
                console::print_json(&Document { reset: Some(*reset), ..empty_document() }, false)?;
            } else {
                console::print_page(&text::shield::render_reset(&reset))?;
            }
            ensure!(!unfinished, "some values are not restored yet (see above); run reset");
        }
    }
    Ok(ExitCode::SUCCESS)
}
