// SPDX-License-Identifier: GPL-2.0-or-later
//! The agent while the clock of the day is set. The machine's own clock stays alone: a library in
//! front of libc shifts the one that the agent reads.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

mod agent_support;

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use agent_support::{PATIENCE, Running, sum_of};
use irqpath_testing::cli::is_root;

/// `IRQPATH_SHIFT` names a file with the seconds that are added; it is mapped before the agent is
/// confined.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile long *shift;
__attribute__((constructor)) static void map_shift(void)
{
	int fd = open(getenv("IRQPATH_SHIFT"), O_RDONLY);
	shift = mmap(NULL, sizeof(*shift), PROT_READ, MAP_SHARED, fd, 0);
	if (shift == MAP_FAILED)
		abort();
	close(fd);
}
int clock_gettime(clockid_t id, struct timespec *time)
{
	int failed = syscall(SYS_clock_gettime, id, time);
	if (!failed && id == CLOCK_REALTIME)
		time->tv_sec += *shift;
	return failed;
}
"#;

fn build_shim(directory: &Path) -> Option<PathBuf> {
    let (source, library) = (directory.join("shim.c"), directory.join("shim.so"));
    std::fs::write(&source, SHIM).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source);
    let output = compiler.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(library)
}

/// The numbers, once the clock was noticed to be set so often; and the times of all exemplars.
fn exemplars_after(agent: &Running, nr_jumps: f64) -> Vec<f64> {
    let end = Instant::now() + PATIENCE;
    loop {
        let (_, body) = agent.get("/metrics", "Accept: application/openmetrics-text\r\n");
        let text = String::from_utf8(body).unwrap();
        let lines = text.lines().filter(|line| line.contains(" # {"));
        let times: Vec<f64> =
            lines.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
        if sum_of(&text, "irqpath_clock_jumps_total") >= nr_jumps && !times.is_empty() {
            return times;
        }
        assert!(Instant::now() < end, "{nr_jumps} jumps: {text}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn exemplars_follow_a_clock_that_is_set_forward_and_back() {
    let test = "exemplars_follow_a_clock_that_is_set_forward_and_back";
    if !is_root(test) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let Some(shim) = build_shim(directory.path()) else {
        eprintln!("skipped: {test}: no cc");
        return;
    };
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
    let file = File::create(directory.path().join("shift")).unwrap();
    let set = |seconds: i64| file.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
    // An hour after 1970, as on a machine that has no clock and no network yet.
    set(3_600 - now() as i64);
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("irqpath"));
    command.env("LD_PRELOAD", shim).env("IRQPATH_SHIFT", directory.path().join("shift"));
    let agent = Running::start_by(command, &[], "threshold_us = 1\n");
    let times = exemplars_after(&agent, 0.0);
    assert!(times.iter().all(|at| *at < 7_200.0), "{times:?}");
    for (nr_jumps, shift) in [(1.0, 0), (2.0, 86_400 * 400), (3.0, 0)] {
        set(shift);
        let times = exemplars_after(&agent, nr_jumps);
        let right = now() + shift as f64;
        // The slowest paths since the start.
        let is_right = |at: &f64| *at <= right + 1.0 && *at > right - 300.0;
        assert!(times.iter().all(is_right), "{shift}: {right}: {times:?}");
    }
    let said = agent.stop();
    let ways: Vec<bool> = said.lines().map(|line| line.contains("was set forward by")).collect();
    assert_eq!(ways, [true, true, false], "{said}");
}
