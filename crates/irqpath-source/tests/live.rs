// SPDX-License-Identifier: GPL-2.0-or-later
//! The programs on the running kernel: they load, join, and count as the kernel counts.

#![allow(clippy::print_stdout)] // a test says what it skipped and measured

use std::time::{Duration, Instant};

use irqpath_model::{Event, Origin, PathEnd, Point, Vector};
use irqpath_source::bpf::BpfSource;
use irqpath_source::{Config, Source, SourceError};
use rustix::thread::{CapabilitySet, capabilities};

/// True if the kernel may refuse the programs for what they are only.
fn may_trace() -> bool {
    let needed = CapabilitySet::BPF | CapabilitySet::PERFMON;
    capabilities(None).is_ok_and(|held| held.effective.contains(needed))
}

/// The source, or `None` with the reason printed where the machine cannot trace.
fn open(config: &Config) -> Option<BpfSource> {
    match BpfSource::open(config) {
        Ok(source) => Some(source),
        Err(error) if !may_trace() || matches!(error, SourceError::NoBtf(_)) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_sleeping_thread_is_joined_to_the_local_timer() {
    let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let config = Config { record_all: true, tids: vec![tid], ..Config::default() };
    let start = Instant::now();
    let Some(mut source) = open(&config) else { return };
    println!("start-up {:?}", start.elapsed());
    for _ in 0..50 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let (mut events, snapshot) =
        (source.poll_events(Duration::ZERO).unwrap(), source.finish().unwrap());
    events.extend(snapshot.0);
    let paths: Vec<_> = events
        .iter()
        .filter_map(|e| match e {
            Event::Path(p) => Some(p),
            Event::Occupancy(_) => None,
        })
        .filter(|p| p.origin == Origin::Vector(Vector::LocalTimer))
        .collect();
    assert!(paths.len() >= 45, "only {} of 50 sleeps were joined", paths.len());
    for p in &paths {
        let names: Vec<Point> = p.stages().iter().map(|s| s.to).collect();
        assert_eq!(p.target.tid, tid);
        if p.end == PathEnd::User {
            assert_eq!(names, [Point::Hardirq, Point::Waking, Point::SwitchIn, Point::User]);
        }
        assert!(p.total_ns() < 1_000_000_000, "{p:?}");
    }
    println!("{:?}", snapshot.1.loss);
    println!("{:?}", snapshot.1.overhead);
    println!("{:?}", snapshot.1.missing);
    let p = &snapshot.1.paths[0];
    println!("{:?} total {:?}", p.key, p.total.quantiles());
    for (stage, h) in &p.stages {
        println!("   {stage} {:?}", h.quantiles());
    }
}
