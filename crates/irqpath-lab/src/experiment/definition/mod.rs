// SPDX-License-Identifier: GPL-2.0-or-later
//! An experiment as data: what `experiments/*.toml` may say.
//!
//! A definition names its source in a document, the variants it runs on (kernels with their settings), the
//! measurements made on each (series) and the claims that are checked on the figures. The job
//! script does the work in the guest and gets a series' parameters as environment variables.
//! Everything here is checked when the file is read, so that a typing error costs no boot.

mod matrix;
mod newest;
mod problems;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use irqpath_files::input;
use serde::{Deserialize, Serialize};

use super::claims::Check;
use super::error::ExperimentError;
use crate::cache::Inputs;
use crate::kernel::{Arch, Flavour};
use crate::vm::InstructionTime;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Name of the file and of the row in the reproduction table.
    pub id: String,
    /// One line for `lab list`.
    pub title: String,
    /// Where it comes from.
    pub source: Source,
    /// How the guest keeps time.
    pub mode: Mode,
    /// What runs, for readers of the report.
    pub workload: String,
    /// What is put into the guest.
    pub guest: GuestNeeds,
    /// Wall-clock limit of one guest, s.
    pub time_limit_s: u64,
    /// True if it runs only by its name, because it needs what no package has.
    #[serde(default)]
    pub on_request: bool,
    /// How long an instruction takes, where the guest's clock counts them; a variant may say another.
    #[serde(default)]
    pub ns_per_instruction: InstructionTime,
    /// How many guests each variant has, each at another phase of what is arbitrary in it: see
    /// [`crate::experiment::Draw`].
    #[serde(default = "default_draws")]
    pub draws: u32,
    /// Kernels to run on.
    #[serde(rename = "variant", alias = "column")]
    pub variants: Vec<Variant>,
    /// Parameters that every series has unless it says otherwise.
    #[serde(default)]
    pub defaults: BTreeMap<String, Parameter>,
    /// Measurements made in every variant, in this order, in one boot.
    #[serde(rename = "series")]
    pub series: Vec<Series>,
    /// Intervals between the columns of a series' CSV file; empty for intsight's own results.
    #[serde(default, rename = "interval")]
    pub intervals: Vec<Interval>,
    /// Claims checked on the figures.
    #[serde(default, rename = "check")]
    pub checks: Vec<Check>,
    /// The path whose instructions are attributed to functions.
    pub flame: Option<FlamePath>,
    /// The loops or responses whose instructions are counted, where several virtual CPUs run.
    pub count: Option<CountedPath>,
    /// What `lab gate` watches.
    pub gate: Option<Gate>,
    /// Digest of all of the above that measures, and of the scripts.
    #[serde(skip)]
    pub recipe: String,
    /// Parameters that its scripts can do without.
    #[serde(skip)]
    pub script_variables: BTreeSet<String>,
}

/// Of an experiment's file; they have some kilobytes.
const MAX_DEFINITION: u64 = 1 << 20;

/// Keys of the file that say something about the measurement and change nothing in it.
const SAID: [&str; 7] =
    ["title", "source", "workload", "time_limit_s", "on_request", "check", "gate"];

/// Where an experiment comes from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Number of the document, or `irqpath` for what no document measured.
    pub document: String,
    /// Section, table or figure.
    pub section: String,
}

/// How the guest keeps time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One virtual CPU, an instruction always takes the same time, two runs are identical.
    Exact,
    /// Several virtual CPUs; figures are not exact and are marked so.
    Smp,
    /// The same, and the virtual CPUs take turns: see [`crate::vm::Mode::Turns`].
    Turns,
    /// The same, on a clock of instructions: see [`crate::vm::Mode::Counted`].
    Counted,
}

impl Mode {
    /// True if virtual time is a number of instructions.
    pub const fn counts_instructions(self) -> bool {
        matches!(self, Self::Exact | Self::Counted)
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(match self {
            Self::Exact => "exact",
            Self::Smp => "smp",
            Self::Turns => "turns",
            Self::Counted => "counted",
        })
    }
}

