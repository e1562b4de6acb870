// SPDX-License-Identifier: GPL-2.0-or-later
//! The flight recorder as its tests run it.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Loading the programs beside other tests takes its time.
pub const PATIENCE: Duration = Duration::from_secs(90);
/// Of a debug build, whose code alone is large.
const MEMORY: &str = "320";

/// A recorder that records.
pub struct Flight {
    child: Child,
    /// Where its captures are.
    pub directory: PathBuf,
}

impl Flight {
    /// Start it with these arguments, and wait until it has given up its privileges.
    pub fn start(directory: &Path, arguments: &[&str]) -> Self {
        Self::start_by(Command::new(assert_cmd::cargo::cargo_bin("irqpath")), directory, arguments)
    }

    /// The same by a command that ends in the program.
    pub fn start_by(mut command: Command, directory: &Path, arguments: &[&str]) -> Self {
        let child = command
            .args(["record", "--json", "--memory", MEMORY, "-o"])
            .arg(directory)
            .args(arguments)
            .env_remove("SUDO_UID")
            .env_remove("SUDO_GID")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut flight = Self { child, directory: directory.to_owned() };
        flight.wait_until("it records", |flight| {
            flight.status().is_some_and(|status| status.contains("Seccomp:\t2"))
        });
        flight
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `/proc/PID/status`.
    pub fn status(&self) -> Option<String> {
        fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()
    }

    /// Send it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Until there are so many captures.
    pub fn wait_for_captures(&mut self, nr: usize) -> Vec<PathBuf> {
        self.wait_until("captures", |flight| flight.captures().len() >= nr);
        self.captures()
    }

    /// Those that are complete, in order.
    pub fn captures(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let is_capture =
            |path: &PathBuf| !path.file_name().unwrap().as_encoded_bytes().starts_with(b".");
        let mut found: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(is_capture).collect();
        found.sort();
        found
    }

    /// Wait for something, but not for ever, and not for one that has ended.
    pub fn wait_until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            let has_ended = self.child.try_wait().unwrap().is_some();
            assert!(!has_ended || is_so(self), "it ended before {what}: {}", self.read_errors());
            assert!(Instant::now() < deadline, "no {what}");
            sleep(Duration::from_millis(20));
        }
    }

    fn read_errors(&mut self) -> String {
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }

    /// End it by a signal. Returns the document and what it said on standard error.
    pub fn stop(self) -> (Value, String) {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Wait for its own end.
    pub fn wait(mut self) -> (Value, String) {
        let mut document = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut document).unwrap();
        let said = self.read_errors();
        assert!(self.child.wait().unwrap().success(), "{said}");
        (serde_json::from_str(&document).expect(&said), said)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `meta.json` of a capture.
pub fn read_meta(capture: &Path) -> Value {
    serde_json::from_slice(&fs::read(capture.join("meta.json")).unwrap()).unwrap()
}
