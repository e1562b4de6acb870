// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `irqpath lab`; the part of `cli` that has verbs of its own.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum, ValueHint, value_parser};
use irqpath_lab::experiment::Parameter;
use irqpath_lab::kernel::{Arch, Flavour};
use irqpath_lab::vm::InstructionTime;

#[derive(Debug, Args)]
#[command(after_help = LAB_HELP)]
pub struct Lab {
    #[command(subcommand)]
    pub verb: LabVerb,

    /// Directory with lab/, kernel/ and experiments/ [default: the checkout around the current
    /// directory, else what was installed]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub project: Option<PathBuf>,
}

const LAB_HELP: &str = "\
What is downloaded and built is kept in $IRQPATH_CACHE, else in ~/.cache/irqpath; it can be
removed at any time. No privileges are needed.";

/// The verbs of the lab.
#[derive(Debug, Subcommand)]
pub enum LabVerb {
    /// Download a Debian kernel, or build an irqpath kernel
    Build(LabBuild),
    /// Show the experiments, and what they showed when they last ran
    List(LabList),
    /// Run experiments in guests; the result is a table of paper against measurement
    Run(LabRun),
    /// Run exact experiments as units on many workers: CPUs of this host, Slurm or Kubernetes
    Campaign(LabCampaign),
    /// Run one unit of a campaign; engines start this
    #[command(hide = true)]
    Unit(LabUnit),
    /// Draw where every instruction of an experiment's median and worst path went
    Flame(LabFlame),
    /// Compare path lengths with lab/budgets.toml, to the instruction
    Gate(LabGate),
    /// Open a shell in a guest
    Shell(LabShell),
}

#[derive(Debug, Args)]
pub struct LabFlame {
    /// Experiment whose file has a [flame] part
    pub experiment: String,

    /// Where to put the graphs and the result directory
    #[arg(short = 'o', long = "output", value_name = "DIR", default_value = RESULTS,
          value_hint = ValueHint::DirPath)]
    pub output: PathBuf,

    /// Only this variant (a kernel with its settings, as lab list shows it); repeatable
    #[arg(long = "variant", alias = "column", value_name = "NAME")]
    pub variants: Vec<String>,

    /// Replace a parameter, for a quick look: REPS=100; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_parameter)]
    pub set: Vec<(String, Parameter)>,

    /// How long an instruction takes, ns, where the guest's clock counts them: 1, 2, 4, 8 or 16
    /// [default: what the experiment's file says]
    #[arg(long, value_name = "NS")]
    pub ns_per_instruction: Option<InstructionTime>,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 done, 1 a path grew or has no budget, 2 could not run.")]
pub struct LabGate {
    /// Experiments whose files have a [gate] part [default: all of them]
    pub experiments: Vec<String>,

    /// Take what is measured as the new budgets
    #[arg(long)]
    pub bless: bool,
}

#[derive(Debug, Args)]
pub struct LabShell {
    /// Which kernel
    #[arg(long, default_value = "stock-rt", value_parser = flavour_parser())]
    pub flavour: Flavour,

    /// For which machines
    #[arg(long, default_value = "x86_64", value_parser = arch_parser())]
    pub arch: Arch,

    /// Several virtual CPUs in real time instead of one that counts instructions
    #[arg(long, value_name = "N")]
    pub cpus: Option<u32>,

    /// A program of this system to put into the guest; repeatable
    #[arg(long = "program", value_name = "NAME")]
    pub programs: Vec<String>,
}

#[derive(Debug, Args)]
pub struct LabList {
    /// Results of an earlier run, or a table of several (--table); repeatable, and the last one of an
    /// experiment counts
    #[arg(long, value_name = "DIR", default_value = RESULTS, value_hint = ValueHint::AnyPath)]
    pub results: Vec<PathBuf>,

    /// Write Markdown pages instead: a summary as FILE and, in a directory of the same name, a page
    /// for each experiment with its claims, the paper's figures and the measured ones
    #[arg(long, value_name = "FILE", conflicts_with = "json", value_hint = ValueHint::FilePath)]
    pub page: Option<PathBuf>,

    /// Write all valid results as one JSON table, which --results accepts later: rerunning one
    /// experiment keeps the others
    #[arg(long, value_name = "FILE", conflicts_with = "json", value_hint = ValueHint::FilePath)]
    pub table: Option<PathBuf>,

    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 done, 1 a claim that must hold does not, 2 could not run.")]
pub struct LabRun {
    /// Names as lab list shows them, or all
    #[arg(required = true, value_name = "EXPERIMENT")]
    pub experiments: Vec<String>,

