// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab`: one file per verb. The work is done in `irqpath-lab`.

pub mod args;
mod build;
mod campaign;
mod common;
mod flame;
mod gate;
mod list;
mod run;
mod shell;

use std::process::ExitCode;

use irqpath_lab::{Cache, Lab, Progress, Project};

use args::LabVerb;

pub fn run(arguments: &args::Lab) -> anyhow::Result<ExitCode> {
    let lab = Lab {
        project: Project::locate(arguments.project.as_deref())?,
        cache: Cache::locate()?,
        progress: Progress::stderr(),
    };
    match &arguments.verb {
        LabVerb::Build(arguments) => build::run(&lab, arguments),
        LabVerb::List(arguments) => list::run(&lab, arguments),
        LabVerb::Run(arguments) => run::run(&lab, arguments),
        LabVerb::Campaign(arguments) => campaign::run(&lab, arguments),
        LabVerb::Unit(arguments) => campaign::run_unit(&lab, arguments),
        LabVerb::Flame(arguments) => flame::run(&lab, arguments),
        LabVerb::Gate(arguments) => gate::run(&lab, arguments),
        LabVerb::Shell(arguments) => shell::run(&lab, arguments),
    }
}
