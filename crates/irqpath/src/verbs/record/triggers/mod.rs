// SPDX-License-Identifier: GPL-2.0-or-later
//! Everything but a slow path that makes the recorder write a capture.
//!
//! All is opened before the process is confined. Who may trigger is decided by the owner and the mode
//! of a FIFO, and by the user at the other end of a socket.

mod lines;
mod probes;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use irqpath_model::record::{ProbeCounts, Trigger};
use irqpath_model::{Intrusion, LineStats, Names, Origin};
use irqpath_source::bpf::probes::{Place, Probe};
use irqpath_system::Host;

use crate::host::intrusions::Watch;
use lines::Lines;
use probes::Watched;

/// What `--trigger` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// `fifo:PATH`.
    Fifo(PathBuf),
    /// `socket:PATH`.
    Socket(PathBuf),
    /// `usdt:BIN:PROVIDER:NAME` or `uprobe:BIN:FUNCTION`.
    Probe(Probe),
    /// `shield`.
    Shield,
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("usdt", rest)) => parse_usdt(rest).ok_or_else(|| HELP.to_owned()),
            Some(("uprobe", rest)) => parse_uprobe(rest).ok_or_else(|| HELP.to_owned()),
            Some(("fifo", path)) if !path.is_empty() => Ok(Self::Fifo(path.into())),
            Some(("socket", path)) if !path.is_empty() => Ok(Self::Socket(path.into())),
            None if text == "shield" => Ok(Self::Shield),
            _ => Err(HELP.to_owned()),
        }
    }
}

const HELP: &str = "write fifo:PATH, socket:PATH, usdt:BIN:PROVIDER:NAME, uprobe:BIN:FUNCTION or \
                    shield";

/// From its end: a path may have colons.
fn parse_usdt(text: &str) -> Option<Asked> {
    let (rest, name) = text.rsplit_once(':')?;
    let (binary, provider) = rest.rsplit_once(':')?;
    let is_whole = ![binary, provider, name].contains(&"");
    let place = Place::Usdt(provider.to_owned(), name.to_owned());
    is_whole.then(|| Asked::Probe(Probe { binary: binary.into(), place }))
}

fn parse_uprobe(text: &str) -> Option<Asked> {
    let (binary, name) = text.rsplit_once(':')?;
    let is_whole = ![binary, name].contains(&"");
    let place = Place::Function(name.to_owned());
    is_whole.then(|| Asked::Probe(Probe { binary: binary.into(), place }))
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    pub trigger: Trigger,
    /// In words; a stranger's may be among them.
    pub what: String,
    /// When, `CLOCK_MONOTONIC` ns.
    pub at_ns: u64,
}

/// What is listened to.
pub struct Triggers {
    lines: Lines,
    probes: Option<Watched>,
    shield: Option<Watch>,
    /// Interrupts on isolated CPUs so far.
    nr_intrusions: u64,
}

impl Triggers {
    /// Open everything that was asked for.
    pub fn open(asked: &[Asked], host: &Host) -> anyhow::Result<Self> {
        let mut lines = Lines::default();
        let (mut shield, mut probes) = (None, Vec::new());
        for one in asked {
            match one {
                Asked::Fifo(path) => lines.add_fifo(path)?,
                Asked::Socket(path) => lines.add_socket(path)?,
                Asked::Probe(probe) => probes.push(probe.clone()),
                Asked::Shield => shield = Some(Watch::new(host.clone())),
            }
        }
        let probes = (!probes.is_empty()).then(|| Watched::open(probes)).transpose()?;
        Ok(Self { lines, probes, shield, nr_intrusions: 0 })
    }

    /// Wait until a line comes, or for so long.
    pub fn wait(&mut self, timeout: Duration) -> Vec<Happened> {
        let mut happened = self.lines.wait(timeout);
        happened.extend(self.probes.as_mut().map(Watched::poll_hits).unwrap_or_default());
        happened
    }

