// SPDX-License-Identifier: GPL-2.0-or-later
//! Words to systemd: ready, reloading, alive, stopping (`sd_notify(3)`).
//!
//! The socket is connected before the process is confined: afterwards nothing may be sent to a
//! socket by its name, which the libraries for this do with every word.

use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// A connection to the service manager, if there is one.
#[derive(Debug, Default)]
pub struct Manager {
    socket: Option<UnixDatagram>,
    /// How often it wants to hear that the process is alive, and when it last did.
    watchdog: Option<(Duration, Instant)>,
}

impl Manager {
    /// As the environment of the process says. A manager that cannot be reached is as none.
    pub fn from_environment() -> Self {
        let name = std::env::var_os("NOTIFY_SOCKET");
        let socket = name.and_then(|name| connect(&name).ok());
        let of_this =
            std::env::var("WATCHDOG_PID").map_or(true, |pid| pid.parse() == Ok(std::process::id()));
        let period = std::env::var("WATCHDOG_USEC").ok().and_then(|usec| usec.parse().ok());
        let period = period.filter(|_| of_this).map(Duration::from_micros);
        // Twice as often as it asks for.
        let watchdog = period.map(|period| (period / 2, Instant::now()));
        Self { socket, watchdog }
    }

    fn say(&self, words: &str) {
        if let Some(socket) = &self.socket {
            // It may have gone away; nothing depends on it.
            let _ = socket.send(words.as_bytes());
        }
    }

    /// It serves.
    pub fn note_ready(&self) {
        self.say("READY=1\nSTATUS=tracing");
    }

    /// It reads its configuration again; [`Manager::note_ready`] follows.
    pub fn note_reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let usec = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
        self.say(&format!("RELOADING=1\nMONOTONIC_USEC={usec}"));
    }

    /// It is about to end.
    pub fn note_stopping(&self) {
        self.say("STOPPING=1");
    }

    /// It is alive; said no more often than asked for.
    pub fn note_alive(&mut self) {
        let Some((period, last)) = &mut self.watchdog else { return };
        if last.elapsed() >= *period {
            *last = Instant::now();
            self.say("WATCHDOG=1");
        }
    }
}

fn connect(name: &OsString) -> std::io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    match name.as_bytes().strip_prefix(b"@") {
        Some(name) => socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?,
        None => socket.connect(name)?,
    }
    // A manager that does not read must not stop the measurement.
    socket.set_nonblocking(true)?;
    Ok(socket)
}
