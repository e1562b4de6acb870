// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs experiments: every variant in a guest of its own, as many at a time as there are CPUs.
//!
//! Kernels and modules are made first, one after the other, because they use every CPU
//! themselves. What a guest does in mode exact does not depend on its neighbours. A variant
//! whose guest goes wrong is an error with the last lines of its console; the others go on.

mod identify;
mod job;
mod options;
mod prepare;
mod workers;

pub use identify::{PreparedGuest, find_complete, prepare_draws, prepare_variant};
pub use options::{Options, Replaced};

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use super::definition::{CountedPath, Definition, FlamePath, Variant};
use super::draw::Draw;
use super::error::ExperimentError;
use super::figures::{self, Attributed, SeriesResult};
use super::identity::Identity;
use crate::kernel::Kernel;
use crate::own;
use crate::vm::{InstructionTime, Outcome};
use crate::{Lab, Unit};
use prepare::{Prepared, prepare_guest, prepare_shared};

/// File of the plugin's recording.
const RECORDING: &str = "path.recording";

/// One draw of a variant after its run.
#[derive(Debug)]
pub struct VariantRun {
    pub variant: Variant,
    /// Which of its draws.
    pub draw: Draw,
    /// How long an instruction took, where the clock counted them.
    pub instruction: InstructionTime,
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
/// wrong in a guest is in the result. `ended` is told of an experiment, by its index, whenever the last
/// guest of one of its variants has ended, with all runs that went well of variants that have ended.
pub fn run_experiments(
    lab: &Lab,
    definitions: &[&Definition],
    options: &Options,
    ended: &(dyn Fn(usize, &[VariantRun]) + Sync),
) -> Result<Runs, ExperimentError> {
    let mut guests = Vec::new();
    for (index, definition) in definitions.iter().enumerate() {
        let wanted = |variant: &&Variant| options.runs(&definition.id, &variant.name);
        for variant in definition.variants.iter().filter(wanted) {
            let shared = prepare_shared(lab, definition, variant, options)?;
            for draw in Draw::all(options.draws_of(definition)) {
                let of = (*definition, variant);
                guests.push((index, prepare_guest(lab, of, options, &shared, draw)?));
            }
        }
    }
    lab.progress.begin_step("guests", Some(guests.len() as u64), Unit::Steps);
    let open_variants = |index| {
        let of_it = guests.iter().filter(move |(of, _)| *of == index);
        of_it.map(|(_, guest)| guest.variant.name.clone())
    };
    let open: Vec<_> =
        (0..definitions.len()).map(|index| Open::new(open_variants(index))).collect();
    for index in (0..definitions.len()).filter(|index| open_variants(*index).next().is_none()) {
        ended(index, &[]);
    }
    let failures = workers::run_all(
        guests,
        |(_, guest)| guest.is_exact(),
        |nr_done, (index, guest)| {
            let name = guest.variant.name.clone();
            let run = boot_guest(lab, guest);
            if let Ok(run) = &run {
                let (variant, wall) = (&run.variant.name, run.outcome.wall.as_secs_f64());
                let (id, draw) = (&definitions[index].id, run.draw.describe());
                let note = format!("{id} on {variant}{draw}: a guest of {wall:.1} s");
                lab.progress.print_note(&note);
            }
            lab.progress.set_done(nr_done());
            open[index].add_run(definitions[index], &name, run, |runs| ended(index, runs))
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

/// An experiment while its guests run: of each variant how many have not ended, and the runs that
/// went well.
struct Open(Mutex<(BTreeMap<String, usize>, Vec<VariantRun>)>);

impl Open {
    /// Of guests, each by the name of its variant.
    fn new(guests: impl Iterator<Item = String>) -> Self {
        let mut nr_open = BTreeMap::new();
        for name in guests {
            *nr_open.entry(name).or_default() += 1;
        }
        Self(Mutex::new((nr_open, Vec::new())))
    }

    /// A guest of the experiment has ended; after the last one of a variant `ended` is called, with
    /// the variants that have ended in the order of the definition.
    fn add_run(
        &self,
        definition: &Definition,
        name: &str,
        run: Result<VariantRun, Box<Failure>>,
        ended: impl Fn(&[VariantRun]),
    ) -> Option<Box<Failure>> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (nr_open, runs) = &mut *open;
        let failure = run.map(|run| runs.push(run)).err();
        let left = nr_open.get_mut(name).expect("it was counted");
        *left -= 1;
        if *left == 0 {
            let is_open = |run: &VariantRun| nr_open[&run.variant.name] > 0;
            let place = |run: &VariantRun| {
                definition.variants.iter().position(|known| known.name == run.variant.name)
            };
            runs.sort_by_key(|run| (is_open(run), place(run), run.draw.number));
            ended(&runs[..runs.partition_point(|run| !is_open(run))]);
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

fn boot_guest(lab: &Lab, prepared: Prepared<'_>) -> Result<VariantRun, Box<Failure>> {
    let (experiment, variant) = (&prepared.definition.id, &prepared.variant.name);
    let failed = |source| ExperimentError::Vm {
        experiment: experiment.clone(),
        variant: variant.clone(),
        source: Box::new(source),
    };
    let identity =
        prepared.identify().map_err(|error| Box::new(Failure { error, remains: None }))?;
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
            draw: prepared.draw,
            instruction: prepared.machine.instruction,
            identity,
            kernel: prepared.kernel,
            outcome,
            files,
            series,
            attributed,
        }),
        Err(error) => {
            let variant = format!("{variant}{}", prepared.draw.describe());
            let experiment = experiment.clone();
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
    let Prepared { definition, variant, machine, recording, .. } = prepared;
    let wrong = |what: String| ExperimentError::Result {
        experiment: definition.id.clone(),
        variant: variant.name.clone(),
        what,
    };
    let files = TempDir::new().map_err(|error| wrong(error.to_string()))?;
    outcome.results.extract_files(files.path()).map_err(|error| wrong(error.to_string()))?;
    let of = (variant.name.as_str(), machine.instruction);
    let read = |series| figures::read_series(definition, of, series, files.path());
    let mut series =
        definition.series_on(variant).map(read).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    if let (Some(counted), Some(directory)) = (&definition.count, recording) {
        count_path(counted, &directory.path().join(RECORDING), &mut series).map_err(wrong)?;
    }
    let attributed = match (&definition.flame, recording) {
        (Some(flame), Some(directory)) => {
            let kallsyms =
                outcome.results.file_text("kallsyms").map_err(|e| wrong(e.to_string()))?;
            let path = directory.path().join(RECORDING);
            attribute_path(flame, (&path, &kallsyms), machine.instruction, &mut series)?
        }
        _ => Vec::new(),
    };
    Ok((files, series, attributed))
}

/// Adds what the counter left to the series that it is about.
fn count_path(
    counted: &CountedPath,
    recording: &Path,
    series: &mut [SeriesResult],
) -> Result<(), String> {
    let text = own::read_text(recording).map_err(|error| error.to_string())?;
    for series in series.iter_mut().filter(|s| s.name == counted.series && s.left_out.is_none()) {
        let found = figures::compute_counted_metrics(counted.counted, &text, &series.metrics)?;
        series.metrics.extend(found);
    }
    Ok(())
}

/// Attributes the experiment's path and adds the metrics of that to the series it is drawn of.
fn attribute_path(
    flame: &FlamePath,
    (recording, kallsyms): (&Path, &str),
    instruction: InstructionTime,
    series: &mut [SeriesResult],
) -> Result<Vec<Attributed>, ExperimentError> {
    let drawn = &mut series[..flame.series.len()];
    // The recording counts instructions, and the guest's clock their time.
    let count = |lengths: &[u64]| lengths.iter().map(|ns| ns >> instruction.shift()).collect();
    let counted: Vec<Vec<u64>> = drawn.iter().map(|series| count(series.lengths())).collect();
    let named = drawn.iter().map(|series| series.name.as_str());
    let measured: Vec<_> = named.zip(counted.iter().map(Vec::as_slice)).collect();
    let found = figures::attribute_paths(recording, kallsyms, flame, &measured)?;
    for (series, found) in drawn.iter_mut().zip(&found) {
        series.metrics.extend(found.list_metrics());
    }
    Ok(found)
}
