// SPDX-License-Identifier: GPL-2.0-or-later
//! The recorder from its start to its end.
//!
//! Rule: whatever can be refused is refused before anything is recorded, and whatever needs a
//! privilege is opened before the process gives it up.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use irqpath_files::output::Store;
use irqpath_model::Meta;
use irqpath_report::text::record::render_recorded;
use irqpath_source::bpf::flight::FlightRecorder;
use irqpath_source::confine::{self, Kept};
use irqpath_source::{Config, Flight};
use irqpath_system::Host;
use jiff::Timestamp;

use super::actions::Actions;
use super::args::Record;
use super::limits::Limiter;
use super::memory;
use super::recorder::{LOOK_EVERY, Recorder, Settings, State};
use super::triggers::{Asked, Triggers};
use super::writer::{Writer, measure_disk};
use crate::host::clocks::read_clocks;
use crate::host::meta;
use crate::host::names::{KnownNames, Lookup};
use crate::host::signals::{self, Stop};
use crate::output::console;
use crate::verbs::trace::split_tasks;

/// The wall clock may be set while it is waited for.
const WAIT_STEP: Duration = Duration::from_millis(100);

pub fn run(arguments: &Record) -> anyhow::Result<ExitCode> {
    let host = Host::real();
    check_arguments(arguments)?;
    let config = source_config(arguments, &host)?;
    host.may_trace().map_err(|missing| anyhow!("{missing}"))?;
    // Before there is a second thread.
    let actions = Actions::start(&arguments.when.on_threshold)?;
    let stop = signals::listen()?;
    let by_hand = signals::ByHand::listen()?;
    let disk = u64::from(arguments.bounds.disk) << 20;
    let store = Store::open(&arguments.directory, disk, is_capture)?;
    let triggers = Triggers::open(&arguments.when.trigger, &host)?;
    let names = KnownNames::live(&host, Lookup::AtTheEnd)?.into_inner();
    let meta = meta::collect_before(&host, names.clone());
    let flight = FlightRecorder::open(&config)?;
    let has_sockets =
        arguments.when.trigger.iter().any(|trigger| matches!(trigger, Asked::Socket(_)));
    let memory = memory::watch_within(arguments.bounds.memory, &flight)?;
    memory.limit_data()?;
    confine::confine(Kept { symbols: true, files: true, network: has_sockets, ..Kept::default() })?;
    if arguments.at.is_some_and(|at| !wait_until(at, &stop)) {
        return Ok(ExitCode::SUCCESS);
    }
    let state = State::with(measure_disk(&store));
    let mut recorder = Recorder {
        settings: settings(arguments),
        flight,
        triggers,
        actions,
        writer: Writer::start(store, host.clone(), meta, memory)?,
        limiter: Limiter::new(arguments.when.at_most),
        host,
        names,
        started: Instant::now(),
        clock: read_clocks(),
        memory,
        state,
    };
    let is_over = |started: Instant| arguments.duration.is_some_and(|d| started.elapsed() >= d);
    recorder.forget_reported()?;
    while !stop.is_requested() && !is_over(recorder.started) && !recorder.has_ended() {
        recorder.go_round(by_hand.take(), LOOK_EVERY)?;
    }
    let mut recorded = recorder.finish(arguments.when.at_end, || stop.check_abort().is_err())?;
    stop.check_abort()?;
    recorded.disk_limit = disk;
    if arguments.json {
        console::print_json(&recorded, false)?;
    } else {
        console::print_page(&render_recorded(&recorded))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Until the wall clock says so, whatever it is set to meanwhile. False if a signal came first.
fn wait_until(at: Timestamp, stop: &Stop) -> bool {
    while !stop.is_requested() {
        let left = at.duration_since(Timestamp::now());
        let Ok(left) = Duration::try_from(left) else { return true };
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(WAIT_STEP));
    }
    false
}

fn check_arguments(arguments: &Record) -> anyhow::Result<()> {
    let keep = arguments.bounds.keep;
    if let Some(at) = arguments.at {
        ensure!(at > Timestamp::now(), "--at {at} has passed; give a time to come");
    }
    ensure!(
        arguments.bounds.after < keep,
        "--after must be less than --keep: a capture is of what was before its trigger"
    );
    Ok(())
}

fn settings(arguments: &Record) -> Settings {
    Settings {
        threshold_ns: arguments.when.threshold,
        stages: arguments.when.stage.clone(),
        keep: arguments.bounds.keep,
        after: arguments.bounds.after,
        memory_mib: arguments.bounds.memory,
        json: arguments.json,
    }
}

/// What the programs follow and keep.
fn source_config(arguments: &Record, host: &Host) -> anyhow::Result<Config> {
    if let Some(cpus) = &arguments.what.cpus {
        host.check_cpus(cpus)?;
    }
    let (tids, comms) = split_tasks(&arguments.what.task);
    let ring_bytes =
        memory::share_out(arguments.bounds.memory, host.possible_cpus()?.len(), memory::ALONE)?;
    let flight = Flight {
        ring_bytes,
        threshold_ns: arguments.when.threshold,
        stages: arguments.when.stage.clone(),
        stack_ns: arguments.what.stacks,
        beside: false,
    };
    Ok(Config {
        origins: host.resolve_irqs(&arguments.what.irq)?,
        tids,
        comms,
        cpus: arguments.what.cpus.clone(),
        no_user: arguments.what.no_user,
        flight: Some(flight),
        ..Config::default()
    })
}

/// What the recorder itself wrote: other results in its directory are not its own to remove.
pub fn is_capture(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Meta>(bytes).is_ok_and(|meta| meta.capture.is_some())
}
