// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath policy`: `text` prints. What is done is in `irqpath_system::policy`.

use std::process::ExitCode;

use irqpath_model::SCHEMA_VERSION;
use irqpath_system::Host;
use irqpath_system::change::RealAccess;
use irqpath_system::policy::{self, Document, KernelPolicy};

use super::args::{Policy, PolicyVerb};
use super::text;
use crate::output::console;

pub fn run(arguments: &Policy) -> anyhow::Result<ExitCode> {
    let host = Host::real();
    let access = RealAccess::new(&host);
    match &arguments.verb {
        PolicyVerb::Status(show) => policies(policy::policies(&host)?, show.json)?,
        PolicyVerb::Enable(enable) => {
            let now = policy::enable(&host, &access, &enable.policies, &enable.set)?;
            policies(now, enable.json)?;
        }
        PolicyVerb::Disable(disable) => {
            policies(policy::disable(&host, &access, &disable.policies)?, disable.json)?;
        }
        PolicyVerb::Assoc(show) => {
            for &one in &show.pin {
                policy::pin(&host, &access, one, true)?;
            }
            for &one in &show.unpin {
                policy::pin(&host, &access, one, false)?;
            }
            let associations = policy::associations(&host)?;
            if show.json {
                console::json(&Document { associations: Some(associations), ..document() }, false)?;
            } else {
                console::print(&text::associations(&associations))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn document() -> Document {
    Document { schema_version: SCHEMA_VERSION, ..Document::default() }
}

fn policies(policies: Vec<KernelPolicy>, json: bool) -> anyhow::Result<()> {
    if json {
        console::json(&Document { policies: Some(policies), ..document() }, false)
    } else {
        console::print(&text::policies(&policies))
    }
}
