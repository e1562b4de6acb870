// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab build`: gets a kernel and says where it is.

use std::fmt::Write as _;
use std::process::ExitCode;

use irqpath_lab::Lab;
use irqpath_lab::kernel::{Kernel, Moved};

use super::told;
use crate::cli_lab::LabBuild;
use crate::out;

/// Run it.
pub fn run(lab: &Lab, arguments: &LabBuild) -> anyhow::Result<ExitCode> {
    if arguments.repin {
        let moved = irqpath_lab::kernel::repin(lab).map_err(told)?;
        lab.progress.clear();
        out::print(&moves(&moved))?;
        return Ok(ExitCode::SUCCESS);
    }
    let kernel = Kernel::provide(lab, arguments.flavour, arguments.arch).map_err(told)?;
    if arguments.json {
        out::json(&kernel, false)?;
    } else {
        out::print(&text(&kernel))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn moves(moved: &[Moved]) -> String {
    if moved.is_empty() {
        return "lab/kernels.toml lists the newest versions already\n".to_owned();
    }
    let mut text = String::new();
    for Moved { pin, from, to } in moved {
        let _ = writeln!(text, "{pin}: {from} -> {to}");
    }
    text + "exact figures may differ now: `irqpath lab gate` compares, and --bless accepts them\n"
}

fn text(kernel: &Kernel) -> String {
    let mut text = format!("{} for {}: {}\n", kernel.flavour, kernel.arch, kernel.version_string);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "package  {}", kernel.package_version);
    let _ = writeln!(text, "image    {}", kernel.image.display());
    let _ = writeln!(text, "sha256   {}", kernel.sha256);
    let _ = writeln!(text, "config   {}", kernel.config.display());
    let _ = writeln!(text, "modules  make -C {} M=DIR modules", kernel.build.display());
    text
}
