// SPDX-License-Identifier: GPL-2.0-or-later
//! Determinism tests: a task that computes the same again and again, or does nothing but look at
//! the clock.
//!
//! Neighbours: `crate::sampler` is the thread and the way its samples leave it; what they mean is
//! for `irqpath-analysis`. A measuring thread may hold its CPU at a real-time priority, so it ends
//! by itself when its time is over: the thread that would tell it to may have no CPU.

mod looks;
mod sines;

use std::time::Duration;

use irqpath_model::{Missing, Scheduling};

pub use sines::nr_sines_for;

use crate::confine::{Kept, give_up_capabilities};
use crate::realtime::{Realtime, thread_cpu_ns};
use crate::respond::RespondError;
use crate::sampler::{Control, Sample, Sampler};

/// What the task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// Compute so many sines, and again.
    Sines(u64),
    /// Look at the clock, and keep what took at least this long, ns.
    Looks(u64),
}

/// One task that measures: its test, its CPU, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct JitterConfig {
    /// What the task does.
    pub test: Test,
    /// The CPU that the task is bound to.
    pub cpu: u16,
    /// How urgent it is.
    pub sched: Scheduling,
    /// How long; a loop that has begun is completed.
    pub duration: Duration,
}

/// How a test ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JitterEnd {
    /// When it began, `CLOCK_MONOTONIC` ns.
    pub since_ns: u64,
    /// How long it took, ns.
    pub lasted_ns: u64,
    /// Looks at the clock; 0 for loops.
    pub nr_looks: u64,
    /// The shortest time between two looks, ns.
    pub look_ns: u64,
    /// Samples that found no room.
    pub nr_lost: u64,
    /// CPU time of the task, which is not what irqpath itself costs, ns.
    pub cpu_ns: u64,
}

/// A task under test.
#[derive(Debug)]
pub struct Subject {
    sampler: Sampler<JitterEnd>,
    cpu: u16,
    scratch: Vec<Sample>,
}

impl Subject {
    /// Start the task; it measures after [`Subject::let_measure`].
    pub fn start(config: &JitterConfig) -> Result<Self, RespondError> {
        let JitterConfig { test, cpu, sched, duration } = *config;
        let length_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let measure = move |(), control: &Control| {
            let end = match test {
                Test::Sines(nr) => sines::measure_sines(control, nr, length_ns),
                Test::Looks(threshold_ns) => looks::measure_looks(control, threshold_ns, length_ns),
            };
            JitterEnd { cpu_ns: thread_cpu_ns(), ..end }
        };
        let realtime = Realtime { cpu, sched };
        let kept = Kept { locked_memory: true, ..Kept::default() };
        let prepare = move || give_up_capabilities(kept).map_err(RespondError::Thread);
        let sampler = Sampler::start_thread("irqpath-jitter", realtime, prepare, measure);
        let sampler = sampler.map_err(|failed| RespondError::of_thread(failed, cpu))?;
        Ok(Self { sampler, cpu, scratch: Vec::new() })
    }

    /// The CPU that the task was bound to at its start.
    pub fn cpu(&self) -> u16 {
        self.cpu
    }

    /// Kernel thread id, by which traces name the task.
    pub fn tid(&self) -> u32 {
        self.sampler.entered().tid
    }

    /// Its scheduling in force.
    pub fn sched(&self) -> Scheduling {
        self.sampler.entered().sched
    }

    /// What it was refused.
    pub fn missing(&self) -> &[Missing] {
        &self.sampler.entered().missing
    }

    /// Starts the measurement; until then, the thread waits.
    pub fn let_measure(&mut self) {
        self.sampler.let_measure();
    }

    /// True if its time is over.
    pub fn is_done(&self) -> bool {
        self.sampler.is_done()
    }

    /// Loops or interruptions since the last call, as start and end, `CLOCK_MONOTONIC` ns.
    pub fn drain_samples(&mut self, mut take: impl FnMut(u64, u64)) {
        self.scratch.clear();
        self.sampler.drain_samples(&mut self.scratch);
        self.scratch.iter().for_each(|&(start_ns, end_ns)| take(start_ns, end_ns));
    }

    /// Ask for an end that does not have to come at once.
    pub fn ask_to_stop(&self) {
        self.sampler.ask_to_stop();
    }

    /// End it; the last samples can still be drained.
    pub fn stop(&mut self) -> JitterEnd {
        let mut end = self.sampler.stop_thread().unwrap_or_default();
        end.nr_lost = self.sampler.nr_lost();
        end
    }
}

#[cfg(test)]
mod tests;
