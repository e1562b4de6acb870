// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs experiments: every variant in a guest of its own, as many at a time as there are CPUs.
//!
//! Kernels and modules are made first, one after the other, because they use every CPU
//! themselves. What a guest does in mode exact does not depend on its neighbours. A variant
//! whose guest goes wrong is an error with the last lines of its console; the others go on.

mod identify;
mod job;
mod workers;

pub use identify::{PreparedGuest, find_complete, prepare_variant};

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

use super::definition::{CountedPath, Definition, FlamePath, Mode, Parameter, Variant};
use super::error::ExperimentError;
use super::figures::{self, Attributed, SeriesResult};
use super::identity::Identity;
use crate::flame::{PathMarks, Plugin};
use crate::guest::{Guest, Initramfs};
use crate::kernel::{self, Arch, Flavour, Kernel, module};
use crate::own;
use crate::vm::{Machine, Outcome};
use crate::{Lab, Unit};

/// Virtual CPUs of a guest that is not exact.
const SMP_CPUS: u32 = 4;
/// Room for a guest's results, MiB: the most that arm64's 32-bit PCI window takes.
const RESULT_MIB: u32 = 256;

/// File of the plugin's recording.
const RECORDING: &str = "path.recording";
/// A kernel stack, bytes: `THREAD_SIZE`, which KASAN doubles.
const STACK_SIZE: u64 = 16384;

/// Most of the guest's time that a job may take, s: ten days, mostly idle.
const GUEST_LIMIT_S: u64 = 864_000;

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only variants with one of these names; empty means all.
    pub variants: Vec<String>,
    /// Not these variants of these experiments: they have results already.
    pub complete: BTreeSet<(String, String)>,
    /// Parameters that replace those of the definition, for a quick look.
    pub parameters: BTreeMap<String, Parameter>,
    /// The irqpath binary for guests that need it.
    pub irqpath: Option<PathBuf>,
    /// Of the checkout; empty if unknown.
    pub commit: String,
    /// With the parameters that each definition has for the gate.
    pub gate: bool,
    /// Attribute every instruction of the experiment's path, where it names one.
    pub attribute: bool,
}

impl Options {
    /// The definition's recipe; parameters that were replaced make it another one.
    pub fn describe_recipe(&self, definition: &Definition) -> String {
        let replaced = self.parameters.iter().map(|(name, value)| format!(" {name}={value}"));
        std::iter::once(definition.recipe.clone()).chain(replaced).collect()
    }

    /// Whether a variant of this name was asked for.
    pub fn wants(&self, variant: &str) -> bool {
        self.variants.is_empty() || self.variants.iter().any(|name| name == variant)
    }

    /// Whether a variant shall run.
    pub fn runs(&self, experiment: &str, variant: &str) -> bool {
        let is_complete = |(of, name): &(String, String)| of == experiment && name == variant;
        self.wants(variant) && !self.complete.iter().any(is_complete)
    }
}

/// One variant after its run.
#[derive(Debug)]
pub struct VariantRun {
    pub variant: Variant,
    /// What decided its bytes, if it is exact.
    pub identity: Identity,
    /// On what it ran.
    pub kernel: Kernel,
    /// How the guest ended.
    pub outcome: Outcome,
    /// What it left, until this is dropped.
    pub files: TempDir,
    /// Figures of every series.
    pub series: Vec<SeriesResult>,
    /// The path of the experiment in each series that it is drawn of, if it was attributed.
    pub attributed: Vec<Attributed>,
}

impl VariantRun {
    /// Every metric by its full name.
    pub fn named_metrics(&self) -> BTreeMap<String, f64> {
        let named = |series: &SeriesResult| {
            let name = series.name.clone();
            series
                .metrics
                .clone()
                .into_iter()
                .map(move |(metric, v)| (format!("{name}.{metric}"), v))
        };
        self.series.iter().flat_map(named).collect()
    }
}

/// A variant that went wrong after its guest had started.
#[derive(Debug)]
pub struct Remains {
    pub experiment: String,
    pub variant: String,
    /// What its guest said and left until then.
    pub outcome: Outcome,
}

/// A guest that is ready to be started.
struct Prepared<'a> {
    definition: &'a Definition,
    variant: &'a Variant,
    kernel: Kernel,
    machine: Machine,
    initramfs: Initramfs,
    /// Where the plugin leaves its recording, if the path is attributed or counted.
    recording: Option<TempDir>,
    /// See [`Options::commit`].
    commit: String,
}

