// SPDX-License-Identifier: GPL-2.0-or-later
//! The agent behind TLS and passwords: who gets in, and what of a configuration is refused.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

mod agent_support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_support::{PATIENCE, Running, hand_over, sum_of};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use irqpath_testing::cli::{error_line, irqpath, is_root};
use rustix::process::Signal;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Certificates and keys that openssl makes, in a directory.
struct Pki(PathBuf);

impl Pki {
    fn openssl(&self, arguments: &[&str]) {
        let mut openssl = Command::new("openssl");
        openssl.args(arguments).current_dir(&self.0).stdout(Stdio::null());
        let output = openssl.stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// `None` without openssl.
    fn new(directory: &Path, test: &str) -> Option<Self> {
        if Command::new("openssl").arg("version").output().is_err() {
            eprintln!("skipped: {test}: no openssl");
            return None;
        }
        let pki = Self(directory.to_owned());
        for (name, days) in [("server", "2"), ("client", "2"), ("other", "2")] {
            pki.make(name, days);
        }
        Some(pki)
    }

    /// Signed by itself: its own authority.
    fn make(&self, name: &str, days: &str) {
        let (key, cert, subject) =
            (format!("{name}.key"), format!("{name}.crt"), format!("/CN={name}"));
        self.openssl(&[
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            &key,
            "-out",
            &cert,
            "-days",
            days,
            "-subj",
            &subject,
            "-addext",
            "subjectAltName=IP:127.0.0.1,DNS:localhost",
            "-addext",
            "basicConstraints=CA:FALSE",
        ]);
        fs::set_permissions(self.0.join(key), fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn certificate(&self, name: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(self.0.join(format!("{name}.crt"))).unwrap()
    }

    /// A client that trusts one server, and has a certificate if it is named.
    fn client(&self, server: &str, certificate: Option<&str>) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate(server)).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(roots);
        match certificate {
            Some(name) => {
                let key = PrivateKeyDer::from_pem_file(self.0.join(format!("{name}.key"))).unwrap();
                builder.with_client_auth_cert(vec![self.certificate(name)], key).unwrap()
            }
            None => builder.with_no_client_auth(),
        }
    }
}

/// The answer over TLS, or why there is none.
fn get(port: u16, config: ClientConfig, headers: &str) -> std::io::Result<String> {
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut stream = StreamOwned::new(connection, socket);
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\n{headers}Connection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(String::from_utf8_lossy(&answer).into_owned()),
    }
}

fn basic(user: &str, password: &str) -> String {
    format!("Authorization: Basic {}\r\n", STANDARD.encode(format!("{user}:{password}")))
}

/// A port that nobody has at the moment.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

const SERVER: &str = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n";
const CLIENTS: &str =
    "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: client.crt\n";
/// Of "secret", with the least cost.
fn users() -> String {
    format!("basic_auth_users:\n  alice: {}\n", bcrypt::hash("secret", 4).unwrap())
}

/// An agent that everybody may reach, with this web configuration.
fn start(directory: &Path, web: &str) -> (Running, u16) {
    let (file, port) = (directory.join("web.yml"), free_port());
    fs::write(&file, web).unwrap();
    let settings = format!("web_config = '{}'\n", file.display());
    (Running::start_at(&[&format!("0.0.0.0:{port}")], &settings), port)
}

#[test]
fn a_password_over_tls_opens_and_nothing_else_does() {
    let test = "a_password_over_tls_opens_and_nothing_else_does";
    if !is_root(test) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let Some(pki) = Pki::new(directory.path(), test) else { return };
    let (agent, port) = start(directory.path(), &(SERVER.to_owned() + &users()));
    let trusting = || pki.client("server", None);

    let answer = get(port, trusting(), &basic("alice", "secret")).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("# EOF"), "{answer}");
    for wrong in [String::new(), basic("alice", "guess"), basic("bob", "secret")] {
        let answer = get(port, trusting(), &wrong).unwrap();
        assert!(answer.starts_with("HTTP/1.1 401 ") && answer.contains("Basic realm"), "{answer}");
    }
    let error = get(port, pki.client("other", None), &basic("alice", "secret")).unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    // Without TLS, a client hears nothing that is HTTP.
    let mut plain = TcpStream::connect(("127.0.0.1", port)).unwrap();
    plain.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    // Files of this host need no password, and count the others. Numbers are a second old at most.
    std::thread::sleep(Duration::from_millis(1_500));
    let text = String::from_utf8(agent.get("/metrics", "").1).unwrap();
    for (why, nr) in [("password", 3.0), ("tls", 2.0)] {
        let row = format!("irqpath_refused_requests_total{{why=\"{why}\"}} {nr:.1}\n");
        assert!(text.contains(&row), "{row}: {text}");
    }
    assert_eq!(agent.stop(), "");
}

