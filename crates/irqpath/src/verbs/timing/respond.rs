// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath respond`: start the tasks, let them wait for interrupts, and count how late they are.
//!
//! Rule: whatever can be refused is refused before the first task measures. What the user may not
//! have (priority, locked memory, tracing) is named in the result, and the test goes on without.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::ensure;
use irqpath_analysis::response::ResponseCounter;
use irqpath_model::{
    CpuList, InterruptCounts, Measured, Meta, Missing, Names, Response, ResponseSource, SlowPath,
    Summary,
};
use irqpath_report::text::write_response;
use irqpath_source::Config;
use irqpath_source::respond::{Ended, RespondConfig, Respondent};
use irqpath_system::Host;

use super::args::{Respond, RespondWhat};
use super::conditions::{self, Held, Traced};
use crate::host::names::{KnownNames, Lookup};
use crate::host::signals::{self, Stop};
use crate::host::{cpus, meta};
use crate::output::export::text_options;
use crate::output::files::ResultFiles;
use crate::output::progress::Progress;
use crate::output::streams::Streams;
use crate::output::{console, exit};
use crate::session::{Session, Threshold};

/// How often samples are fetched.
const STEP: Duration = Duration::from_millis(50);
/// Slow paths kept with their causes.
const MAX_SLOW: usize = 20;

pub fn run(arguments: &Respond) -> anyhow::Result<ExitCode> {
    arguments.output.check_targets()?;
    let host = Host::real();
    let on = cpus::choose_cpus(&host, arguments.task.cpus.as_ref())?;
    ensure!(
        on.len() == 1 || is_timer(arguments.what.source),
        "--source {} is one device with one interrupt; give one CPU",
        arguments.what.source
    );
    let is_apart = cpus::keep_off(&on)?;
    let stop = signals::listen()?;
    let mut tasks =
        on.iter().map(|cpu| Waiting::start(arguments, cpu)).collect::<Result<Vec<_>, _>>()?;
    let files = ResultFiles::open(&arguments.output)?;
    let mut meta =
        meta::collect_before(&host, Names { irqs: host.irq_names()?, ..Names::default() });
    let mut tracer = Tracer::open(&host, &arguments.what, &tasks)?;
    let held = Held::take(&arguments.task)?;
    let traced = if tracer.session.is_some() { Traced::WithSymbols } else { Traced::No };
    conditions::confine_process(&arguments.output, traced, !is_timer(arguments.what.source))?;
    meta.before = host.interrupt_counts().unwrap_or_default();

    wait_for_end(&mut tasks, &mut tracer, arguments, &stop)?;
    // Before the tasks end, because some lines end with them.
    meta.after = host.interrupt_counts().unwrap_or_default();
    let ended = Waiting::stop_all(&mut tasks);
    meta.duration_ns = tracer.started.elapsed().as_nanos() as u64;
    let lines = Lines::from_host(&host, &meta);
    // Only now: to take the tracer down disturbs whoever still measures.
    let (mut summary, slow) = tracer.finish(&mut meta)?;
    let effects: Vec<String> =
        tasks.first().map(|waiting| describe_effect(&on, &waiting.task)).into_iter().collect();
    let mut response = Vec::new();
    for (task, ended) in tasks.into_iter().zip(ended) {
        summary.missing.extend(task.task.missing().iter().cloned());
        response.push(task.into_response(ended, &arguments.what, &lines)?);
    }
    summary.measured = Measured::Response { response, slow };
    summary.missing =
        conditions::distinct_missing(summary.missing.into_iter().chain(held.missing.clone()));
    held.give_back(effects, is_apart, &mut meta);
    files.commit_and_print(&meta, &summary, &stop, |w| {
        write_response(w, &meta, &summary, &text_options())
    })?;
    let exceeded = summary.response().iter().any(|r| r.exceeded.is_some());
    Ok(if exceeded { ExitCode::from(exit::EXCEEDED) } else { ExitCode::SUCCESS })
}

const fn is_timer(source: ResponseSource) -> bool {
    matches!(source, ResponseSource::Timer | ResponseSource::Timerfd)
}

/// A task and what was counted about it.
struct Waiting {
    task: Respondent,
    cpu: u16,
    counter: ResponseCounter,
}

