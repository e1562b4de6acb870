// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath trace`: open the source and every output, measure, complete the outputs, show.
//!
//! Rule: whatever can be refused is refused before the measurement starts, and nothing is kept
//! under its final name before everything is complete.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use irqpath_model::Meta;
use irqpath_report::parquet::Table;
use irqpath_source::confine::{self, Kept};
use irqpath_source::{Config, Source};
use irqpath_system::Host;

use super::args::{Output, Trace, View, What};
use super::text::write_view;
use super::{filter, recording, top};
use crate::host::meta;
use crate::host::names::{KnownNames, Lookup};
use crate::host::signals::{self, Stop};
use crate::output::args::is_stdout;
use crate::output::files::ResultFiles;
use crate::output::progress::Progress;
use crate::output::streams::Streams;
use crate::output::{exit, export};
use crate::session::{self, Finished, Session, Threshold};

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
    Live(Box<Config>),
    Recording(Box<dyn Source>),
}

pub fn run(arguments: &Trace) -> anyhow::Result<ExitCode> {
    let Trace { view, what, output, hist, interval } = arguments;
    let view = choose_view(*view, output)?;
    let stop = signals::listen_and_restore(top::restore_terminal)?;
    let Input { mut meta, names, origin } = open_input(what, output)?;
    let (files, streams) = open_files(output, &meta)?;
    let source = attach_source(origin, &mut meta)?;
    confine::confine(list_kept(what, output))?;
    let threshold = Threshold { ns: what.threshold, is_virtual: meta.cpu.is_virtual() };
    let mut session = Session::start(source, names, streams, threshold);
    match view {
        View::Top => {
            top::run(&mut session, describe_measurement(&meta), what.duration, *interval, &stop)?;
        }
        View::Once | View::Hist => wait_for_end(&mut session, what.duration, &stop)?,
    }
    stop.check_abort()?;
    let finished = finish_session(session, &mut meta, what)?;
    let Finished { summary, snapshot, mut streams, .. } = finished;
    let written = files.commit_files(&meta, &summary, &stop, || {
        snapshot.map_or(Ok(None), |snapshot| streams.commit_recording(&meta, &snapshot))
    })?;
    written.print_result(&meta, &summary, |w| write_view(w, view, hist, &meta, &summary))?;
    let traced = summary.traced();
    let nr = if what.with_hypervisor { traced.nr_slow } else { traced.nr_slow_by_us() };
    Ok(if what.threshold.is_some() && nr > 0 {
        ExitCode::from(exit::EXCEEDED)
    } else {
        ExitCode::SUCCESS
    })
}

/// True if any output wants every path and transition.
fn record_all(asked: &Output) -> bool {
    asked.result.directory.is_some() || asked.perfetto.is_some() || asked.record.is_some()
}

/// Open everything that was asked for.
fn open_files(asked: &Output, meta: &Meta) -> anyhow::Result<(ResultFiles, Streams)> {
    let (mut files, mut streams) = (ResultFiles::open(&asked.result)?, Streams::default());
    if let Some((file, path)) = files.add_streamed_below(&Table::Paths.file_name())? {
        streams.add_samples(file, path, meta)?;
    }
    match &asked.perfetto {
        None => {}
        Some(Some(path)) => streams.add_perfetto(files.add_streamed(path)?, path.clone()),
        Some(None) => {
            let (file, path) = files
                .add_streamed_below("trace.pftrace")?
                .context("--perfetto without a file name needs -o DIR; give it a name")?;
            streams.add_perfetto(file, path);
        }
    }
    if let Some(path) = &asked.record {
        streams.add_recording(path.clone(), meta)?;
    }
    files.add_late(asked.openmetrics.as_deref(), export::write_openmetrics)?;
    Ok((files, streams))
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
    let json = is_stdout(output.result.json.as_deref());
    let view = asked.unwrap_or(if top::is_possible() && !json { View::Top } else { View::Once });
    if view == View::Top {
        ensure!(!json, "top needs the terminal; give --json a file name");
        ensure!(top::is_possible(), "top needs a terminal; use trace once for a table");
    }
    Ok(view)
}

fn open_input(what: &What, output: &Output) -> anyhow::Result<Input> {
    if let Some(path) = &what.replay {
        let recording = recording::open(path, what)?;
        let mut meta = recording.meta;
        meta.command = meta::command_line();
        let names = KnownNames::recorded(meta.names.clone());
        return Ok(Input { meta, names, origin: Origin::Recording(recording.source) });
    }
    let host = Host::real();
    let record_all = record_all(output);
    let config = filter::live_config(what, &host, record_all)?;
    host.may_trace().map_err(|e| anyhow!("{e}, or look at a recording with --replay FILE"))?;
    let lookup = if record_all { Lookup::Now } else { Lookup::AtTheEnd };
    let names = KnownNames::live(&host, lookup)?;
    let meta = meta::collect_before(&host, names.get().clone());
    Ok(Input { meta, names, origin: Origin::Live(Box::new(config)) })
}

/// Attach. The counts before are read right after that, and those after right before detaching,
/// so that the kernel's window lies within ours and both differ by a few events only.
fn attach_source(origin: Origin, meta: &mut Meta) -> anyhow::Result<Box<dyn Source>> {
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
fn list_kept(what: &What, output: &Output) -> Kept {
    let one_file = [&output.result.json, &output.result.report, &output.openmetrics];
    let files = record_all(output) || one_file.iter().any(|file| file.is_some());
    let live = what.replay.is_none();
    Kept { symbols: live, urgency: live, files, ..Kept::default() }
}

fn wait_for_end(session: &mut Session, asked: Option<Duration>, stop: &Stop) -> anyhow::Result<()> {
    // A recording ends by itself.
    let live = session.is_live();
    let duration = asked.unwrap_or(DEFAULT_DURATION);
    let title = if live { "tracing" } else { "reading" };
    let progress = Progress::start(title, live.then_some(duration));
    while !stop.is_requested() && !session.is_exhausted() {
        let left = duration.saturating_sub(session.elapsed());
        if live && left.is_zero() {
            break;
        }
        session.poll_source(left.min(STEP))?;
        progress.tick();
    }
    Ok(())
}

fn describe_measurement(meta: &Meta) -> top::About {
    top::About {
        host: meta.host.clone(),
        kernel: meta.kernel.release.clone(),
        source: meta.source.clone(),
        names: meta.names.clone(),
        is_virtual: meta.cpu.hypervisor.is_some(),
    }
}

/// Detach and complete what is known about the measurement.
fn finish_session(session: Session, meta: &mut Meta, what: &What) -> anyhow::Result<Finished> {
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
