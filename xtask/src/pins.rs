// SPDX-License-Identifier: GPL-2.0-or-later
//! Which pinned kernels and tools have moved. The lab knows the archive, so its command is asked.

use anyhow::{Context, Result};
use std::process::{Command, ExitCode};

/// Prints what `irqpath lab build --repin` would write.
pub fn run() -> Result<ExitCode> {
    let status = Command::new(env!("CARGO"))
        .args(["run", "--locked", "--quiet", "-p", "irqpath", "--bin", "irqpath", "--"])
        .args(["lab", "build", "--repin", "--dry-run"])
        .current_dir(crate::tree::root())
        .status()
        .context("cannot run cargo")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
