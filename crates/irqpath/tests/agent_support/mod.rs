// SPDX-License-Identifier: GPL-2.0-or-later
//! An agent that runs, and how to ask it: for all tests of the agent.

#![allow(dead_code)] // no file of tests needs all of it

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Loading the programs beside other tests takes its time.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// An agent at a socket in a directory of its own, and what systemd would hear from it.
pub struct Running {
    pub directory: tempfile::TempDir,
    manager: UnixDatagram,
    pub child: Child,
}

impl Running {
    pub fn start(settings: &str) -> Self {
        Self::start_at(&[], settings)
    }

    /// With these addresses beside its socket.
    pub fn start_at(addresses: &[&str], settings: &str) -> Self {
        let program = assert_cmd::cargo::cargo_bin("irqpath");
        Self::start_by(Command::new(program), addresses, settings)
    }

    /// By a command that ends with the path of irqpath.
    pub fn start_by(mut command: Command, addresses: &[&str], settings: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let manager = UnixDatagram::bind(directory.path().join("notify")).unwrap();
        manager.set_read_timeout(Some(PATIENCE)).unwrap();
        let config = directory.path().join("agent.toml");
        let socket = format!("unix:{}", directory.path().join("http").display());
        let places: Vec<&str> = addresses.iter().copied().chain([socket.as_str()]).collect();
        let listen = format!("listen = ['{}']\n", places.join("', '"));
        let here = directory.path().display().to_string();
        fs::write(&config, listen + &settings.replace("HERE", &here)).unwrap();
        let child = command
            .arg("agent")
            .arg("--config")
            .arg(&config)
            .env("NOTIFY_SOCKET", directory.path().join("notify"))
            .env("WATCHDOG_USEC", "1000000")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let running = Self { directory, manager, child };
        running.wait_for_word("READY=1");
        running
    }

    pub fn config(&self) -> PathBuf {
        self.directory.path().join("agent.toml")
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("http")
    }

    /// The socket holds ten words, and who is alive says so until it is full: then the answer to a
    /// signal would be lost.
    fn hear_all(&self) {
        self.manager.set_nonblocking(true).unwrap();
        while self.manager.recv(&mut [0; 512]).is_ok() {}
        self.manager.set_nonblocking(false).unwrap();
    }

    /// Until systemd hears this.
    pub fn wait_for_word(&self, word: &str) {
        let deadline = Instant::now() + PATIENCE;
        let mut heard = [0; 512];
        while Instant::now() < deadline {
            let n = self.manager.recv(&mut heard).unwrap();
            if String::from_utf8_lossy(&heard[..n]).contains(word) {
                return;
            }
        }
        panic!("systemd never hears {word}");
    }

    pub fn signal(&self, signal: Signal) {
        self.hear_all();
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn get(&self, path: &str, headers: &str) -> (String, Vec<u8>) {
        ask(&self.socket(), &format!("GET {path} HTTP/1.1\r\nHost: x\r\n{headers}"))
    }

    /// Ends it, and returns what it said on standard error.
    pub fn stop(mut self) -> String {
        self.signal(Signal::TERM);
        self.wait_for_word("STOPPING=1");
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{said}");
        said
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command that starts irqpath as systemd does: with this socket as its first descriptor.
pub fn hand_over(socket: impl Into<OwnedFd>) -> Command {
    let mut command = Command::new("sh");
    let script = "exec 3<&0 0</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$@\"";
    command.args(["-c", script]).arg(assert_cmd::cargo::cargo_bin("irqpath"));
    command.stdin(Stdio::from(socket.into()));
    command
}

/// Head and body of the answer.
pub fn ask(socket: &Path, request: &str) -> (String, Vec<u8>) {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "{request}Connection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let body = answer.split_off(end + 4);
    (String::from_utf8(answer).unwrap(), body)
}

/// The sum of a family's samples.
pub fn sum_of(text: &str, sample: &str) -> f64 {
    let values = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(sample));
    values.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}
