// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs benchmarks on this machine and leaves a raw directory for each.
//!
//! Everything that could disturb is kept away from the measured CPU: this thread, which raises
//! the interrupts, is pinned to it together with the load; progress is shown from elsewhere.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use irqpath_files::input;
use irqpath_files::output::Directory;
use irqpath_model::bench::BenchConfig;
use irqpath_source::intsight::{Intsight, IntsightError, RATES_FILE};
use irqpath_source::load::Load;
use irqpath_source::ticks::TickMeter;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::plan::least_duration;
use super::progress::BenchProgress;
use crate::host::cpus;
use crate::host::signals::Stop;

/// Of a list of interrupts on any machine.
const MAX_COUNTS: u64 = 16 << 20;

/// The CPU to measure on: the one asked for, or the usual one. irqpath itself is bound to it, so
/// that it must be allowed.
pub fn choose_cpu(asked: Option<u16>) -> anyhow::Result<u16> {
    let Some(cpu) = asked else { return cpus::last_allowed() };
    let allowed = cpus::allowed_cpus()?;
    ensure!(allowed.contains(cpu), "irqpath may not use CPU {cpu}; it may use CPUs {allowed}");
    Ok(cpu)
}

/// Let this thread, and what it forks, run on one CPU only.
pub fn pin_to_cpu(cpu: u16) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    set.set(usize::from(cpu));
    sched_setaffinity(None, &set).with_context(|| format!("cannot run on CPU {cpu}"))
}

/// Run the benchmarks, one after the other, each into a directory of its own below `raw`. After
/// a signal those that were complete are returned.
pub fn run_all(
    module: &Intsight,
    plan: &[BenchConfig],
    raw: &Directory,
    progress: &BenchProgress,
    stop: &Stop,
) -> anyhow::Result<Vec<Directory>> {
    let mut done = Vec::new();
    let mut load = (0, Load::default());
    for (nr, config) in plan.iter().enumerate() {
        if stop.is_requested() {
            break;
        }
        let nr_load = config.nr_load.unwrap_or(0);
        if load.0 != nr_load {
            // The old ones are gone before the new ones start.
            drop(std::mem::take(&mut load.1));
            let started = Load::start(nr_load).with_context(|| {
                format!("cannot start {nr_load} processes; ask for a smaller --load")
            })?;
            load = (nr_load, started);
        }
        progress.begin_benchmark(
            &format!("{}/{} {}", nr + 1, plan.len(), config.mechanism),
            least_duration(config),
        );
        let name = format!("{:02}-{}", nr + 1, config.mechanism);
        let target = raw.create_directory(&name)?;
        match measure_one(module, config, &target) {
            Ok(()) => done.push(target),
            Err(e) if is_interrupted(&e) => {
                let _ = raw.remove_file(&name);
                break;
            }
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

fn is_interrupted(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<IntsightError>(), Some(IntsightError::Interrupted))
}

fn measure_one(module: &Intsight, config: &BenchConfig, target: &Directory) -> anyhow::Result<()> {
    module.prepare_bench(config)?;
    keep_counts(target, "before")?;
    let meter = TickMeter::start();
    module.run_bench()?;
    let rate = meter.and_then(|meter| meter.measure_rate());
    keep_counts(target, "after")?;
    module.postprocess()?;
    module.copy_to(target)?;
    let keep = |file: &str, text: String| target.write(file, |f| f.write_all(text.as_bytes()));
    if let (Some(clock), Some(rate)) = (TickMeter::CLOCK, rate) {
        keep(RATES_FILE, format!("{clock} {}\n", rate.hz))?;
    }
    if let Some(nr_load) = config.nr_load {
        keep("load", format!("{nr_load}\n"))?;
    }
    if let Some(cpu) = config.cpu {
        keep("cpu", format!("{cpu}\n"))?;
    }
    Ok(())
}

/// Copy the counts of interrupts below `target`, at their place below a machine's root.
fn keep_counts(target: &Directory, when: &str) -> anyhow::Result<()> {
    let proc = target.create_directory(when)?.create_directory("proc")?;
    for file in ["interrupts", "softirqs"] {
        // They describe the result; a machine without them can still be measured.
        if let Ok(text) = input::read(&Path::new("/proc").join(file), MAX_COUNTS) {
            proc.write(file, |f| f.write_all(&text))?;
        }
    }
    Ok(())
}