/// What became of some experiments.
#[derive(Debug, Default)]
pub struct Runs {
    /// For each definition the variants that went well, in its order.
    pub variants: Vec<Vec<VariantRun>>,
    /// Why others did not.
    pub errors: Vec<ExperimentError>,
    /// What is left of those whose guests had started.
    pub remains: Vec<Remains>,
}

/// Runs the variants of these experiments. An error is one of before the first guest; what goes
/// wrong in a guest is in the result. `ended` is told of each experiment as soon as the last of its
/// guests has ended, by its index and with the variants that went well.
pub fn run_experiments(
    lab: &Lab,
    definitions: &[&Definition],
    options: &Options,
    ended: &(dyn Fn(usize, &[VariantRun]) + Sync),
) -> Result<Runs, ExperimentError> {
    let mut guests = Vec::new();
    for (index, definition) in definitions.iter().enumerate() {
        for variant in &definition.variants {
            if options.runs(&definition.id, &variant.name) {
                guests.push((index, prepare_guest(lab, definition, variant, options)?));
            }
        }
    }
    lab.progress.begin_step("guests", Some(guests.len() as u64), Unit::Steps);
    let nr_guests = |index| guests.iter().filter(|(of, _)| *of == index).count();
    let open: Vec<_> = (0..definitions.len()).map(|index| Open::new(nr_guests(index))).collect();
    for index in (0..definitions.len()).filter(|index| nr_guests(*index) == 0) {
        ended(index, &[]);
    }
    let failures = workers::run_all(
        guests,
        |(_, guest)| guest.is_exact(),
        |nr_done, (index, guest)| {
            let run = boot_guest(lab, guest);
            if let Ok(run) = &run {
                let (variant, wall) = (&run.variant.name, run.outcome.wall.as_secs_f64());
                let id = &definitions[index].id;
                lab.progress.print_note(&format!("{id} on {variant}: a guest of {wall:.1} s"));
            }
            lab.progress.set_done(nr_done());
            open[index].add_run(definitions[index], run, |runs| ended(index, runs))
        },
    );
    let mut runs =
        Runs { variants: open.into_iter().map(Open::into_runs).collect(), ..Runs::default() };
    for failure in failures.into_iter().flatten() {
        runs.errors.push(failure.error);
        runs.remains.extend(failure.remains);
    }
    Ok(runs)
}

/// An experiment while its guests run: how many have not ended, and the variants that went well.
struct Open(Mutex<(usize, Vec<VariantRun>)>);

impl Open {
    fn new(nr_open: usize) -> Self {
        Self(Mutex::new((nr_open, Vec::new())))
    }

    /// A guest of the experiment has ended; after the last one `ended` is called, with the variants in
    /// the order of the definition.
    fn add_run(
        &self,
        definition: &Definition,
        run: Result<VariantRun, Box<Failure>>,
        ended: impl Fn(&[VariantRun]),
    ) -> Option<Box<Failure>> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (nr_open, runs) = &mut *open;
        let failure = run.map(|run| runs.push(run)).err();
        *nr_open -= 1;
        if *nr_open == 0 {
            let variants = &definition.variants;
            runs.sort_by_key(|run| variants.iter().position(|c| c.name == run.variant.name));
            ended(runs);
        }
        failure
    }

    fn into_runs(self) -> Vec<VariantRun> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// Why a variant has no result.
struct Failure {
    error: ExperimentError,
    remains: Option<Remains>,
}

impl Prepared<'_> {
    fn is_exact(&self) -> bool {
        self.definition.mode == Mode::Exact
    }
}

