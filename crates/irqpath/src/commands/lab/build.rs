// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab build`: gets a kernel and says where it is.

use std::fmt::Write as _;
use std::process::ExitCode;

use irqpath_lab::Lab;
use irqpath_lab::kernel::Kernel;

use super::told;
use crate::cli_lab::LabBuild;
use crate::out;

/// Run it.
pub fn run(lab: &Lab, arguments: &LabBuild) -> anyhow::Result<ExitCode> {
    let kernel = Kernel::provide(lab, arguments.flavour, arguments.arch).map_err(told)?;
    if arguments.json {
        out::json(&kernel, false)?;
    } else {
        out::print(&text(&kernel))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(kernel: &Kernel) -> String {
    let pinned = if kernel.pinned { "as listed in lab/kernels.toml" } else { "NOT the one listed" };
    let mut text = format!("{} for {}: {}\n", kernel.flavour, kernel.arch, kernel.version_string);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "package  {} ({pinned})", kernel.package_version);
    let _ = writeln!(text, "image    {}", kernel.image.display());
    let _ = writeln!(text, "sha256   {}", kernel.sha256);
    let _ = writeln!(text, "config   {}", kernel.config.display());
    let _ = writeln!(text, "modules  make -C {} M=DIR modules", kernel.build.display());
    text
}
