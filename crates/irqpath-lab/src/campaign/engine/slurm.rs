// SPDX-License-Identifier: GPL-2.0-or-later
//! Slurm: each batch is a job array with one task for each unit, one CPU for each task.
//!
//! Slurm starts a task again itself if its node fails, and ends one that exceeds its time. What has no
//! result after that is the campaign's to start again. The ids of arrays are in the campaign's
//! directory, so that a campaign that starts again waits for them instead of running their units
//! twice.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use irqpath_files::input;

use super::{Engine, Ran, UnitCommand};
use crate::campaign::error::CampaignError;
use crate::campaign::store::Store;
use crate::campaign::unit::Batch;

/// The file with the ids of arrays that may still run.
const JOBS: &str = "slurm-jobs";
const MAX_JOBS_FILE: u64 = 1 << 20;
/// Between two questions to the controller: it shall not be asked often.
const PERIODS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(15)];
/// How long a controller may be away, as when it restarts.
const AWAY: Duration = Duration::from_secs(300);
/// `MaxArraySize` and `MaxJobCount` where the controller does not tell.
const MAX_ARRAY: usize = 1001;
const MAX_JOBS: usize = 10_000;

pub struct Slurm {
    pub command: UnitCommand,
    /// Tasks that run at the same time; none means as many as Slurm allows.
    pub throttle: Option<u32>,
    /// More options of `sbatch`: `--partition=rt`.
    pub options: Vec<String>,
    /// Another configuration than the host's.
    pub conf: Option<PathBuf>,
}

impl Slurm {
    fn tool(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("LC_ALL", "C").stdin(Stdio::null());
        if let Some(conf) = &self.conf {
            command.env("SLURM_CONF", conf);
        }
        command
    }

    /// What a program printed.
    fn ask(&self, program: &str, arguments: &[&str]) -> Result<String, CampaignError> {
        let output = self.tool(program).args(arguments).output();
        read_answer(program, output)
    }

    /// A number of the controller's configuration.
    fn read_setting(&self, name: &str, default: usize) -> Result<usize, CampaignError> {
        let text = self.ask("scontrol", &["show", "config"])?;
        Ok(find_setting(&text, name).unwrap_or(default))
    }

    fn submit(&self, store: &Store, batch: &Batch) -> Result<u64, CampaignError> {
        let mut command = self.tool("sbatch");
        command.args(list_options(batch, self.throttle)).args(&self.options);
        command.arg(concat_bytes(b"--chdir=", store.path().as_os_str()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let script = self.format_script(store, batch);
        let output = command.spawn().and_then(|mut child| {
            if let Some(mut stdin) = child.stdin.take() {
                stdin.write_all(&script)?;
            }
            child.wait_with_output()
        });
        let answer = read_answer("sbatch", output)?;
        let id = answer.trim().split(';').next().and_then(|id| id.parse().ok());
        id.ok_or_else(|| CampaignError::Engine(format!("sbatch gave no job id: {answer:?}")))
    }

    fn format_script(&self, store: &Store, batch: &Batch) -> Vec<u8> {
        let mut script = b"#!/bin/sh\nexec".to_vec();
        let place = store.path().as_os_str();
        let number = batch.number.to_string();
        for word in self.command.0.iter().map(OsString::as_os_str).chain([place, number.as_ref()]) {
            script.push(b' ');
            quote_word(word, &mut script);
        }
        script.extend_from_slice(b" \"$SLURM_ARRAY_TASK_ID\"\n");
        script
    }

    /// Waits until at most `nr_left` of these arrays have tasks that wait or run.
    fn wait_for(
        &self,
        jobs: &mut BTreeMap<u64, usize>,
        nr_left: usize,
    ) -> Result<(), CampaignError> {
        let (mut period, mut last_answer) = (PERIODS[0], Instant::now());
        while jobs.len() > nr_left {
            match self.list_active(jobs.keys()) {
                Ok(active) => {
                    jobs.retain(|id, _| active.contains(id));
                    last_answer = Instant::now();
                }
                Err(error) if last_answer.elapsed() > AWAY => return Err(error),
                Err(_) => {}
            }
            if jobs.len() > nr_left {
                thread::sleep(period);
                period = (period * 2).min(PERIODS[1]);
            }
        }
        Ok(())
    }

    fn list_active<'a>(
        &self,
        jobs: impl Iterator<Item = &'a u64>,
    ) -> Result<BTreeSet<u64>, CampaignError> {
        let ids = jobs.map(u64::to_string).collect::<Vec<_>>().join(",");
        match self.ask("squeue", &["--noheader", "--format=%F", "--jobs", &ids]) {
            // All of them have ended long ago.
            Err(CampaignError::Engine(text)) if text.contains("Invalid job id") => {
                Ok(BTreeSet::new())
            }
            answer => Ok(answer?.lines().filter_map(|line| line.trim().parse().ok()).collect()),
        }
    }
}

/// What an array of this batch is asked for.
fn list_options(batch: &Batch, throttle: Option<u32>) -> Vec<String> {
    let last = batch.units.len().saturating_sub(1);
    let throttle = throttle.map(|nr| format!("%{nr}")).unwrap_or_default();
    let limit = batch.limit_s();
    let mut options = vec![
        "--parsable".to_owned(),
        "--job-name=irqpath-campaign".to_owned(),
        format!("--array=0-{last}{throttle}"),
        "--ntasks=1".to_owned(),
        "--cpus-per-task=1".to_owned(),
        format!("--mem={}M", batch.memory_mib()),
        format!("--time={}:{:02}", limit / 60, limit % 60),
        "--requeue".to_owned(),
        "--open-mode=append".to_owned(),
        format!("--output=logs/{}-%a.log", batch.number),
    ];
    if !batch.exclude.is_empty() {
        let nodes: Vec<&str> = batch.exclude.iter().map(String::as_str).collect();
        options.push(format!("--exclude={}", nodes.join(",")));
    }
    options
}

fn read_answer(program: &str, output: io::Result<Output>) -> Result<String, CampaignError> {
    let missing =
        |e| CampaignError::Engine(format!("cannot run {program} ({e}); install Slurm's client"));
    let output = output.map_err(missing)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    Err(CampaignError::Engine(format!("{program}: {last}")))
}

/// `NAME = 1001` in what `scontrol show config` prints.
fn find_setting(text: &str, name: &str) -> Option<usize> {
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then(|| value.trim().parse().ok())?
    };
    text.lines().find_map(value)
}