fn prepare_guest<'a>(
    lab: &Lab,
    definition: &'a Definition,
    variant: &'a Variant,
    options: &Options,
) -> Result<Prepared<'a>, ExperimentError> {
    let kernel = Kernel::provide(lab, variant.flavour, variant.arch)?;
    let initramfs = describe_guest(lab, definition, variant, &kernel, options)?.build(lab)?;
    let mut machine = match definition.mode {
        Mode::Exact => Machine::exact(&kernel),
        Mode::Smp => Machine::smp(&kernel, SMP_CPUS),
        Mode::Turns => Machine::turns(&kernel, SMP_CPUS),
        Mode::Counted => Machine::counted(&kernel, SMP_CPUS),
    }
    .append_parameters(&definition.guest.append)
    .append_parameters(&variant.append);
    machine.memory_mib = definition.guest.memory_mib;
    machine.result_mib = RESULT_MIB;
    machine.limit_host = Duration::from_secs(definition.time_limit_s);
    // Idle time is skipped and costs nothing; the host's limit is the one that counts.
    machine.limit_guest = machine.limit_guest.map(|_| Duration::from_secs(GUEST_LIMIT_S));
    let recording = load_plugin(lab, definition, options, variant.flavour, &mut machine)?;
    // In turns only the tortures run, which have no use for it; a debug kernel takes half a minute
    // to find out where its interrupt goes, each time that the module is loaded.
    machine.devices.edu = variant.arch == Arch::X86_64 && definition.mode != Mode::Turns;
    machine.devices.hpet = definition.guest.hpet;
    let commit = options.commit.clone();
    Ok(Prepared { definition, variant, kernel, machine, initramfs, recording, commit })
}

/// The path that the plugin records, if it is to.
fn select_recorded<'a>(definition: &'a Definition, options: &Options) -> Option<&'a FlamePath> {
    let flame = definition.flame.as_ref()?;
    ((options.attribute || flame.always) && definition.mode == Mode::Exact).then_some(flame)
}

/// Loads a plugin where the experiment names a path.
fn load_plugin(
    lab: &Lab,
    definition: &Definition,
    options: &Options,
    flavour: Flavour,
    machine: &mut Machine,
) -> Result<Option<TempDir>, ExperimentError> {
    let flame = select_recorded(definition, options).map(|flame| (flame.from, flame.to));
    let count = definition.count.as_ref().map(|count| (count.from, count.to));
    let Some((from, to)) = flame.or(count) else { return Ok(None) };
    let directory = tempfile::tempdir().map_err(|source| ExperimentError::Scratch { source })?;
    let stack_size = if flavour == Flavour::Debug { 2 * STACK_SIZE } else { STACK_SIZE };
    let out = directory.path().join(RECORDING);
    let (plugin, marks) = (Plugin::build(lab, machine.arch)?, PathMarks { from, to });
    machine.plugin = Some(match flame {
        Some(_) => plugin.for_machine(&out, &[marks], stack_size),
        None => plugin.use_counter(&out, marks),
    });
    Ok(Some(directory))
}

fn describe_guest(
    lab: &Lab,
    definition: &Definition,
    variant: &Variant,
    kernel: &Kernel,
    options: &Options,
) -> Result<Guest, ExperimentError> {
    let needs = &definition.guest;
    let gate = definition.gate.as_ref().filter(|_| options.gate);
    let mut replaced = gate.map(|gate| gate.parameters.clone()).unwrap_or_default();
    replaced.extend(options.parameters.clone());
    let jobs = lab.project.experiments().join("jobs");
    let source = lab.project.kernel().join("module/intsight");
    let mut guest = Guest::new(kernel)
        .job(&job::format_script(
            definition,
            variant,
            &replaced,
            select_recorded(definition, options).is_some(),
        ))
        .file("/modules/intsight.ko", &module::build_module(lab, kernel, &source, &[])?, 0o644);
    for script in needs.scripts() {
        guest = guest.file(&format!("/jobs/{script}"), &jobs.join(script), 0o644);
    }
    for path in kernel.modules.iter().filter(|path| is_one_of(path, &needs.modules)) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        guest = guest.file(&format!("/modules/{name}"), path, 0o644);
    }
    for name in &needs.own_modules {
        let built = module::build_module(lab, kernel, &lab.project.module_source(name), &[])?;
        guest = guest.file(&format!("/modules/{name}.ko"), &built, 0o644);
    }
    for clock in &needs.clocks {
        let built = module::build_module(lab, kernel, &source, &[("INTSIGHT_CLOCKS", clock)])?;
        guest = guest.file(&format!("/modules/intsight-{clock}.ko"), &built, 0o644);
    }
    for name in &needs.programs {
        guest = guest.own_program(name);
    }
    if !needs.selftests.is_empty() {
        let source = kernel::provide_source(lab)?;
        for test in &needs.selftests {
            guest = guest.selftest(&source, test);
        }
    }
    for name in &needs.host_programs {
        guest = guest.program(name);
    }
    for path in &needs.host_files {
        guest = guest.file(path, Path::new(path), 0o644);
    }
    if needs.irqpath {
        let path = options.irqpath.as_deref().ok_or(ExperimentError::NoIrqpath)?;
        guest = guest.program_file("irqpath", path);
    }
    Ok(guest)
}