#[test]
fn a_certificate_opens_and_a_new_one_is_taken_while_it_runs() {
    let test = "a_certificate_opens_and_a_new_one_is_taken_while_it_runs";
    if !is_root(test) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let Some(pki) = Pki::new(directory.path(), test) else { return };
    let (agent, port) = start(directory.path(), &(SERVER.to_owned() + CLIENTS));
    assert!(get(port, pki.client("server", Some("client")), "").unwrap().contains(" 200 "));
    for other in [None, Some("other")] {
        let answer = get(port, pki.client("server", other), "");
        assert!(!answer.is_ok_and(|answer| answer.contains("200")), "{other:?}");
    }
    // A key without its certificate changes nothing; both together do.
    let reload = |agent: &Running| {
        agent.signal(Signal::HUP);
        agent.wait_for_word("RELOADING=1");
        agent.wait_for_word("READY=1");
    };
    let old = pki.client("server", Some("client"));
    fs::copy(directory.path().join("other.key"), directory.path().join("server.key")).unwrap();
    reload(&agent);
    assert!(get(port, old.clone(), "").unwrap().contains(" 200 "));
    fs::copy(directory.path().join("other.crt"), directory.path().join("server.crt")).unwrap();
    reload(&agent);
    assert!(get(port, old, "").is_err(), "the old certificate is served");
    assert!(get(port, pki.client("other", Some("client")), "").unwrap().contains(" 200 "));
    let said = agent.stop();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("stays as it was") && said.contains("does not belong to"), "{said}");
}

#[test]
fn a_socket_from_systemd_keeps_its_tls_when_the_configuration_changes() {
    let test = "a_socket_from_systemd_keeps_its_tls_when_the_configuration_changes";
    if !is_root(test) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let Some(pki) = Pki::new(directory.path(), test) else { return };
    let socket = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let file = directory.path().join("web.yml");
    fs::write(&file, SERVER.to_owned() + &users()).unwrap();
    let settings = format!("web_config = '{}'\n", file.display());
    let agent = Running::start_by(hand_over(socket), &[], &settings);
    let ask = || get(port, pki.client("server", None), &basic("alice", "secret"));
    assert!(ask().unwrap().contains(" 200 "));
    // Passwords without TLS are for this host alone.
    fs::write(&file, users()).unwrap();
    agent.signal(Signal::HUP);
    agent.wait_for_word("RELOADING=1");
    agent.wait_for_word("READY=1");
    assert!(ask().unwrap().contains(" 200 "), "it serves without TLS");
    let said = agent.stop();
    assert!(said.lines().count() == 1 && said.contains("stays as it was"), "{said}");
}

