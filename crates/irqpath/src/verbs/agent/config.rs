// SPDX-License-Identifier: GPL-2.0-or-later
//! The configuration of the agent, read from TOML. Whatever is not known is refused, with its line.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{bail, ensure};
use irqpath_model::CpuList;
use irqpath_report::openmetrics::{Buckets, Shown, StageRows};
use serde::{Deserialize, Deserializer};

use super::endpoint::Otlp;
use super::recording::Record;

/// Where it serves unless told otherwise: the port that OpenTelemetry gives exporters.
const DEFAULT_LISTEN: &str = "127.0.0.1:9464";
/// A path of a minute is none.
const MAX_THRESHOLD_US: u64 = 60_000_000;
/// The tables hold no more.
const MAX_PATHS: u16 = 1024;

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Where to serve, unless systemd hands over sockets.
    #[serde(deserialize_with = "read_places")]
    pub listen: Vec<Place>,
    /// TLS and passwords, in a file of its own with the keys of Prometheus' exporters.
    pub web_config: Option<PathBuf>,
    /// Where the numbers are sent besides.
    pub otlp: Option<Otlp>,
    /// The flight recorder, if there is one.
    pub record: Option<Record>,
    /// Explain every path at least this long, us; 0 explains only each new maximum, and sums up nothing.
    pub threshold_us: u64,
    /// Paths with numbers of their own.
    pub max_paths: u16,
    /// A path that did not occur for so long gives its row to another one, s; 0 keeps it.
    pub idle_s: u32,
    /// How targets are told apart.
    pub targets: Targets,
    /// Whose stages have histograms.
    pub stages: Stages,
    /// Classic buckets beside the native ones in protocol buffers.
    pub classic_histograms: bool,
    /// Counts of interrupts and softirqs for each CPU.
    pub per_cpu: bool,
    /// How often the kernel times the agent's programs, for a second each time, s; 0 never.
    pub cost_every_s: u32,
    /// Follow targets until they return to user space: a program in every system call.
    pub user: bool,
    /// Only these interrupts: numbers, names of devices, vectors.
    pub irqs: Vec<String>,
    /// Only paths to these tasks, by name or number.
    pub tasks: Vec<String>,
    /// Only paths on these CPUs.
    #[serde(deserialize_with = "read_cpus")]
    pub cpus: Option<CpuList>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: vec![Place::Tcp(DEFAULT_LISTEN.parse().expect("an address"))],
            web_config: None,
            otlp: None,
            record: None,
            threshold_us: 1000,
            max_paths: 200,
            idle_s: 600,
            targets: Targets::Tasks,
            stages: Stages::Origins,
            classic_histograms: false,
            per_cpu: false,
            cost_every_s: 60,
            user: false,
            irqs: Vec::new(),
            tasks: Vec::new(),
            cpus: None,
        }
    }
}

/// Where a socket listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// An address and a port.
    Tcp(SocketAddr),
    /// `unix:` and a path.
    Unix(PathBuf),
}

/// How targets are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Targets {
    /// By the names of tasks.
    Tasks,
    /// By the units, pods and containers that their cgroups belong to.
    Units,
}

/// Whose stages have histograms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stages {
    /// Each path's.
    Paths,
    /// Those of all paths of an origin and a carrier together.
    Origins,
    /// Nobody's.
    None,
}

impl Settings {
    /// From the text of a file.
    ///
    /// # Errors
    /// In one line, what is wrong and in which line of the file.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let settings: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            let message = error.message().replace('\n', " ");
            anyhow::anyhow!("line {line}: {message}")
        })?;
        let us = settings.threshold_us;
        ensure!(
            us <= MAX_THRESHOLD_US,
            "threshold_us is {us}; at most {MAX_THRESHOLD_US} is possible"
        );
        let max = settings.max_paths;
        ensure!(
            (1..=MAX_PATHS).contains(&max),
            "max_paths is {max}; 1 to {MAX_PATHS} are possible"
        );
        ensure!(
            settings.web_config.is_some() || !settings.is_for_others(),
            "listen has an address that is not on the loopback interface, and names of tasks are \
             not for everybody; web_config must name a file with TLS for it"
        );
        let every = settings.cost_every_s;
        ensure!(every <= 86_400, "cost_every_s is {every}; 0 to 86400 are possible");
        if let Some(otlp) = &settings.otlp {
            otlp.check()?;
        }
        if let Some(record) = &settings.record {
            record.check()?;
        }
        Ok(settings)
    }

    /// True if other hosts may ask.
    pub fn is_for_others(&self) -> bool {
        let is_on_loopback = |place: &Place| match place {
            Place::Tcp(address) => address.ip().is_loopback(),
            Place::Unix(_) => true,
        };
        !self.listen.iter().all(is_on_loopback)
    }

    /// What of it the exposition shows.
    pub fn shown(&self) -> Shown {
        Shown {
            buckets: Buckets { classic: self.classic_histograms, native: true },
            stages: match self.stages {
                Stages::Paths => StageRows::Paths,
                Stages::Origins => StageRows::Origins,
                Stages::None => StageRows::None,
            },
            per_cpu: self.per_cpu,
        }
    }

    /// True if the tracing programs of both are the same, so that one may become the other while
    /// they run.
    pub fn traces_as(&self, other: &Self) -> bool {
        let record = match (&self.record, &other.record) {
            (Some(one), Some(two)) => one.keeps_as(two),
            (one, two) => one == two,
        };
        let Self { idle_s, stages, classic_histograms, per_cpu, record: _, .. } = other.clone();
        let as_other = Self {
            idle_s,
            stages,
            classic_histograms,
            per_cpu,
            record: other.record.clone(),
            ..self.clone()
        };
        record && as_other == *other
    }
}

