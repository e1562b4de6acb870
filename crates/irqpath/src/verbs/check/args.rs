// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `irqpath check`.

use clap::Args;

#[derive(Debug, Args)]
pub struct Check {
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}