    /// Where to put the result directories and the table
    #[arg(short = 'o', long = "output", value_name = "DIR", default_value = RESULTS,
          value_hint = ValueHint::DirPath)]
    pub output: PathBuf,

    /// Only this variant (a kernel with its settings, as lab list shows it); repeatable
    #[arg(long = "variant", alias = "column", value_name = "NAME")]
    pub variants: Vec<String>,

    /// Replace a parameter of every series, for a quick look: REPS=1000; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_parameter)]
    pub set: Vec<(String, Parameter)>,

    /// How many times each variant runs, each at another phase of what is arbitrary; verdicts are then
    /// about the interval of the median [default: what the experiment's file says]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    pub draws: Option<u32>,

    /// How long an instruction takes, ns, where the guest's clock counts them: 1, 2, 4, 8 or 16
    /// [default: what the experiment's file says]
    #[arg(long, value_name = "NS")]
    pub ns_per_instruction: Option<InstructionTime>,

    /// Leave out what has a whole result of today's files, kernels and programs in the output
    /// directory, as after a run that was stopped
    #[arg(long)]
    pub resume: bool,

    /// Print the table as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A campaign that is started again goes on where it was: results are known by their content.
Exit codes: 0 done, 1 a unit has no result or a claim that must hold does not, 2 could not run.")]
pub struct LabCampaign {
    /// Names as lab list shows them, or all that are exact
    #[arg(required = true, value_name = "EXPERIMENT")]
    pub experiments: Vec<String>,

    /// Directory of the campaign; with Slurm and Kubernetes on a file system that all nodes share
    #[arg(short = 'o', long = "output", value_name = "DIR", default_value = RESULTS,
          value_hint = ValueHint::DirPath)]
    pub output: PathBuf,

    /// What schedules the units
    #[arg(long, value_enum, default_value = "local")]
    pub engine: EngineName,

    /// Units at a time on this host [default: one for each CPU]
    #[arg(short = 'j', long, value_name = "N", value_parser = value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Share of the units that two workers run, whose bytes must be equal, percent
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent)]
    pub verify: u8,

    /// How often a unit may fail or exceed its time before it is left open
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u32).range(1..))]
    pub attempts: u32,

    /// Time limit of a unit [default: that of its experiment and two minutes]
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..))]
    pub limit: Option<u64>,

    /// Only this variant (a kernel with its settings, as lab list shows it); repeatable
    #[arg(long = "variant", value_name = "NAME")]
    pub variants: Vec<String>,

    /// Replace a parameter of every series, for a quick look: REPS=1000; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_parameter)]
    pub set: Vec<(String, Parameter)>,

    /// How long an instruction takes, ns, where the guest's clock counts them: 1, 2, 4, 8 or 16
    /// [default: what the experiment's file says]
    #[arg(long, value_name = "NS")]
    pub ns_per_instruction: Option<InstructionTime>,

    /// How many times each variant runs, each at another phase of what is arbitrary; verdicts are then
    /// about the interval of the median [default: what the experiment's file says]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    pub draws: Option<u32>,

    /// Units at a time on Slurm or Kubernetes [default: as many as Slurm allows, 1000 pods]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub throttle: Option<u32>,

    /// Slurm: one more option of sbatch, such as --partition=rt; repeatable
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub sbatch: Vec<String>,

    /// Kubernetes: container image with irqpath and QEMU
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,

    /// Kubernetes: volume claim with the directories campaign, cache and project
    #[arg(long, value_name = "CLAIM")]
    pub claim: Option<String>,

    /// Kubernetes: number of the user that owns what is in the volume
    #[arg(long, value_name = "UID", default_value_t = 1000, value_parser = value_parser!(u32).range(1..))]
    pub user: u32,

    /// Print the table as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// Processes on this host, each on a CPU of its own
    Local,
    /// Job arrays
    Slurm,
    /// Manifests of Indexed Jobs, which you apply
    K8s,
}

#[derive(Debug, Args)]
pub struct LabUnit {
    /// Directory of the campaign
    pub campaign: PathBuf,
    /// Number of the batch
    pub batch: u32,
    /// Number of the task in it
    pub task: usize,
}

/// `10` or `10%`.
fn parse_percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse();
    number.ok().filter(|percent| *percent <= 100).ok_or("needs a share from 0% to 100%".to_owned())
}

/// Where results go unless another place is named.
pub const RESULTS: &str = "lab-results";

fn parse_parameter(text: &str) -> Result<(String, Parameter), String> {
    let (name, value) = text.split_once('=').ok_or("needs NAME=VALUE, such as REPS=1000")?;
    let number = value.parse().map(Parameter::Number);
    Ok((name.to_owned(), number.unwrap_or_else(|_| Parameter::Text(value.to_owned()))))
}

