// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath policy`: `text` prints. What is done is in `irqpath_system::policy`.

use std::process::ExitCode;

use irqpath_model::SCHEMA_VERSION;
use irqpath_model::policy::{Document, KernelPolicy};
use irqpath_report::text;
use irqpath_system::change::RealAccess;
use irqpath_system::{Host, policy};

use super::args::{Policy, PolicyVerb};
use crate::output::console;

pub fn run(arguments: &Policy) -> anyhow::Result<ExitCode> {
    let host = Host::real();
    let access = RealAccess::new(&host);
    match &arguments.verb {
        PolicyVerb::Status(show) => print_policies(policy::read_policies(&host)?, show.json)?,
        PolicyVerb::Enable(enable) => {
            let now = policy::enable(&host, &access, &enable.policies, &enable.set)?;
            print_policies(now, enable.json)?;
        }
        PolicyVerb::Disable(disable) => {
            print_policies(policy::disable(&host, &access, &disable.policies)?, disable.json)?;
        }
        PolicyVerb::Assoc(show) => {
            for &one in &show.pin {
                policy::pin_association(&host, &access, one, true)?;
            }
            for &one in &show.unpin {
                policy::pin_association(&host, &access, one, false)?;
            }
            let associations = policy::read_associations(&host)?;
            if show.json {
                console::print_json(
                    &Document { associations: Some(associations), ..empty_document() },
                    false,
                )?;
            } else {
                console::print_page(&text::policy::render_associations(&associations))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn empty_document() -> Document {
    Document { schema_version: SCHEMA_VERSION, ..Document::default() }
}

fn print_policies(policies: Vec<KernelPolicy>, json: bool) -> anyhow::Result<()> {
    if json {
        console::print_json(&Document { policies: Some(policies), ..empty_document() }, false)
    } else {
        console::print_page(&text::policy::render_policies(&policies))
    }
}
