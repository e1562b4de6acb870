// SPDX-License-Identifier: GPL-2.0-or-later
//! What irqpath says is compared with an independent record of everything that happened
//! (`irqpath-witness`), on the running kernel and on two CPUs.
//!
//! `truth` beside this makes delays of known size; here the delays are whatever happens, and every
//! path is looked at. What a kernel does not trace (this may depend on the task that is current)
//! is unseen by both, and no claim about it may be made.

#![allow(clippy::print_stdout)] // a test says what it skipped and compared

mod headline;
mod live;

use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What happens while the recorder's thread has no CPU must fit.
const RECORD_BYTES: u32 = 64 << 20;

/// Loads disturb each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Waits for the machine; `None` after saying why nothing can be traced here.
fn wait_for_machine(test: &str) -> Option<MutexGuard<'static, ()>> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let why = if !status.lines().any(|line| line.starts_with("Uid:\t0\t")) {
        "needs root"
    } else if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        "needs two CPUs"
    } else if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        "this kernel has no BTF"
    } else {
        return Some(ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner));
    };
    println!("skipped: {test}: {why}");
    None
}

/// One of the examples at work; ended when this is dropped.
struct Load(Child);

impl Load {
    fn start(name: &str, seconds: u64) -> Self {
        let test = std::env::current_exe().expect("this test's own path");
        let target = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE/deps");
        let program: PathBuf = target.join("examples").join(name);
        let child = Command::new(&program).arg(seconds.to_string()).spawn();
        Self(child.unwrap_or_else(|error| {
            panic!("{}: {error}; run cargo build -p irqpath --examples", program.display())
        }))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
