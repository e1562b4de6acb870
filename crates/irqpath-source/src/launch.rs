// SPDX-License-Identifier: GPL-2.0-or-later
//! Priorities of tasks, and locked memory for a program about to be started.
//!
//! Locked memory does not pass an exec: the kernel forgets it together with the old program. So a
//! helper process watches the exec and makes the new program call `mlockall` before its first own
//! instruction, by the means of a debugger (`ptrace`), and is gone then. The program needs no
//! change, no library and no file of ours.

#![allow(unsafe_code)] // ptrace, fork and sched_setscheduler; each use says why it is sound

mod inject;

use std::io;

use irqpath_model::{Policy, Scheduling};

/// Set policy and priority of a task; 0 is the calling thread. Only `SCHED_OTHER` takes its nice
/// value with it. Policies other than this, FIFO and RR are [`io::ErrorKind::Unsupported`].
pub fn set_scheduling(tid: u32, scheduling: Scheduling) -> io::Result<()> {
    let policy = match scheduling.policy {
        Policy::Fifo => libc::SCHED_FIFO,
        Policy::Rr => libc::SCHED_RR,
        Policy::Normal => libc::SCHED_OTHER,
        // Never changed by irqpath, so never put back.
        _ => return Err(io::ErrorKind::Unsupported.into()),
    };
    let pid = libc::pid_t::try_from(tid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let param = libc::sched_param { sched_priority: i32::from(scheduling.fixed_priority()) };
    // SAFETY: the parameter outlives the call, which changes nothing of this process's memory.
    if unsafe { libc::sched_setscheduler(pid, policy, &raw const param) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if scheduling.policy == Policy::Normal {
        // SAFETY: only numbers are passed. For Linux a thread is a process here.
        if unsafe { libc::setpriority(libc::PRIO_PROCESS, tid, i32::from(scheduling.nice)) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Lock the memory, present and future, of the program that this process executes next. If
/// that fails after the exec, the program is killed before its first instruction, and a line on
/// standard error says why.
///
/// To be called by a process with one thread, shortly before it executes the program.
pub fn lock_memory_after_exec() -> io::Result<()> {
    inject::attach_helper()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::realtime::tests::stat;
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    #[test]
    fn priorities_are_set_and_refused() {
        std::thread::spawn(|| {
            match set_scheduling(0, Scheduling::fifo(3)) {
                Ok(()) => assert_eq!((stat(41), stat(40)), (libc::SCHED_FIFO, 3)),
                Err(error) => {
                    eprintln!("skipped: no real-time priority here: {error}");
                    return;
                }
            }
            set_scheduling(0, Scheduling::other(4)).unwrap();
            assert_eq!((stat(41), stat(19)), (libc::SCHED_OTHER, 4));
            let gone = set_scheduling(u32::MAX / 4, Scheduling::fifo(3)).unwrap_err();
            assert_eq!(gone.raw_os_error(), Some(libc::ESRCH));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_program_starts_with_its_memory_locked_and_is_otherwise_the_same() {
        let script = "grep VmLck /proc/$$/status; echo $0 $1; exit 7";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, "zero", "one"]);
        // SAFETY: between fork and exec only system calls are made.
        unsafe { command.pre_exec(lock_memory_after_exec) };
        let output = match command.output() {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                eprintln!("skipped: this process may not be traced: {error}");
                return;
            }
            other => other.unwrap(),
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        if text.is_empty() && told.contains("ulimit -l") {
            eprintln!("skipped: {told}");
            return;
        }
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        let mut lines = text.lines();
        let locked = lines.next().unwrap().split_whitespace().nth(1).unwrap();
        assert!(locked.parse::<u64>().unwrap() > 0, "{text}");
        assert_eq!(lines.next(), Some("zero one"));
    }
}
