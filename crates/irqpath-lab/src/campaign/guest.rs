// SPDX-License-Identifier: GPL-2.0-or-later
//! Units that are exact guests: planned with everything built, run with nothing built.

use std::path::Path;

use irqpath_files::output::{Directory, OutputError};
use irqpath_model::{Made, Reproduction};

use super::error::CampaignError;
use super::store::{Store, StoredRun};
use super::unit::{Batch, Unit};
use crate::Lab;
use crate::experiment::{
    self, Definition, ExperimentError, Manifest, Mode, Options, ResultsError, Variant,
};

/// Starting irqpath and its guest, and writing the result, s.
const BESIDE_S: u64 = 120;

/// Why a unit has no result.
#[derive(Debug, thiserror::Error)]
pub enum UnitError {
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Makes what the units of these experiments need, in the cache, and names the units.
///
/// # Errors
/// If something cannot be built.
pub fn plan_units(
    lab: &Lab,
    definitions: &[&Definition],
    options: &Options,
    limit_s: Option<u64>,
) -> Result<Vec<Unit>, ExperimentError> {
    let mut units = Vec::new();
    for definition in definitions.iter().filter(|definition| definition.mode == Mode::Exact) {
        for variant in definition.variants.iter().filter(|variant| options.wants(&variant.name)) {
            for guest in experiment::prepare_draws(lab, definition, variant, options)? {
                units.push(Unit {
                    experiment: definition.id.clone(),
                    variant: variant.name.clone(),
                    draw: guest.draw().number,
                    limit_s: limit_s.unwrap_or(definition.time_limit_s + BESIDE_S),
                    memory_mib: guest.memory_mib(),
                    identity: guest.identify()?,
                });
            }
        }
    }
    Ok(units)
}

/// Runs a unit of a batch and writes its result into a directory. The lab's cache is sealed: what is
/// missing there is an error, as is whatever would make another result than the campaign means.
pub fn run_unit(
    lab: &Lab,
    irqpath: Option<&Path>,
    batch: &Batch,
    unit: &Unit,
    directory: &Directory,
) -> Result<(), UnitError> {
    let lab = &Lab { cache: lab.cache.clone().sealed(), ..lab.clone() };
    let options = Options {
        replaced: batch.replaced.clone(),
        irqpath: irqpath.map(Path::to_owned),
        // The campaign's, also where a worker has another checkout with the same content.
        commit: unit.identity.commit().to_owned(),
        ..Options::default()
    };
    let definitions = experiment::read_all(&lab.project.experiments())?;
    let (definition, variant) = find_variant(&definitions, unit)?;
    let guest = experiment::prepare_variant(lab, definition, variant, &options, unit.draw)?;
    let identity = guest.identify()?;
    let differences = identity.list_differences(&unit.identity);
    if !differences.is_empty() {
        let differences = differences.join(" and ");
        return Err(CampaignError::Differs { differences }.into());
    }
    let run = guest.boot(lab)?;
    Ok(experiment::store_unit(definition, &run, &options, directory)?)
}

fn find_variant<'a>(
    definitions: &'a [Definition],
    unit: &Unit,
) -> Result<(&'a Definition, &'a Variant), UnitError> {
    let definition = definitions.iter().find(|definition| definition.id == unit.experiment);
    let unknown = || ExperimentError::Unknown { id: unit.experiment.clone() };
    let definition = definition.ok_or_else(unknown)?;
    let variant = definition.variants.iter().find(|variant| variant.name == unit.variant);
    let differs = || CampaignError::Differs { differences: "list of variants".to_owned() };
    Ok((definition, variant.ok_or_else(differs)?))
}

/// Puts the results that count into the places where `lab run` puts them, with the table.
pub fn collect_results<'a>(
    definitions: &[&Definition],
    runs: impl IntoIterator<Item = &'a StoredRun>,
    made: &Made,
    started_at: &str,
    store: &Store,
) -> Result<Reproduction, ResultsError> {
    let mut rows = Vec::new();
    for run in runs {
        let read = |what: experiment::Damage| ResultsError::Read {
            path: run.path.clone(),
            source: std::io::Error::other(what),
        };
        let manifest = Manifest::read(&run.path).map_err(read)?;
        let row = experiment::read_row(&run.path)?;
        experiment::copy_unit(&run.path, &manifest, &row, store.directory(), (made, started_at))?;
        rows.push(row);
    }
    experiment::store_rows(definitions, &rows, made, store.directory())
}
