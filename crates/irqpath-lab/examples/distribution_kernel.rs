// SPDX-License-Identifier: GPL-2.0-or-later
//! What `scripts/kernel-package.sh` builds a distribution's kernel from: the whole source of the irqpath
//! kernel, without our part, and the configuration of Debian's -rt kernel of the same version. Prints
//! both paths, in the lab's cache.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;

use irqpath_lab::kernel::{Arch, Flavour, Kernel, provide_whole_source};
use irqpath_lab::{Cache, Lab, Progress, Project};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let lab = Lab {
        project: Project::at(&root).ok_or("no lab beside this program's source")?,
        cache: Cache::locate()?,
        progress: Progress::stderr(),
    };
    let kernel = Kernel::provide(&lab, Flavour::StockRt, Arch::X86_64)?;
    let source = provide_whole_source(&lab)?;
    println!("{}", source.display());
    println!("{}", kernel.config.display());
    Ok(())
}
