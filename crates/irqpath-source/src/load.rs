// SPDX-License-Identifier: GPL-2.0-or-later
//! Processes that do nothing but use up their CPU, as load beside a benchmark.
//!
//! They are forks of this process that never return from here: no program is started, so that
//! 256 of them cost next to no memory in a small guest. Each one is an ordinary task
//! (`SCHED_OTHER`, nice 0) whatever this process is, ignores the terminal's Ctrl-C, which is for
//! this process to handle, and dies with the thread that made it.

#![allow(unsafe_code)] // fork and what a child may call after it; each use says why it is sound

use std::hint::black_box;
use std::io;

/// Running processes; dropped, they are gone.
#[derive(Debug, Default)]
pub struct Load {
    children: Vec<libc::pid_t>,
}

impl Load {
    /// Start `nr` of them, on the CPUs that the calling thread may use. If one cannot be started
    /// the others are ended.
    pub fn start(nr: u32) -> io::Result<Self> {
        let mut load = Self::default();
        // SAFETY: getpid has no preconditions.
        let parent = unsafe { libc::getpid() };
        for _ in 0..nr {
            // SAFETY: the child of a threaded process may only call async-signal-safe functions;
            // `spin_until_orphaned` calls no others, allocates nothing and never returns.
            match unsafe { libc::fork() } {
                -1 => return Err(io::Error::last_os_error()),
                0 => spin_until_orphaned(parent),
                child => load.children.push(child),
            }
        }
        Ok(load)
    }

    /// Process ids of the children, which run until this is dropped.
    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.children.iter().map(|&pid| pid as u32)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for &child in &self.children {
            // SAFETY: it is our child and was not waited for, so the id is still its own.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        for &child in &self.children {
            loop {
                // SAFETY: as above; a null status is allowed.
                let got = unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
                let error = io::Error::last_os_error();
                if got != -1 || error.kind() != io::ErrorKind::Interrupted {
                    break;
                }
            }
        }
    }
}

/// The whole life of a child.
fn spin_until_orphaned(parent: libc::pid_t) -> ! {
    // SAFETY: all of these are system calls without allocation or locks, allowed between fork
    // and exec; the parameter of sched_setscheduler outlives the call. What fails leaves the
    // child as it was, which is no reason not to run.
    unsafe {
        for signal in [libc::SIGINT, libc::SIGHUP] {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::signal(libc::SIGTERM, libc::SIG_DFL);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // The parent may have died before that line.
        if libc::getppid() != parent {
            libc::_exit(0);
        }
        libc::prctl(libc::PR_SET_NAME, c"irqpath-load".as_ptr());
        let other = libc::sched_param { sched_priority: 0 };
        libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const other);
        libc::setpriority(libc::PRIO_PROCESS, 0, 0);
    }
    let mut number = 1u64;
    loop {
        number = black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};

    fn field(pid: u32, file: &str, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
        let line = text.lines().find(|l| l.starts_with(name))?;
        Some(line[name.len()..].trim().to_owned())
    }

    fn has_its_name(pid: u32) -> bool {
        field(pid, "status", "Name:").as_deref() == Some("irqpath-load")
    }

    fn is_running(pid: u32) -> bool {
        field(pid, "status", "State:").is_some_and(|state| !state.starts_with('Z'))
    }

    /// Soon, where the machine has nothing else to do.
    fn at_last(what: impl Fn() -> bool) -> bool {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(60) {
            if what() {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        what()
    }

    #[test]
    fn they_run_and_are_gone_when_dropped() {
        let load = Load::start(3).unwrap();
        let pids: Vec<u32> = load.pids().collect();
        assert_eq!(pids.len(), 3);
        for &pid in &pids {
            assert!(at_last(|| has_its_name(pid)));
            assert!(field(pid, "status", "State:").unwrap().starts_with('R'));
        }
        drop(load);
        assert!(pids.iter().all(|&pid| !is_running(pid)));
    }

    #[test]
    fn none_is_no_load() {
        assert_eq!(Load::start(0).unwrap().pids().count(), 0);
    }

    /// What holds for the thread that made them holds for a process that is killed: its threads
    /// end.
    #[test]
    fn they_die_with_the_thread_that_made_them() {
        let (send, receive) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let maker = thread::spawn(move || {
            send.send(Load::start(2).unwrap()).unwrap();
            ended.recv().unwrap();
        });
        let load = receive.recv().unwrap();
        // From then on they die with the thread.
        assert!(at_last(|| load.pids().all(has_its_name)));
        assert!(load.pids().all(is_running));
        end.send(()).unwrap();
        maker.join().unwrap();
        assert!(at_last(|| !load.pids().any(is_running)));
    }
}
