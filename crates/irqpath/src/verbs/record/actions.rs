// SPDX-License-Identifier: GPL-2.0-or-later
//! What is done when something has happened, besides or instead of a capture: rtla's
//! `--on-threshold`. Signals and commands are the helper's, which has no privileges.

use std::io;
use std::str::FromStr;

use anyhow::{Context as _, anyhow};
use irqpath_files::owner;
use irqpath_model::record::ActionCounts;
use irqpath_source::helper::{Action, Helper, RunAs};
use rustix::process::{geteuid, getppid};

/// The highest signal of Linux.
const MAX_SIGNAL: i32 = 64;

/// One action, as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Write a capture.
    Trace,
    /// Go on recording.
    Continue,
    /// `signal,num=N,pid=PID`; no process is the parent of this one.
    Signal { signal: i32, pid: Option<u32> },
    /// `shell,command=COMMAND`.
    Shell(String),
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help =
            || "write trace, continue, signal,num=N,pid=PID or shell,command=COMMAND".to_owned();
        match text.split_once(',') {
            None if text == "trace" => Ok(Self::Trace),
            None if text == "continue" => Ok(Self::Continue),
            Some(("trace", _)) => Err("captures go below -o DIR; write trace alone".to_owned()),
            Some(("signal", rest)) => parse_signal(rest).ok_or_else(help),
            Some(("shell", rest)) => match rest.strip_prefix("command=") {
                Some(command) if !command.is_empty() && !command.contains('\0') => {
                    Ok(Self::Shell(command.to_owned()))
                }
                _ => Err(help()),
            },
            _ => Err(help()),
        }
    }
}

fn parse_signal(text: &str) -> Option<Step> {
    let (mut signal, mut pid) = (None, None);
    for part in text.split(',') {
        match part.split_once('=')? {
            ("num", n) => signal = n.parse().ok().filter(|n| (1..=MAX_SIGNAL).contains(n)),
            ("pid", "parent") => pid = Some(None),
            ("pid", n) => pid = Some(Some(n.parse().ok().filter(|n| *n > 0)?)),
            _ => return None,
        }
    }
    Some(Step::Signal { signal: signal?, pid: pid? })
}

/// What happens, in order.
#[derive(Debug, Default)]
pub struct Actions {
    /// Whether a capture is written.
    pub traces: bool,
    /// Whether the recorder goes on.
    pub goes_on: bool,
    /// Before the capture and after it, or all before if there is none.
    nr_of_part: [usize; 2],
    helper: Option<Helper>,
    asked: usize,
    counts: ActionCounts,
}

impl Actions {
    /// Start the helper if there is something for it to do. To be called before there is a second
    /// thread. Without any step a capture is written, and the recorder goes on.
    pub fn start(steps: &[Step]) -> anyhow::Result<Self> {
        if steps.is_empty() {
            return Ok(Self { traces: true, goes_on: true, ..Self::default() });
        }
        let traces = steps.contains(&Step::Trace);
        let goes_on = steps.contains(&Step::Continue);
        let mut parts = [Vec::new(), Vec::new()];
        let mut part = 0;
        for step in steps {
            match step {
                Step::Trace => part = 1,
                Step::Continue => {}
                Step::Shell(command) => parts[part].push(Action::Shell(command.clone())),
                Step::Signal { signal, pid } => {
                    let parent = || getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
                    let pid =
                        pid.or_else(parent).context("this process has no parent to signal")?;
                    parts[part].push(Action::Signal { signal: *signal, pid });
                }
            }
        }
        let nr_of_part = [parts[0].len(), parts[1].len()];
        let helper = (nr_of_part != [0, 0]).then(|| start_helper(parts)).transpose()?;
        Ok(Self { traces, goes_on, nr_of_part, helper, ..Self::default() })
    }

    /// Ask for what comes before a capture.
    pub fn ask_before(&mut self, trigger: &str) {
        self.ask(0, trigger, "");
    }

    /// Ask for what comes after it.
    pub fn ask_after(&mut self, trigger: &str, capture: &str) {
        self.ask(1, trigger, capture);
    }

    fn ask(&mut self, part: u8, trigger: &str, capture: &str) {
        self.note_acted();
        let nr = self.nr_of_part[usize::from(part)];
        let Some(helper) = self.helper.as_mut().filter(|_| nr > 0) else { return };
        match helper.ask(part, trigger, capture) {
            Ok(true) => self.asked = nr,
            Ok(false) => self.counts.nr_skipped += nr as u64,
            Err(_) => self.counts.nr_failed += nr as u64,
        }
    }

    /// Take note of what the helper has done. Actions after one that failed were not tried.
    pub fn note_acted(&mut self) {
        let Some(acted) = self.helper.as_mut().and_then(Helper::poll_acted) else { return };
        let tried = usize::from(acted.nr_done) + usize::from(acted.nr_failed);
        self.counts.nr_done += u64::from(acted.nr_done);
        self.counts.nr_failed += u64::from(acted.nr_failed);
        self.counts.nr_skipped += self.asked.saturating_sub(tried) as u64;
    }

    /// True while the helper is at work.
    pub fn is_busy(&self) -> bool {
        self.helper.as_ref().is_some_and(Helper::is_busy)
    }

    /// What became of all actions.
    pub fn counts(&self) -> ActionCounts {
        self.counts
    }
}

fn start_helper(parts: [Vec<Action>; 2]) -> anyhow::Result<Helper> {
    let become_other = if geteuid().is_root() { Some(find_user()?) } else { None };
    Helper::start(parts, become_other).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow!("there is no such process to signal; ps -e lists them"),
        _ if error.raw_os_error() == Some(3) => {
            anyhow!("there is no such process to signal; ps -e lists them")
        }
        _ => anyhow!("no helper for the actions can be started: {error}"),
    })
}

/// The user who called `sudo`, or nobody. Root itself is never meant.
fn find_user() -> anyhow::Result<RunAs> {
    let Some(uid) = owner::calling_user().filter(|uid| *uid != 0) else {
        return Ok(RunAs::NOBODY);
    };
    let gid = std::env::var("SUDO_GID").ok().and_then(|gid| gid.parse().ok());
    let gid = gid.filter(|gid| *gid != 0).context("SUDO_UID is set without SUDO_GID; call sudo")?;
    Ok(RunAs { uid, gid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_read_as_rtla_reads_them() {
        for (text, want) in [
            ("trace", Step::Trace),
            ("continue", Step::Continue),
            ("signal,num=10,pid=7", Step::Signal { signal: 10, pid: Some(7) }),
            ("signal,pid=parent,num=2", Step::Signal { signal: 2, pid: None }),
            ("shell,command=echo a, b=c", Step::Shell("echo a, b=c".to_owned())),
        ] {
            assert_eq!(text.parse(), Ok(want), "{text}");
        }
        for text in [
            "",
            "trace,file=x",
            "signal",
            "signal,num=0,pid=1",
            "signal,num=65,pid=1",
            "signal,num=1",
            "signal,num=1,pid=0",
            "signal,num=1,pid=1,x=2",
            "shell",
            "shell,command=",
            "shell,rm",
            "reboot",
        ] {
            assert!(text.parse::<Step>().is_err(), "{text}");
        }
    }

    #[test]
    fn without_actions_a_capture_is_written_and_recording_goes_on() {
        let actions = Actions::start(&[]).unwrap();
        assert!(actions.traces && actions.goes_on && !actions.is_busy());
        let actions = Actions::start(&[Step::Trace]).unwrap();
        assert!(actions.traces && !actions.goes_on, "rtla stops unless it is told to continue");
    }
}
