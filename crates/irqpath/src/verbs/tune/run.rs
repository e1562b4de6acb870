// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath tune`: `lessons` learns, `text` prints. What is decided is in `irqpath_analysis::learn`,
//! what is done in `irqpath_system::tune`.
//!
//! Rule: whatever can be refused is refused before anything is learned.

use std::process::ExitCode;

use anyhow::{Context as _, anyhow, ensure};
use irqpath_model::tune::{Document, Steering};
use irqpath_report::text;
use irqpath_source::confine::{Kept, confine};
use irqpath_system::tune::{self, DeviceWatch, Devices};

use super::args::{Tune, TuneLearn, TuneVerb};
use super::lessons::{self, Lessons};
use super::pin;
use super::plan::{
    Aim, Basis, empty_document, open_host, pinned_now, plan_and_apply, prepare_packets,
    prepare_steering, print_document,
};
use super::watch::{Watched, keep_learning};
use crate::host::signals;
use crate::output::progress::Progress;
use crate::output::{console, exit};

pub fn run(arguments: &Tune) -> anyhow::Result<ExitCode> {
    match &arguments.verb {
        Some(TuneVerb::Status(show)) => show_status(show.json),
        Some(TuneVerb::Reset(show)) => reset_priorities(show.json),
        Some(TuneVerb::Pin(arguments)) => pin::pin_task(arguments),
        Some(TuneVerb::Unpin(arguments)) => pin::unpin_task(arguments),
        Some(TuneVerb::Export(arguments)) => pin::export_pins(arguments),
        Some(TuneVerb::Apply(arguments)) => pin::apply_file(arguments),
        None => match &arguments.learn.replay {
            Some(path) => {
                let learned = lessons::learn_from_recording(path)?;
                let document = Document { learned: Some(learned), ..empty_document() };
                print_document(arguments.learn.json, false, &document)?;
                Ok(ExitCode::SUCCESS)
            }
            None => learn_priorities(&arguments.learn),
        },
    }
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
    let mut lessons = Lessons::live(arguments.watch, arguments.selective)?;
    let apply = arguments.apply;
    let list = arguments.packets.as_deref().map(Devices::from_list);
    // Before they are switched: none may come in between.
    let followed = list.clone().filter(|_| apply && arguments.watch);
    let devices = followed.map(|list| DeviceWatch::start(&host, list));
    let prepare = |list| prepare_packets((&host, &access), list, apply);
    let packets = list.as_ref().map(prepare).transpose()?;
    // Before the learning, which then sees whom each queue's thread wakes.
    let steer = |list| prepare_steering((&host, &access), list, apply);
    let steering = list.as_ref().filter(|_| arguments.steer).map(steer).transpose()?;
    let (links, net_devices) = (arguments.watch, devices.is_some());
    lessons.adopt_known(&host)?;
    let kept = Kept { urgency: true, priorities: apply, journal: apply, ..Kept::default() };
    confine(Kept { links, net_devices, ..kept })?;
    let progress = Progress::start("learning", Some(arguments.learn));
    lessons.listen(arguments.learn, &stop, || progress.tick())?;
    drop(progress);
    let aborted = stop.check_abort();
    if packets.is_some() && apply {
        aborted.context("the devices stay switched until `irqpath tune reset`")?;
    } else {
        aborted?;
    }
    let mut learned = lessons.report_learned(&host)?;
    let aim = Aim { apply, force: arguments.force };
    let basis = Basis { known: &learned.associations, selection: lessons.selection() };
    let (json, watch) = (arguments.json, arguments.watch);
    let (plan, applied) = plan_and_apply(aim, (&host, &access), basis, true)?;
    let refused = applied.as_ref().is_some_and(|applied| !applied.refused.is_empty())
        || steering.as_ref().is_some_and(Steering::has_refused);
    learned.associations.extend(pinned_now(&host)?);
    let (learned, plan) = (Some(learned), Some(plan));
    let known = Document { learned, packets, steering, ..empty_document() };
    print_document(json, watch, &Document { plan, applied, ..known })?;
    if arguments.selective && apply && !watch {
        console::print_note(
            "threads that are ordinary now stay so if they serve a task later; --watch follows them",
        );
    }
    if arguments.watch {
        lessons.start_watch(&host)?;
        let watched = Watched { lessons: &mut lessons, devices };
        keep_learning(aim, (arguments.interval, json), (&host, &access), watched, &stop)?;
    }
    Ok(if refused { ExitCode::from(exit::EXCEEDED) } else { ExitCode::SUCCESS })
}
