// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath check`: what is wrong with this host and how to fix it, worst first. The rules are in
//! `irqpath-system`, the text in `irqpath-report`.

use std::process::ExitCode;

use irqpath_report::text::check::render_findings;
use irqpath_system::Host;

use super::args::Check;
use crate::output::console;

pub fn run(arguments: &Check) -> anyhow::Result<ExitCode> {
    let found = Host::real().check();
    if arguments.json {
        console::print_json(&found, false)?;
    } else {
        console::print_page(&render_findings(&found))?;
    }
    Ok(ExitCode::SUCCESS)
}