#[derive(Debug, Args)]
pub struct LabBuild {
    /// Which kernel
    #[arg(long, default_value = "stock-rt", value_parser = flavour_parser())]
    pub flavour: Flavour,

    /// For which machines
    #[arg(long, default_value = "x86_64", value_parser = arch_parser())]
    pub arch: Arch,

    /// Print where everything is as JSON
    #[arg(long)]
    pub json: bool,

    /// Move the versions in lab/kernels.toml to the newest of Debian's archive, and build nothing
    #[arg(long, conflicts_with_all = ["flavour", "arch", "json"])]
    pub repin: bool,

    /// Only print which versions would move
    #[arg(long, requires = "repin")]
    pub dry_run: bool,
}

/// The values of `--flavour`; the help describes each.
fn flavour_parser() -> impl TypedValueParser<Value = Flavour> {
    PossibleValuesParser::new(
        Flavour::ALL.iter().map(|&f| PossibleValue::new(f.name()).help(describe_flavour(f))),
    )
    .try_map(|name| name.parse::<Flavour>())
}

const fn describe_flavour(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::StockRt => "Debian's 6.12 with PREEMPT_RT",
        Flavour::Stock => "Debian's 6.12",
        Flavour::Stock61Rt => "Debian's 6.1 with PREEMPT_RT (x86_64 only)",
        Flavour::Stock61 => "Debian's 6.1 (x86_64 only)",
        Flavour::StockSidRt => "Debian's newest, of sid, with PREEMPT_RT",
        Flavour::StockSid => "Debian's newest, of sid (x86_64 only)",
        Flavour::Irqpath => {
            "small PREEMPT_RT kernel, built here from Debian's source (x86_64 only)"
        }
        Flavour::Debug => "the same with lockdep, KASAN and other checks (x86_64 only)",
        Flavour::Unconfigured => "irqpath with CONFIG_IRQPATH=n (x86_64 only)",
        Flavour::Unpatched => "irqpath without its patches (x86_64 only)",
        Flavour::Irqpath7x => "irqpath from Debian's source of 7.2 (x86_64 only)",
        Flavour::Debug7x => "debug from Debian's source of 7.2 (x86_64 only)",
        Flavour::Unpatched7x => "irqpath-7.x without its patches (x86_64 only)",
    }
}

/// The values of `--arch`; `amd64` and `aarch64` are accepted, too.
fn arch_parser() -> impl TypedValueParser<Value = Arch> {
    PossibleValuesParser::new(
        Arch::ALL.iter().map(|&a| PossibleValue::new(a.name()).alias(arch_alias(a))),
    )
    .try_map(|name| name.parse::<Arch>())
}

const fn arch_alias(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "amd64",
        Arch::Arm64 => "aarch64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser as _;

    fn parse_build(arguments: &[&str]) -> Result<(Lab, Flavour, Arch), String> {
        let all = ["irqpath", "lab", "build"].iter().chain(arguments);
        match Cli::try_parse_from(all).map_err(|e| e.to_string())?.verb {
            Verb::Lab(lab) => match &lab.verb {
                LabVerb::Build(b) => {
                    let (flavour, arch) = (b.flavour, b.arch);
                    Ok((lab, flavour, arch))
                }
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_flavour_and_both_names_of_an_architecture_are_accepted() {
        for &flavour in Flavour::ALL {
            assert_eq!(parse_build(&["--flavour", flavour.name()]).unwrap().1, flavour);
        }
        for (name, arch) in
            [("amd64", Arch::X86_64), ("aarch64", Arch::Arm64), ("arm64", Arch::Arm64)]
        {
            assert_eq!(parse_build(&["--arch", name]).unwrap().2, arch);
        }
        assert_eq!(parse_build(&[]).unwrap().1, Flavour::StockRt);
        let error = parse_build(&["--flavour", "rt"]).unwrap_err();
        assert!(error.contains("stock-6.1-rt"), "{error}");
    }

    #[test]
    fn a_share_is_a_percentage_with_or_without_its_sign() {
        for (text, expected) in [("10%", Some(10)), ("0", Some(0)), ("100%", Some(100))] {
            assert_eq!(parse_percent(text).ok(), expected);
        }
        for text in ["101", "-1", "ten", "%", "10%%"] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_project_can_be_named_after_the_verb() {
        assert_eq!(parse_build(&["--project", "/x"]).unwrap().0.project, Some("/x".into()));
    }
}
