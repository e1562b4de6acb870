// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab build`: gets a kernel and says where it is.

use std::process::ExitCode;

use irqpath_lab::Lab;
use irqpath_lab::kernel::{Kernel, Moved, propose_pins, repin_all};
use irqpath_report::text::Page;

use super::args::LabBuild;
use super::common::explain_kernel;
use crate::output::console;

pub fn run(lab: &Lab, arguments: &LabBuild) -> anyhow::Result<ExitCode> {
    if arguments.repin {
        let ask = if arguments.dry_run { propose_pins } else { repin_all };
        let moved = ask(lab).map_err(explain_kernel)?;
        lab.progress.clear_line();
        console::print_page(&format_moves(&moved, arguments.dry_run))?;
        return Ok(ExitCode::SUCCESS);
    }
    let kernel = Kernel::provide(lab, arguments.flavour, arguments.arch).map_err(explain_kernel)?;
    if arguments.json {
        console::print_json(&kernel, false)?;
    } else {
        console::print_page(&format_kernel(&kernel))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn format_moves(moved: &[Moved], dry_run: bool) -> Page {
    if moved.is_empty() {
        return Page::from_line("lab/kernels.toml lists the newest versions already");
    }
    let mut text = Page::default();
    for Moved { pin, from, to } in moved {
        text.add_line(format_args!("{pin}: {from} -> {to}"));
    }
    text.add_line(if dry_run {
        "nothing was changed; `irqpath lab build --repin` writes these to lab/kernels.toml"
    } else {
        "exact figures may differ now: `irqpath lab gate` compares, and --bless accepts them"
    });
    text
}

fn format_kernel(kernel: &Kernel) -> Page {
    let mut text = Page::from_line(format_args!(
        "{} for {}: {}",
        kernel.flavour, kernel.arch, kernel.version_string
    ));
    text.add_line(format_args!("package  {}", kernel.package_version));
    text.add_line(format_args!("image    {}", kernel.image.display()));
    text.add_line(format_args!("sha256   {}", kernel.sha256));
    text.add_line(format_args!("config   {}", kernel.config.display()));
    if let Some(build) = &kernel.build {
        text.add_line(format_args!("modules  make -C {} M=DIR modules", build.display()));
    }
    text
}
