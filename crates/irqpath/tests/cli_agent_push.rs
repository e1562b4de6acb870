// SPDX-License-Identifier: GPL-2.0-or-later
//! The agent sends its numbers to a collector: to one that takes them, one that does not, one that is
//! dead, and, on request, a real one.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

mod agent_support;

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use agent_support::{PATIENCE, Running, sum_of};
use irqpath_testing::cli::is_root;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Head and body.
fn read_request(stream: &mut impl Read) -> Vec<u8> {
    let (mut request, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let n = stream.read(&mut part).unwrap();
        request.extend(&part[..n]);
        let text = String::from_utf8_lossy(&request);
        let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
        });
        let at = request.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        if n == 0 || request.len() - at >= length.unwrap_or(0_usize) {
            return request;
        }
    }
}

/// A collector that answers each push with this status and body; its address, and the requests.
fn start_collector(status: &'static str, body: &'static [u8]) -> (String, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let whole = read_request(&mut stream);
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
            stream.write_all(body).unwrap();
            if sender.send(whole).is_err() {
                return;
            }
        }
    });
    (address, receiver)
}

fn metrics(agent: &Running) -> String {
    String::from_utf8(agent.get("/metrics", "").1).unwrap()
}

/// Until this sample has this value.
fn wait_for(agent: &Running, sample: &str, labels: &str, value: f64) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let text = metrics(agent);
        let row = text.lines().find(|line| line.starts_with(&format!("{sample}{labels} ")));
        let now: f64 = row.map_or(0.0, |row| row.rsplit(' ').next().unwrap().parse().unwrap());
        if now >= value {
            return text;
        }
        assert!(Instant::now() < end, "{sample}{labels} stays {now}: {text}");
        std::thread::sleep(Duration::from_millis(1_100));
    }
}

#[test]
fn a_collector_gets_the_numbers_and_what_it_leaves_out_is_counted() {
    if !is_root("a_collector_gets_the_numbers_and_what_it_leaves_out_is_counted") {
        return;
    }
    // partial_success { rejected_data_points: 7 }
    let (address, requests) = start_collector("200 OK", &[0x0a, 0x02, 0x08, 0x07]);
    let agent =
        Running::start(&format!("otlp = {{ endpoint = 'http://{address}', interval_s = 1 }}\n"));
    let request = requests.recv_timeout(PATIENCE).unwrap();
    let text = String::from_utf8_lossy(&request);
    assert!(text.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{text}");
    assert!(text.contains("application/x-protobuf"), "{text}");
    for name in ["irqpath_path_seconds", "irqpath_stage_seconds", "irqpath_losses_total"] {
        assert!(text.contains(name), "no {name}");
    }
    let text = wait_for(&agent, "irqpath_otlp_pushes_total", "{result=\"accepted\"}", 1.0);
    assert!(sum_of(&text, "irqpath_otlp_rejected_points_total") >= 7.0, "{text}");
    assert_eq!(agent.stop(), "");
}

#[test]
fn a_collector_that_refuses_or_is_dead_is_counted_and_the_rest_goes_on() {
    if !is_root("a_collector_that_refuses_or_is_dead_is_counted_and_the_rest_goes_on") {
        return;
    }
    let (address, _requests) = start_collector("400 Bad Request", b"");
    let agent =
        Running::start(&format!("otlp = {{ endpoint = 'http://{address}', interval_s = 1 }}\n"));
    wait_for(&agent, "irqpath_otlp_pushes_total", "{result=\"refused\"}", 2.0);
    let said = agent.stop();
    assert!(said.lines().count() == 1 && said.contains("(status 400)"), "{said}");
    let agent = Running::start("otlp = { endpoint = 'unix:/nowhere/at/all', interval_s = 1 }\n");
    let text = wait_for(&agent, "irqpath_otlp_pushes_total", "{result=\"failed\"}", 1.0);
    assert!(text.contains("irqpath_hardirqs_total{"), "{text}");
    let said = agent.stop();
    assert!(said.lines().count() == 1 && said.contains("No such file"), "{said}");
}

#[test]
fn a_collector_that_comes_back_is_one_line_with_what_failed_until_then() {
    if !is_root("a_collector_that_comes_back_is_one_line_with_what_failed_until_then") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("collector");
    let settings = format!("otlp = {{ endpoint = 'unix:{}', interval_s = 1 }}\n", path.display());
    let agent = Running::start(&settings);
    wait_for(&agent, "irqpath_otlp_pushes_total", "{result=\"failed\"}", 1.0);
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            read_request(&mut stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    });
    wait_for(&agent, "irqpath_otlp_pushes_total", "{result=\"accepted\"}", 2.0);
    let said = agent.stop();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines[0].contains("does not take the numbers"), "{said}");
    assert!(lines[1].contains("takes the numbers again, after "), "{said}");
}

