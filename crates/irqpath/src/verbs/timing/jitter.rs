// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath jitter`: let a task compute on each CPU, or look at the clock, and show what came in
//! between.
//!
//! Rule: the tasks may hold every CPU that there is, so they end by themselves; this thread only
//! fetches what they leave.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::ensure;
use irqpath_analysis::jitter::{InterruptionEngine, Looker, summarize_loops};
use irqpath_model::{
    CauseKind, IdealSource, InterruptionCause, Interruptions, Jitter, Loops, Measured, Meta,
    Missing, Names, Scheduling, Summary,
};
use irqpath_report::text::{format_us, write_jitter};
use irqpath_source::jitter::{JitterConfig, JitterEnd, Subject, Test, nr_sines_for};
use irqpath_source::realtime::now_ns;
use irqpath_source::{Config, Source};
use irqpath_system::{Host, RtReserve};

use super::args::{self as cli, JitterWhat};
use super::conditions::{self, Held, Traced};
use crate::host::signals::{self, Stop};
use crate::host::{cpus, meta};
use crate::output::exit;
use crate::output::export::text_options;
use crate::output::files::ResultFiles;
use crate::output::progress::Progress;
use crate::session;

/// How often samples are fetched.
const STEP: Duration = Duration::from_millis(50);
/// Interruptions at least this long count if nobody says, ns.
const DEFAULT_THRESHOLD_NS: u64 = 5_000;

pub fn run(arguments: &cli::Jitter) -> anyhow::Result<ExitCode> {
    arguments.output.check_targets()?;
    let host = Host::real();
    let on = cpus::choose_cpus(&host, arguments.task.cpus.as_ref())?;
    let is_apart = cpus::keep_off(&on)?;
    let stop = signals::listen()?;
    let test = choose_test(&arguments.what);
    let config = |cpu| JitterConfig {
        test,
        cpu,
        sched: arguments.task.priority,
        duration: arguments.task.duration,
    };
    let subjects = on.iter().map(|cpu| Subject::start(&config(cpu)));
    let mut subjects = subjects.collect::<Result<Vec<_>, _>>()?;
    let files = ResultFiles::open(&arguments.output)?;
    let names = Names { irqs: host.irq_names()?, ..Names::default() };
    let mut meta = meta::collect_before(&host, names);
    let mut tracer = Tracer::open(&host, &arguments.what, &subjects);
    let held = Held::take(&arguments.task)?;
    let traced = if tracer.source.is_some() { Traced::Plain } else { Traced::No };
    conditions::confine_process(&arguments.output, traced, false)?;
    meta.before = host.interrupt_counts().unwrap_or_default();

    let started = Instant::now();
    let found = match test {
        Test::Sines(nr) => measure_loops(&mut subjects, nr, arguments, &stop),
        Test::Looks(_) => measure_looks(&mut subjects, &mut tracer, arguments, &meta, &stop)?,
    };
    meta.duration_ns = started.elapsed().as_nanos() as u64;
    meta.after = host.interrupt_counts().unwrap_or_default();
    let mut summary = tracer.finish(&mut meta);
    ensure!(
        found.iter().any(|j| j.loops.is_some() || j.interruptions.is_some()),
        "ended before the first loop was complete; ask for a shorter --loop"
    );
    summary.measured = Measured::Jitter { jitter: found };
    let in_force = subjects.first().map(Subject::sched);
    let refused = subjects.iter().flat_map(|s| s.missing().to_vec());
    let all = summary.missing.into_iter().chain(refused).chain(held.missing.clone());
    summary.missing = conditions::distinct_missing(all);
    let sched = in_force.unwrap_or(arguments.task.priority);
    let mut effects = vec![conditions::effect_of_tasks(&on, sched, "never slept")];
    let traced = summary.jitter().iter().filter_map(|j| j.interruptions.as_ref());
    let causes: Vec<_> = traced.flat_map(|all| all.causes.iter().cloned()).collect();
    effects.extend(describe_reserve(host.rt_reserve(), sched, &causes));
    held.give_back(effects, is_apart, &mut meta);
    let what = &arguments.what;
    files.commit_and_print(&meta, &summary, &stop, |w| {
        write_jitter(w, &meta, &summary, what.list, &text_options())
    })?;
    let found = summary.jitter().iter().filter_map(|j| j.interruptions.as_ref());
    let exceeded = what.threshold.is_some() && found.map(|a| a.quantiles.n).sum::<u64>() > 0;
    Ok(if exceeded { ExitCode::from(exit::EXCEEDED) } else { ExitCode::SUCCESS })
}