/// What is put into the guest besides init, the job and busybox.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestNeeds {
    /// Script in `experiments/jobs/` that makes one series.
    pub job: String,
    /// Scripts there that the job sources.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Static programs from `lab/guest/`, without `.c`.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Selftests of the kernel by their places, `timers/nanosleep`; in the guest below `/selftests`.
    #[serde(default)]
    pub selftests: Vec<String>,
    /// Programs of the host's distribution, with their libraries.
    #[serde(default)]
    pub host_programs: Vec<String>,
    /// Other files of the host's distribution; they are in the same places in the guest.
    #[serde(default)]
    pub host_files: Vec<String>,
    /// Modules that the kernel comes with, as `/modules/NAME.ko`; the job loads them, where they
    /// are.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Modules of ours beside intsight, from `kernel/module/`, as `/modules/NAME.ko`.
    #[serde(default)]
    pub own_modules: Vec<String>,
    /// Clocks that intsight is also built with alone, as `/modules/intsight-CLOCK.ko`.
    #[serde(default)]
    pub clocks: Vec<String>,
    /// True if the irqpath binary itself runs in the guest.
    #[serde(default)]
    pub irqpath: bool,
    /// True if the kernel's configuration is in `/boot`, where loaders of BPF programs look for it.
    #[serde(default)]
    pub kernel_config: bool,
    /// Size of the guest's empty disk, `/dev/vda`, if it has one.
    #[serde(default)]
    pub disk_mib: Option<u32>,
    #[serde(default = "default_memory_mib")]
    pub memory_mib: u32,
    /// Kernel parameters in addition to those of the mode.
    #[serde(default)]
    pub append: String,
}

impl GuestNeeds {
    /// The job and what it sources.
    pub fn scripts(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.job).chain(&self.sources)
    }
}

fn default_memory_mib() -> u32 {
    1024
}

fn default_draws() -> u32 {
    1
}

/// One kernel that the experiment runs on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Heading in tables; unique in the experiment.
    pub name: String,
    pub flavour: Flavour,
    #[serde(default = "default_arch")]
    pub arch: Arch,
    /// Parameters that differ on this variant.
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
    /// Kernel parameters of this variant alone, beside the experiment's.
    #[serde(default)]
    pub append: String,
    /// Instead of the experiment's.
    #[serde(default)]
    pub ns_per_instruction: Option<InstructionTime>,
}

fn default_arch() -> Arch {
    Arch::X86_64
}

/// One measurement: a run of the job script.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Name of its result in the guest; unique in the experiment.
    pub name: String,
    /// Labels of its samples (mechanism, load, ...), by which reports make facets.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Environment variables of the job script.
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
    /// Flavours that this measurement exists on; empty means all.
    #[serde(default)]
    pub only: Vec<Flavour>,
}

/// A parameter's value; a number stays exact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parameter {
    /// A count, or a time in the unit that the parameter's name gives.
    Number(i64),
    Text(String),
}

impl std::fmt::Display for Parameter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
        }
    }
}

/// Time between two columns of a CSV file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Name in figures and metrics.
    pub name: String,
    /// CSV column where it begins.
    pub from: String,
    /// CSV column where it ends.
    pub to: String,
}

/// The path whose instructions are attributed to functions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlamePath {
    /// The series it is drawn of: the first ones of every variant, in their order.
    pub series: Vec<String>,
    /// Mark where the path begins.
    pub from: u8,
    /// Mark where it ends.
    pub to: u8,
    /// Instances at the start of a series that warm up and are not measured.
    #[serde(default)]
    pub skip: usize,
    /// Functions of which the metric `ran.FUNCTION` tells how many of the runs executed them,
    /// percent.
    #[serde(default)]
    pub functions: Vec<String>,
    /// True if the claims need it, so that `lab run` attributes too, not only `lab flame`.
    #[serde(default)]
    pub always: bool,
}

/// Loops or responses of a series between two marks, counted in instructions of the virtual CPU on
/// which they end: [`super::figures`]. Such a guest runs under QEMU's translator, also where KVM works.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedPath {
    /// The series that has them; no other may execute the marks.
    pub series: String,
    /// Which they are.
    #[serde(default)]
    pub counted: Counted,
    /// Mark where one begins; for a response, on any virtual CPU.
    pub from: u8,
    /// Mark where it ends.
    pub to: u8,
}

/// What lies between the marks of a [`CountedPath`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counted {
    /// A computation that is always the same: what kept it waiting.
    #[default]
    Loops,
    /// A task that waits for its interrupt: how long it took.
    Responses,
}

