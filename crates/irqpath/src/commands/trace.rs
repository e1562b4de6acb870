// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath trace`: open the source and every output, measure, complete the outputs, show.
//!
//! Rule: whatever can be refused is refused before the measurement starts, and nothing is kept
//! under its final name before everything is complete.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{anyhow, ensure};
use irqpath_model::Meta;
use irqpath_source::confine::{self, Kept};
use irqpath_source::{Config, Source};
use irqpath_system::{Host, TRACING};

use crate::cli::{Output, Trace, View, What};
use crate::names::{KnownNames, Lookup};
use crate::outputs::{self, Outputs};
use crate::page::Page;
use crate::progress::Progress;
use crate::session::{self, Finished, Session};
use crate::signals::{self, Stop};
use crate::{meta, out, recording, select, shown, top};

/// How long `once` and `hist` measure if nobody says.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// One look at the source.
const STEP: Duration = Duration::from_millis(100);

/// Where events come from, not yet running.
struct Input {
    meta: Meta,
    names: KnownNames,
    origin: Origin,
}

enum Origin {
    Live(Config),
    Recording(Box<dyn Source>),
}

/// Run it.
pub fn run(arguments: &Trace) -> anyhow::Result<ExitCode> {
    let Trace { view, what, output, hist, interval } = arguments;
    let view = choose_view(*view, output)?;
    let stop = signals::listen()?;
    let Input { mut meta, names, origin } = input(what, output)?;
    let (outputs, sinks) = Outputs::open(output, &meta)?;
    let source = start(origin, &mut meta)?;
    confine::confine(kept(what, output))?;
    let mut session = Session::start(source, names, sinks, what.threshold);
    match view {
        View::Top => top::run(&mut session, about(&meta), what.duration, *interval, &stop)?,
        View::Once | View::Hist => wait(&mut session, what.duration, &stop)?,
    }
    stop.check()?;
    let finished = finish(session, &mut meta, what)?;
    let json = outputs.json_to_stdout();
    let written = outputs.commit(&meta, finished, &stop)?;
    if json {
        out::write(|w| shown::document(w, &meta, &written.summary))?;
    } else {
        if view != View::Top {
            out::write(|w| shown::text(w, view, hist, &meta, &written.summary))?;
        }
        for path in &written.paths {
            out::print(&Page::of(format_args!("wrote {}", path.display())))?;
        }
    }
    let exceeded = what.threshold.is_some() && written.summary.nr_slow > 0;
    Ok(if exceeded { ExitCode::from(out::EXCEEDED) } else { ExitCode::SUCCESS })
}

/// `top` where there is a person to watch it.
fn choose_view(asked: Option<View>, output: &Output) -> anyhow::Result<View> {
    for path in [output.result.json.as_ref(), output.perfetto.as_ref().and_then(Option::as_ref)] {
        let word = path.map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
        ensure!(
            !["top", "hist", "once"].contains(&word.as_str()),
            "'{word}' was taken as a file name; write the view first, as in trace {word}, \
             or ./{word} for the file"
        );
    }
    let json = outputs::is_stdout(output.result.json.as_deref());
    let view = asked.unwrap_or(if top::is_possible() && !json { View::Top } else { View::Once });
    if view == View::Top {
        ensure!(!json, "top needs the terminal; give --json a file name");
        ensure!(top::is_possible(), "top needs a terminal; use trace once for a table");
    }
    Ok(view)
}

fn input(what: &What, output: &Output) -> anyhow::Result<Input> {
    if let Some(path) = &what.replay {
        let recording = recording::open(path, what)?;
        let mut meta = recording.meta;
        meta.command = meta::command();
        let names = KnownNames::recorded(meta.names.clone());
        return Ok(Input { meta, names, origin: Origin::Recording(recording.source) });
    }
    let host = Host::real();
    let record_all = outputs::record_all(output);
    let config = select::live(what, &host, record_all)?;
    host.require(TRACING).map_err(|e| anyhow!("{e}, or look at a recording with --replay FILE"))?;
    let lookup = if record_all { Lookup::Now } else { Lookup::AtTheEnd };
    let names = KnownNames::live(&host, lookup)?;
    let meta = meta::before(&host, names.get().clone());
    Ok(Input { meta, names, origin: Origin::Live(config) })
}

/// Attach. The counts before are read right after that, and those after right before detaching,
/// so that the kernel's window lies within ours and both differ by a few events only.
fn start(origin: Origin, meta: &mut Meta) -> anyhow::Result<Box<dyn Source>> {
    match origin {
        Origin::Live(config) => {
            let source = session::open_live(&config)?;
            meta.before = Host::real().interrupt_counts().unwrap_or_default();
            Ok(source)
        }
        Origin::Recording(source) => Ok(source),
    }
}

/// What is still needed when the programs are attached: the names of timers' callbacks, a reader
/// that keeps up, and files in a directory of the user who called sudo.
fn kept(what: &What, output: &Output) -> Kept {
    let one_file = [&output.result.json, &output.result.report, &output.openmetrics];
    let files = outputs::record_all(output) || one_file.iter().any(|file| file.is_some());
    let live = what.replay.is_none();
    Kept { symbols: live, urgency: live, files, ..Kept::default() }
}

fn wait(session: &mut Session, asked: Option<Duration>, stop: &Stop) -> anyhow::Result<()> {
    // A recording ends by itself.
    let live = session.is_live();
    let duration = asked.unwrap_or(DEFAULT_DURATION);
    let title = if live { "tracing" } else { "reading" };
    let progress = Progress::start(title, live.then_some(duration));
    while !stop.requested() && !session.is_exhausted() {
        let left = duration.saturating_sub(session.elapsed());
        if live && left.is_zero() {
            break;
        }
        session.step(left.min(STEP))?;
        progress.tick();
    }
    Ok(())
}

fn about(meta: &Meta) -> top::About {
    top::About {
        host: meta.host.clone(),
        kernel: meta.kernel.release.clone(),
        source: meta.source.clone(),
        names: meta.names.clone(),
        is_virtual: meta.cpu.hypervisor.is_some(),
    }
}

/// Detach and complete what is known about the measurement.
fn finish(session: Session, meta: &mut Meta, what: &What) -> anyhow::Result<Finished> {
    if !session.is_live() {
        return session.finish();
    }
    meta.after = Host::real().interrupt_counts().unwrap_or_default();
    let mut finished = session.finish()?;
    meta.duration_ns = finished.duration.as_nanos() as u64;
    meta.names = std::mem::take(&mut finished.names);
    meta.observer_effects =
        meta::observer_effects(what.no_user, &finished.summary.overhead, finished.duration);
    Ok(finished)
}