/// Nodes on which a task may start, of `sinfo`'s lines `NAME STATE`.
fn find_usable_nodes(text: &str) -> Vec<String> {
    const GONE: [&str; 5] = ["down", "drain", "drng", "fail", "unk"];
    let usable = |line: &str| {
        let (name, state) = line.split_once(' ')?;
        let is_gone = state.ends_with('*') || GONE.iter().any(|gone| state.starts_with(gone));
        (!is_gone).then(|| name.to_owned())
    };
    text.lines().filter_map(usable).collect::<BTreeSet<_>>().into_iter().collect()
}

fn concat_bytes(start: &[u8], end: &OsStr) -> OsString {
    OsStr::from_bytes(&[start, end.as_bytes()].concat()).to_owned()
}

/// In single quotes, as every shell reads it.
fn quote_word(word: &OsStr, out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in word.as_bytes() {
        match byte {
            b'\'' => out.extend_from_slice(b"'\\''"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
}

impl Engine for Slurm {
    fn list_workers(&self) -> Result<Vec<String>, CampaignError> {
        let mut arguments = vec!["--noheader", "--Node", "--format=%N %t"];
        let partition = self.options.iter().find(|option| option.starts_with("--partition="));
        arguments.extend(partition.map(String::as_str));
        Ok(find_usable_nodes(&self.ask("sinfo", &arguments)?))
    }

    fn max_tasks(&self) -> Result<usize, CampaignError> {
        Ok(self.read_setting("MaxArraySize", MAX_ARRAY)?.max(1))
    }

    fn finish_earlier(&self, store: &Store) -> Result<bool, CampaignError> {
        let text = input::read_text(&store.path().join(JOBS), MAX_JOBS_FILE).unwrap_or_default();
        let mut jobs = text.lines().filter_map(|line| Some((line.parse().ok()?, 0))).collect();
        self.wait_for(&mut jobs, 0)?;
        Ok(true)
    }

    fn run(&self, store: &Store, batches: &[Batch]) -> Result<Ran, CampaignError> {
        // Half of what the controller keeps: it has other users.
        let most = self.read_setting("MaxJobCount", MAX_JOBS)? / 2;
        let mut jobs = BTreeMap::new();
        for batch in batches {
            let is_full = |jobs: &BTreeMap<u64, usize>| {
                jobs.values().sum::<usize>() + batch.units.len() > most
            };
            while !jobs.is_empty() && (self.throttle.is_some() || is_full(&jobs)) {
                let nr_left = jobs.len() - 1;
                self.wait_for(&mut jobs, nr_left)?;
            }
            jobs.insert(self.submit(store, batch)?, batch.units.len());
            let ids = jobs.keys().map(u64::to_string).collect::<Vec<_>>().join("\n");
            store.directory().write(JOBS, |file| writeln!(file, "{ids}"))?;
        }
        self.wait_for(&mut jobs, 0)?;
        Ok(Ran::Ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::testing::make_batch;

    #[test]
    fn an_array_has_a_cpu_a_time_and_nodes_that_it_avoids() {
        let mut batch = make_batch(7, 3);
        batch.units[1].limit_s = 754;
        let options = list_options(&batch, None).join(" ");
        assert_eq!(
            options,
            "--parsable --job-name=irqpath-campaign --array=0-2 --ntasks=1 --cpus-per-task=1 \
             --mem=16M --time=12:34 --requeue --open-mode=append --output=logs/7-%a.log"
        );
        batch.exclude = ["w1".to_owned(), "w2".to_owned()].into();
        let options = list_options(&batch, Some(5)).join(" ");
        assert!(options.contains(" --array=0-2%5 "), "{options}");
        assert!(options.ends_with(" --exclude=w1,w2"), "{options}");
    }

    #[test]
    fn answers_of_slurm_are_understood() {
        let config =
            "MaxArraySize            = 1001\nMaxJobCount             = 10000\nX = (null)\n";
        assert_eq!(find_setting(config, "MaxArraySize"), Some(1001));
        assert_eq!(find_setting(config, "X").or(find_setting(config, "Max")), None);
        let nodes = "w1 idle\nw2 mix\nw3 down\nw4 idle*\nw5 drain\nw1 idle\nw6 alloc\n";
        assert_eq!(find_usable_nodes(nodes), ["w1", "w2", "w6"]);
    }

    #[test]
    fn a_word_of_the_script_stays_one_word() {
        let mut out = Vec::new();
        quote_word("it's $HOME".as_ref(), &mut out);
        assert_eq!(out, br"'it'\''s $HOME'");
    }
}
