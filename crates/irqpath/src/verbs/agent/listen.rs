// SPDX-License-Identifier: GPL-2.0-or-later
//! The sockets that the agent serves: those that systemd hands over, else those of the
//! configuration. All are open before the process is confined.

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

/// Opens every place, or takes the sockets that were handed over.
///
/// # Errors
/// If a place is taken or may not be used; without `for_others`, only this host may be served.
pub fn open(places: &[Place], for_others: bool) -> anyhow::Result<Vec<Listener>> {
    let mut listeners = take_inherited(for_others)?;
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

fn take_inherited(for_others: bool) -> anyhow::Result<Vec<Listener>> {
    let mut handed = ListenFd::from_env();
    let mut listeners = Vec::new();
    for at in 0..handed.len() {
        let listener = match handed.take_tcp_listener(at) {
            Ok(Some(socket)) => {
                ensure!(
                    for_others || is_on_loopback(&socket),
                    "a socket from systemd is not on the loopback interface, which needs web_config"
                );
                Listener::Tcp(socket)
            }
            _ => Listener::Unix(
                handed
                    .take_unix_listener(at)
                    .ok()
                    .flatten()
                    .context("a socket from systemd is neither a TCP nor a Unix stream")?,
            ),
        };
        listeners.push(listener);
    }
    Ok(listeners)
}

/// True if systemd hands sockets over.
pub fn are_inherited() -> bool {
    std::env::var_os("LISTEN_FDS").is_some()
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
