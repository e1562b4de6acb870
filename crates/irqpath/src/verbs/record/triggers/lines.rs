// SPDX-License-Identifier: GPL-2.0-or-later
//! Lines on FIFOs and sockets: an application says that it missed a deadline.
//!
//! A line is a stranger's text: it is cut, and shown only where text is cleaned. Whoever sends many
//! keeps nobody else out: every source is read for one buffer a look, and a client that stays and
//! says nothing goes when another one needs its place.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use irqpath_files::output::{bind_socket, open_fifo};
use irqpath_files::owner;
use irqpath_model::record::Trigger;
use irqpath_source::realtime::now_ns;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;

use super::Happened;

/// Bytes of a source that are read in one look.
const BUFFER: usize = 4096;
/// Of a line, what is kept.
const MAX_LINE: usize = 200;
/// Lines of one look that are told one by one; the last of them stands for more.
const MAX_LINES: usize = 16;
/// Clients of all sockets.
const MAX_CLIENTS: usize = 16;
/// Anybody may connect; who may trigger is asked of the kernel.
const SOCKET_MODE: u32 = 0o666;

/// The open FIFOs and sockets.
#[derive(Default)]
pub struct Lines {
    fifos: Vec<File>,
    sockets: Vec<UnixListener>,
    clients: Vec<UnixStream>,
    nr_refused: u64,
    nr_crowded_out: u64,
}

impl Lines {
    /// Listen to a FIFO, which is made if it is missing.
    pub fn add_fifo(&mut self, path: &Path) -> anyhow::Result<()> {
        self.fifos.push(open_fifo(path)?);
        Ok(())
    }

    /// Listen at a socket.
    pub fn add_socket(&mut self, path: &Path) -> anyhow::Result<()> {
        let socket = bind_socket(path, SOCKET_MODE).and_then(|socket| {
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        let advice = || format!("cannot listen at {}; choose another path", path.display());
        self.sockets.push(socket.with_context(advice)?);
        Ok(())
    }

    /// Wait until something comes, or for so long.
    pub fn wait(&mut self, timeout: Duration) -> Vec<Happened> {
        let all = self.fifos.iter().map(AsFd::as_fd);
        let all = all.chain(self.sockets.iter().map(AsFd::as_fd));
        let all: Vec<BorrowedFd<'_>> = all.chain(self.clients.iter().map(AsFd::as_fd)).collect();
        let mut waiting: Vec<PollFd<'_>> =
            all.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let timeout = Timespec::try_from(timeout).ok();
        // A signal ends the wait early, which does no harm.
        if !matches!(poll(&mut waiting, timeout.as_ref()), Ok(1..)) {
            return Vec::new();
        }
        self.accept_clients();
        let mut happened = Vec::new();
        for fifo in &mut self.fifos {
            read_lines(fifo, Trigger::Fifo, &mut happened);
        }
        self.clients.retain_mut(|client| read_lines(client, Trigger::Socket, &mut happened));
        happened
    }

    fn accept_clients(&mut self) {
        for socket in &self.sockets {
            while let Ok((client, _)) = socket.accept() {
                let is_trusted =
                    socket_peercred(&client).is_ok_and(|peer| owner::is_trusted(peer.uid.as_raw()));
                if !is_trusted || client.set_nonblocking(true).is_err() {
                    self.nr_refused += 1;
                    continue;
                }
                if self.clients.len() >= MAX_CLIENTS {
                    self.clients.remove(0);
                    self.nr_crowded_out += 1;
                }
                self.clients.push(client);
            }
        }
    }

    /// Who was sent away.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.nr_refused > 0 {
            notes.push(format!("clients of other users refused: {}", self.nr_refused));
        }
        if self.nr_crowded_out > 0 {
            notes.push(format!("clients sent away for newer ones: {}", self.nr_crowded_out));
        }
        notes
    }
}

/// What a source has; false if it has ended. A line that is longer than a buffer counts as several.
fn read_lines(from: &mut impl Read, trigger: Trigger, happened: &mut Vec<Happened>) -> bool {
    let mut buffer = [0; BUFFER];
    let n = match from.read(&mut buffer) {
        Ok(n) => n,
        Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
    };
    let at_ns = now_ns();
    let text = String::from_utf8_lossy(&buffer[..n]);
    for line in text.lines().take(MAX_LINES) {
        let line: String = line.chars().take(MAX_LINE).collect();
        let name = trigger.name();
        let what = if line.is_empty() { name.to_owned() } else { format!("{name}: {line}") };
        happened.push(Happened { trigger, what, at_ns });
    }
    n > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn lines_of_both_kinds_are_heard_and_cut() {
        let directory = tempfile::tempdir().unwrap();
        let (fifo, socket) = (directory.path().join("fifo"), directory.path().join("socket"));
        let mut lines = Lines::default();
        lines.add_fifo(&fifo).unwrap();
        lines.add_socket(&socket).unwrap();
        assert!(lines.wait(Duration::from_millis(1)).is_empty());
        let mut writer = File::options().write(true).open(&fifo).unwrap();
        writeln!(writer, "late by 3 ms").unwrap();
        assert_eq!(lines.wait(PATIENCE)[0].what, "fifo: late by 3 ms");
        drop(writer);
        assert!(lines.wait(Duration::from_millis(1)).is_empty(), "its end is no line");
        let mut client = UnixStream::connect(&socket).unwrap();
        writeln!(client, "{}\n", "x".repeat(1000)).unwrap();
        let mut heard = Vec::new();
        while heard.is_empty() {
            heard = lines.wait(PATIENCE);
        }
        let whats: Vec<usize> = heard.iter().map(|one| one.what.len()).collect();
        assert_eq!(whats, [MAX_LINE + "socket: ".len(), "socket".len()]);
        assert!(lines.notes().is_empty());
    }

    #[test]
    fn a_flood_is_a_few_lines_and_silent_clients_make_room() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("socket");
        let mut lines = Lines::default();
        lines.add_socket(&socket).unwrap();
        let silent: Vec<_> = (0..40).map(|_| UnixStream::connect(&socket).unwrap()).collect();
        let mut client = UnixStream::connect(&socket).unwrap();
        client.write_all(&[b'\n'; 4096]).unwrap();
        let mut heard = Vec::new();
        while heard.is_empty() {
            heard = lines.wait(PATIENCE);
        }
        assert_eq!(heard.len(), MAX_LINES);
        assert_eq!(lines.clients.len(), MAX_CLIENTS);
        assert_eq!(lines.notes(), ["clients sent away for newer ones: 25"]);
        drop(silent);
    }
}
