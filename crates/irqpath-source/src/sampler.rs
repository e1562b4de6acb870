// SPDX-License-Identifier: GPL-2.0-or-later
//! A thread that measures, and the way its samples leave it.
//!
//! Neighbours: `respond` and `jitter` say what the thread does, `realtime` what it asks for. The
//! rule to know: between `go` and its end the thread allocates nothing, prints nothing and takes
//! no lock. Samples go through a ring that the other side empties; what finds it full is counted.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::realtime::{self, Entered, Realtime};

/// Samples that find room until somebody empties the ring: 32 s at 2048 Hz.
const ROOM: usize = 1 << 16;

/// How long a thread that shall end is waited for before it is woken again.
const PATIENCE: Duration = Duration::from_millis(10);

/// A sample: two numbers of which the test knows the meaning.
pub(crate) type Sample = (u64, u64);

/// One writer, one reader, no locks.
#[derive(Debug)]
pub(crate) struct Ring {
    slots: Box<[(AtomicU64, AtomicU64)]>,
    written: AtomicU64,
    read: AtomicU64,
    nr_lost: AtomicU64,
}

impl Ring {
    fn new(room: usize) -> Self {
        // Written once here, so that every page is present.
        let slot = |_| (AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX));
        Self {
            slots: (0..room).map(slot).collect(),
            written: AtomicU64::new(0),
            read: AtomicU64::new(0),
            nr_lost: AtomicU64::new(0),
        }
    }

    /// Only the measuring thread calls this.
    pub(crate) fn push(&self, (a, b): Sample) {
        let at = self.written.load(Ordering::Relaxed);
        if at - self.read.load(Ordering::Acquire) >= self.slots.len() as u64 {
            self.nr_lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let slot = &self.slots[at as usize % self.slots.len()];
        slot.0.store(a, Ordering::Relaxed);
        slot.1.store(b, Ordering::Relaxed);
        // The reader that sees the number sees the sample.
        self.written.store(at + 1, Ordering::Release);
    }

    fn drain_samples(&self, samples: &mut Vec<Sample>) {
        let until = self.written.load(Ordering::Acquire);
        let from = self.read.load(Ordering::Relaxed);
        for at in from..until {
            let slot = &self.slots[at as usize % self.slots.len()];
            samples.push((slot.0.load(Ordering::Relaxed), slot.1.load(Ordering::Relaxed)));
        }
        self.read.store(until, Ordering::Release);
    }
}

/// What the measuring thread sees of the outside.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) ring: Ring,
    stop: AtomicBool,
}

impl Control {
    /// True once the thread shall end.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Why a thread could not be started.
#[derive(Debug)]
pub(crate) enum Failed<E> {
    /// The system has no thread for us, or no signal.
    Spawn(io::Error),
    /// The CPU cannot be had.
    Cpu(io::Error),
    /// What the test does before it measures.
    Prepare(E),
}

/// A thread that is ready to measure, or does.
#[derive(Debug)]
pub(crate) struct Sampler<T> {
    control: Arc<Control>,
    go: Option<SyncSender<()>>,
    thread: Option<JoinHandle<Option<T>>>,
    entered: Entered,
}

impl<T: Send + 'static> Sampler<T> {
    /// Start a thread that prepares itself and then waits for [`Sampler::let_measure`].
    pub(crate) fn start_thread<S, E: Send + 'static>(
        name: &str,
        realtime: Realtime,
        prepare: impl FnOnce() -> Result<S, E> + Send + 'static,
        measure: impl FnOnce(S, &Control) -> T + Send + 'static,
    ) -> Result<Self, Failed<E>> {
        realtime::listen_for_wake().map_err(Failed::Spawn)?;
        let control = Arc::new(Control { ring: Ring::new(ROOM), stop: AtomicBool::new(false) });
        let (ready, is_ready) = sync_channel(1);
        let (go, may_go): (SyncSender<()>, Receiver<()>) = sync_channel(1);
        let shared = Arc::clone(&control);
        let body = move || {
            let entered = realtime::enter_realtime(realtime).map_err(Failed::Cpu);
            let prepared = entered.and_then(|e| Ok((e, prepare().map_err(Failed::Prepare)?)));
            let state = match prepared {
                Ok((entered, state)) => {
                    // The other side waits for this.
                    let _ = ready.send(Ok(entered));
                    state
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                    return None;
                }
            };
            may_go.recv().ok()?;
            Some(measure(state, &shared))
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(body);
        let thread = thread.map_err(Failed::Spawn)?;
        let gone = || Failed::Spawn(io::Error::other("the measuring thread ended early"));
        let entered = is_ready.recv().map_err(|_| gone())??;
        Ok(Self { control, go: Some(go), thread: Some(thread), entered })
    }
}