fn choose_test(what: &JitterWhat) -> Test {
    if what.continuous {
        return Test::Looks(what.threshold.unwrap_or(DEFAULT_THRESHOLD_NS));
    }
    Test::Sines(what.sines.unwrap_or_else(|| nr_sines_for(what.length)))
}

/// What the kernel does to a real-time task that never sleeps, and whom it let run instead.
fn describe_reserve(
    reserve: Option<RtReserve>,
    sched: Scheduling,
    causes: &[InterruptionCause],
) -> Option<String> {
    let reserve = reserve.filter(|_| sched.fixed_priority() > 0)?;
    let (by, mut text) = match reserve {
        RtReserve::Throttling { for_others_us, period_us } => (
            "Throttling",
            format!(
                "The kernel keeps {for_others_us} us of every {period_us} us for other tasks that \
                 wait for such a CPU (RT throttling, sched_rt_runtime_us)."
            ),
        ),
        RtReserve::FairServer { runtime_ns } => {
            let ms = runtime_ns.map(|ns| format!("{} ms", ns / 1_000_000));
            let part = ms.unwrap_or_else(|| "a part (50 ms if nobody changed it)".to_owned());
            let text = format!(
                "The fair server of the kernel gives ordinary tasks that wait for such a CPU {part} \
                 of every second."
            );
            ("The fair server", text)
        }
    };
    let did: Vec<String> = let_run(causes).into_iter().chain(left_idle(causes)).collect();
    if !did.is_empty() {
        text.extend([" ", by, " ", &did.join(", and "), "."]);
    }
    Some(text)
}

/// Ordinary tasks ran on a CPU that a real-time task never gave up: only the kernel's reserve lets
/// them.
fn let_run(causes: &[InterruptionCause]) -> Option<String> {
    let is_ordinary = |who: &str| {
        let sched = who.rsplit(' ').next().unwrap_or_default();
        ["o:", "b:", "idle"].iter().any(|class| sched.starts_with(class))
    };
    let is_let_run = |c: &&InterruptionCause| c.kind == CauseKind::Thread && is_ordinary(&c.who);
    let mut tasks: Vec<_> = causes.iter().filter(is_let_run).collect();
    tasks.sort_by_key(|cause| std::cmp::Reverse(cause.total_ns));
    let first = tasks.first()?;
    let others = match tasks.len() - 1 {
        0 => String::new(),
        1 => " and another task".to_owned(),
        nr => format!(" and {nr} other tasks"),
    };
    let (total, max) = format_sums(&tasks);
    Some(format!("let {}{others} run for {total} us, {max} us at once", first.who))
}

/// The kernel held the task off although nobody else wanted the CPU.
fn left_idle(causes: &[InterruptionCause]) -> Option<String> {
    let idle: Vec<_> = causes.iter().filter(|c| c.kind == CauseKind::Idle).collect();
    let (total, max) = format_sums(&idle);
    (!idle.is_empty()).then(|| format!("left the CPU idle for {total} us, {max} us at once"))
}

/// Their time together and the longest at once, us.
fn format_sums(causes: &[&InterruptionCause]) -> (String, String) {
    let total = causes.iter().map(|cause| cause.total_ns).sum();
    let max = causes.iter().map(|cause| cause.max_ns).max().unwrap_or(0);
    (format_us(total), format_us(max))
}

/// Wait until every task is done, and give each of their samples to `take`.
fn fetch_samples(
    subjects: &mut [Subject],
    duration: Duration,
    stop: &Stop,
    mut take: impl FnMut(&mut [Subject], Duration) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let progress = Progress::start("measuring", Some(duration));
    for subject in subjects.iter_mut() {
        subject.let_measure();
    }
    while !subjects.iter().all(Subject::is_done) {
        if stop.is_requested() {
            for subject in subjects.iter() {
                subject.ask_to_stop();
            }
        }
        take(subjects, STEP)?;
        progress.tick();
    }
    Ok(())
}

