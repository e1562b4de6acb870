// SPDX-License-Identifier: GPL-2.0-or-later
//! Answers over HTTP, in a thread of its own. It asks the measurement for the numbers of now, and
//! encodes them itself, so that the reader of the kernel's buffers never waits for a client.
//!
//! A client may be anybody on this machine: few connections at a time, short headers, little
//! patience. `thread` is the thread, and how the agent learns that it has ended.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ALLOW, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, WWW_AUTHENTICATE,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use irqpath_report::openmetrics;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::asking::{Ask, Stream, ask};
use super::listen::{Listener, is_on_loopback};
use super::negotiate::{Form, choose_form};
use super::push::Pusher;
use super::refusals::{Refusals, Refused};
use super::thread::Serving;
use super::web::{Door, Doors, Verdict};

/// Connections of a socket at a time; more wait.
const MAX_CONNECTIONS: usize = 16;
/// How long a client may take for its request.
const REQUEST_PATIENCE: Duration = Duration::from_secs(5);
/// How long a connection may begin new requests, and how long the last one may then take: one that
/// does not take its answer gives its place to others.
const CONNECTION_PATIENCE: Duration = Duration::from_secs(8);
const LAST_PATIENCE: Duration = Duration::from_secs(2);
/// Longest request line and headers together, bytes.
const MAX_REQUEST: usize = 16 << 10;

/// What every connection needs.
#[derive(Clone)]
pub struct Service {
    pub asks: SyncSender<Ask>,
    pub doors: Doors,
    pub refusals: Refusals,
}

/// Starts to serve, and to push what `pusher` says, until the process ends.
pub fn start(
    listeners: Vec<Listener>,
    service: Service,
    pusher: Option<Pusher>,
) -> anyhow::Result<Serving> {
    Serving::start(move |tasks| {
        if let Some(pusher) = pusher {
            tasks.spawn(pusher.push_all(service.asks.clone()));
        }
        for listener in listeners {
            tasks.spawn(accept_all(listener, service.clone()));
        }
    })
}

/// A listening socket of the runtime.
enum Socket {
    Tcp(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener),
}

impl Socket {
    fn from_listener(listener: Listener) -> io::Result<Self> {
        Ok(match listener {
            Listener::Tcp(socket) => Self::Tcp(tokio::net::TcpListener::from_std(socket)?),
            Listener::Unix(socket) => Self::Unix(tokio::net::UnixListener::from_std(socket)?),
        })
    }

    async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Tcp(socket) => Box::new(socket.accept().await?.0),
            Self::Unix(socket) => Box::new(socket.accept().await?.0),
        })
    }
}

/// What a connection has to pass, by its socket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// A file, which has an owner and a mode.
    File,
    /// The loopback interface, which a page in a browser reaches, too.
    Loopback,
    /// Other hosts.
    All,
}

impl Reach {
    fn of(listener: &Listener) -> Self {
        match listener {
            Listener::Unix(_) => Self::File,
            Listener::Tcp(socket) if is_on_loopback(socket) => Self::Loopback,
            Listener::Tcp(_) => Self::All,
        }
    }
}