fn read_places<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Place>, D::Error> {
    let all = Vec::<String>::deserialize(deserializer)?;
    if all.is_empty() {
        return Err(serde::de::Error::custom("listen names no place"));
    }
    all.iter().map(|text| parse_place(text).map_err(serde::de::Error::custom)).collect()
}

fn parse_place(text: &str) -> anyhow::Result<Place> {
    if let Some(path) = text.strip_prefix("unix:") {
        ensure!(path.starts_with('/'), "'{text}' has no absolute path");
        return Ok(Place::Unix(path.into()));
    }
    let Ok(address) = text.parse::<SocketAddr>() else {
        bail!("'{text}' is no place to listen; write 127.0.0.1:9464, [::1]:9464 or unix:/path");
    };
    Ok(Place::Tcp(address))
}

fn read_cpus<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<CpuList>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_has_the_defaults() {
        let settings = Settings::parse("").unwrap();
        assert_eq!(settings, Settings::default());
        assert_eq!(settings.listen, [Place::Tcp("127.0.0.1:9464".parse().unwrap())]);
    }

    #[test]
    fn all_settings_are_read() {
        let text = "listen = ['[::1]:1', 'unix:/run/a.sock']\nthreshold_us = 100\nmax_paths = 20\n\
                    idle_s = 60\nstages = 'none'\nclassic_histograms = true\nper_cpu = true\nuser = true\n\
                    cost_every_s = 5\nirqs = ['eth0']\ntasks = ['postgres']\ncpus = '0-1'\n";
        let settings = Settings::parse(text).unwrap();
        assert_eq!(settings.listen[1], Place::Unix("/run/a.sock".into()));
        assert_eq!((settings.threshold_us, settings.max_paths, settings.idle_s), (100, 20, 60));
        assert_eq!(settings.cpus.unwrap().len(), 2);
        assert!(settings.classic_histograms && settings.per_cpu && settings.user);
        assert_eq!(settings.cost_every_s, 5);
    }

    #[test]
    fn what_is_wrong_is_one_line_with_its_place() {
        for (text, want) in [
            ("max_path = 3", "line 1: unknown field `max_path`"),
            ("\nmax_paths = 'x'", "line 2: invalid type"),
            ("\nmax_path = 3", "line 2: unknown field `max_path`"),
            ("threshold_us = 9223372036854775807", "threshold_us is 9223372036854775807; at most"),
            ("cost_every_s = 86401", "cost_every_s is 86401; 0 to 86400 are"),
            ("max_paths = 0", "max_paths is 0; 1 to 1024 are possible"),
            ("max_paths = 70000", "line 1: invalid value"),
            ("listen = []", "line 1: listen names no place"),
            ("listen = ['0.0.0.0:9464']", "listen has an address that is not on the loopback"),
            ("listen = ['[::]:9464']", "listen has an address that is not on the loopback"),
            ("otlp = { endpoint = 'x' }", "otlp.endpoint 'x' "),
            (
                "otlp = { endpoint = 'http://10.0.0.1:4318' }",
                "otlp.endpoint 'http://10.0.0.1:4318' ",
            ),
            ("otlp = { endpoint = 'https://localhost:4318' }", "otlp.ca_file is missing"),
            ("otlp = { endpoint = 'unix:/a', interval_s = 0 }", "otlp.interval_s is 0"),
            ("otlp = { endpoint = 'unix:/a', colour = 1 }", "line 1: unknown field `colour`"),
            ("listen = ['unix:a']", "line 1: 'unix:a' has no absolute path"),
            ("listen = ['nowhere']", "line 1: 'nowhere' is no place to listen"),
            ("cpus = '3-1'", "line 1: "),
            ("[record]\nkeep_s = 3", "line 1: missing field `directory`"),
            ("[record]\ndirectory = 'x'", "record.directory 'x' is no absolute path"),
            ("[record]\ndirectory = '/x'\ncolour = 1", "line 3: unknown field `colour`"),
            ("[record]\ndirectory = '/x'\nstages = ['x']", "line 3: write a stage and micro"),
            ("[record]\ndirectory = '/x'\ntriggers = ['x:1']", "line 3: write fifo:PATH"),
            ("[record]\ndirectory = '/x'\nat_most = '9'", "line 3: write a number and a time"),
            ("[record]\ndirectory = '/x'\nkeep_s = 0", "record.keep_s is 0; 1 to 3600"),
            ("[record]\ndirectory = '/x'\nafter_ms = 10000", "record.after_ms is not less than"),
            ("[record]\ndirectory = '/x'\nthreshold_us = 0", "record.threshold_us is 0; 1 to"),
            ("[record]\ndirectory = '/x'\nmemory_mib = 0", "record.memory_mib is 0; 1 to 65536"),
            ("stages = 'all'", "line 1: unknown variant `all`"),
            ("= 3", "line 1: "),
        ] {
            let error = Settings::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(want) && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn only_what_is_shown_can_change_while_it_runs() {
        let one = Settings::default();
        let other = Settings { idle_s: 0, stages: Stages::None, per_cpu: true, ..one.clone() };
        assert!(one.traces_as(&other));
        assert!(!one.traces_as(&Settings { max_paths: 3, ..one.clone() }));
        let record = |more: &str| Settings::parse(&format!("[record]\ndirectory = '/x'\n{more}"));
        let recording = record("").unwrap();
        assert!(!one.traces_as(&recording) && !recording.traces_as(&one));
        assert!(recording.traces_as(&record("at_most = '1/h'\nkeep_s = 5\n").unwrap()));
        assert!(!recording.traces_as(&record("threshold_us = 5\n").unwrap()));
    }
}