fn measure_loops(
    subjects: &mut [Subject],
    nr_sines: u64,
    arguments: &cli::Jitter,
    stop: &Stop,
) -> Vec<Jitter> {
    let mut durations: Vec<Vec<u64>> = vec![Vec::new(); subjects.len()];
    let mut drain = |subjects: &mut [Subject]| {
        for (subject, of) in subjects.iter_mut().zip(&mut durations) {
            subject.drain_samples(|start_ns, end_ns| of.push(end_ns - start_ns));
        }
    };
    // Nothing in it can fail.
    let _ = fetch_samples(subjects, arguments.task.duration, stop, |subjects, step| {
        std::thread::sleep(step);
        drain(subjects);
        Ok(())
    });
    let ends: Vec<JitterEnd> = subjects.iter_mut().map(Subject::stop).collect();
    drain(subjects);
    let given = arguments.what.ideal.map(|ideal| (ideal.as_nanos() as u64, IdealSource::Given));
    let shortest = durations.iter().flatten().min().copied().unwrap_or(0);
    let ideal = given.unwrap_or((shortest, IdealSource::Best));
    let of = |((subject, durations), end): ((&Subject, &Vec<u64>), &JitterEnd)| {
        let found = summarize_loops(durations, nr_sines, ideal);
        let loops = found.map(|found| Loops { nr_lost: end.nr_lost, ..found });
        Jitter { loops, ..summarize_jitter(subject) }
    };
    subjects.iter().zip(&durations).zip(&ends).map(of).collect()
}

fn summarize_jitter(subject: &Subject) -> Jitter {
    Jitter {
        cpu: subject.cpu(),
        tid: subject.tid(),
        sched: subject.sched().to_string(),
        loops: None,
        interruptions: None,
    }
}

fn measure_looks(
    subjects: &mut [Subject],
    tracer: &mut Tracer,
    arguments: &cli::Jitter,
    meta: &Meta,
    stop: &Stop,
) -> anyhow::Result<Vec<Jitter>> {
    let lookers: Vec<Looker> =
        subjects.iter().map(|s| Looker { cpu: s.cpu(), tid: s.tid() }).collect();
    // Both clocks are CLOCK_MONOTONIC.
    let since_ns = tracer.source.is_some().then_some(tracer.since_ns);
    let mut engine = InterruptionEngine::new(&lookers, since_ns, meta.names.clone());
    let drain = |subjects: &mut [Subject], engine: &mut InterruptionEngine| {
        for subject in subjects {
            let cpu = subject.cpu();
            subject
                .drain_samples(|start_ns, end_ns| engine.add_interruption(cpu, start_ns, end_ns));
        }
    };
    fetch_samples(subjects, arguments.task.duration, stop, |subjects, step| {
        tracer.poll_source(step, &mut engine)?;
        drain(subjects, &mut engine);
        engine.settle_windows();
        Ok(())
    })?;
    let ends: Vec<JitterEnd> = subjects.iter_mut().map(Subject::stop).collect();
    drain(subjects, &mut engine);
    tracer.detach_source(&mut engine, ends.iter().map(|end| end.cpu_ns).sum())?;
    engine.flush();
    for (reason, n) in engine.loss().0 {
        tracer.summary.loss.add_loss(reason, n);
    }
    let threshold_ns = arguments.what.threshold.unwrap_or(DEFAULT_THRESHOLD_NS);
    let of = |(subject, end): (&Subject, &JitterEnd)| {
        let interruptions =
            engine.take_result(subject.cpu(), end.since_ns).map(|found| Interruptions {
                threshold_ns,
                look_ns: end.look_ns,
                nr_looks: end.nr_looks,
                lasted_ns: end.lasted_ns,
                nr_lost: end.nr_lost,
                ..found
            });
        Jitter { interruptions, ..summarize_jitter(subject) }
    };
    Ok(subjects.iter().zip(&ends).map(of).collect())
}

/// The tracer, where it was asked for and can be had.
struct Tracer {
    source: Option<Box<dyn Source>>,
    summary: Summary,
    since_ns: u64,
    started: Instant,
}

impl Tracer {
    fn open(host: &Host, what: &JitterWhat, subjects: &[Subject]) -> Self {
        let mut summary = Summary::from_measured(Measured::default());
        let mut source = None;
        if what.continuous && !what.no_causes {
            match open_source(host, subjects) {
                Ok(opened) => source = Some(opened),
                Err(missing) => summary.missing.push(missing),
            }
        }
        Self { source, summary, since_ns: now_ns(), started: Instant::now() }
    }

