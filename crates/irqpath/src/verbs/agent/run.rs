// SPDX-License-Identifier: GPL-2.0-or-later
//! The agent from its start to its end: read the configuration, open the sockets, attach, give up
//! what is no longer needed, and then go round: take events, answer, tell systemd.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use irqpath_files::input;
use irqpath_model::printable;
use irqpath_report::openmetrics::{AgentFacts, Exposed, PushFacts, Retired};
use irqpath_report::text::Page;
use irqpath_source::bpf::flight::RecordingSource;
use irqpath_source::bpf::{BpfSource, ProgramCosts, meter};
use irqpath_source::confine::{self, Kept};
use irqpath_source::{Config, Source, allocator};
use irqpath_system::Host;

use super::args::Agent;
use super::asking::Ask;
use super::config::{Place, Settings, Targets};
use super::day::Day;
use super::endpoint::Otlp;
use super::listen;
use super::notify::Manager;
use super::own;
use super::push::{Pusher, Pushes};
use super::recording::{self, Recording};
use super::refusals::Refusals;
use super::serve::{self, Service};
use super::thread::Serving;
use super::units::Units;
use super::web::{Door, Doors};
use crate::host::intrusions::Watch;
use crate::host::names::{KnownNames, Lookup};
use crate::host::signals::{self, Reload, Stop};
use crate::output::console;
use crate::output::streams::Streams;
use crate::session::{Session, Threshold};
use crate::verbs::trace::split_tasks;

const DEFAULT_CONFIG: &str = "/etc/irqpath/agent.toml";
/// A configuration has a few lines.
const MAX_CONFIG: u64 = 1 << 16;
/// One look at the source, and the longest time that an answer waits for it.
const STEP: Duration = Duration::from_millis(100);
/// Numbers so young answer again: who asks in a loop costs the reader nothing.
const FRESH: Duration = Duration::from_secs(1);
/// How often idle rows are looked for; less where they are idle sooner.
const RETIRE_EVERY: Duration = Duration::from_secs(60);
/// How long the server's thread may be silent before systemd no longer hears that all is well.
const SERVER_PATIENCE: Duration = Duration::from_secs(10);
/// Questions that wait; more are refused.
const MAX_ASKS: usize = 16;

pub fn run(arguments: &Agent) -> anyhow::Result<ExitCode> {
    let settings = read_settings(arguments.config.as_deref())?;
    let host = Host::real();
    let source = source_config(&settings, &host)?;
    let handed = listen::take_handed()?;
    let for_others = listen::are_for_others(&handed);
    let door = load_door(&settings, for_others)?;
    let pushes = Pushes::default();
    let pusher = prepare_push(&settings, &pushes)?;
    if arguments.check {
        console::print_page(&describe(&settings, &door))?;
        return Ok(ExitCode::SUCCESS);
    }
    host.may_trace().map_err(|missing| anyhow!("{missing}"))?;
    allocator::give_back_freed();
    start_meter(&settings)?;
    let (stop, reload) = signals::listen_and_reload()?;
    let listeners = listen::open(handed, &settings.listen)?;
    let mut manager = Manager::from_environment();
    let names = KnownNames::live(&host, Lookup::AtTheEnd)?;
    let opened =
        settings.record.as_ref().map(|record| recording::open(record, &host)).transpose()?;
    let Opened { live, rings, costs } = open_source(&source)?;
    let opened =
        opened.zip(rings).map(|(opened, rings)| opened.within_memory(rings)).transpose()?;
    confine::confine(list_kept(&settings)?)?;
    let recording = opened.map(|opened| opened.start(&host, names.get())).transpose()?;
    let (doors, refusals) = (Doors::new(door), Refusals::default());
    let threshold = Threshold { ns: source.threshold_ns, is_virtual: host.cpu_info().is_virtual() };
    let session = Session::start_unbounded(live, names, Streams::default(), threshold);
    let day = Day::begin()?;
    let mut running = Running {
        config: arguments.config.clone(),
        session,
        watch: Watch::new(host.clone()),
        units: Units::new(host),
        costs,
        since_ns: day.now_ns(),
        day,
        retired: Retired::default(),
        looked: Instant::now(),
        last: None,
        for_others,
        doors: doors.clone(),
        refusals: refusals.clone(),
        pushes: pusher.is_some().then_some(pushes),
        recording,
        settings,
    };
    let (asks, questions) = sync_channel(MAX_ASKS);
    let serving = serve::start(listeners, Service { asks, doors, refusals }, pusher)?;
    manager.note_ready();
    running.go_round(&questions, serving, &mut manager, (&stop, &reload))?;
    manager.note_stopping();
    Ok(ExitCode::SUCCESS)
}

