// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath shield status` and `verify`: how the shield stands, and what still reaches its CPUs.

use std::cell::RefCell;
use std::process::ExitCode;

use irqpath_model::shield::Document;
use irqpath_report::text;
use irqpath_system::shield::{self, ShieldError};

use super::args::{ShieldStatus, ShieldVerify};
use super::context::{empty_document, open_host};
use super::traced::Traced;
use super::watch;
use crate::host::signals;
use crate::output::progress::Progress;
use crate::output::{console, exit};

/// That there is none is shown, too, and is no error.
pub fn show_status(arguments: &ShieldStatus) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    let status = shield::status(&host, &access)?;
    if arguments.json {
        console::print_json(&Document { status: Some(status), ..empty_document() }, false)?;
    } else {
        console::print_page(&text::shield::render_status(&status))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Measure what reaches the shielded CPUs; [`exit::DRIFT`] if anything should not have.
pub fn verify_shield(arguments: &ShieldVerify) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    let stop = signals::listen()?;
    if arguments.watch {
        return watch::run(arguments.interval, arguments.json, &stop);
    }
    let before = shield::status(&host, &access)?;
    let cpus = before.wanted.map(|wanted| wanted.cpus).ok_or(ShieldError::NotSet)?;
    let traced = RefCell::new(Traced::start(&host, &cpus, arguments.no_trace)?);
    let progress = Progress::start(&format!("CPU {cpus}"), Some(arguments.duration));
    let stopped = || {
        progress.tick();
        traced.borrow_mut().fetch_events();
        stop.is_requested()
    };
    let mut measured = shield::measure(&host, &cpus, arguments.duration, &stopped)?;
    drop(progress);
    traced.into_inner().finish(&mut measured)?;
    let status = shield::status(&host, &access)?;
    let mut unwanted = shield::moved_but_arrived(&status, &measured);
    unwanted.extend(shield::find_strayed(&host, &status, &measured));
    let code = if status.drift.is_empty() && unwanted.is_empty() { 0 } else { exit::DRIFT };
    if arguments.json {
        let (status, measured) = (Some(status), Some(measured));
        console::print_json(&Document { status, measured, ..empty_document() }, false)?;
    } else {
        console::print_page(&text::shield::render_status(&status))?;
        console::print_page(&text::shield::render_measured(&measured, &unwanted))?;
    }
    Ok(ExitCode::from(code))
}
