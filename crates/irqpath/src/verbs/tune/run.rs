// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath tune`: `lessons` learns, `text` prints. What is decided is in `irqpath_analysis::learn`,
//! what is done in `irqpath_system::tune`.
//!
//! Rule: whatever can be refused is refused before anything is learned.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{anyhow, ensure};
use irqpath_analysis::learn::plan;
use irqpath_model::{Association, LiveThread, SCHEMA_VERSION, Sched, TunePlan};
use irqpath_source::confine::{Kept, confine};
use irqpath_source::launch::set_scheduling;
use irqpath_system::change::{Policy, RealAccess, Scheduling};
use irqpath_system::tune::{self, Applied, Document, Learned, TuneError};
use irqpath_system::{Host, TRACING};

use super::args::{Tune, TuneLearn, TuneVerb};
use super::lessons::{self, Lessons, STEP};
use super::text;
use crate::host::signals::{self, Stop};
use crate::output::progress::Progress;
use crate::output::{console, exit};

pub fn run(arguments: &Tune) -> anyhow::Result<ExitCode> {
    match &arguments.verb {
        Some(TuneVerb::Status(show)) => status(show.json),
        Some(TuneVerb::Reset(show)) => reset(show.json),
        None => match &arguments.learn.replay {
            Some(path) => {
                let learned = lessons::replay(path)?;
                show(&arguments.learn, Some(learned), None, None)?;
                Ok(ExitCode::SUCCESS)
            }
            None => learn(&arguments.learn),
        },
    }
}

/// This machine, and the way to change it.
fn host() -> (Host, RealAccess) {
    let host = Host::real();
    let access = RealAccess::new(&host).with_scheduling(set);
    (host, access)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as `with_scheduling` wants it
fn set(tid: u32, scheduling: &Scheduling) -> std::io::Result<()> {
    let Scheduling { policy, priority, nice } = *scheduling;
    let sched = match policy {
        Policy::Fifo => Sched::Fifo(priority),
        Policy::RoundRobin => Sched::Rr(priority),
        Policy::Other => Sched::Other(nice),
        // Never changed, so never put back.
        _ => return Err(std::io::ErrorKind::Unsupported.into()),
    };
    set_scheduling(tid, sched)
}

fn document() -> Document {
    Document { schema_version: SCHEMA_VERSION, ..Document::default() }
}

fn status(json: bool) -> anyhow::Result<ExitCode> {
    let (host, access) = host();
    let status = tune::status(&host, &access)?;
    if json {
        console::json(&Document { status: Some(status), ..document() }, false)?;
    } else {
        console::print(&text::status(&status))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A priority that the kernel refused to take back is an error; reset can be repeated.
fn reset(json: bool) -> anyhow::Result<ExitCode> {
    let (host, access) = host();
    let _stop = signals::listen()?;
    let reset = tune::reset(&host, &access)?;
    let unfinished = reset.undone.is_unfinished();
    if json {
        console::json(&Document { reset: Some(reset), ..document() }, false)?;
    } else {
        console::print(&text::reset(&reset))?;
    }
    ensure!(!unfinished, "some priorities could not be put back; see above, then reset again");
    Ok(ExitCode::SUCCESS)
}

fn learn(arguments: &TuneLearn) -> anyhow::Result<ExitCode> {
    let (host, access) = host();
    if arguments.apply {
        tune::check_rights(&host)?;
    }
    host.require(TRACING).map_err(|e| anyhow!("{e}, or learn from a recording with --replay"))?;
    let stop = signals::listen()?;
    let mut lessons = Lessons::live(&host)?;
    let apply = arguments.apply;
    confine(Kept { urgency: true, priorities: apply, journal: apply, ..Kept::default() })?;
    let progress = Progress::start("learning", Some(arguments.learn));
    lessons.run(arguments.learn, &stop, || progress.tick())?;
    drop(progress);
    stop.check()?;
    let learned = lessons.learned(&host)?;
    let (plan, applied) = act(arguments, &host, &access, &learned.associations, true)?;
    let refused = applied.as_ref().is_some_and(|applied| !applied.refused.is_empty());
    show(arguments, Some(learned), Some(plan), applied)?;
    if arguments.watch {
        watch(arguments, (&host, &access), &mut lessons, &stop)?;
    }
    Ok(if refused { ExitCode::from(exit::EXCEEDED) } else { ExitCode::SUCCESS })
}

/// Plan, and carry it out if that was asked for.
fn act(
    arguments: &TuneLearn,
    host: &Host,
    access: &RealAccess,
    known: &[Association],
    retry: bool,
) -> Result<(TunePlan, Option<Applied>), TuneError> {
    let established: Vec<Association> = known.iter().filter(|a| a.established).cloned().collect();
    if arguments.apply {
        let planner = |threads: &[LiveThread], held: &BTreeMap<(u32, u64), u8>| {
            plan(known, threads, held, arguments.force)
        };
        let (plan, applied) = tune::apply(host, access, &established, &planner, retry)?;
        return Ok((plan, Some(applied)));
    }
    let threads = host.live_threads();
    let held = tune::held(host, &threads)?;
    Ok((plan(known, &threads, &held, arguments.force), None))
}

fn show(
    arguments: &TuneLearn,
    learned: Option<Learned>,
    plan: Option<TunePlan>,
    applied: Option<Applied>,
) -> anyhow::Result<()> {
    let document = Document { learned, plan, applied, ..document() };
    if arguments.json {
        console::json(&document, arguments.watch)
    } else {
        console::print(&text::run(&document))
    }
}

/// Keep learning, and act when something changed. Ends with a signal, which leaves what was set.
fn watch(
    arguments: &TuneLearn,
    (host, access): (&Host, &RealAccess),
    lessons: &mut Lessons,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut last = TunePlan::default();
    while !stop.requested() {
        let started = Instant::now();
        lessons.run(arguments.interval, stop, || {})?;
        let learned = lessons.learned(host)?;
        let (plan, applied) = match act(arguments, host, access, &learned.associations, false) {
            // Somebody else's turn; the next look will do.
            Err(TuneError::Journal(error)) if error.is_locked() => {
                console::note(&error.to_string());
                continue;
            }
            other => other?,
        };
        let news = match &applied {
            Some(applied) => !applied.is_nothing(),
            None => (&plan.changes, &plan.take_back) != (&last.changes, &last.take_back),
        };
        if news && arguments.json {
            show(arguments, None, Some(plan.clone()), applied)?;
        } else if news {
            console::print(&text::news(&plan, applied.as_ref()))?;
        }
        last = plan;
        // A source that returns at once must not turn this into a busy loop.
        std::thread::sleep(STEP.saturating_sub(started.elapsed()));
    }
    Ok(())
}