/// Before there is a second thread. Without the capability, nothing is lost but numbers.
fn start_meter(settings: &Settings) -> anyhow::Result<()> {
    let every = Duration::from_secs(settings.cost_every_s.into());
    if !every.is_zero() {
        meter::time_programs(every).context("cannot start the meter of its programs")?;
    }
    Ok(())
}

/// What it needs once everything is open.
fn list_kept(settings: &Settings) -> anyhow::Result<Kept> {
    let connects = settings.otlp.as_ref().map(Otlp::connects).transpose()?;
    let symbols = settings.record.as_ref().is_some_and(|record| record.stacks_us.is_some());
    let files = settings.record.is_some();
    Ok(Kept { urgency: true, network: true, connects, files, symbols, ..Kept::default() })
}

/// The running kernel.
struct Opened {
    live: Box<dyn Source>,
    /// Its rings, if a recorder keeps some.
    rings: Option<RecordingSource>,
    costs: ProgramCosts,
}

fn open_source(config: &Config) -> anyhow::Result<Opened> {
    let wrong = "cannot keep the programs open; check the limit of open files";
    if config.flight.is_none() {
        let source = BpfSource::open(config)?;
        let costs = source.program_costs().context(wrong)?;
        return Ok(Opened { live: Box::new(source), rings: None, costs });
    }
    let source = RecordingSource::open(config)?;
    let costs = source.program_costs().context(wrong)?;
    Ok(Opened { live: Box::new(source.clone()), rings: Some(source), costs })
}

