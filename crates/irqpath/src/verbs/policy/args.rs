// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `irqpath policy`. Which policies there are is for the kernel to say.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Policy {
    #[command(subcommand)]
    pub verb: PolicyVerb,
}

const EXAMPLES: &str = "\
Examples:
  irqpath policy status                                 which policies there are, and what they did
  irqpath policy enable migrate --set watchdog_us=500   set, then switch on
  irqpath policy assoc                                  which interrupt wakes which task
  irqpath policy assoc --pin 24:1234                    and that task waits for interrupt 24
  irqpath policy disable all                            as after boot, but for the settings

Only the irqpath kernel has policies. Switching and pinning need root. A switch stays until it is
switched again or the kernel is booted, what was pinned until its task or its handler ends.

Exit codes: 0 done, 2 could not run.";

/// The verbs of policies.
#[derive(Debug, Subcommand)]
pub enum PolicyVerb {
    /// Show every policy: on or off, its settings, its counters
    Status(PolicyShow),
    /// Switch policies on
    Enable(PolicyEnable),
    /// Switch policies off
    Disable(PolicyDisable),
    /// Show which interrupt wakes which real-time task, as the kernel learned it
    Assoc(PolicyAssoc),
}

#[derive(Debug, Args)]
pub struct PolicyShow {
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PolicyAssoc {
    /// Make an association by hand first; it is never replaced and keeps its trust; repeatable
    #[arg(long, value_name = "IRQ:TID", value_parser = interrupt_and_task)]
    pub pin: Vec<(u32, u32)>,

    /// Return an association to learning first; repeatable
    #[arg(long, value_name = "IRQ:TID", value_parser = interrupt_and_task)]
    pub unpin: Vec<(u32, u32)>,

    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PolicyEnable {
    /// Which: names as policy status shows them
    #[arg(required = true, value_name = "POLICY")]
    pub policies: Vec<String>,

    /// Change a setting of these policies first: watchdog_us=500; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, String)>,

    /// Print their new state as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PolicyDisable {
    /// Which: names as policy status shows them, or all
    #[arg(required = true, value_name = "POLICY")]
    pub policies: Vec<String>,

    /// Print their new state as JSON
    #[arg(long)]
    pub json: bool,
}

fn interrupt_and_task(text: &str) -> Result<(u32, u32), String> {
    let parse = || {
        let (irq, tid) = text.split_once(':')?;
        Some((irq.parse().ok()?, tid.parse().ok().filter(|&tid| tid > 0)?))
    };
    parse().ok_or_else(|| "needs IRQ:TID, such as 24:1234".to_owned())
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("needs NAME=VALUE, such as watchdog_us=500")?;
    Ok((name.to_owned(), value.to_owned()))
}