#[test]
fn guesses_of_passwords_do_not_take_the_processor() {
    let test = "guesses_of_passwords_do_not_take_the_processor";
    if !is_root(test) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let Some(pki) = Pki::new(directory.path(), test) else { return };
    let hash = bcrypt::hash("secret", 8).unwrap();
    let (agent, port) =
        start(directory.path(), &format!("{SERVER}basic_auth_users:\n  alice: {hash}\n"));
    let answer = get(port, pki.client("server", None), &basic("alice", "secret")).unwrap();
    assert!(answer.contains(" 200 "), "{answer}");
    let config = pki.client("server", None);
    let guessers: Vec<_> = (0..8)
        .map(|nr| {
            let config = config.clone();
            std::thread::spawn(move || get(port, config, &basic("alice", &nr.to_string())))
        })
        .collect();
    let begun = Instant::now();
    let answer = get(port, pki.client("server", None), &basic("alice", "secret")).unwrap();
    assert!(answer.contains(" 200 "), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    for guesser in guessers {
        let answer = guesser.join().unwrap().unwrap();
        assert!(answer.contains(" 401 ") || answer.contains(" 429 "), "{answer}");
    }
    let text = String::from_utf8(agent.get("/metrics", "").1).unwrap();
    let refused = sum_of(&text, "irqpath_refused_requests_total") as u64;
    assert_eq!(refused, 8, "{text}");
    agent.stop();
}

#[test]
fn what_cannot_be_served_is_one_line() {
    let test = "what_cannot_be_served_is_one_line";
    let directory = tempfile::tempdir().unwrap();
    let Some(pki) = Pki::new(directory.path(), test) else { return };
    let at = |name: &str| directory.path().join(name);
    pki.openssl(&[
        "x509",
        "-in",
        "server.crt",
        "-signkey",
        "server.key",
        "-days",
        "0",
        "-out",
        "old.crt",
    ]);
    // Certificates end with a second.
    std::thread::sleep(Duration::from_millis(1_500));
    fs::write(at("empty.crt"), "").unwrap();
    fs::copy(at("server.key"), at("open.key")).unwrap();
    fs::set_permissions(at("open.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let tls = |cert: &str, key: &str| {
        format!("tls_server_config:\n  cert_file: {cert}\n  key_file: {key}\n{}", users())
    };
    for (web, want) in [
        (tls("server.crt", "other.key"), "does not belong to the certificate"),
        (tls("old.crt", "server.key"), "it expired "),
        (tls("none.crt", "server.key"), "cannot read "),
        (tls("empty.crt", "server.key"), "has no certificate"),
        (tls("server.crt", "open.key"), "every user may read or write the key"),
        (tls("server.crt", "server.crt"), "every user may read or write the key"),
        (users(), "has no tls_server_config"),
        (SERVER.to_owned(), "neither basic_auth_users nor client_auth_type"),
        (
            SERVER.to_owned() + "  client_ca_file: client.crt\n",
            "of no use without a client_auth_type",
        ),
        (SERVER.to_owned() + "colour: 1\n", "line 4: unknown field `colour`"),
        (SERVER.to_owned() + "basic_auth_users:\n  a: secret\n", "is no bcrypt hash"),
    ] {
        fs::write(at("web.yml"), &web).unwrap();
        let settings =
            format!("listen = ['0.0.0.0:9464']\nweb_config = '{}'\n", at("web.yml").display());
        fs::write(at("agent.toml"), settings).unwrap();
        let mut check = irqpath();
        let output = check.args(["agent", "--check", "--config"]).arg(at("agent.toml")).output();
        let output = output.unwrap();
        assert!(error_line(&output).contains(want), "{web}: {output:?}");
    }
    fs::write(at("web.yml"), tls("server.crt", "server.key")).unwrap();
    let mut check = irqpath();
    let output =
        check.args(["agent", "--check", "--config"]).arg(at("agent.toml")).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("https://0.0.0.0:9464"), "{output:?}");
}

/// The answer of a Prometheus to a query of its API.
fn query(port: u16, path: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return String::new() };
    write!(stream, "GET /api/v1/{path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// `IRQPATH_PROMETHEUS` names the binary of a Prometheus, 2.42 or newer.
#[test]
fn a_real_prometheus_scrapes_native_histograms_and_exemplars_over_tls() {
    let test = "a_real_prometheus_scrapes_native_histograms_and_exemplars_over_tls";
    let Some(prometheus) = std::env::var_os("IRQPATH_PROMETHEUS") else {
        eprintln!("skipped: {test}: IRQPATH_PROMETHEUS=BINARY");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let pki = Pki::new(directory.path(), test).unwrap();
    let file = directory.path().join("web.yml");
    fs::write(&file, SERVER.to_owned() + &users()).unwrap();
    let (port, api) = (free_port(), free_port());
    let settings =
        format!("web_config = '{}'\nthreshold_us = 1\nclassic_histograms = true\n", file.display());
    let agent = Running::start_at(&[&format!("127.0.0.1:{port}")], &settings);
    let config = directory.path().join("prometheus.yml");
    let text = format!(
        "global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: irqpath\n  scheme: https\n  \
         tls_config:\n    ca_file: {}\n  basic_auth:\n    username: alice\n    password: secret\n  \
         static_configs:\n  - targets: ['127.0.0.1:{port}']\n",
        pki.0.join("server.crt").display()
    );
    fs::write(&config, text).unwrap();
    let mut process = Command::new(prometheus)
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", directory.path().join("data").display()))
        .arg(format!("--web.listen-address=127.0.0.1:{api}"))
        .arg("--enable-feature=native-histograms,exemplar-storage")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let end = Instant::now() + PATIENCE;
    let (mut counts, mut exemplars) = (String::new(), String::new());
    while Instant::now() < end && !(counts.contains("\"value\"") && exemplars.contains("\"task\""))
    {
        std::thread::sleep(Duration::from_secs(1));
        counts = query(api, "query?query=histogram_count(irqpath_path_seconds)%3E0");
        exemplars = query(
            api,
            "query_exemplars?query=irqpath_path_seconds&start=1970-01-02T00:00:00Z&end=2200-01-01T00:00:00Z",
        );
    }
    let up = query(api, "query?query=up");
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(up.contains("\"1\"]"), "{up}");
    assert!(counts.contains("\"value\""), "{counts}");
    assert!(exemplars.contains("\"task\"") && exemplars.contains("\"cause\""), "{exemplars}");
    agent.stop();
}
