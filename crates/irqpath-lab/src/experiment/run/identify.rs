// SPDX-License-Identifier: GPL-2.0-or-later
//! One guest at a time, by its identity: what a campaign's unit is, and how `lab run --resume` knows
//! that a result is that of today's files.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::prepare::{Prepared, Shared, prepare_guest, prepare_shared};
use super::{Options, VariantRun, boot_guest};
use crate::Lab;
use crate::cache::{Inputs, hash_file};
use crate::experiment::definition::{Definition, Variant};
use crate::experiment::draw::Draw;
use crate::experiment::error::ExperimentError;
use crate::experiment::identity::{COMMIT, Identity};
use crate::experiment::manifest::Manifest;
use crate::vm::query_text;

/// QEMU and irqpath beside the guest, MiB. All of ihm-timer, whose guest may have 1 GiB, took 271.
const BESIDE_MIB: u32 = 512;

/// A guest of one variant, ready to be started.
pub struct PreparedGuest<'a>(Prepared<'a>);

/// Provides everything that the draws of a variant need; nothing is made at their starts.
pub fn prepare_draws<'a>(
    lab: &Lab,
    definition: &'a Definition,
    variant: &'a Variant,
    options: &Options,
) -> Result<Vec<PreparedGuest<'a>>, ExperimentError> {
    let shared = prepare_shared(lab, definition, variant, options)?;
    Draw::all(options.draws_of(definition))
        .map(|draw| prepare_draw(lab, (definition, variant), options, &shared, draw))
        .collect()
}

/// The same of one draw.
pub fn prepare_variant<'a>(
    lab: &Lab,
    definition: &'a Definition,
    variant: &'a Variant,
    options: &Options,
    number: u32,
) -> Result<PreparedGuest<'a>, ExperimentError> {
    let shared = prepare_shared(lab, definition, variant, options)?;
    let draw = Draw { number, of: options.draws_of(definition) };
    prepare_draw(lab, (definition, variant), options, &shared, draw)
}

fn prepare_draw<'a>(
    lab: &Lab,
    (definition, variant): (&'a Definition, &'a Variant),
    options: &Options,
    shared: &Shared,
    draw: Draw,
) -> Result<PreparedGuest<'a>, ExperimentError> {
    let prepared = prepare_guest(lab, (definition, variant), options, shared, draw)?;
    let failed = |source| ExperimentError::Vm {
        experiment: definition.id.clone(),
        variant: variant.name.clone(),
        source: Box::new(source),
    };
    prepared.machine.prepare_image(lab).map_err(failed)?;
    Ok(PreparedGuest(prepared))
}

impl Prepared<'_> {
    /// What decides the bytes that this guest leaves.
    pub(super) fn identify(&self) -> Result<Identity, ExperimentError> {
        let Prepared { definition, variant, draw, kernel, machine, initramfs, commit, .. } = self;
        let library = match &machine.plugin {
            Some(plugin) => {
                let digest = hash_file(&plugin.library);
                let read = |source| ExperimentError::Read { path: plugin.library.clone(), source };
                format!("{} {}", digest.map_err(read)?, plugin.arguments)
            }
            None => String::new(),
        };
        let devices = format!(
            "{:?} {} {:?} {} {} {}",
            machine.mode,
            machine.instruction,
            machine.devices,
            machine.memory_mib,
            machine.result_mib,
            machine.append
        );
        let guest = Inputs::new("initramfs", 1).bytes("archive", &initramfs.bytes).key();
        Ok(Identity::new([
            ("experiment", format!("{} {}", definition.id, definition.recipe)),
            ("variant", variant.name.clone()),
            ("draw", draw.number.to_string()),
            (COMMIT, commit.clone()),
            ("kernel", kernel.sha256.clone()),
            ("guest", guest),
            ("machine", devices),
            ("plugin", library),
            ("qemu", query_text(machine.arch).lines().next().unwrap_or_default().to_owned()),
            ("irqpath", env!("CARGO_PKG_VERSION").to_owned()),
        ]))
    }
}

impl PreparedGuest<'_> {
    pub fn draw(&self) -> Draw {
        self.0.draw
    }

    pub fn identify(&self) -> Result<Identity, ExperimentError> {
        self.0.identify()
    }

    /// Of the guest and of what the host needs beside it.
    pub fn memory_mib(&self) -> u32 {
        let machine = &self.0.machine;
        machine.memory_mib + machine.result_mib + BESIDE_MIB
    }

    pub fn boot(self, lab: &Lab) -> Result<VariantRun, ExperimentError> {
        boot_guest(lab, self.0).map_err(|failure| failure.error)
    }
}

/// The variants of these experiments, of those asked for, all of whose draws have a whole result of
/// today's files in their directories. `locate` tells the directory of a draw.
pub fn find_complete(
    lab: &Lab,
    definitions: &[&Definition],
    options: &Options,
    locate: impl Fn(&Definition, &Variant, u32) -> PathBuf,
) -> Result<BTreeSet<(String, String)>, ExperimentError> {
    let mut complete = BTreeSet::new();
    for definition in definitions {
        for variant in definition.variants.iter().filter(|variant| options.wants(&variant.name)) {
            let directories = (0..options.draws_of(definition))
                .map(|draw| locate(definition, variant, draw))
                .collect::<Vec<_>>();
            if is_complete(lab, (definition, variant), options, &directories)? {
                complete.insert((definition.id.clone(), variant.name.clone()));
            }
        }
    }
    Ok(complete)
}

fn is_complete(
    lab: &Lab,
    (definition, variant): (&Definition, &Variant),
    options: &Options,
    directories: &[PathBuf],
) -> Result<bool, ExperimentError> {
    // Without a list there is nothing to compare, and a guest takes a second to prepare.
    if directories.iter().any(|directory| Manifest::read(directory).is_err()) {
        return Ok(false);
    }
    let shared = prepare_shared(lab, definition, variant, options)?;
    for (draw, directory) in Draw::all(options.draws_of(definition)).zip(directories) {
        let guest = prepare_guest(lab, (definition, variant), options, &shared, draw)?;
        if Manifest::check(directory, &guest.identify()?.key()).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}