/// The configuration; the defaults if no file was named and there is none.
fn read_settings(named: Option<&Path>) -> anyhow::Result<Settings> {
    let path = named.unwrap_or(Path::new(DEFAULT_CONFIG));
    let is_there = path.try_exists();
    if named.is_none() && matches!(is_there, Ok(false)) {
        return Ok(Settings::default());
    }
    let text = input::read_text(path, MAX_CONFIG);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    Settings::parse(&text).map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// What clients on TCP have to pass.
fn load_door(settings: &Settings, for_others: bool) -> anyhow::Result<Door> {
    let Some(path) = &settings.web_config else {
        ensure!(
            !for_others,
            "a socket from systemd is not on the loopback interface, which needs web_config"
        );
        return Ok(Door::default());
    };
    let door = Door::load(path)?;
    if settings.is_for_others() || for_others {
        door.check_for_others().with_context(|| path.display().to_string())?;
    }
    Ok(door)
}

fn prepare_push(settings: &Settings, pushes: &Pushes) -> anyhow::Result<Option<Pusher>> {
    let Some(otlp) = &settings.otlp else { return Ok(None) };
    let uname = rustix::system::uname();
    let host = printable(&uname.nodename().to_string_lossy()).into_owned();
    Pusher::prepare(otlp, host, pushes.clone()).map(Some)
}

/// What the programs follow.
fn source_config(settings: &Settings, host: &Host) -> anyhow::Result<Config> {
    if let Some(cpus) = &settings.cpus {
        host.check_cpus(cpus)?;
    }
    let (tids, comms) = split_tasks(&settings.tasks);
    Ok(Config {
        threshold_ns: (settings.threshold_us > 0).then_some(settings.threshold_us * 1000),
        origins: host.resolve_irqs(&settings.irqs)?,
        tids,
        comms,
        cpus: settings.cpus.clone(),
        no_user: !settings.user,
        max_paths: Some(settings.max_paths),
        by_cgroup: settings.targets == Targets::Units,
        look_every: Some(STEP / 2),
        flight: settings.record.as_ref().map(|record| record.flight(host)).transpose()?,
        ..Config::default()
    })
}

fn describe(settings: &Settings, door: &Door) -> Page {
    let scheme = if door.tls.is_some() { "https" } else { "http" };
    let places = settings.listen.iter().map(|place| describe_place(place, scheme));
    let places: Vec<String> = places.collect();
    let captures = settings.record.as_ref().map_or_else(String::new, |record| {
        format!("; captures below {}", record.directory.display())
    });
    Page::from_line(format_args!(
        "the configuration is right: serves {}; {} paths at most{captures}",
        places.join(" and "),
        settings.max_paths
    ))
}

fn describe_place(place: &Place, scheme: &str) -> String {
    match place {
        Place::Tcp(address) => format!("{scheme}://{address}/metrics"),
        Place::Unix(path) => format!("/metrics at {}", path.display()),
    }
}

/// The agent while it runs.
struct Running {
    config: Option<PathBuf>,
    settings: Settings,
    session: Session,
    watch: Watch,
    units: Units,
    day: Day,
    costs: ProgramCosts,
    /// When it began to count, on the clock of stamps.
    since_ns: u64,
    retired: Retired,
    /// When idle rows were last looked for.
    looked: Instant,
    last: Option<(Instant, Arc<Exposed>)>,
    /// systemd handed over a socket that other hosts reach.
    for_others: bool,
    doors: Doors,
    refusals: Refusals,
    pushes: Option<Pushes>,
    recording: Option<Recording>,
}

impl Running {
    fn go_round(
        &mut self,
        questions: &Receiver<Ask>,
        mut serving: Serving,
        manager: &mut Manager,
        (stop, reload): (&Stop, &Reload),
    ) -> anyhow::Result<()> {
        while !stop.is_requested() {
            self.session.poll_source(STEP)?;
            if let Some(recording) = &mut self.recording {
                recording.go_round()?;
            }
            self.retire_idle()?;
            self.units.go_on();
            if self.day.follow_when_due() {
                self.last = None;
            }
            self.last.take_if(|(at, _)| at.elapsed() >= FRESH);
            let waiting: Vec<Ask> = questions.try_iter().collect();
            if !waiting.is_empty() {
                let exposed = self.expose_fresh()?;
                for ask in waiting {
                    // Who asked may have gone.
                    let _ = ask.send(Arc::clone(&exposed));
                }
            }
            if reload.take() {
                manager.note_reloading();
                if let Err(error) = self.reload() {
                    console::print_note(&format!("the configuration stays as it was: {error:#}"));
                }
                manager.note_ready();
            }
            serving.check()?;
            if serving.is_alive(SERVER_PATIENCE) {
                manager.note_alive();
            }
        }
        Ok(())
    }

    /// Gives rows back whose paths did not occur for long, so that new paths have some.
    fn retire_idle(&mut self) -> anyhow::Result<()> {
        let idle = Duration::from_secs(self.settings.idle_s.into());
        if idle.is_zero() || self.looked.elapsed() < RETIRE_EVERY.min(idle / 2) {
            return Ok(());
        }
        self.looked = Instant::now();
        let rows = self.session.retire_idle(idle)?;
        if !rows.is_empty() {
            let summary = self.session.interim_summary()?;
            let paths = &summary.traced().paths;
            let units = self.units.known();
            self.retired.add_rows(rows, paths, (self.session.names(), units));
            self.last = None;
        }
        Ok(())
    }

    fn expose_fresh(&mut self) -> anyhow::Result<Arc<Exposed>> {
        if let Some((_, exposed)) = &self.last {
            return Ok(Arc::clone(exposed));
        }
        let exposed = Arc::new(self.expose()?);
        self.last = Some((Instant::now(), Arc::clone(&exposed)));
        Ok(exposed)
    }

    fn expose(&mut self) -> anyhow::Result<Exposed> {
        self.session.reread_lines();
        let summary = self.session.interim_summary()?;
        let intrusions = self.watch.add_lines(&summary.traced().lines);
        let units = self.units.find_units(&summary.traced().paths).clone();
        let causes = self.session.cause_totals().clone();
        self.day.follow();
        Ok(Exposed {
            summary,
            names: self.session.names().clone(),
            shown: self.settings.shown(),
            agent: Some(AgentFacts {
                clock: Some(self.day.clock().clone()),
                since_ns: self.since_ns,
                now_ns: self.day.now_ns(),
                causes,
                intrusions,
                units,
                retired: self.retired.clone(),
                refusals: self.refusals.list(),
                answers: self.refusals.list_answers(),
                pushes: self.pushes.as_ref().map(|pushes| PushFacts {
                    by_result: pushes.list(),
                    nr_rejected: pushes.rejected_points(),
                }),
                recorder: self.recording.as_ref().map(Recording::facts),
                programs: own::list_programs(&self.costs),
                resident_bytes: own::resident_bytes(),
            }),
        })
    }

    /// What is shown can change; the programs are loaded and cannot.
    fn reload(&mut self) -> anyhow::Result<()> {
        let new = read_settings(self.config.as_deref())?;
        ensure!(
            self.settings.traces_as(&new),
            "only stages, classic_histograms, per_cpu, idle_s and at_most, keep_s and after_ms of \
             [record] can change while it runs; restart the agent for the rest"
        );
        self.doors.replace(load_door(&new, self.for_others)?);
        if let (Some(recording), Some(record)) = (&mut self.recording, &new.record) {
            recording.change(record);
        }
        self.settings = new;
        self.last = None;
        Ok(())
    }
}
