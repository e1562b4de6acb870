// SPDX-License-Identifier: GPL-2.0-or-later
//! Sends the numbers to an OpenTelemetry Collector (OTLP over HTTP, protocol buffers).
//!
//! Every sum is one since the start, so that a push that fails loses nothing but its time: the next
//! one has it all. A collector that does not answer costs a connection in every interval, and is
//! counted. The address is looked up once, before the process is confined.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use anyhow::Context as _;
use http_body_util::{BodyExt as _, Collected, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode, client::conn::http1};
use hyper_util::rt::TokioIo;
use irqpath_report::openmetrics;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use super::asking::{Ask, NoAnswer, Stream, ask};
use super::endpoint::{DEFAULT_PATH, Otlp, Place};
use super::web;
use crate::output::console;

/// How long a collector may take for one push.
const PATIENCE: Duration = Duration::from_secs(10);
/// Waits before it is tried again; then the next interval tries.
const WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
/// An answer says how much was refused, and why.
const MAX_ANSWER: usize = 64 << 10;

/// What became of the pushes.
#[derive(Debug, Clone, Default)]
pub struct Pushes(Arc<[AtomicU64; 4]>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The collector has it.
    Accepted,
    /// It does not want it.
    Refused,
    /// It was not there, or is too busy.
    Failed,
}

const REJECTED_POINTS: usize = 3;

impl Pushes {
    fn count(&self, outcome: Outcome) {
        self.0[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Each outcome, and how often it was met.
    pub fn list(&self) -> Vec<(&'static str, u64)> {
        let count = |at: usize| self.0[at].load(Ordering::Relaxed);
        vec![("accepted", count(0)), ("refused", count(1)), ("failed", count(2))]
    }

    /// Points that a collector left out of what it accepted.
    pub fn rejected_points(&self) -> u64 {
        self.0[REJECTED_POINTS].load(Ordering::Relaxed)
    }
}

/// How the collector is reached.
enum Way {
    Unix(PathBuf),
    Tcp(Vec<SocketAddr>),
    Tls(Vec<SocketAddr>, TlsConnector, ServerName<'static>),
}

/// Sends the numbers in every interval.
pub struct Pusher {
    way: Way,
    authority: String,
    path: String,
    interval: Duration,
    host_name: String,
    pushes: Pushes,
}

impl Pusher {
    /// Looks up the address and reads the certificates to trust.
    pub fn prepare(otlp: &Otlp, host_name: String, pushes: Pushes) -> anyhow::Result<Self> {
        let interval = Duration::from_secs(otlp.interval_s.into());
        let (way, authority, path) = match otlp.place()? {
            Place::Unix(path) => (Way::Unix(path.into()), "localhost", DEFAULT_PATH),
            Place::Http { is_tls, authority, host, port, path } => {
                let found = (host, port).to_socket_addrs();
                let found = found.with_context(|| format!("cannot find otlp.endpoint {host}"))?;
                let addresses: Vec<_> = found.collect();
                let way = match &otlp.ca_file {
                    Some(file) if is_tls => {
                        let name = ServerName::try_from(host.to_owned())?;
                        Way::Tls(addresses, web::connector(file)?, name)
                    }
                    _ => Way::Tcp(addresses),
                };
                (way, authority, path)
            }
        };
        let (authority, path) = (authority.to_owned(), path.to_owned());
        Ok(Self { way, authority, path, interval, host_name, pushes })
    }

    /// Until the measurement ends.
    pub async fn push_all(self, asks: SyncSender<Ask>) {
        let mut nr_failed = 0;
        loop {
            tokio::time::sleep(self.interval).await;
            let (outcome, why) = match ask(&asks).await {
                Ok(exposed) => match openmetrics::encode_otlp(exposed, &self.host_name) {
                    Ok(body) => self.push(Bytes::from(body)).await,
                    Err(_) => (Outcome::Failed, "the numbers cannot be encoded".to_owned()),
                },
                Err(NoAnswer::Ended) => return,
                Err(NoAnswer::Busy) => {
                    (Outcome::Failed, "the measurement does not answer".to_owned())
                }
            };
            self.pushes.count(outcome);
            if let Some(note) = note_change(&self.authority, outcome, &why, nr_failed) {
                console::print_note(&note);
            }
            nr_failed = if outcome == Outcome::Accepted { 0 } else { nr_failed + 1 };
        }
    }

    /// What became of it, and why in words if it was not taken.
    async fn push(&self, body: Bytes) -> (Outcome, String) {
        let mut waits = WAITS.iter();
        loop {
            let post = tokio::time::timeout(PATIENCE, self.post(body.clone())).await;
            let outcome = match post {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(error)) => (Outcome::Failed, format!("{error:#}")),
                Err(_) => (Outcome::Failed, "no answer".to_owned()),
            };
            match waits.next() {
                Some(wait) if outcome.0 == Outcome::Failed => tokio::time::sleep(*wait).await,
                _ => return outcome,
            }
        }
    }

    async fn post(&self, body: Bytes) -> anyhow::Result<(Outcome, String)> {
        let stream = self.connect().await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let request = Request::post(&self.path)
            .header(HOST, &self.authority)
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(Full::new(body))?;
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let answer = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        connection.abort();
        let outcome = match status {
            status if status.is_success() => {
                let answer = answer.map(Collected::to_bytes).unwrap_or_default();
                let rejected = openmetrics::rejected_points(&answer);
                self.pushes.0[REJECTED_POINTS].fetch_add(rejected, Ordering::Relaxed);
                Outcome::Accepted
            }
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Outcome::Failed,
            _ => Outcome::Refused,
        };
        Ok((outcome, format!("status {}", status.as_u16())))
    }

    async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match &self.way {
            Way::Unix(path) => Box::new(tokio::net::UnixStream::connect(path).await?),
            Way::Tcp(addresses) => Box::new(connect_any(addresses).await?),
            Way::Tls(addresses, tls, name) => {
                Box::new(tls.connect(name.clone(), connect_any(addresses).await?).await?)
            }
        })
    }
}

