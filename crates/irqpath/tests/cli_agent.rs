// SPDX-License-Identifier: GPL-2.0-or-later
//! The agent on this machine: what it answers, what it refuses, what it tells systemd, and what it has
//! given up by then.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

mod agent_support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use agent_support::{PATIENCE, Running, ask, sum_of};
use irqpath_testing::cli::{error_line, irqpath, is_root};
use rustix::process::Signal;

const PROTOBUF: &str =
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
const SYS_NICE: u64 = 1 << 23;
const SYSLOG: u64 = 1 << 34;
/// Capabilities of all its threads together.
fn capabilities(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let of = |thread: fs::DirEntry| {
        let status = fs::read_to_string(thread.path().join("status")).unwrap();
        let field = |name| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
        assert_eq!(field("Seccomp:"), "2", "{status}");
        assert_eq!(field("NoNewPrivs:"), "1", "{status}");
        u64::from_str_radix(field("CapPrm:"), 16).unwrap()
    };
    threads.map(of).fold(0, |all, one| all | one)
}

#[test]
fn it_serves_what_each_client_understands() {
    if !is_root("it_serves_what_each_client_understands") {
        return;
    }
    let agent = Running::start("threshold_us = 1\n");
    assert_eq!(capabilities(agent.child.id()) & !(SYS_NICE | SYSLOG), 0);
    std::thread::sleep(Duration::from_millis(500));

    let (head, text) = agent.get("/metrics", "");
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("text/plain"), "{head}");
    let text = String::from_utf8(text).unwrap();
    assert!(text.ends_with("# EOF\n"), "{text}");
    for family in
        ["path_seconds_bucket", "hardirqs_total", "slow_cause_seconds_total", "losses_total"]
    {
        assert!(text.contains(&format!("\nirqpath_{family}{{")), "no {family}: {text}");
    }
    let (head, body) = agent.get("/metrics", &format!("Accept: {PROTOBUF}\r\n"));
    assert!(head.contains("application/vnd.google.protobuf"), "{head}");
    assert!(!body.is_empty() && body.len() * 4 < text.len(), "{} bytes", body.len());
    let (head, _) = agent.get("/metrics", "Accept: application/openmetrics-text\r\n");
    assert!(head.contains("application/openmetrics-text"), "{head}");
    let (head, _) = agent.get("/metrics", "Accept: no/such;q=x\r\nX-Unknown: \u{e4}\r\n");
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("text/plain"), "{head}");

    for (request, status) in [
        ("GET /-/healthy HTTP/1.1\r\nHost: x\r\n", "200"),
        ("GET / HTTP/1.1\r\nHost: x\r\n", "200"),
        ("GET /nothing HTTP/1.1\r\nHost: x\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n", "405"),
        ("nonsense\r\n", "400"),
    ] {
        let (head, _) = ask(&agent.socket(), request);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {head}");
    }
    agent.wait_for_word("WATCHDOG=1");
    // 404, 405, and the 400 of one that was no HTTP.
    let text = text_after(&agent, "irqpath_http_answers_total{status=\"4xx\"} 3.0");
    assert!(text.contains("irqpath_refused_requests_total{why=\"malformed\"} 1.0\n"), "{text}");
    assert!(sum_of(&text, "irqpath_http_answers_total") >= 9.0, "{text}");
    let resident = sum_of(&text, "irqpath_observer_resident_bytes");
    assert!(resident > 1e6 && resident <= sum_of(&text, "irqpath_observer_memory_bytes"), "{text}");
    assert_eq!(agent.stop(), "");
}

