// SPDX-License-Identifier: GPL-2.0-or-later
//! What all scenes share: the target, the tracer around it, and the comparison.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use irqpath_analysis::{Engine, EngineConfig};
use irqpath_model::{Cause, CauseKind, Names, Point, SlowPath};
use irqpath_source::bpf::BpfSource;
use irqpath_source::{Config, Source, SourceError};
use irqpath_system::Host;

/// The CPU that everything happens on; the tracer stays off it.
pub const CPU: usize = 1;
/// Paths from this length on are looked at.
pub const SLOW_NS: u64 = 400_000;
const TARGET_PRIO: u32 = 10;
/// Shorter gaps are the cost of reading the clock.
const GAP_NS: u64 = 3_000;

/// Scenes disturb each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A stretch of time that the disturber says it took, `CLOCK_MONOTONIC` ns.
#[derive(Debug, Clone, Copy)]
pub struct Busy {
    pub start_ns: u64,
    pub end_ns: u64,
}

impl Busy {
    pub fn overlap_ns(&self, start_ns: u64, end_ns: u64) -> u64 {
        self.end_ns.min(end_ns).saturating_sub(self.start_ns.max(start_ns))
    }
}

pub fn now_ns() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

pub fn pin_thread(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).expect("pin to a CPU");
}

/// Give the calling thread a FIFO priority by util-linux's chrt, which every Debian has.
pub fn set_fifo(prio: u32) {
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    let done = Command::new("chrt")
        .args(["-f", "-p", &prio.to_string(), &tid.to_string()])
        .status()
        .expect("run chrt");
    assert!(done.success(), "chrt -f -p {prio} {tid}");
}

/// Let this process open as many files as the host allows; returns how many.
pub fn raise_nofile() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let hard = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard });
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |n| n as usize)
}

/// A real-time task that sleeps on a timer, over and over.
pub struct Target {
    pub tid: u32,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Target {
    pub fn start(period: Duration) -> Self {
        let (stop, tid) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let (stop2, tid2) = (Arc::clone(&stop), Arc::clone(&tid));
        let body = move || {
            pin_thread(CPU);
            set_fifo(TARGET_PRIO);
            let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            tid2.store(me, Ordering::Release);
            while !stop2.load(Ordering::Acquire) {
                std::thread::sleep(period);
            }
        };
        let thread = std::thread::Builder::new().name("truth-target".into()).spawn(body);
        while tid.load(Ordering::Acquire) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        Self { tid: tid.load(Ordering::Acquire), stop, thread: thread.ok() }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Run `disturb` on a thread of its own while the target is traced. Returns the slow paths and
/// what the disturber says it did; `None` where this machine cannot show it.
pub fn trace_target<T: Send + 'static>(
    period: Duration,
    disturb: impl FnOnce() -> T + Send + 'static,
) -> Option<(Vec<SlowPath>, T, MutexGuard<'static, ()>)> {
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Err(error) = Host::real().may_trace() {
        println!("skipped: {error}");
        return None;
    }
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        println!("skipped: needs two CPUs");
        return None;
    }
    let target = Target::start(period);
    let config =
        Config { threshold_ns: Some(SLOW_NS), tids: vec![target.tid], ..Config::default() };
    let mut source = match BpfSource::open(&config) {
        Ok(source) => source,
        Err(error @ SourceError::NoBtf(_)) => {
            println!("skipped: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    pin_thread(0);
    let mut engine = Engine::new(
        EngineConfig { threshold_ns: Some(SLOW_NS), ..EngineConfig::default() },
        Names::default(),
    );
    let mut slow = Vec::new();
    let worker = std::thread::spawn(disturb);
    while !worker.is_finished() {
        for event in source.poll_events(Duration::from_millis(20)).expect("poll") {
            engine.push(event);
        }
        slow.extend(engine.drain());
    }
    let (rest, snapshot) = source.finish().expect("finish");
    for event in rest {
        engine.push(event);
    }
    slow.extend(engine.flush());
    println!("{} slow paths, lost {:?}", slow.len(), snapshot.loss.0);
    Some((slow, worker.join().expect("the disturber's own thread"), guard))
}

/// Time of the causes that `wanted` picks, in the stage that waits for the CPU.
pub fn cause_ns(path: &SlowPath, wanted: impl Fn(&Cause) -> bool) -> u64 {
    path.stages
        .iter()
        .filter(|s| s.to == Point::SwitchIn)
        .flat_map(|s| &s.causes)
        .filter(|c| wanted(c))
        .map(|c| c.ns)
        .sum()
}

/// Interrupts of any kind: what a task sees as a gap. The host's own come in between too.
pub fn is_interrupt(cause: &Cause) -> bool {
    matches!(cause.kind, CauseKind::Hardirq | CauseKind::Softirq | CauseKind::Nmi)
        || (cause.kind == CauseKind::Own && !cause.who.contains("truth"))
}

/// The cause with the most time in that stage.
pub fn main_cause(path: &SlowPath) -> &Cause {
    let stage = path.stages.iter().find(|s| s.to == Point::SwitchIn).expect("switched in");
    stage.causes.first().expect("a stage has a cause")
}

/// Read the clock until `end_ns`, as the task that occupies the CPU. Returns the gaps: what
/// interrupted it.
pub fn watch_until(end_ns: u64) -> Vec<Busy> {
    let mut gaps = Vec::new();
    let mut last_ns = now_ns();
    while last_ns < end_ns {
        let ns = now_ns();
        if ns - last_ns > GAP_NS {
            gaps.push(Busy { start_ns: last_ns, end_ns: ns });
        }
        last_ns = ns;
    }
    gaps
}

/// How much of a list of stretches falls into `wait`.
pub fn overlap_ns(list: &[Busy], wait: Busy) -> u64 {
    list.iter().map(|b| b.overlap_ns(wait.start_ns, wait.end_ns)).sum()
}

/// The stage from the wakeup to the CPU, as absolute times; `None` for a target that was still
/// running when it was woken.
pub fn waiting_span(path: &SlowPath) -> Option<Busy> {
    let span = path.record.stages().into_iter().find(|s| s.to == Point::SwitchIn)?;
    Some(Busy { start_ns: span.start.ns, end_ns: span.end.ns })
}

/// Compare every slow path with the truth, given as the least and the most it can be.
///
/// At least `at_least` paths must have been disturbed for `long_ns` or more, and nine of ten of those must agree
/// within 5 %: a hypervisor may take the CPU away in between, which is in the disturber's clock
/// reads but in nobody's interrupts.
pub fn expect_agreement(
    slow: &[SlowPath],
    at_least: usize,
    long_ns: u64,
    truth: impl Fn(Busy) -> (u64, u64),
    measured: impl Fn(&SlowPath) -> u64,
) {
    let (mut nr_checked, mut nr_wrong) = (0, 0);
    for path in slow {
        let Some(wait) = waiting_span(path) else { continue };
        let (least_ns, most_ns) = truth(wait);
        if least_ns < long_ns {
            continue; // slow for another reason; the host has its own life
        }
        nr_checked += 1;
        let measured_ns = measured(path);
        if measured_ns < least_ns - least_ns / 20 || measured_ns > most_ns + most_ns / 20 {
            nr_wrong += 1;
            println!("truth {least_ns}..{most_ns} ns, attributed {measured_ns} ns");
        }
    }
    println!("{} of {nr_checked} paths agree with the truth", nr_checked - nr_wrong);
    assert!(nr_checked >= at_least, "only {nr_checked} disturbed paths, expected {at_least}");
    assert!(nr_wrong * 10 <= nr_checked, "{nr_wrong} of {nr_checked} disagree");
}
