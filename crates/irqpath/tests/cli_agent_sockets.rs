// SPDX-License-Identifier: GPL-2.0-or-later
//! The agent with sockets of systemd's, which are handed over as descriptors: the numbers are served
//! there and nowhere else, and the rules of `listen` hold.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

mod agent_support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use agent_support::{PATIENCE, Running, ask, hand_over};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use irqpath_testing::cli::{error_line, is_root};

/// An agent that must not start.
fn refuse(socket: impl Into<OwnedFd>, config: &Path) -> Output {
    let mut command = hand_over(socket);
    command.args(["agent", "--config"]).arg(config).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let end = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    // One that started after all is no error that has one line.
    let _ = child.kill();
    child.wait_with_output().unwrap()
}

#[test]
fn a_port_from_systemd_replaces_those_of_the_configuration() {
    if !is_root("a_port_from_systemd_replaces_those_of_the_configuration") {
        return;
    }
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    // Somebody scrapes before it serves: the socket is open.
    let mut early = std::net::TcpStream::connect(address).unwrap();
    early.write_all(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    // Passwords are enough on the loopback interface.
    let directory = tempfile::tempdir().unwrap();
    let web = directory.path().join("web.yml");
    let users = format!("basic_auth_users:\n  alice: {}\n", bcrypt::hash("secret", 4).unwrap());
    fs::write(&web, users).unwrap();
    let settings = format!("web_config = '{}'\n", web.display());
    let agent = Running::start_by(hand_over(socket), &[], &settings);
    early.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = String::new();
    early.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 401 "), "{answer}");
    let mut late = std::net::TcpStream::connect(address).unwrap();
    let alice = STANDARD.encode("alice:secret");
    write!(
        late,
        "GET /metrics HTTP/1.0\r\nHost: localhost\r\nAuthorization: Basic {alice}\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    late.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 ") && answer.ends_with("# EOF\n"), "{answer}");
    assert!(!agent.socket().exists(), "it opened its own as well");
    assert_eq!(agent.stop(), "");
}

#[test]
fn a_unix_socket_from_systemd_is_served() {
    if !is_root("a_unix_socket_from_systemd_is_served") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("handed");
    let agent = Running::start_by(hand_over(UnixListener::bind(&path).unwrap()), &[], "");
    let (head, _) = ask(&path, "GET /metrics HTTP/1.1\r\nHost: x\r\n");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(agent.stop(), "");
    assert!(path.exists(), "systemd's socket is not the agent's to remove");
}

#[test]
fn a_socket_that_listen_would_not_allow_is_refused() {
    if !is_root("a_socket_that_listen_would_not_allow_is_refused") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("agent.toml");
    fs::write(&config, "").unwrap();
    let everywhere = || TcpListener::bind("0.0.0.0:0").unwrap();
    let output = refuse(everywhere(), &config);
    assert!(error_line(&output).contains("which needs web_config"), "{output:?}");
    // Passwords alone are not enough for other hosts: they would go over the network.
    let users = format!("basic_auth_users:\n  alice: {}\n", bcrypt::hash("secret", 4).unwrap());
    fs::write(directory.path().join("web.yml"), users).unwrap();
    let web = directory.path().join("web.yml");
    fs::write(&config, format!("web_config = '{}'\n", web.display())).unwrap();
    let output = refuse(everywhere(), &config);
    assert!(error_line(&output).contains("has no tls_server_config"), "{output:?}");
    // Nobody is asked for a password at a socket whose mode should say who may ask.
    let name = format!("irqpath-test-{}", std::process::id());
    let name = SocketAddr::from_abstract_name(name).unwrap();
    let output = refuse(UnixListener::bind_addr(&name).unwrap(), &config);
    assert!(error_line(&output).contains("has no path"), "{output:?}");
    let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let output = refuse(datagrams, &config);
    assert!(error_line(&output).contains("neither a TCP nor a Unix stream"), "{output:?}");
}