impl Waiting {
    fn start(arguments: &Respond, cpu: u16) -> anyhow::Result<Self> {
        let task = Respondent::start(&RespondConfig {
            source: arguments.what.source,
            device: arguments.what.device.clone(),
            hz: arguments.what.frequency,
            cpu,
            sched: arguments.task.priority,
            threshold_ns: arguments.what.threshold,
        })?;
        Ok(Self { task, cpu, counter: ResponseCounter::default() })
    }

    fn drain_responses(&mut self) {
        let Self { task, counter, .. } = self;
        task.drain_responses(|ns| counter.record(ns));
    }

    /// End all of them. They are asked at the same time, so that none measures while others are
    /// waited for.
    fn stop_all(all: &mut [Self]) -> Vec<Ended> {
        for waiting in all.iter() {
            waiting.task.ask_to_stop();
        }
        let stop = |waiting: &mut Self| {
            let ended = waiting.task.stop();
            waiting.drain_responses();
            ended
        };
        all.iter_mut().map(stop).collect()
    }

    /// The test that it made.
    fn into_response(
        self,
        ended: Ended,
        what: &RespondWhat,
        lines: &Lines,
    ) -> anyhow::Result<Response> {
        let Ended { nr_missed, nr_early, nr_lost, exceeded, error } = ended;
        let quantiles = self.counter.histogram.quantiles();
        match error {
            Some(error) if quantiles.n == 0 => return Err(error.into()),
            Some(error) => console::print_note(&error.to_string()),
            None => {}
        }
        let facts = self.task.facts();
        let stand_in = (what.source == ResponseSource::Rtc)
            .then(|| stand_in(lines.nr_since(&facts.lines), quantiles.n))
            .flatten();
        Ok(Response {
            source: what.source,
            origin: facts.origin.clone(),
            stand_in: stand_in.map(str::to_owned),
            basis: what.source.time_basis(),
            cpu: self.cpu,
            tid: self.task.tid(),
            sched: self.task.sched().to_string(),
            period_ns: facts.period_ns,
            quantiles,
            table: self.counter.table.buckets(),
            doubling: self.counter.doubling.buckets(),
            histogram: self.counter.histogram,
            nr_missed,
            nr_early,
            nr_lost,
            threshold_ns: what.threshold,
            exceeded,
        })
    }
}

/// What such tasks mean for their CPUs: as it was, and not as it was asked for.
fn describe_effect(cpus: &CpuList, task: &Respondent) -> String {
    let hz = format!("{:.2}", 1e9 / task.facts().period_ns.max(1) as f64);
    let hz = hz.trim_end_matches('0').trim_end_matches('.');
    conditions::effect_of_tasks(cpus, task.sched(), &format!("woken {hz} times a second"))
}

/// What interrupted in the place of an RTC whose line counted `nr_line` interrupts while the task
/// was woken `nr_woken` times.
const fn stand_in(nr_line: u64, nr_woken: u64) -> Option<&'static str> {
    if nr_line.saturating_mul(2) < nr_woken {
        return Some("an hrtimer of the RTC core, as for --source timer");
    }
    // drivers/rtc/rtc-cmos.c, CONFIG_HPET_EMULATE_RTC: the HPET has the RTC's line, and looks at
    // the RTC 64 times a second.
    if nr_line > nr_woken.saturating_mul(8) {
        return Some("the HPET, which looks at the RTC 64 times a second");
    }
    None
}

/// Interrupts counted while the test ran, by the names of lines.
struct Lines {
    names: Names,
    before: InterruptCounts,
    after: InterruptCounts,
}

impl Lines {
    fn from_host(host: &Host, meta: &Meta) -> Self {
        let names = Names { irqs: host.irq_names().unwrap_or_default(), ..Names::default() };
        Self { names, before: meta.before.clone(), after: meta.after.clone() }
    }

    fn nr_since(&self, wanted: &[String]) -> u64 {
        let is_wanted =
            |name: &str| name.split(',').any(|part| wanted.iter().any(|line| line == part.trim()));
        let sum = |counts: &InterruptCounts, nr: u32| {
            counts.interrupts.get(&nr.to_string()).map_or(0, |row| row.iter().sum::<u64>())
        };
        let lines = self.names.irqs.iter().filter(|(_, name)| is_wanted(name));
        lines.map(|(&nr, _)| sum(&self.after, nr).saturating_sub(sum(&self.before, nr))).sum()
    }
}

