// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts agree: hardirqs per line and softirqs per vector, against `/proc/interrupts` and
//! `/proc/softirqs` over the same window, within what happened while a boundary was read.
//!
//! Some kernels do not run BPF programs for every tracepoint that fires: one (6.18, a guest) runs
//! none while a thread of pid 1 is current, and counts no miss. So few are allowed, and printed.

#![allow(clippy::print_stdout)] // a test says what it skipped and measured

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use irqpath_model::{InterruptCounts, Origin, Snapshot};
use irqpath_source::bpf::BpfSource;
use irqpath_source::{Config, Source, SourceError};
use irqpath_system::Host;

/// Rows that this test can check: all device lines, and the vectors with tracepoints. `HYP`,
/// `TLB` and the like have none; `CAL` includes TLB shootdowns on some kernels only.
const VECTORS: [&str; 4] = ["LOC", "RES", "CAL", "IWI"];

/// A boundary: the kernel's counts before and after ours were read.
struct Boundary {
    before: BTreeMap<String, u64>,
    ours: BTreeMap<String, u64>,
    after: BTreeMap<String, u64>,
}

fn sum_counts(counts: &InterruptCounts) -> BTreeMap<String, u64> {
    let rows = counts.interrupts.iter().chain(&counts.softirqs);
    rows.map(|(label, n)| (label.clone(), n.iter().sum())).collect()
}

fn our_sums(snapshot: &Snapshot) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for line in &snapshot.lines {
        *sums.entry(line.origin.label()).or_default() += line.nr;
    }
    for s in &snapshot.softirqs {
        *sums.entry(Origin::Softirq(s.vec).label()).or_default() += s.nr;
    }
    sums
}

fn read_boundary(host: &Host, source: &mut BpfSource) -> Boundary {
    let before = sum_counts(&host.interrupt_counts().expect("read /proc/interrupts"));
    let ours = our_sums(&source.take_snapshot().expect("snapshot"));
    let after = sum_counts(&host.interrupt_counts().expect("read /proc/interrupts"));
    Boundary { before, ours, after }
}

/// Loopback traffic, timers and disk reads for a while.
fn make_load(time: Duration) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("address");
    let until = Instant::now() + time;
    let echo = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().expect("accept");
        let _ = std::io::copy(&mut peer.try_clone().expect("clone"), &mut peer);
    });
    let mut stream = TcpStream::connect(address).expect("connect");
    let mut byte = [7u8; 64];
    while Instant::now() < until {
        for _ in 0..100 {
            std::io::Write::write_all(&mut stream, &byte).expect("write");
            std::io::Read::read_exact(&mut stream, &mut byte).expect("read");
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    stream.shutdown(std::net::Shutdown::Both).expect("shutdown");
    echo.join().expect("echo");
}

/// Two seconds of load, and whether both count the same. One event too many, or no load, fails the test;
/// too many unseen are the error.
fn compare_counts(host: &Host, source: &mut BpfSource) -> Result<(), String> {
    let start = read_boundary(host, source);
    make_load(Duration::from_secs(2));
    let end = read_boundary(host, source);
    let (mut nr_checked, mut nr_events, mut nr_unseen) = (0, 0, 0);
    for (label, end_after) in &end.after {
        let is_device = label.parse::<u32>().is_ok();
        let is_softirq = irqpath_model::SoftirqVec::ALL
            .iter()
            .copied()
            .any(|v| Origin::Softirq(v).label() == *label);
        if !is_device && !is_softirq && !VECTORS.contains(&label.as_str()) {
            continue;
        }
        let at = |counts: &BTreeMap<String, u64>| counts.get(label).copied().unwrap_or(0);
        let ours = at(&end.ours) - at(&start.ours);
        // The window between the two readings of ours is at least this, and at most that.
        let least = at(&end.before) - at(&start.after);
        let most = end_after - at(&start.before);
        let unseen = least.saturating_sub(ours);
        assert!(ours <= most, "{label}: {ours} seen, the kernel counts {most} at most");
        // Seen in two seconds: up to 13 of RES, 7 of a softirq, 4 of LOC, 3 of CAL, 1 of a line.
        // In the lab's exact guests it is none (trace-truth).
        if unseen > 20 + least / 200 {
            return Err(format!("{label}: {ours} seen, the kernel counts {least}"));
        }
        nr_unseen += unseen;
        nr_checked += usize::from(most > 0);
        nr_events += ours;
    }
    println!("{nr_checked} rows with {nr_events} interrupts and softirqs agree");
    println!("{nr_unseen} events for which the kernel ran no program");
    assert!(nr_checked >= 3 && nr_events > 1_000, "the load made too few interrupts to tell");
    Ok(())
}

/// A trace, or `None` after saying why none can be had here.
fn open_trace() -> Option<BpfSource> {
    if let Err(error) = Host::real().may_trace() {
        println!("skipped: {error}");
        return None;
    }
    match BpfSource::open(&Config::default()) {
        Ok(source) => Some(source),
        Err(error @ SourceError::NoBtf(_)) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_attaching_and_detaching_interrupt_is_not_counted() {
    // Both patch the kernel's code, with some hundred function calls to other CPUs.
    let host = Host::real();
    let counts = || sum_counts(&host.interrupt_counts().expect("read /proc/interrupts"));
    let Some(mut source) = open_trace() else { return };
    let before = counts();
    std::thread::sleep(Duration::from_millis(300));
    let after = counts();
    let (_, snapshot) = source.finish().expect("detach");
    let calls = |counts: &BTreeMap<String, u64>| counts.get("CAL").copied().unwrap_or(0);
    let ours = calls(&our_sums(&snapshot));
    let kernel = calls(&after) - calls(&before);
    println!("{ours} function calls seen, the kernel counts {kernel}");
    // What comes between a reading of ours and of the kernel's.
    assert!(ours <= kernel + 30 + kernel / 20, "{ours} seen, the kernel counts {kernel}");
}

#[test]
fn counts_agree_with_the_kernels_own() {
    let Some(mut source) = open_trace() else { return };
    let host = Host::real();
    // On a busy host more go unseen, once 22 of 69 RES: an error of ours would be there each time.
    let mut why = String::new();
    for _ in 0..3 {
        match compare_counts(&host, &mut source) {
            Ok(()) => return,
            Err(error) => why = error,
        }
        println!("{why}");
    }
    panic!("three times of three: {why}");
}
