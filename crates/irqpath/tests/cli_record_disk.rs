// SPDX-License-Identifier: GPL-2.0-or-later
//! The flight recorder on a file system that is full: one in memory, of this test alone.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

mod agent_support;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use agent_support::{PATIENCE, Running, sum_of};
use irqpath_testing::cli::{is_root, names};
use rustix::process::Signal;

const MIB: u64 = 1 << 20;
/// What captures may take, and the file system with them.
const BUDGET: u64 = 64 * MIB;
const DISK: u64 = 96 * MIB;
/// What budget and disk have left. On a quiet machine a capture takes little more than 100 KiB.
const ROOM: u64 = 16 << 10;

/// Mounted while this lives.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None` where nothing may be mounted.
    fn mount() -> Option<Self> {
        let root = tempfile::tempdir().unwrap();
        let options = format!("size={DISK},mode=755");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(root.path());
        let is_mounted = mount.output().is_ok_and(|output| output.status.success());
        is_mounted.then_some(Self(root))
    }

    fn captures(&self) -> PathBuf {
        self.0.path().join("captures")
    }

    /// Fill it but for so much.
    fn fill(&self, left: u64) -> PathBuf {
        let path = self.0.path().join("ballast");
        let mut ballast = File::create(&path).unwrap();
        while ballast.write_all(&[7; 1 << 14]).is_ok() {}
        let size = ballast.metadata().unwrap().len();
        ballast.set_len(size.checked_sub(left).unwrap()).unwrap();
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// Every file below, and what is in it.
fn read_all(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let captures = names(directory).into_iter().map(|name| directory.join(name));
    let files =
        captures.flat_map(|capture| names(&capture).into_iter().map(move |n| capture.join(n)));
    files.map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

/// Until a sum of the metrics is at least this.
fn wait_for(agent: &Running, least: f64, sum: impl Fn(&str) -> f64) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let (_, text) = agent.get("/metrics", "Accept: application/openmetrics-text\r\n");
        let text = String::from_utf8(text).unwrap();
        if sum(&text) >= least {
            return text;
        }
        assert!(Instant::now() < end, "never {least}: {text}");
        std::thread::sleep(Duration::from_millis(1_100));
    }
}

fn captures_of(text: &str) -> f64 {
    sum_of(text, "irqpath_captures_total")
}

fn failures_of(text: &str) -> f64 {
    let is_failed =
        |line: &&str| line.starts_with("irqpath_captures_not_made_total{why=\"failed\"}");
    let row = text.lines().find(is_failed).unwrap();
    row.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Two captures that leave less of the budget than one of them takes.
fn make_captures(settings: &str, directory: &Path) {
    let agent = Running::start(settings);
    std::thread::sleep(Duration::from_secs(1));
    for nr in [1.0, 2.0] {
        agent.signal(Signal::USR1);
        wait_for(&agent, nr, captures_of);
    }
    assert_eq!(agent.stop(), "");
    let used: usize =
        read_all(directory).values().map(|bytes| bytes.len().next_multiple_of(4096)).sum();
    let padding = BUDGET as usize - used - ROOM as usize;
    for name in ["0001-signal", "0002-signal"] {
        fs::write(directory.join(name).join("padding"), vec![7; padding / 2]).unwrap();
    }
}

#[test]
fn a_capture_that_a_full_disk_refuses_costs_no_older_one_and_one_line() {
    let test = "a_capture_that_a_full_disk_refuses_costs_no_older_one_and_one_line";
    if !is_root(test) {
        return;
    }
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("skipped: {test}: nothing may be mounted here");
        return;
    };
    let directory = disk.captures();
    let settings = format!(
        "[record]\ndirectory = '{}'\nkeep_s = 1\nat_most = '100/s'\ndisk_mib = {}\n",
        directory.display(),
        BUDGET / MIB
    );
    make_captures(&settings, &directory);
    let before = read_all(&directory);
    let ballast = disk.fill(ROOM);
    let agent = Running::start(&settings);
    std::thread::sleep(Duration::from_secs(1));
    for nr in [1.0, 2.0, 3.0] {
        agent.signal(Signal::USR1);
        wait_for(&agent, nr, failures_of);
        assert!(read_all(&directory) == before, "{:?}", names(&directory));
    }
    fs::remove_file(ballast).unwrap();
    agent.signal(Signal::USR1);
    let text = wait_for(&agent, 1.0, captures_of);
    assert!(sum_of(&text, "irqpath_captures_dropped_total") >= 1.0, "the oldest went: {text}");
    assert!(failures_of(&text) < 4.0, "{text}");
    let said = agent.stop();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("no capture was kept: cannot write"), "{said}");
    let left = names(&directory);
    assert!(left.len() == 2 && left[0] == "0002-signal", "{left:?}");
    let usage: usize = read_all(&directory).values().map(Vec::len).sum();
    assert!(usage as u64 <= BUDGET, "{usage}");
}