/// A certificate of its own authority for the loopback interface, and its key.
fn make_certificate(directory: &Path, name: &str) -> bool {
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    openssl.args(["-nodes", "-days", "2", "-subj", "/CN=collector", "-addext"]);
    openssl.args(["subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE"]);
    openssl.args(["-keyout", &format!("{name}.key"), "-out", &format!("{name}.crt")]);
    openssl.current_dir(directory).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// The collector behind TLS: each connection is decrypted and passed on.
fn start_tls(directory: &Path, name: &str, plain: String) -> u16 {
    let file = |kind: &str| directory.join(format!("{name}.{kind}"));
    let key = PrivateKeyDer::from_pem_file(file("key")).unwrap();
    let cert = CertificateDer::from_pem_file(file("crt")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(builder.with_single_cert(vec![cert], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let stream = stream.unwrap();
            let behind = TcpStream::connect(&plain).unwrap();
            for side in [&stream, &behind] {
                side.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            }
            // The client may refuse the certificate, which is an error here.
            let _ = pass_on(&mut rustls::StreamOwned::new(connection, stream), behind);
        }
    });
    port
}

/// Between the two sides of a connection, until one of them closes it; reading from either ends
/// after a while.
fn pass_on(tls: &mut (impl Read + Write), mut behind: TcpStream) -> io::Result<()> {
    let mut part = [0; 16 << 10];
    let mut take = |side: &mut dyn Read| match side.read(&mut part) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(n) => Ok(part[..n].to_vec()),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    loop {
        behind.write_all(&take(&mut *tls)?)?;
        tls.write_all(&take(&mut behind)?)?;
        tls.flush()?;
    }
}

#[test]
fn a_collector_over_tls_gets_the_numbers_and_one_with_another_certificate_does_not() {
    let test = "a_collector_over_tls_gets_the_numbers_and_one_with_another_certificate_does_not";
    if !is_root(test) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    if !["own", "other"].iter().all(|name| make_certificate(here, name)) {
        eprintln!("skipped: {test}: no openssl");
        return;
    }
    let (address, requests) = start_collector("200 OK", b"");
    // A push of the first agent may still be on its way when the second one starts.
    let (of_stranger, numbers) = start_collector("200 OK", b"");
    let settings = |name: &str, address: &str| {
        let port = start_tls(here, name, address.to_owned());
        let ca = here.join("own.crt").display().to_string();
        format!(
            "otlp = {{ endpoint = 'https://127.0.0.1:{port}', interval_s = 1, ca_file = '{ca}' }}\n"
        )
    };
    let agent = Running::start(&settings("own", &address));
    let request = requests.recv_timeout(PATIENCE).unwrap();
    assert!(String::from_utf8_lossy(&request).contains("irqpath_path_seconds"));
    wait_for(&agent, "irqpath_otlp_pushes_total", "{result=\"accepted\"}", 1.0);
    assert_eq!(agent.stop(), "");
    let agent = Running::start(&settings("other", &of_stranger));
    wait_for(&agent, "irqpath_otlp_pushes_total", "{result=\"failed\"}", 1.0);
    assert!(numbers.try_recv().is_err(), "numbers went to a stranger");
    let said = agent.stop();
    assert!(said.lines().count() == 1 && said.contains("certificate"), "{said}");
}

/// `IRQPATH_OTELCOL` names the binary of a Collector with otlpreceiver and debugexporter.
#[test]
fn a_real_collector_takes_every_point() {
    let Some(collector) = std::env::var_os("IRQPATH_OTELCOL") else {
        eprintln!("skipped: a_real_collector_takes_every_point: IRQPATH_OTELCOL=BINARY");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("collector.yaml");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text = format!(
        "receivers:\n  otlp:\n    protocols:\n      http:\n        endpoint: 127.0.0.1:{port}\n\
         exporters:\n  debug:\n    verbosity: detailed\n\
         service:\n  telemetry:\n    metrics:\n      level: none\n  pipelines:\n    metrics:\n      \
         receivers: [otlp]\n      exporters: [debug]\n"
    );
    std::fs::write(&config, text).unwrap();
    let mut process = Command::new(collector);
    process.arg("--config").arg(&config).stdout(Stdio::null());
    let log = directory.path().join("log");
    let mut process = process.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    let agent = Running::start(&format!(
        "threshold_us = 1\notlp = {{ endpoint = 'http://127.0.0.1:{port}', interval_s = 2 }}\n"
    ));
    let text = wait_for(&agent, "irqpath_otlp_pushes_total", "{result=\"accepted\"}", 2.0);
    assert!(sum_of(&text, "irqpath_otlp_rejected_points_total") < 1.0, "{text}");
    agent.stop();
    process.kill().unwrap();
    process.wait().unwrap();
    let log = std::fs::read_to_string(&log).unwrap();
    for part in [
        "DataType: ExponentialHistogram",
        "AggregationTemporality: Cumulative",
        "Name: irqpath_path_seconds",
        "service.name: Str(irqpath-agent)",
        "Exemplars:",
        "Max: ",
    ] {
        assert!(log.contains(part), "no {part} in what the collector got");
    }
}