/// The tracer, where it was asked for and can be had.
struct Tracer {
    session: Option<Session>,
    missing: Option<Missing>,
    started: Instant,
}

impl Tracer {
    fn open(host: &Host, what: &RespondWhat, tasks: &[Waiting]) -> anyhow::Result<Self> {
        let none = |missing| Self { session: None, missing, started: Instant::now() };
        let is_wanted = what.causes || (what.threshold.is_some() && !what.no_causes);
        if !is_wanted {
            return Ok(none(None));
        }
        // No threshold: the response that ends the test is the longest so far in any case, and
        // each new maximum of a path is explained.
        let tids = tasks.iter().map(|waiting| waiting.task.tid()).collect();
        let config = Config { tids, ..Config::default() };
        let source = match conditions::open_tracer(host, &config) {
            Ok(source) => source,
            Err(missing) => return Ok(none(Some(missing))),
        };
        let names = KnownNames::live(host, Lookup::AtTheEnd)?;
        let session = Session::start(source, names, Streams::default(), Threshold::default());
        Ok(Self { session: Some(session), missing: None, started: Instant::now() })
    }

    fn poll_session(&mut self, timeout: Duration) -> anyhow::Result<()> {
        match &mut self.session {
            Some(session) => session.poll_source(timeout)?,
            None => std::thread::sleep(timeout),
        }
        Ok(())
    }

    /// The part of the result that tracing gives: loss and overhead, and the slowest paths with
    /// their causes.
    fn finish(self, meta: &mut Meta) -> anyhow::Result<(Summary, Vec<SlowPath>)> {
        let mut summary = Summary::from_measured(Measured::default());
        summary.missing.extend(self.missing);
        let Some(session) = self.session else { return Ok((summary, Vec::new())) };
        let traced = session.finish()?;
        meta.names.clone_from(&traced.names);
        let overhead = &traced.summary.overhead;
        meta.observer_effects = meta::observer_effects(false, overhead, traced.duration);
        let mut slow = traced.summary.slow().to_vec();
        slow.sort_by_key(|path| std::cmp::Reverse(path.record.total_ns()));
        slow.truncate(MAX_SLOW);
        summary.loss = traced.summary.loss;
        summary.overhead = traced.summary.overhead;
        summary.missing.extend(traced.summary.missing);
        Ok((summary, slow))
    }
}

/// Let them measure until it is over.
fn wait_for_end(
    tasks: &mut [Waiting],
    tracer: &mut Tracer,
    arguments: &Respond,
    stop: &Stop,
) -> anyhow::Result<()> {
    let duration = arguments.task.duration;
    let progress = Progress::start("waiting for interrupts", Some(duration));
    let started = Instant::now();
    tracer.started = started;
    for waiting in tasks.iter_mut() {
        waiting.task.let_measure();
    }
    while !stop.is_requested() && !tasks.iter().any(|waiting| waiting.task.is_done()) {
        let left = duration.saturating_sub(started.elapsed());
        if left.is_zero() {
            break;
        }
        tracer.poll_session(left.min(STEP))?;
        tasks.iter_mut().for_each(Waiting::drain_responses);
        progress.tick();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_who_interrupted() {
        for (nr_line, nr_woken, want) in
            [(0, 1_000, "hrtimer"), (1, 1_000, "hrtimer"), (5, 5, ""), (193, 3, "HPET"), (0, 0, "")]
        {
            let got = stand_in(nr_line, nr_woken).unwrap_or_default();
            assert!(got.contains(want) && got.is_empty() == want.is_empty(), "{nr_line}: {got}");
        }
    }

    #[test]
    fn interrupts_are_counted_by_the_name_of_their_line() {
        let counts = |rtc: u64| InterruptCounts {
            cpus: vec![0, 1],
            interrupts: [("8".to_owned(), vec![rtc, 1]), ("9".to_owned(), vec![5, rtc])].into(),
            ..InterruptCounts::default()
        };
        let (before, after) = (counts(10), counts(110));
        let irqs = [(8, "rtc0".to_owned()), (9, "acpi, rtc01".to_owned())].into();
        let names = Names { irqs, ..Names::default() };
        let lines = Lines { names, before, after };
        assert_eq!(lines.nr_since(&["rtc0".to_owned()]), 100);
        assert_eq!(lines.nr_since(&["hpet2".to_owned()]), 0);
        assert_eq!(lines.nr_since(&[]), 0);
    }
}
