// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath bench`: measure how long bottom halves take, or analyse what was measured elsewhere.
//!
//! Rule: whatever can be refused is refused before the first benchmark starts, and the module's
//! parameters are restored whatever happens.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::ensure;
use irqpath_files::output::Directory;
use irqpath_model::bench::BenchConfig;
use irqpath_model::{Meta, Names, SCHEMA_VERSION, Summary};
use irqpath_report::text::write_bench;
use irqpath_source::intsight::{Intsight, Room};
use irqpath_source::ticks::TickMeter;
use irqpath_system::Host;

use super::args::Bench;
use super::progress::BenchProgress;
use super::{measure, plan, result};
use crate::host::meta;
use crate::host::signals::{self, Stop};
use crate::output::console;
use crate::output::export::text_options;
use crate::output::files::ResultFiles;

/// Kernel parameter by which the lab says that one instruction is one nanosecond.
const EXACT: &str = "irqpath.exact";

pub fn run(arguments: &Bench) -> anyhow::Result<ExitCode> {
    arguments.output.check_targets()?;
    let stop = signals::listen()?;
    let measured = if arguments.what.raw.is_empty() {
        measure_here(arguments, &stop)?
    } else {
        analyse_copied(arguments)?
    };
    let Measured { meta, summary, files } = measured;
    files.commit_and_print(&meta, &summary, &stop, |w| {
        write_bench(w, &meta, &summary, &text_options())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What is to be written.
struct Measured {
    meta: Meta,
    summary: Summary,
    files: ResultFiles,
}

/// Directories of another machine.
fn analyse_copied(arguments: &Bench) -> anyhow::Result<Measured> {
    let what = &arguments.what;
    let files = ResultFiles::open(&arguments.output)?;
    let summary =
        result::summarize_directories(&what.raw, &arguments.looks.clock, what.exact, Room::OTHERS)?;
    let names: Vec<_> = what.raw.iter().map(|d| d.display().to_string()).collect();
    let meta = Meta {
        schema_version: SCHEMA_VERSION,
        irqpath_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: meta::command_line(),
        source: names.join(" "),
        is_exact: what.exact,
        ..Meta::default()
    };
    Ok(Measured { meta, summary, files })
}

/// Measure on this machine, which needs the kernel module intsight.
fn measure_here(arguments: &Bench, stop: &Stop) -> anyhow::Result<Measured> {
    let host = Host::real();
    let cpu = measure::choose_cpu(arguments.what.cpu)?;
    let module = Intsight::open(Path::new("/"))?;
    let available = module.read_available()?;
    let plan = plan::plan_benchmarks(arguments, &available, &module.read_config()?, cpu)?;
    let mut meta = meta::collect_before(&host, Names::default());
    meta.is_exact = meta.kernel.cmdline.split_whitespace().any(|word| word.starts_with(EXACT));
    let finest = available.clocks.iter().min().copied();
    let known = if meta.is_exact { finest } else { TickMeter::CLOCK };
    plan::check_clocks(&arguments.looks, &available, known)?;
    let mut files = ResultFiles::open(&arguments.output)?;
    let raw = files.raw_directory()?;
    meta.observer_effects = describe_effects(&plan, cpu);

    let whole: Duration = plan.iter().map(plan::least_duration).sum();
    // Started before this thread is pinned, so that it draws from another CPU.
    let progress = BenchProgress::start(whole, cpu);
    meta.before = host.interrupt_counts().unwrap_or_default();
    let started = Instant::now();
    measure::pin_to_cpu(cpu)?;
    let done = measure::run_all(&module, &plan, &raw, &progress, stop)?;
    meta.duration_ns = started.elapsed().as_nanos() as u64;
    meta.after = host.interrupt_counts().unwrap_or_default();
    drop((progress, module));
    ensure!(!done.is_empty(), "ended before the first benchmark was complete; nothing was kept");
    if done.len() < plan.len() {
        console::print_note(&format!("ended early: {} of {} benchmarks", done.len(), plan.len()));
    }
    let places: Vec<_> = done.iter().map(Directory::current_path).collect();
    let summary =
        result::summarize_directories(&places, &arguments.looks.clock, meta.is_exact, Room::OWN)?;
    Ok(Measured { meta, summary, files })
}

/// What measuring changed on the machine, one sentence each.
fn describe_effects(plan: &[BenchConfig], cpu: u16) -> Vec<String> {
    let mut effects = vec![format!("irqpath and its interrupts were bound to CPU {cpu}.")];
    let most = plan.iter().filter_map(|c| c.nr_load).max().unwrap_or(0);
    if most > 0 {
        effects.push(format!("Up to {most} CPU-bound processes ran on CPU {cpu} as load."));
    }
    let hooked = plan.first().map(|c| c.tracepoints.join(" ")).unwrap_or_default();
    if !hooked.is_empty() {
        effects.push(format!("Checkpoints were hooked to tracepoints: {hooked}."));
    }
    effects
}