/// The numbers once they have this line.
fn text_after(agent: &Running, line: &str) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let text = String::from_utf8(agent.get("/metrics", "").1).unwrap();
        if text.contains(&format!("\n{line}\n")) {
            return text;
        }
        assert!(Instant::now() < end, "no {line}: {text}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn requests_that_are_too_long_or_too_slow_are_counted_and_idle_connections_are_not() {
    if !is_root("requests_that_are_too_long_or_too_slow_are_counted_and_idle_connections_are_not") {
        return;
    }
    let agent = Running::start("");
    let mut long = UnixStream::connect(agent.socket()).unwrap();
    // It may be sent away before it has said all, and before it hears that.
    let _ = write!(long, "GET /{} HTTP/1.1\r\n\r\n", "x".repeat(20_000));
    let _ = long.read_to_end(&mut Vec::new());
    let mut silent = UnixStream::connect(agent.socket()).unwrap();
    silent.write_all(b"GET /metrics HT").unwrap();
    let mut idle = UnixStream::connect(agent.socket()).unwrap();
    idle.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    // Both are sent away in the end.
    let mut heard = String::new();
    idle.read_to_string(&mut heard).unwrap();
    assert!(heard.starts_with("HTTP/1.1 200 "), "{heard}");
    assert_eq!(silent.read(&mut [0; 16]).unwrap_or(0), 0);
    let text = text_after(&agent, "irqpath_refused_requests_total{why=\"slow\"} 1.0");
    assert!(text.contains("irqpath_refused_requests_total{why=\"malformed\"} 1.0\n"), "{text}");
    assert_eq!(agent.stop(), "");
}

/// The process that the agent has besides, if it has one.
fn find_child(pid: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.split_whitespace().next().map(|pid| pid.parse().unwrap())
}

#[test]
fn the_kernel_times_each_program_again_and_again_for_a_process_that_can_do_nothing_else() {
    let test =
        "the_kernel_times_each_program_again_and_again_for_a_process_that_can_do_nothing_else";
    if !is_root(test) {
        return;
    }
    let agent = Running::start("cost_every_s = 2\n");
    let meter = find_child(agent.child.id()).expect("a meter");
    let status = fs::read_to_string(format!("/proc/{meter}/status")).unwrap();
    for line in
        ["Name:\tirqpath-meter", "CapPrm:\t0000000000200000", "Seccomp:\t2", "NoNewPrivs:\t1"]
    {
        assert!(status.lines().any(|one| one == line), "{line}: {status}");
    }
    // At most the one that holds the statistics on.
    let files = fs::read_dir(format!("/proc/{meter}/fd")).unwrap();
    let files: Vec<_> = files.filter_map(|file| fs::read_link(file.unwrap().path()).ok()).collect();
    assert!(files.iter().all(|file| file.display().to_string().contains("bpf-stats")), "{files:?}");
    let runs = |agent: &Running| {
        let text = String::from_utf8(agent.get("/metrics", "").1).unwrap();
        let row = |family: &str| {
            let start =
                format!("irqpath_observer_program_{family}_total{{program=\"sched_switch\"}} ");
            let row = text.lines().find_map(|line| line.strip_prefix(&start));
            row.map_or(0.0, |value| value.parse::<f64>().unwrap())
        };
        (row("runs"), row("seconds"))
    };
    let end = Instant::now() + PATIENCE;
    // More often than once: what was timed at the start is not all.
    let (mut last, mut nr_windows) = (runs(&agent), 0);
    while nr_windows < 3 {
        assert!(Instant::now() < end, "{last:?} stays after {nr_windows}");
        std::thread::sleep(Duration::from_millis(1_100));
        let now = runs(&agent);
        nr_windows += u32::from(now.0 > last.0);
        last = now;
    }
    // Others on this machine may time programs, too.
    let state = fs::read_to_string(format!("/proc/{meter}/stat")).unwrap();
    assert!(state.contains("(irqpath-meter) S"), "{state}");
    let mean_ns = last.1 / last.0 * 1e9;
    assert!((10.0..1e6).contains(&mean_ns), "{mean_ns} ns for each run");
    agent.stop();
    let gone = Instant::now() + PATIENCE;
    while fs::exists(format!("/proc/{meter}")).unwrap() {
        assert!(Instant::now() < gone, "the meter stays");
        std::thread::sleep(Duration::from_millis(20));
    }
    let agent = Running::start("cost_every_s = 0\n");
    assert_eq!(find_child(agent.child.id()), None);
    agent.stop();
}

