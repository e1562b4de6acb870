// SPDX-License-Identifier: GPL-2.0-or-later
//! A recording as the source, narrowed to what was asked for. A live source filters in the
//! kernel; here the records of all paths are at hand and the statistics are made from those
//! that pass.

use std::path::Path;
use std::time::Duration;

use anyhow::{bail, ensure};
use irqpath_analysis::Accumulator;
use irqpath_model::{
    Event, LossReason, Meta, Names, Origin, PathRecord, Snapshot, SoftirqVec, Vector,
};
use irqpath_report::json::printable_meta;
use irqpath_source::replay::Replay;
use irqpath_source::{Config, Source, SourceError};

use super::args::What;
use super::filter;

pub struct Recording {
    /// Who recorded it, when, and on what.
    pub meta: Meta,
    /// Its events, narrowed to what was asked for.
    pub source: Box<dyn Source>,
}

/// Open a recording and narrow it.
pub fn open(path: &Path, what: &What) -> anyhow::Result<Recording> {
    let replay = Replay::open(path)?;
    let mut meta = printable_meta(replay.meta())?;
    meta.source = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut config = filter::unchecked_config(what, true);
    for text in &what.irq {
        config.origins.extend(resolve_origins(text, &meta.names)?);
    }
    if let Some(cpus) = &config.cpus {
        let online = meta.cpu.online.parse().unwrap_or_default();
        let absent = cpus.difference(&online);
        ensure!(
            online.is_empty() || absent.is_empty(),
            "there is no CPU {absent} in this recording; it was made on CPUs {online}"
        );
    }
    let source: Box<dyn Source> = if is_everything(&config) {
        Box::new(replay)
    } else {
        Box::new(Narrowed::new(replay.without_paths(), config))
    };
    Ok(Recording { meta, source })
}

fn is_everything(config: &Config) -> bool {
    config.origins.is_empty()
        && config.tids.is_empty()
        && config.comms.is_empty()
        && config.cpus.is_none()
}

/// What `--irq` means in a recording: a number, a label, a vector's name, or part of a name.
fn resolve_origins(text: &str, names: &Names) -> anyhow::Result<Vec<Origin>> {
    if let Ok(nr) = text.parse() {
        return Ok(vec![Origin::Irq(nr)]);
    }
    let vectors = Vector::ALL
        .iter()
        .copied()
        .filter(|v| v.label().eq_ignore_ascii_case(text) || v.name() == text)
        .map(Origin::Vector);
    let softirqs = SoftirqVec::ALL
        .iter()
        .copied()
        .filter(|v| v.name().eq_ignore_ascii_case(text))
        .map(Origin::Softirq);
    let mut found: Vec<Origin> = vectors.chain(softirqs).collect();
    if found.is_empty() && !text.is_empty() {
        let wanted = text.to_lowercase();
        let lines = names.irqs.iter().filter(|(_, n)| n.to_lowercase().contains(&wanted));
        found.extend(lines.map(|(nr, _)| Origin::Irq(*nr)));
    }
    if found.is_empty() {
        let has: Vec<String> = names.irqs.keys().map(|nr| names.origin(Origin::Irq(*nr))).collect();
        bail!("no interrupt '{text}' in this recording; it has: {}", has.join(", "));
    }
    Ok(found)
}

/// A recording of which only some paths are wanted.
struct Narrowed {
    replay: Replay,
    config: Config,
    paths: Accumulator,
}

impl Narrowed {
    fn new(replay: Replay, config: Config) -> Self {
        Self { replay, config, paths: Accumulator::new() }
    }

    fn narrow_events(&mut self, mut events: Vec<Event>) -> Vec<Event> {
        events.retain(|event| match event {
            Event::Path(record) => passes_filter(&self.config, record),
            Event::Occupancy(_) => true,
        });
        for event in &events {
            if let Event::Path(record) = event {
                self.paths.record(record);
            }
        }
        events
    }

    fn with_own_paths(&self, snapshot: Snapshot) -> Snapshot {
        let mut loss = snapshot.loss;
        loss.add_loss(LossReason::HistogramTableFull, self.paths.nr_left_out());
        Snapshot { paths: self.paths.stats(), loss, ..snapshot }
    }
}

