// SPDX-License-Identifier: GPL-2.0-or-later
//! Makes everything that a guest of a variant needs before it can be started.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use super::{Options, RECORDING, job};
use crate::Lab;
use crate::experiment::definition::{Definition, FlamePath, Mode, Variant};
use crate::experiment::draw::Draw;
use crate::experiment::error::ExperimentError;
use crate::flame::{PathMarks, Plugin};
use crate::guest::{Guest, Initramfs};
use crate::kernel::{self, Arch, Flavour, Kernel, module};
use crate::vm::{Disk, Machine};

/// Virtual CPUs of a guest that is not exact.
const SMP_CPUS: u32 = 4;
/// Room for a guest's results, MiB: the most that arm64's 32-bit PCI window takes.
const RESULT_MIB: u32 = 256;
/// A kernel stack, bytes: `THREAD_SIZE`, which KASAN doubles.
const STACK_SIZE: u64 = 16384;
/// Most of the guest's time that a job may take, s: ten days, mostly idle.
const GUEST_LIMIT_S: u64 = 864_000;

/// A guest that is ready to be started.
pub(super) struct Prepared<'a> {
    pub definition: &'a Definition,
    pub variant: &'a Variant,
    pub draw: Draw,
    pub kernel: Kernel,
    pub machine: Machine,
    pub initramfs: Arc<Initramfs>,
    /// Where the plugin leaves its recording, if the path is attributed or counted.
    pub recording: Option<TempDir>,
    /// See [`Options::commit`].
    pub commit: String,
}

/// What all draws of a variant share.
pub(super) struct Shared {
    kernel: Kernel,
    initramfs: Arc<Initramfs>,
}

impl Prepared<'_> {
    pub(super) fn is_exact(&self) -> bool {
        self.definition.mode == Mode::Exact
    }
}

pub(super) fn prepare_shared(
    lab: &Lab,
    definition: &Definition,
    variant: &Variant,
    options: &Options,
) -> Result<Shared, ExperimentError> {
    let kernel = Kernel::provide(lab, variant.flavour, variant.arch)?;
    let initramfs = describe_guest(lab, definition, variant, &kernel, options)?.build(lab)?;
    Ok(Shared { kernel, initramfs: Arc::new(initramfs) })
}

pub(super) fn prepare_guest<'a>(
    lab: &Lab,
    (definition, variant): (&'a Definition, &'a Variant),
    options: &Options,
    shared: &Shared,
    draw: Draw,
) -> Result<Prepared<'a>, ExperimentError> {
    let (kernel, initramfs) = (shared.kernel.clone(), Arc::clone(&shared.initramfs));
    let mut machine = match definition.mode {
        Mode::Exact => Machine::exact(&kernel),
        Mode::Smp => Machine::smp(&kernel, SMP_CPUS),
        Mode::Turns => Machine::turns(&kernel, SMP_CPUS),
        Mode::Counted => Machine::counted(&kernel, SMP_CPUS),
    }
    .append_parameters(&definition.guest.append)
    .append_parameters(&variant.append)
    .append_parameters(&draw.kernel_parameters());
    machine.instruction = options.instruction_on(definition, variant);
    machine.memory_mib = definition.guest.memory_mib;
    machine.result_mib = RESULT_MIB;
    machine.limit_host = Duration::from_secs(definition.time_limit_s);
    // Idle time is skipped and costs nothing; the host's limit is the one that counts.
    machine.limit_guest = machine.limit_guest.map(|_| Duration::from_secs(GUEST_LIMIT_S));
    let recording = load_plugin(lab, definition, options, variant.flavour, &mut machine)?;
    // In turns only the tortures run, which have no use for it; a debug kernel takes half a minute
    // to find out where its interrupt goes, each time that the module is loaded.
    machine.devices.edu = variant.arch == Arch::X86_64 && definition.mode != Mode::Turns;
    let no_disk = |source| ExperimentError::Vm {
        experiment: definition.id.clone(),
        variant: variant.name.clone(),
        source: Box::new(source),
    };
    machine.disk = definition.guest.disk_mib.map(Disk::empty).transpose().map_err(no_disk)?;
    let commit = options.commit.clone();
    Ok(Prepared { definition, variant, draw, kernel, machine, initramfs, recording, commit })
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
    let stack_size = if flavour.checks_itself() { 2 * STACK_SIZE } else { STACK_SIZE };
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
    replaced.extend(options.replaced.parameters.clone());
    let jobs = lab.project.experiments().join("jobs");
    let source = lab.project.kernel().join("module/intsight");
    let mut guest = Guest::new(kernel)
        .job(&job::format_script(
            definition,
            variant,
            &replaced,
            options.draws_of(definition),
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
    if needs.kernel_config {
        guest = guest.file(&format!("/boot/config-{}", kernel.release), &kernel.config, 0o644);
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