    fn poll_source(
        &mut self,
        timeout: Duration,
        engine: &mut InterruptionEngine,
    ) -> anyhow::Result<()> {
        let Some(source) = &mut self.source else {
            std::thread::sleep(timeout);
            return Ok(());
        };
        for event in source.poll_events(timeout)? {
            engine.push(event);
        }
        Ok(())
    }

    /// Take over the last transitions. The tasks that looked at the clock took `looking_ns` of CPU
    /// time, which tracing did not cost.
    fn detach_source(
        &mut self,
        engine: &mut InterruptionEngine,
        looking_ns: u64,
    ) -> anyhow::Result<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        let (events, snapshot) = source.finish()?;
        for event in events {
            engine.push(event);
        }
        self.summary.loss = snapshot.loss;
        self.summary.overhead = snapshot.overhead;
        let overhead = &mut self.summary.overhead;
        session::add_own_cost(overhead);
        overhead.process_cpu_ns = overhead.process_cpu_ns.saturating_sub(looking_ns);
        self.summary.missing.extend(snapshot.missing);
        Ok(())
    }

    /// The part of the result that tracing gives.
    fn finish(self, meta: &mut Meta) -> Summary {
        if self.source.is_some() {
            let overhead = &self.summary.overhead;
            meta.observer_effects = meta::observer_effects(true, overhead, self.started.elapsed());
        }
        self.summary
    }
}

fn open_source(host: &Host, subjects: &[Subject]) -> Result<Box<dyn Source>, Missing> {
    let tids = subjects.iter().map(Subject::tid).collect();
    // Every transition is wanted; of paths only those to the tasks, which never sleep.
    let config = Config {
        record_all: true,
        tids,
        no_user: true,
        // In a partition this thread shares the CPU with what it measures.
        look_every: Some(STEP),
        ..Config::default()
    };
    conditions::open_tracer(host, &config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_reserve_and_whom_it_let_run_are_named() {
        let cause = |kind, who: &str, total_ns| InterruptionCause {
            kind,
            who: who.to_owned(),
            n: 2,
            total_ns,
            max_ns: total_ns / 2,
        };
        let causes = [
            cause(CauseKind::Thread, "hog:7 o:0", 90_000_000),
            cause(CauseKind::Thread, "migration/1:20 f:99", 5_000),
            cause(CauseKind::Thread, "sh:8 b:5", 10_000_000),
            cause(CauseKind::Hardirq, "LOC:local_timer", 7_000_000),
        ];
        let server = |runtime_ns| Some(RtReserve::FairServer { runtime_ns });
        let throttling = RtReserve::Throttling { for_others_us: 50_000, period_us: 1_000_000 };
        let said = |reserve| describe_reserve(reserve, Scheduling::fifo(80), &causes);
        let whom = "let hog:7 o:0 and another task run for 100 000 us, 45 000 us at once.";
        for (reserve, parts) in [
            (server(Some(50_000_000)), ["50 ms of every second", "The fair server let"]),
            (server(None), ["50 ms if nobody changed it", "The fair server let"]),
            (Some(throttling), ["50000 us of every 1000000 us", "Throttling let"]),
        ] {
            let text = said(reserve).unwrap();
            assert!(text.ends_with(whom) && parts.iter().all(|p| text.contains(p)), "{text}");
        }
        assert_eq!(said(None), None);
        assert_eq!(describe_reserve(server(None), Scheduling::other(0), &causes), None);
        let text = describe_reserve(Some(throttling), Scheduling::fifo(80), &[]).unwrap();
        assert!(!text.contains(" let "), "{text}");
        let idle = cause(CauseKind::Idle, "idle", 8_096_000);
        for (causes, end) in [
            (vec![idle.clone()], " Throttling left the CPU idle for 8 096 us, 4 048 us at once."),
            (
                vec![causes[0].clone(), idle],
                " Throttling let hog:7 o:0 run for 90 000 us, 45 000 us at once, and left the CPU \
                 idle for 8 096 us, 4 048 us at once.",
            ),
        ] {
            let text = describe_reserve(Some(throttling), Scheduling::fifo(80), &causes).unwrap();
            assert!(text.ends_with(end), "{text}");
        }
    }
}
