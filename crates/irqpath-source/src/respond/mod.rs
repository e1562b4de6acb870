// SPDX-License-Identifier: GPL-2.0-or-later
//! Response tests: a task waits for a periodic interrupt and looks at once how late it is.
//!
//! - `timer`: `clock_nanosleep` and timerfd; `rtc`, `hpet`, `device`: the devices of that name.
//! - `crate::sampler`: the thread and the way its samples leave it.
//!
//! Everything that can fail fails before the first interrupt is waited for. The loop itself waits,
//! reads a clock and stores a number.

pub(crate) mod device;
mod error;
pub(crate) mod hpet;
mod ioctl;
pub(crate) mod rtc;
mod timer;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use irqpath_model::{Exceeded, Missing, ResponseSource, Scheduling};

pub use error::RespondError;

use crate::confine::{Kept, give_up_capabilities};
use crate::realtime::{Realtime, now_ns};
use crate::sampler::{Control, Sample, Sampler};

/// Which interrupt a task waits for, where it waits, and when the test ends.
#[derive(Debug, Clone)]
pub struct RespondConfig {
    /// The timer or device that interrupts periodically.
    pub source: ResponseSource,
    /// Another device than the source's usual one.
    pub device: Option<PathBuf>,
    /// Interrupts per second; the source rounds it, see [`SourceFacts::period_ns`].
    pub hz: f64,
    /// Where the task runs.
    pub cpu: u16,
    /// How urgent it is.
    pub sched: Scheduling,
    /// End at the first response over this, ns.
    pub threshold_ns: Option<u64>,
}

/// What was found out about a source when it was prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceFacts {
    /// What it is, in words.
    pub origin: String,
    /// Names of interrupt lines that count its interrupts if they are the device's own.
    pub lines: Vec<String>,
    /// Distance of two interrupts as the source rounds it, ns.
    pub period_ns: u64,
}

/// How a test ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// Interrupts that came before the task waited again.
    pub nr_missed: u64,
    /// Returns before the period was over.
    pub nr_early: u64,
    /// Responses that found no room.
    pub nr_lost: u64,
    /// The response over the threshold.
    pub exceeded: Option<Exceeded>,
    /// What ended it although nobody asked for an end.
    pub error: Option<RespondError>,
}

/// One return from a wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Woken {
    /// Time since the interrupt was due, ns.
    ns: u64,
    /// Interrupts beyond the first since the return before.
    nr_missed: u64,
    /// True if it was not late at all.
    is_early: bool,
}

/// A source that is open and can be waited for.
trait Waiter: Send {
    fn source_facts(&self) -> SourceFacts;

    fn start_interrupts(&mut self) -> Result<(), RespondError>;

    /// Sleep until the next interrupt. `Interrupted` means a signal; wait again.
    fn wait_for_interrupt(&mut self) -> io::Result<Woken>;

    /// Interrupt no more. Closing the device must do the same, for threads that are killed.
    /// Returns the interrupts that were missed and are in no [`Woken`].
    fn stop_interrupts(&mut self) -> u64;
}

fn open(config: &RespondConfig) -> Result<Box<dyn Waiter>, RespondError> {
    let period = Duration::from_secs_f64(1.0 / config.hz);
    Ok(match config.source {
        ResponseSource::Timer => Box::new(timer::Sleep::new(period)),
        ResponseSource::Timerfd => Box::new(timer::Descriptor::new(period)?),
        ResponseSource::Rtc => Box::new(rtc::Rtc::open(config.device.as_deref(), config.hz)?),
        ResponseSource::Hpet => Box::new(hpet::Hpet::open(config.device.as_deref(), config.hz)?),
        ResponseSource::Device => Box::new(device::Device::open(config.device.as_deref(), period)?),
    })
}

/// A task that waits for interrupts.
#[derive(Debug)]
pub struct Respondent {
    sampler: Sampler<Ended>,
    facts: SourceFacts,
    scratch: Vec<Sample>,
}

impl Respondent {
    /// Open the source and start the task; it measures after [`Respondent::let_measure`].
    pub fn start(config: &RespondConfig) -> Result<Self, RespondError> {
        let waiter = open(config)?;
        let facts = waiter.source_facts();
        let (cpu, sched, threshold_ns) = (config.cpu, config.sched, config.threshold_ns);
        let measure =
            move |waiter, control: &Control| measure_responses(waiter, control, threshold_ns);
        let realtime = Realtime { cpu, sched };
        let rates = config.source == ResponseSource::Rtc;
        let kept = Kept { locked_memory: true, rates, ..Kept::default() };
        let prepare = move || match give_up_capabilities(kept) {
            Ok(()) => Ok(waiter),
            Err(error) => Err(RespondError::Thread(error)),
        };
        let sampler = Sampler::start_thread("irqpath-respond", realtime, prepare, measure);
        let sampler = sampler.map_err(|failed| RespondError::of_thread(failed, cpu))?;
        Ok(Self { sampler, facts, scratch: Vec::new() })
    }

    /// The task's thread id.
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

    /// What its source is.
    pub fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    /// Starts the measurement; until then, the task waits.
    pub fn let_measure(&mut self) {
        self.sampler.let_measure();
    }

    /// True if it has ended by itself: over the threshold, or failed.
    pub fn is_done(&self) -> bool {
        self.sampler.is_done()
    }

    /// Responses since the last call, ns.
    pub fn drain_responses(&mut self, mut take: impl FnMut(u64)) {
        self.scratch.clear();
        self.sampler.drain_samples(&mut self.scratch);
        self.scratch.iter().for_each(|(ns, _)| take(*ns));
    }

    /// Ask for an end. A wait goes on until the next interrupt, or [`Respondent::stop`].
    pub fn ask_to_stop(&self) {
        self.sampler.ask_to_stop();
    }

    /// End it; the last responses can still be drained.
    pub fn stop(&mut self) -> Ended {
        let mut ended = self.sampler.stop_thread().unwrap_or_default();
        ended.nr_lost = self.sampler.nr_lost();
        ended
    }
}

/// The loop that everything is about.
fn measure_responses(
    mut waiter: Box<dyn Waiter>,
    control: &Control,
    threshold_ns: Option<u64>,
) -> Ended {
    let mut ended = Ended::default();
    let limit_ns = threshold_ns.unwrap_or(u64::MAX);
    let mut nr = 0;
    if let Err(error) = waiter.start_interrupts() {
        return Ended { error: Some(error), ..ended };
    }
    while !control.is_stopped() {
        let woken = match waiter.wait_for_interrupt() {
            Ok(woken) => woken,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(source) => {
                ended.error = Some(RespondError::Wait(source));
                break;
            }
        };
        nr += 1;
        control.ring.push((woken.ns, 0));
        ended.nr_missed += woken.nr_missed;
        ended.nr_early += u64::from(woken.is_early);
        if woken.ns > limit_ns {
            ended.exceeded = Some(Exceeded { ns: woken.ns, nr, read_ns: Some(now_ns()) });
            break;
        }
    }
    ended.nr_missed += waiter.stop_interrupts();
    ended
}

#[cfg(test)]
mod tests;