impl<T> Sampler<T> {
    /// What the thread got.
    pub(crate) fn entered(&self) -> &Entered {
        &self.entered
    }

    pub(crate) fn let_measure(&mut self) {
        // If the thread is gone, `finish` tells.
        let _ = self.go.take().map(|go| go.send(()));
    }

    /// True if it measures no more.
    pub(crate) fn is_done(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Samples since the last call.
    pub(crate) fn drain_samples(&self, samples: &mut Vec<Sample>) {
        self.control.ring.drain_samples(samples);
    }

    /// Samples that found no room.
    pub(crate) fn nr_lost(&self) -> u64 {
        self.control.ring.nr_lost.load(Ordering::Relaxed)
    }

    /// Ask it to end.
    pub(crate) fn ask_to_stop(&self) {
        self.control.stop.store(true, Ordering::Relaxed);
    }

    /// End it, out of a wait too; `None` if it never measured. Samples may still be drained
    /// afterwards.
    pub(crate) fn stop_thread(&mut self) -> Option<T> {
        self.control.stop.store(true, Ordering::Relaxed);
        drop(self.go.take());
        let thread = self.thread.take()?;
        while !thread.is_finished() {
            realtime::wake_thread(self.entered.tid);
            thread::sleep(PATIENCE);
        }
        thread.join().ok().flatten()
    }
}

impl<T> Drop for Sampler<T> {
    fn drop(&mut self) {
        self.stop_thread();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::Scheduling;
    use rustix::thread::{CpuSet, sched_getaffinity};
    use std::io::Read as _;

    #[test]
    fn a_full_ring_counts_what_it_cannot_keep() {
        let ring = Ring::new(4);
        let mut samples = Vec::new();
        (0..6).for_each(|n| ring.push((n, n * 10)));
        ring.drain_samples(&mut samples);
        assert_eq!(samples, [(0, 0), (1, 10), (2, 20), (3, 30)]);
        assert_eq!(ring.nr_lost.load(Ordering::Relaxed), 2);
        ring.push((7, 70));
        samples.clear();
        ring.drain_samples(&mut samples);
        assert_eq!(samples, [(7, 70)]);
    }

    fn realtime() -> Realtime {
        let allowed = sched_getaffinity(None).unwrap();
        let cpu = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).unwrap() as u16;
        Realtime { cpu, sched: Scheduling::other(0) }
    }

    #[test]
    fn every_sample_arrives_in_order_and_a_blocked_thread_ends() {
        let (mut never, _kept_open) = io::pipe().unwrap();
        let measure = move |(), control: &Control| {
            for n in 0..1_000 {
                control.ring.push((n, 0));
            }
            let mut nr_woken = 0;
            while !control.is_stopped() {
                let error = never.read(&mut [0]).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::Interrupted);
                nr_woken += 1;
            }
            nr_woken
        };
        let mut sampler =
            Sampler::start_thread("test", realtime(), || Ok::<(), ()>(()), measure).unwrap();
        sampler.let_measure();
        let mut samples = Vec::new();
        while samples.len() < 1_000 {
            sampler.drain_samples(&mut samples);
            thread::yield_now();
        }
        assert!(samples.iter().map(|s| s.0).eq(0..1_000));
        assert!(!sampler.is_done());
        // A signal that comes before the read began is followed by another one.
        assert!(sampler.stop_thread().is_some());
        assert!(sampler.is_done() && sampler.nr_lost() == 0);
    }

    #[test]
    fn a_thread_that_was_not_let_go_measures_nothing() {
        let mut sampler =
            Sampler::start_thread("test", realtime(), || Ok::<(), ()>(()), |(), _| 1).unwrap();
        assert_eq!(sampler.stop_thread(), None);
    }

    #[test]
    fn what_fails_before_measuring_is_told() {
        let prepare = || Err::<(), _>("no device");
        let failed = Sampler::start_thread("test", realtime(), prepare, |(), _| ());
        assert!(matches!(failed, Err(Failed::Prepare("no device"))));
        let nowhere = Realtime { cpu: 1000, ..realtime() };
        let failed = Sampler::start_thread("test", nowhere, || Ok::<(), ()>(()), |(), _| ());
        assert!(matches!(failed, Err(Failed::Cpu(_))));
    }
}