    /// What the counts of lines tell, which are read now and then.
    pub fn judge_lines(
        &mut self,
        lines: &[LineStats],
        names: &Names,
        now_ns: u64,
    ) -> Vec<Happened> {
        let Some(watch) = &mut self.shield else { return Vec::new() };
        let found = watch.add_lines(lines);
        let of_lines = found.iter().filter(|intrusion| matches!(intrusion.origin, Origin::Irq(_)));
        let (nr, newest) = count_intrusions(of_lines);
        let before = std::mem::replace(&mut self.nr_intrusions, nr);
        let Some(one) = newest.filter(|_| nr > before) else { return Vec::new() };
        let line = names.origin(one.origin);
        let why: &str = one.why.into();
        let what = format!("interrupt {line} on isolated CPU {} ({why})", one.cpu);
        vec![Happened { trigger: Trigger::Shield, what, at_ns: now_ns }]
    }

    /// True if only the counts of lines tell of some triggers.
    pub fn wants_lines(&self) -> bool {
        self.shield.is_some()
    }

    /// Probes that trigger less or no more.
    pub fn probe_counts(&self) -> ProbeCounts {
        self.probes.as_ref().map(Watched::counts).unwrap_or_default()
    }

    /// What has to be told at the end.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.lines.notes();
        notes.extend(self.probes.iter().flat_map(Watched::notes).cloned());
        notes
    }
}

/// How many there are, and one of the most frequent.
fn count_intrusions<'a>(all: impl Iterator<Item = &'a Intrusion>) -> (u64, Option<&'a Intrusion>) {
    let all: Vec<&Intrusion> = all.collect();
    (all.iter().map(|one| one.nr).sum(), all.into_iter().max_by_key(|one| one.nr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_are_read_and_others_are_refused() {
        for (text, want) in [
            ("fifo:/run/x", Asked::Fifo("/run/x".into())),
            ("socket:a:b", Asked::Socket("a:b".into())),
            ("shield", Asked::Shield),
            (
                "usdt:/opt/a:b:app:missed",
                Asked::Probe(Probe {
                    binary: "/opt/a:b".into(),
                    place: Place::Usdt("app".to_owned(), "missed".to_owned()),
                }),
            ),
            (
                "uprobe:/bin/app:on_miss",
                Asked::Probe(Probe {
                    binary: "/bin/app".into(),
                    place: Place::Function("on_miss".to_owned()),
                }),
            ),
        ] {
            assert_eq!(text.parse(), Ok(want), "{text}");
        }
        for text in [
            "",
            "fifo",
            "fifo:",
            "socket:",
            "pipe:/x",
            "shield:1",
            "usdt:/a:b",
            "usdt::a:b",
            "uprobe:/a",
            "uprobe:/a:",
        ] {
            assert!(text.parse::<Asked>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_line_on_an_isolated_cpu_triggers_once_for_each_look_and_vectors_never_do() {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in
            [("sys/devices/system/cpu/isolated", "1\n"), ("proc/irq/36/smp_affinity_list", "0-1\n")]
        {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut triggers = Triggers::open(&[Asked::Shield], &Host::new(root.path())).unwrap();
        let names = Names { irqs: [(36, "eth0".to_owned())].into(), ..Names::default() };
        let timer = Origin::Vector(irqpath_model::Vector::LocalTimer);
        let line = |origin, nr| LineStats { origin, cpu: 1, nr, run_ns: 0, max_run_ns: 0 };
        let mut look = |nr_line, nr_timer| {
            let lines = [line(Origin::Irq(36), nr_line), line(timer, nr_timer)];
            let happened = triggers.judge_lines(&lines, &names, 7);
            happened.into_iter().map(|one| one.what).collect::<Vec<_>>()
        };
        assert!(look(10, 10).is_empty(), "of before");
        assert!(look(10, 90).is_empty(), "a vector has no affinity");
        assert_eq!(look(13, 95), ["interrupt 36:eth0 on isolated CPU 1 (affinity)"]);
        assert!(look(13, 99).is_empty(), "nothing new");
    }
}
