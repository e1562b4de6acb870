// SPDX-License-Identifier: GPL-2.0-or-later
//! The sockets that the agent serves: those that systemd hands over, else those of the
//! configuration. All are open before the process is confined.
//!
//! `systemd/irqpath-agent.socket` is such a socket. Whoever changes it can name any address, so that
//! each is held to the rules of `listen`.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use anyhow::{Context as _, ensure};
use irqpath_files::output::bind_socket;
use listenfd::ListenFd;

use super::config::Place;

/// Owner and group may ask.
const SOCKET_MODE: u32 = 0o660;

/// An open socket that does not block.
#[derive(Debug)]
pub enum Listener {
    /// On an address.
    Tcp(TcpListener),
    /// At a path.
    Unix(UnixListener),
}

/// Opens every place, unless sockets were handed over.
///
/// # Errors
/// If a place is taken or may not be used.
pub fn open(handed: Vec<Listener>, places: &[Place]) -> anyhow::Result<Vec<Listener>> {
    let mut listeners = handed;
    if listeners.is_empty() {
        for place in places {
            listeners.push(open_place(place)?);
        }
    }
    for listener in &listeners {
        match listener {
            Listener::Tcp(socket) => socket.set_nonblocking(true)?,
            Listener::Unix(socket) => socket.set_nonblocking(true)?,
        }
    }
    Ok(listeners)
}

/// Takes the sockets that systemd hands over, once: their names are removed from the environment.
///
/// # Errors
/// If one is of another kind.
pub fn take_handed() -> anyhow::Result<Vec<Listener>> {
    let mut handed = ListenFd::from_env();
    let mut listeners = Vec::new();
    for at in 0..handed.len() {
        let listener = match handed.take_tcp_listener(at) {
            Ok(Some(socket)) => Listener::Tcp(socket),
            _ => Listener::Unix(take_unix(&mut handed, at)?),
        };
        listeners.push(listener);
    }
    Ok(listeners)
}

fn take_unix(handed: &mut ListenFd, at: usize) -> anyhow::Result<UnixListener> {
    let socket = handed.take_unix_listener(at).ok().flatten();
    let socket = socket.context("a socket from systemd is neither a TCP nor a Unix stream")?;
    // Nobody is asked for a password at a file, which has an owner and a mode.
    ensure!(
        socket.local_addr().is_ok_and(|address| address.as_pathname().is_some()),
        "a socket from systemd has no path, and so no mode; write ListenStream=/path"
    );
    Ok(socket)
}

/// True if other hosts reach one of them.
pub fn are_for_others(listeners: &[Listener]) -> bool {
    let is_for_others = |listener: &Listener| match listener {
        Listener::Tcp(socket) => !is_on_loopback(socket),
        Listener::Unix(_) => false,
    };
    listeners.iter().any(is_for_others)
}

/// True if only this host reaches it. `::` and `0.0.0.0` are everywhere.
pub fn is_on_loopback(socket: &TcpListener) -> bool {
    socket.local_addr().is_ok_and(|address| address.ip().is_loopback())
}

fn open_place(place: &Place) -> anyhow::Result<Listener> {
    match place {
        Place::Tcp(address) => {
            let socket = TcpListener::bind(address);
            Ok(Listener::Tcp(socket.with_context(|| format!("cannot listen on {address}"))?))
        }
        Place::Unix(path) => {
            let socket = bind_socket(path, SOCKET_MODE);
            let socket = socket.with_context(|| format!("cannot listen on {}", path.display()))?;
            Ok(Listener::Unix(socket))
        }
    }
}