/// What `lab gate` watches: metrics, with an allowance.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Metrics compared with the budget, in every variant.
    pub metrics: Vec<String>,
    /// Growth that passes, percent.
    pub allowance_percent: f64,
    /// Parameters with which the gate runs faster than the full experiment.
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
}

impl Definition {
    /// Reads one file and checks it.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        let text = input::read_text(path, MAX_DEFINITION)
            .map_err(|source| ExperimentError::Read { path: path.to_owned(), source })?;
        let syntax =
            |source| ExperimentError::Syntax { path: path.to_owned(), source: Box::new(source) };
        let invalid = |what| ExperimentError::Invalid { path: path.to_owned(), what };
        let written: toml::Table = toml::from_str(&text).map_err(syntax)?;
        let mut measures = matrix::expand_matrix(written.clone()).map_err(invalid)?;
        let mut definition: Self = if measures == written {
            // From the text, so that an error has its line.
            toml::from_str(&text).map_err(syntax)?
        } else {
            measures.clone().try_into().map_err(|error: toml::de::Error| {
                invalid(error.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
            })?
        };
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if let Some(what) = definition.find_problem(&stem) {
            return Err(invalid(what));
        }
        // Stored digests are of files that call a variant a column.
        if let Some(variants) = measures.remove("variant") {
            measures.insert("column".to_owned(), variants);
        }
        measures.retain(|key, _| !SAID.contains(&key));
        let mut inputs = Inputs::new("experiment", 1).value("file", &measures.to_string());
        let jobs = path.with_file_name("jobs");
        for script in definition.guest.scripts() {
            let path = jobs.join(script);
            inputs = inputs.file(script, &path)?;
            let text = input::read_text(&path, MAX_DEFINITION)
                .map_err(|source| ExperimentError::Read { path, source })?;
            let variables = variables::find_optional(&text).map(str::to_owned);
            definition.script_variables.extend(variables);
        }
        definition.recipe = inputs.key();
        Ok(definition)
    }

    /// How long an instruction takes on a variant.
    pub fn instruction_on(&self, variant: &Variant) -> InstructionTime {
        variant.ns_per_instruction.unwrap_or(self.ns_per_instruction)
    }

    /// Series that exist on a variant.
    pub fn series_on(&self, variant: &Variant) -> impl Iterator<Item = &Series> {
        let flavour = variant.flavour;
        self.series
            .iter()
            .filter(move |series| series.only.is_empty() || series.only.contains(&flavour))
    }

    /// A series' parameters on a variant: defaults, then the series', then the variant's.
    pub fn merge_parameters(
        &self,
        variant: &Variant,
        series: &Series,
    ) -> BTreeMap<String, Parameter> {
        let mut all = self.defaults.clone();
        all.extend(series.parameters.clone());
        all.extend(variant.parameters.clone());
        all
    }

    /// Every parameter that can be set: those of the file, and what the scripts have defaults for.
    pub fn parameter_names(&self) -> impl Iterator<Item = &str> {
        let tables = std::iter::once(&self.defaults)
            .chain(self.series.iter().map(|series| &series.parameters))
            .chain(self.variants.iter().map(|variant| &variant.parameters));
        tables.flat_map(BTreeMap::keys).chain(&self.script_variables).map(String::as_str)
    }

    /// The metrics that the gate watches on a variant.
    pub fn watched_on(&self, variant: &Variant) -> impl Iterator<Item = &String> {
        let is_on = move |metric: &&String| {
            self.series_on(variant).any(|series| series.name == series_of(metric))
        };
        self.gate.iter().flat_map(|gate| &gate.metrics).filter(is_on)
    }
}

/// A metric is SERIES.FIGURE.
fn series_of(metric: &str) -> &str {
    metric.split_once('.').map_or(metric, |(series, _)| series)
}

/// All definitions in a directory, by id, and after them the same experiments on the newest kernels.
pub fn read_all(directory: &Path) -> Result<Vec<Definition>, ExperimentError> {
    let read = |source| ExperimentError::Read { path: directory.to_owned(), source };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut all: Vec<Definition> =
        paths.iter().map(|path| Definition::read(path)).collect::<Result<_, _>>()?;
    let newest: Vec<Definition> = all.iter().filter_map(Definition::on_newest).collect();
    all.extend(newest);
    Ok(all)
}
