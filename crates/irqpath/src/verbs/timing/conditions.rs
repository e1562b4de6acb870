// SPDX-License-Identifier: GPL-2.0-or-later
//! What `respond` and `jitter` share, and in part `bench`: which CPUs are measured, what is asked of the kernel for
//! that besides the tasks themselves, and the words for it in a result.
//!
//! Everything here ends with the process or with the guard that holds it.

use anyhow::Context as _;
use irqpath_model::{CpuList, Meta, Missing, Scheduling};
use irqpath_source::confine::{self, Kept};
use irqpath_source::realtime::{DmaLatency, LockedMemory};
use irqpath_source::{Config, Source};
use irqpath_system::Host;

use super::args::Task;
use crate::output::args::ResultOutput;
use crate::session;

/// What is held while tasks measure.
pub struct Held {
    /// What was asked for and refused: locked memory, fast idle exits.
    pub missing: Vec<Missing>,
    /// What was changed, one sentence each.
    effects: Vec<String>,
    _memory: Option<LockedMemory>,
    _dma_latency: Option<DmaLatency>,
}

impl Held {
    /// Lock memory, and wish for fast idle exits if that was asked for.
    pub fn take(task: &Task) -> anyhow::Result<Self> {
        let mut effects = Vec::new();
        let dma_latency = match task.dma_latency {
            Some(us) => {
                let held = DmaLatency::hold(us).context(
                    "cannot write /dev/cpu_dma_latency; run with sudo, or without --dma-latency",
                )?;
                effects.push(format!(
                    "/dev/cpu_dma_latency was held at {us} us: idle CPUs did not sleep deeper."
                ));
                Some(held)
            }
            None => None,
        };
        let (memory, missing) = match LockedMemory::lock() {
            Ok(memory) => (Some(memory), Vec::new()),
            Err(missing) => (None, vec![missing]),
        };
        if memory.is_some() {
            effects.push("irqpath's memory was locked.".to_owned());
        }
        Ok(Self { missing, effects, _memory: memory, _dma_latency: dma_latency })
    }

    /// Give it back. The result says first what the test did, then what was held, whether the CPUs
    /// were shared, and what tracing did.
    pub fn give_back(self, of_test: Vec<String>, is_apart: bool, meta: &mut Meta) {
        let mut effects = of_test;
        effects.extend(self.effects);
        if !is_apart {
            effects.push(effect_of_sharing());
        }
        effects.append(&mut meta.observer_effects);
        meta.observer_effects = effects;
    }
}

/// Give up what the rest of a test does not need: its programs are attached, its tasks have their
/// priority, its memory is locked.
pub fn confine_process(output: &ResultOutput, traced: Traced, devices: bool) -> anyhow::Result<()> {
    let files = [&output.directory, &output.json, &output.report];
    let kept = Kept {
        symbols: traced == Traced::WithSymbols,
        urgency: traced != Traced::No,
        files: files.iter().any(|file| file.is_some()),
        locked_memory: true,
        devices,
        ..Kept::default()
    };
    confine::confine(kept)
        .context("privileges cannot be given up; check the limits of this session")
}

/// What of tracing is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traced {
    /// Nothing is traced.
    No,
    /// Records are read.
    Plain,
    /// Records are read, and the names of timers' callbacks in the end.
    WithSymbols,
}

/// A tracer, or what a test without one lacks.
pub fn open_tracer(host: &Host, config: &Config) -> Result<Box<dyn Source>, Missing> {
    let opened = host.may_trace().map_err(anyhow::Error::from);
    opened.and_then(|()| session::open_live(config)).map_err(|error| Missing {
        what: "tracing".to_owned(),
        consequence: format!("causes are not known: {error}"),
    })
}

/// What a task on each of these CPUs meant for them.
pub fn effect_of_tasks(cpus: &CpuList, sched: Scheduling, does: &str) -> String {
    let plural = if cpus.len() == 1 { "" } else { "s" };
    format!("A task at {sched} was bound to CPU{plural} {cpus} and {does}.")
}

/// That irqpath had to share the measured CPUs.
fn effect_of_sharing() -> String {
    "Every CPU that irqpath may use was measured, so it also read its results there.".to_owned()
}

/// Each thing that is missing once, although every task misses it.
pub fn distinct_missing(all: impl IntoIterator<Item = Missing>) -> Vec<Missing> {
    let mut found: Vec<Missing> = Vec::new();
    for missing in all {
        if !found.contains(&missing) {
            found.push(missing);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_task_misses_is_said_once() {
        let missing = |what: &str| Missing { what: what.to_owned(), consequence: String::new() };
        let all = distinct_missing([missing("a"), missing("b"), missing("a")]);
        assert_eq!(all.len(), 2);
    }
}
