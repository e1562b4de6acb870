// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `irqpath agent`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Agent {
    /// Configuration, TOML [default: /etc/irqpath/agent.toml, where it exists]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,

    /// Read the configuration, say what it means, and end
    #[arg(long)]
    pub check: bool,
}

const EXAMPLES: &str = "\
Examples:
  irqpath agent                               serve http://127.0.0.1:9464/metrics until stopped
  irqpath agent --config agent.toml --check   is the file right?
  curl -s http://127.0.0.1:9464/metrics       the same numbers as text

SIGHUP reads the configuration again.
Exit codes: 0 stopped, 2 could not run.";