/// The same filter as the live source's.
fn passes_filter(config: &Config, record: &PathRecord) -> bool {
    let target = &record.target;
    let any_task = config.tids.is_empty() && config.comms.is_empty();
    let task = any_task
        || config.tids.contains(&target.tid)
        || (target.tgid != 0 && config.tids.contains(&target.tgid))
        || config.comms.contains(&target.comm);
    let origin = config.origins.is_empty() || config.origins.contains(&record.origin);
    let cpu = config.cpus.as_ref().is_none_or(|cpus| {
        let ends = [record.first(), record.last()];
        ends.iter().flatten().any(|stamp| cpus.contains(stamp.cpu))
    });
    task && origin && cpu
}

impl Source for Narrowed {
    fn poll_events(&mut self, timeout: Duration) -> Result<Vec<Event>, SourceError> {
        let events = self.replay.poll_events(timeout)?;
        Ok(self.narrow_events(events))
    }

    fn take_snapshot(&mut self) -> Result<Snapshot, SourceError> {
        let snapshot = self.replay.take_snapshot()?;
        Ok(self.with_own_paths(snapshot))
    }

    fn finish(&mut self) -> Result<(Vec<Event>, Snapshot), SourceError> {
        let (events, snapshot) = self.replay.finish()?;
        let events = self.narrow_events(events);
        Ok((events, self.with_own_paths(snapshot)))
    }

    fn is_exhausted(&self) -> bool {
        self.replay.is_exhausted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{PathEnd, Point, Stamp, Task, Via};

    fn make_record() -> PathRecord {
        let mut stamps = [None; Point::COUNT];
        stamps[Point::Hardirq.index()] = Some(Stamp { ns: 10, cpu: 2 });
        stamps[Point::SwitchIn.index()] = Some(Stamp { ns: 20, cpu: 5 });
        PathRecord {
            origin: Origin::Irq(36),
            via: Via::REMOTE,
            stamps,
            timer_fn: 0,
            target: Task { tid: 701, tgid: 700, comm: "sshd".into(), ..Task::default() },
            end: PathEnd::SwitchIn,
            queues: Vec::new(),
            cgroup: None,
        }
    }

    #[test]
    fn filters_mean_the_same_as_in_the_kernel() {
        let cpus = |text: &str| Some(text.parse().unwrap());
        let empty = Config::default;
        for (config, want) in [
            (empty(), true),
            (Config { origins: vec![Origin::Irq(36)], ..empty() }, true),
            (Config { origins: vec![Origin::Irq(37)], ..empty() }, false),
            (Config { tids: vec![701], ..empty() }, true),
            (Config { tids: vec![700], ..empty() }, true),
            (Config { tids: vec![1], ..empty() }, false),
            (Config { tids: vec![1], comms: vec!["sshd".into()], ..empty() }, true),
            (Config { cpus: cpus("5"), ..empty() }, true),
            (Config { cpus: cpus("2"), ..empty() }, true),
            (Config { cpus: cpus("0-1,3"), ..empty() }, false),
        ] {
            assert_eq!(passes_filter(&config, &make_record()), want, "{config:?}");
        }
    }

    #[test]
    fn interrupts_are_found_by_number_label_and_name() {
        let names = Names {
            irqs: [(36, "virtio1-req.0".to_owned()), (40, "eth0".to_owned())].into(),
            ..Names::default()
        };
        for (text, want) in [
            ("36", vec![Origin::Irq(36)]),
            ("VIRTIO", vec![Origin::Irq(36)]),
            ("loc", vec![Origin::Vector(Vector::LocalTimer)]),
            ("net_rx", vec![Origin::Softirq(SoftirqVec::NetRx)]),
        ] {
            assert_eq!(resolve_origins(text, &names).unwrap(), want, "{text}");
        }
        let error = resolve_origins("wlan0", &names).unwrap_err().to_string();
        assert!(error.contains("it has: 36:virtio1-req.0, 40:eth0"), "{error}");
        assert!(resolve_origins("", &names).is_err());
    }
}