#[test]
fn clients_that_say_nothing_keep_nobody_out() {
    if !is_root("clients_that_say_nothing_keep_nobody_out") {
        return;
    }
    let agent = Running::start("");
    let silent: Vec<_> = (0..40).map(|_| UnixStream::connect(agent.socket()).unwrap()).collect();
    // They are sent away after five seconds each time that all places are taken.
    let (head, _) = agent.get("/metrics", "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    drop(silent);
    agent.stop();
}

#[test]
fn a_new_configuration_is_read_or_the_old_one_stays() {
    if !is_root("a_new_configuration_is_read_or_the_old_one_stays") {
        return;
    }
    let agent = Running::start("");
    let first = fs::read_to_string(agent.config()).unwrap();
    let has_cpus = |agent: &Running| {
        let (_, text) = agent.get("/metrics", "");
        String::from_utf8(text).unwrap().contains("cpu=\"0\"")
    };
    assert!(!has_cpus(&agent));
    for (settings, cpus) in
        [("per_cpu = true\n", true), ("per_cpu = maybe\n", true), ("max_paths = 7\n", true)]
    {
        fs::write(agent.config(), first.clone() + settings).unwrap();
        agent.signal(Signal::HUP);
        agent.wait_for_word("RELOADING=1");
        agent.wait_for_word("READY=1");
        assert_eq!(has_cpus(&agent), cpus, "{settings}");
    }
    let said = agent.stop();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines[0].contains("the configuration stays as it was") && lines[0].contains("line 2"));
    assert!(lines[1].contains("restart the agent"), "{said}");
}

#[test]
fn rows_are_given_back_and_no_total_falls() {
    if !is_root("rows_are_given_back_and_no_total_falls") {
        return;
    }
    let agent = Running::start("idle_s = 1\nmax_paths = 16\n");
    // Each shell is another name for a moment.
    let script = "i=0; while :; do i=$((i+1)); echo t$i > /proc/self/comm; \
                  read -t 0.05 x <> <(:); read -t 0.05 x <> <(:); done";
    let mut busy = Command::new("bash").args(["-c", script]).spawn().unwrap();
    let (mut paths, mut stages, mut rows) = (0.0, 0.0, 0.0);
    let end = Instant::now() + PATIENCE;
    while rows < 40.0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1_100));
        let text = String::from_utf8(agent.get("/metrics", "").1).unwrap();
        let live = sum_of(&text, "irqpath_path_seconds_count");
        let now = live + sum_of(&text, "irqpath_retired_path_seconds_count");
        assert!(now >= paths, "{now} paths after {paths}: {text}");
        let now_stages = sum_of(&text, "irqpath_stage_seconds_count");
        assert!(now_stages >= stages, "{now_stages} stages after {stages}: {text}");
        (paths, stages) = (now, now_stages);
        rows = sum_of(&text, "irqpath_retired_rows_total");
    }
    busy.kill().unwrap();
    busy.wait().unwrap();
    assert!(rows >= 40.0, "{rows} rows were given back, more than there are");
    agent.stop();
}

#[test]
fn what_cannot_be_is_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("agent.toml");
    for (text, want) in [
        ("colour = 1", "unknown field `colour`"),
        ("listen = ['10.0.0.1:1']", "not on the loopback interface"),
        ("otlp = { endpoint = 'http://10.0.0.1:1' }", "leaves this host without TLS"),
        ("irqs = ['no-such-device']", "no-such-device"),
    ] {
        fs::write(&config, text).unwrap();
        let output =
            irqpath().args(["agent", "--check", "--config"]).arg(&config).output().unwrap();
        assert!(error_line(&output).contains(want), "{output:?}");
    }
    fs::write(&config, "").unwrap();
    let output = irqpath().args(["agent", "--check", "--config"]).arg(&config).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("http://127.0.0.1:9464/metrics"));
    let output = irqpath().args(["agent", "--check", "--config", "/no/such"]).output().unwrap();
    assert!(error_line(&output).contains("/no/such"), "{output:?}");
}

#[test]
fn a_place_that_is_taken_is_refused() {
    if !is_root("a_place_that_is_taken_is_refused") {
        return;
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("agent.toml");
    fs::write(&config, format!("listen = ['{address}']\n")).unwrap();
    let output = irqpath().args(["agent", "--config"]).arg(&config).output().unwrap();
    assert!(error_line(&output).contains(&format!("cannot listen on {address}")), "{output:?}");
}