async fn accept_all(listener: Listener, service: Service) {
    let reach = Reach::of(&listener);
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let socket = Socket::from_listener(listener);
    let socket = socket.expect("a socket that was opened before is one of the runtime");
    loop {
        match socket.accept().await {
            Ok(stream) => {
                let slot = Arc::clone(&slots).acquire_owned().await;
                let door = match reach {
                    Reach::File => Arc::default(),
                    _ => service.doors.now(),
                };
                let visit = Visit { service: service.clone(), door, reach };
                serve_connection(stream, visit, slot.ok());
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// One connection.
#[derive(Clone)]
struct Visit {
    service: Service,
    door: Arc<Door>,
    reach: Reach,
}

/// The slot is free again when the connection ends.
fn serve_connection(stream: Box<dyn Stream>, visit: Visit, slot: Option<OwnedSemaphorePermit>) {
    tokio::spawn(async move {
        if let Some(stream) = open_tls(stream, &visit).await {
            let refusals = visit.service.refusals.clone();
            if let Some(why) = answer_requests(stream, visit).await {
                refusals.count(why);
            }
        }
        drop(slot);
    });
}

/// All requests of a connection. Returns why one of them was refused before [`answer`] saw it.
async fn answer_requests(stream: Box<dyn Stream>, visit: Visit) -> Option<Refused> {
    let (refusals, asked) = (visit.service.refusals.clone(), Arc::new(AtomicBool::new(false)));
    let was_asked = Arc::clone(&asked);
    let service = service_fn(move |request| {
        asked.store(true, Ordering::Relaxed);
        answer_and_count(request, visit.clone())
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(REQUEST_PATIENCE)
            .max_buf_size(MAX_REQUEST)
            .serve_connection(TokioIo::new(stream), service)
    );
    let mut ended = tokio::time::timeout(CONNECTION_PATIENCE, connection.as_mut()).await;
    if ended.is_err() {
        connection.as_mut().graceful_shutdown();
        ended = tokio::time::timeout(LAST_PATIENCE, connection).await;
    }
    match ended {
        Ok(Ok(())) => None,
        Ok(Err(error)) if error.is_parse() => {
            // Answered by hyper: 400, 414 or 431.
            refusals.count_answer(StatusCode::BAD_REQUEST.as_u16());
            Some(Refused::Malformed)
        }
        // A client that keeps its connection for later is not slow.
        Ok(Err(error)) if error.is_timeout() && was_asked.load(Ordering::Relaxed) => None,
        Ok(Err(error)) => error.is_timeout().then_some(Refused::Slow),
        Err(_) => Some(Refused::Slow),
    }
}

/// `None` for a client that does not speak TLS where it is asked for, or has no certificate.
async fn open_tls(stream: Box<dyn Stream>, visit: &Visit) -> Option<Box<dyn Stream>> {
    let Some(tls) = &visit.door.tls else { return Some(stream) };
    let opened = tokio::time::timeout(REQUEST_PATIENCE, tls.accept(stream)).await;
    if let Ok(Ok(stream)) = opened {
        return Some(Box::new(stream));
    }
    visit.service.refusals.count(Refused::Tls);
    None
}

type Answer = Response<Full<Bytes>>;

async fn answer_and_count(request: Request<Incoming>, visit: Visit) -> Result<Answer, Infallible> {
    let refusals = visit.service.refusals.clone();
    let answer = answer(request, visit).await?;
    refusals.count_answer(answer.status().as_u16());
    Ok(answer)
}

async fn answer(request: Request<Incoming>, visit: Visit) -> Result<Answer, Infallible> {
    let Visit { service, door, reach } = visit;
    if let Some(refusal) = ask_password(&request, &door, &service.refusals).await {
        return Ok(refusal);
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered\n");
        answer.headers_mut().insert(ALLOW, "GET, HEAD".parse().expect("a header's value"));
        return Ok(answer);
    }
    if reach == Reach::Loopback && !is_for_this_host(&request) {
        service.refusals.count(Refused::Host);
        return Ok(text(StatusCode::FORBIDDEN, "only this host is answered\n"));
    }
    Ok(match request.uri().path() {
        "/metrics" => metrics(&request, &service).await,
        "/-/healthy" | "/-/ready" => match ask(&service.asks).await {
            Ok(_) => text(StatusCode::OK, "tracing\n"),
            Err(_) => no_answer(&service.refusals),
        },
        "/" => text(StatusCode::OK, "irqpath agent: the numbers are at /metrics\n"),
        _ => text(StatusCode::NOT_FOUND, "nothing is here; the numbers are at /metrics\n"),
    })
}

/// The answer to a client whose password is not right.
async fn ask_password(
    request: &Request<Incoming>,
    door: &Door,
    refusals: &Refusals,
) -> Option<Answer> {
    let header = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
    match door.users.as_ref()?.judge(header).await {
        Verdict::Right => None,
        Verdict::Wrong => {
            refusals.count(Refused::Password);
            let mut answer = text(StatusCode::UNAUTHORIZED, "a name and a password are needed\n");
            let realm = "Basic realm=\"irqpath\"".parse().expect("a header's value");
            answer.headers_mut().insert(WWW_AUTHENTICATE, realm);
            Some(answer)
        }
        Verdict::Busy => {
            refusals.count(Refused::Busy);
            Some(text(StatusCode::TOO_MANY_REQUESTS, "others try passwords; try again\n"))
        }
    }
}

/// A page in a browser that had its own name point here names itself as the host. A number points
/// nowhere else: a proxy on this host, such as kube-rbac-proxy, passes on that of the pod.
fn is_for_this_host(request: &Request<Incoming>) -> bool {
    request.headers().get(HOST).is_none_or(|host| host.to_str().is_ok_and(is_this_host))
}

/// As a client writes it, with a port or without.
fn is_this_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name == "localhost" || address.is_ok()
}

async fn metrics(request: &Request<Incoming>, service: &Service) -> Answer {
    let accept: Vec<&str> =
        request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let form = choose_form(&accept.join(","));
    let Ok(exposed) = ask(&service.asks).await else { return no_answer(&service.refusals) };
    let body = match form {
        Form::Protobuf => openmetrics::encode_protobuf(exposed),
        Form::OpenMetrics => {
            let mut body = Vec::new();
            openmetrics::write_with_exemplars(&mut body, exposed).map(|()| body)
        }
        Form::Text => {
            let mut body = Vec::new();
            openmetrics::write(&mut body, exposed).map(|()| body)
        }
    };
    match body {
        Ok(body) => {
            let mut answer = Response::new(Full::new(Bytes::from(body)));
            let kind = form.content_type().parse().expect("a header's value");
            answer.headers_mut().insert(CONTENT_TYPE, kind);
            answer
        }
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "the numbers cannot be encoded\n"),
    }
}

fn no_answer(refusals: &Refusals) -> Answer {
    refusals.count(Refused::NoAnswer);
    text(StatusCode::SERVICE_UNAVAILABLE, "the measurement does not answer\n")
}

fn text(status: StatusCode, body: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *answer.status_mut() = status;
    let kind = "text/plain; charset=utf-8".parse().expect("a header's value");
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_names_another_host_is_not_answered() {
        let own = ["localhost", "localhost:9464", "127.0.0.1:9464", "127.9.9.9", "[::1]:9464"];
        for host in own.into_iter().chain(["10.0.0.1:9465", "[fd00::1]"]) {
            assert!(is_this_host(host), "{host}");
        }
        for host in
            ["", "evil.example", "evil.example:9464", "10.0.0.1.evil:9464", "localhost.evil:1"]
        {
            assert!(!is_this_host(host), "{host}");
        }
    }
}
