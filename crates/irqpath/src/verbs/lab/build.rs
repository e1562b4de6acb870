// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab build`: gets a kernel and says where it is.

use std::process::ExitCode;

use irqpath_lab::Lab;
use irqpath_lab::kernel::{Kernel, Moved};

use super::args::LabBuild;
use super::common::explain_kernel;
use crate::output::console;
use crate::output::page::Page;

pub fn run(lab: &Lab, arguments: &LabBuild) -> anyhow::Result<ExitCode> {
    if arguments.repin {
        let moved = irqpath_lab::kernel::repin(lab).map_err(explain_kernel)?;
        lab.progress.clear();
        console::print(&moves(&moved))?;
        return Ok(ExitCode::SUCCESS);
    }
    let kernel = Kernel::provide(lab, arguments.flavour, arguments.arch).map_err(explain_kernel)?;
    if arguments.json {
        console::json(&kernel, false)?;
    } else {
        console::print(&text(&kernel))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn moves(moved: &[Moved]) -> Page {
    if moved.is_empty() {
        return Page::of("lab/kernels.toml lists the newest versions already");
    }
    let mut text = Page::default();
    for Moved { pin, from, to } in moved {
        text.line(format_args!("{pin}: {from} -> {to}"));
    }
    text.line(
        "exact figures may differ now: `irqpath lab gate` compares, and --bless accepts them",
    );
    text
}

fn text(kernel: &Kernel) -> Page {
    let mut text =
        Page::of(format_args!("{} for {}: {}", kernel.flavour, kernel.arch, kernel.version_string));
    text.line(format_args!("package  {}", kernel.package_version));
    text.line(format_args!("image    {}", kernel.image.display()));
    text.line(format_args!("sha256   {}", kernel.sha256));
    text.line(format_args!("config   {}", kernel.config.display()));
    if let Some(build) = &kernel.build {
        text.line(format_args!("modules  make -C {} M=DIR modules", build.display()));
    }
    text
}