/// True if the file's name without its ending is in the list.
fn is_one_of(path: &Path, names: &[String]) -> bool {
    path.file_stem().is_some_and(|stem| names.iter().any(|name| stem == name.as_str()))
}

fn boot_guest(lab: &Lab, prepared: Prepared<'_>) -> Result<VariantRun, Box<Failure>> {
    let (experiment, variant) = (&prepared.definition.id, &prepared.variant.name);
    let failed = |source| ExperimentError::Vm {
        experiment: experiment.clone(),
        variant: variant.clone(),
        source: Box::new(source),
    };
    let identity =
        prepared.identify(0).map_err(|error| Box::new(Failure { error, remains: None }))?;
    let outcome = prepared
        .machine
        .run(lab, &prepared.initramfs)
        .map_err(|source| Box::new(Failure { error: failed(source), remains: None }))?;
    let read = match outcome.find_problem() {
        None => evaluate_outcome(&prepared, &outcome),
        Some(source) => Err(failed(source)),
    };
    match read {
        Ok((files, series, attributed)) => Ok(VariantRun {
            variant: prepared.variant.clone(),
            identity,
            kernel: prepared.kernel,
            outcome,
            files,
            series,
            attributed,
        }),
        Err(error) => {
            let (experiment, variant) = (experiment.clone(), variant.clone());
            let remains = Some(Remains { experiment, variant, outcome });
            Err(Box::new(Failure { error, remains }))
        }
    }
}

/// Reads everything that a guest left.
fn evaluate_outcome(
    prepared: &Prepared<'_>,
    outcome: &Outcome,
) -> Result<(TempDir, Vec<SeriesResult>, Vec<Attributed>), ExperimentError> {
    let Prepared { definition, variant, recording, .. } = prepared;
    let wrong = |what: String| ExperimentError::Result {
        experiment: definition.id.clone(),
        variant: variant.name.clone(),
        what,
    };
    let files = TempDir::new().map_err(|error| wrong(error.to_string()))?;
    outcome.results.extract_files(files.path()).map_err(|error| wrong(error.to_string()))?;
    let read = |series| figures::read_series(definition, &variant.name, series, files.path());
    let mut series =
        definition.series_on(variant).map(read).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    if let (Some(counted), Some(directory)) = (&definition.count, recording) {
        count_loops(counted, &directory.path().join(RECORDING), &mut series).map_err(wrong)?;
    }
    let attributed = match (&definition.flame, recording) {
        (Some(flame), Some(directory)) => {
            let kallsyms =
                outcome.results.file_text("kallsyms").map_err(|e| wrong(e.to_string()))?;
            attribute_path(flame, &directory.path().join(RECORDING), &kallsyms, &mut series)?
        }
        _ => Vec::new(),
    };
    Ok((files, series, attributed))
}

/// Adds what the counter left to the series that it is about.
fn count_loops(
    counted: &CountedPath,
    recording: &Path,
    series: &mut [SeriesResult],
) -> Result<(), String> {
    let text = own::read_text(recording).map_err(|error| error.to_string())?;
    for series in series.iter_mut().filter(|s| s.name == counted.series && s.left_out.is_none()) {
        let found = figures::compute_loop_metrics(&text, &series.metrics)?;
        series.metrics.extend(found);
    }
    Ok(())
}

/// Attributes the experiment's path and adds the metrics of that to the series it is drawn of.
fn attribute_path(
    flame: &FlamePath,
    recording: &Path,
    kallsyms: &str,
    series: &mut [SeriesResult],
) -> Result<Vec<Attributed>, ExperimentError> {
    let drawn = &mut series[..flame.series.len()];
    let measured: Vec<_> = drawn.iter().map(|s| (s.name.as_str(), s.lengths())).collect();
    let found = figures::attribute_paths(recording, kallsyms, flame, &measured)?;
    for (series, found) in drawn.iter_mut().zip(&found) {
        series.metrics.extend(found.list_metrics());
    }
    Ok(found)
}