/// A line when pushes begin to fail, after so many that did, and one when they work again.
fn note_change(who: &str, outcome: Outcome, why: &str, nr_failed: u64) -> Option<String> {
    match (outcome == Outcome::Accepted, nr_failed) {
        (true, 0) | (false, 1..) => None,
        (true, _) => {
            Some(format!("otlp: {who} takes the numbers again, after {nr_failed} failed pushes"))
        }
        (false, 0) => Some(format!(
            "otlp: {who} does not take the numbers ({why}); irqpath_otlp_pushes_total counts on"
        )),
    }
}

async fn connect_any(addresses: &[SocketAddr]) -> io::Result<tokio::net::TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match tokio::net::TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_measurement_is_no_failure() {
        let pushes = Pushes::default();
        let pusher = Pusher {
            way: Way::Tcp(Vec::new()),
            authority: "c:1".to_owned(),
            path: "/".to_owned(),
            interval: Duration::from_millis(1),
            host_name: "host".to_owned(),
            pushes: pushes.clone(),
        };
        let (asks, questions) = std::sync::mpsc::sync_channel(1);
        // It ends with a question that it has not answered.
        std::thread::spawn(move || questions.recv().map(|_| ()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let ends = async { tokio::time::timeout(PATIENCE, pusher.push_all(asks)).await };
        runtime.block_on(ends).expect("it pushes no more");
        assert_eq!(pushes.list()[Outcome::Failed as usize].1, 0);
    }

    #[test]
    fn only_the_first_failure_and_the_first_success_after_it_cost_a_line() {
        let note = |outcome, nr_failed| note_change("c:1", outcome, "no answer", nr_failed);
        assert_eq!(note(Outcome::Accepted, 0), None);
        let begins = note(Outcome::Failed, 0).unwrap();
        assert!(begins.contains("c:1 does not take the numbers (no answer)"), "{begins}");
        assert_eq!(note(Outcome::Failed, 1), None);
        assert_eq!(note(Outcome::Refused, 7), None);
        let ends = note(Outcome::Accepted, 7).unwrap();
        assert_eq!(ends, "otlp: c:1 takes the numbers again, after 7 failed pushes");
    }
}
