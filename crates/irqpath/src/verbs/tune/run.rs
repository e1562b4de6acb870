// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath tune`: `lessons` learns, `text` prints. What is decided is in `irqpath_analysis::learn`,
//! what is done in `irqpath_system::tune`.
//!
//! Rule: whatever can be refused is refused before anything is learned.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{anyhow, ensure};
use irqpath_analysis::learn::plan_priorities;
use irqpath_model::tune::{Applied, Association, Document, Learned, LiveThread, TunePlan};
use irqpath_model::{SCHEMA_VERSION, TaskId};
use irqpath_report::text;
use irqpath_source::confine::{Kept, confine};
use irqpath_source::launch::set_scheduling;
use irqpath_system::Host;
use irqpath_system::change::RealAccess;
use irqpath_system::tune::{self, TuneError};

use super::args::{Tune, TuneLearn, TuneVerb};
use super::lessons::{self, Lessons, STEP};
use crate::host::signals::{self, Stop};
use crate::output::progress::Progress;
use crate::output::{console, exit};

pub fn run(arguments: &Tune) -> anyhow::Result<ExitCode> {
    match &arguments.verb {
        Some(TuneVerb::Status(show)) => show_status(show.json),
        Some(TuneVerb::Reset(show)) => reset_priorities(show.json),
        None => match &arguments.learn.replay {
            Some(path) => {
                let learned = lessons::learn_from_recording(path)?;
                print_document(&arguments.learn, Some(learned), None, None)?;
                Ok(ExitCode::SUCCESS)
            }
            None => learn_priorities(&arguments.learn),
        },
    }
}

/// This machine, and the way to change it.
fn open_host() -> (Host, RealAccess) {
    let host = Host::real();
    let access = RealAccess::new(&host).with_scheduling(set_scheduling);
    (host, access)
}

fn empty_document() -> Document {
    Document { schema_version: SCHEMA_VERSION, ..Document::default() }
}

fn show_status(json: bool) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    let status = tune::status(&host, &access)?;
    if json {
        console::print_json(&Document { status: Some(status), ..empty_document() }, false)?;
    } else {
        console::print_page(&text::tune::render_status(&status))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A priority that the kernel refused to take back is an error; reset can be repeated.
fn reset_priorities(json: bool) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    let _stop = signals::listen()?;
    let reset = tune::reset(&host, &access)?;
    let unfinished = reset.undone.is_unfinished();
    if json {
        console::print_json(&Document { reset: Some(reset), ..empty_document() }, false)?;
    } else {
        console::print_page(&text::tune::render_reset(&reset))?;
    }
    ensure!(!unfinished, "some priorities are not restored (see above); run reset again");
    Ok(ExitCode::SUCCESS)
}

fn learn_priorities(arguments: &TuneLearn) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    if arguments.apply {
        tune::check_rights(&host)?;
    }
    host.may_trace().map_err(|e| anyhow!("{e}, or learn from a recording with --replay"))?;
    let stop = signals::listen()?;
    let mut lessons = Lessons::live(&host)?;
    let apply = arguments.apply;
    confine(Kept { urgency: true, priorities: apply, journal: apply, ..Kept::default() })?;
    let progress = Progress::start("learning", Some(arguments.learn));
    lessons.listen(arguments.learn, &stop, || progress.tick())?;
    drop(progress);
    stop.check_abort()?;
    let learned = lessons.report_learned(&host)?;
    let (plan, applied) = plan_and_apply(arguments, &host, &access, &learned.associations, true)?;
    let refused = applied.as_ref().is_some_and(|applied| !applied.refused.is_empty());
    print_document(arguments, Some(learned), Some(plan), applied)?;
    if arguments.watch {
        keep_learning(arguments, (&host, &access), &mut lessons, &stop)?;
    }
    Ok(if refused { ExitCode::from(exit::EXCEEDED) } else { ExitCode::SUCCESS })
}

/// Plan, and carry it out if that was asked for.
fn plan_and_apply(
    arguments: &TuneLearn,
    host: &Host,
    access: &RealAccess,
    known: &[Association],
    retry: bool,
) -> Result<(TunePlan, Option<Applied>), TuneError> {
    let established: Vec<Association> = known.iter().filter(|a| a.established).cloned().collect();
    if arguments.apply {
        let planner = |threads: &[LiveThread], held: &BTreeMap<TaskId, u8>| {
            plan_priorities(known, threads, held, arguments.force)
        };
        let (plan, applied) = tune::apply_plan(host, access, &established, &planner, retry)?;
        return Ok((plan, Some(applied)));
    }
    let threads = host.live_threads();
    let held = tune::held_priorities(host, &threads)?;
    Ok((plan_priorities(known, &threads, &held, arguments.force), None))
}

fn print_document(
    arguments: &TuneLearn,
    learned: Option<Learned>,
    plan: Option<TunePlan>,
    applied: Option<Applied>,
) -> anyhow::Result<()> {
    let document = Document { learned, plan, applied, ..empty_document() };
    if arguments.json {
        console::print_json(&document, arguments.watch)
    } else {
        console::print_page(&text::tune::format_document(&document))
    }
}

/// Keep learning, and act when something changed. Ends with a signal, which leaves what was set.
fn keep_learning(
    arguments: &TuneLearn,
    (host, access): (&Host, &RealAccess),
    lessons: &mut Lessons,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut last = TunePlan::default();
    while !stop.is_requested() {
        let started = Instant::now();
        lessons.listen(arguments.interval, stop, || {})?;
        let learned = lessons.report_learned(host)?;
        let (plan, applied) =
            match plan_and_apply(arguments, host, access, &learned.associations, false) {
                // Somebody else's turn; the next look will do.
                Err(TuneError::Journal(error)) if error.is_locked() => {
                    console::print_note(&error.to_string());
                    continue;
                }
                other => other?,
            };
        let news = match &applied {
            Some(applied) => !applied.is_nothing(),
            None => (&plan.changes, &plan.take_back) != (&last.changes, &last.take_back),
        };
        if news && arguments.json {
            print_document(arguments, None, Some(plan.clone()), applied)?;
        } else if news {
            console::print_page(&text::tune::render_changes(&plan, applied.as_ref()))?;
        }
        last = plan;
        // A source that returns at once must not turn this into a busy loop.
        std::thread::sleep(STEP.saturating_sub(started.elapsed()));
    }
    Ok(())
}
