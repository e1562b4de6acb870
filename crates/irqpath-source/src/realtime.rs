// SPDX-License-Identifier: GPL-2.0-or-later
//! What a thread that measures asks of the kernel: a CPU of its own, a policy, memory that stays.
//!
//! Neighbours: `respond` and `jitter` call [`enter`] on their threads. The rule to know: what is
//! set ends with the thread, or with the process, so that nothing is left behind however they end.
//! What is refused is told and measured without; only a CPU that cannot be had is an error.

#![allow(unsafe_code)] // sched_setscheduler and a signal handler; each use says why it is sound

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write as _};

use irqpath_model::{Missing, Sched};
use rustix::mm::{MlockAllFlags, mlockall, munlockall};
use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, gettid, sched_setaffinity};

/// Stack that is touched before measuring, bytes: more than any loop here uses.
const STACK: usize = 256 << 10;

const DMA_LATENCY: &str = "/dev/cpu_dma_latency";

/// What a thread asks for.
#[derive(Debug, Clone, Copy)]
pub struct Realtime {
    /// Where it runs.
    pub cpu: u16,
    /// How urgent it is.
    pub sched: Sched,
}

/// What a thread got.
#[derive(Debug, Clone)]
pub struct Entered {
    /// Its id.
    pub tid: u32,
    /// Policy and priority in force.
    pub sched: Sched,
    /// What was refused.
    pub missing: Vec<Missing>,
}

/// Bind the calling thread, give it its priority and make its stack present.
pub fn enter(asked: Realtime) -> io::Result<Entered> {
    let mut set = CpuSet::new();
    set.set(usize::from(asked.cpu));
    sched_setaffinity(None, &set)?;
    let mut missing = Vec::new();
    let sched = match set_sched(asked.sched) {
        Ok(()) => asked.sched,
        Err(error) => {
            missing.push(no_priority(asked.sched, &error));
            Sched::Other(0)
        }
    };
    touch_stack();
    Ok(Entered { tid: gettid().as_raw_nonzero().get() as u32, sched, missing })
}

fn no_priority(asked: Sched, error: &io::Error) -> Missing {
    Missing {
        what: "CAP_SYS_NICE".to_owned(),
        consequence: format!(
            "the task runs as an ordinary one and not at {asked} ({error}), so its times include \
             waiting for other tasks; run with sudo, or raise the limit (ulimit -r)"
        ),
    }
}

fn set_sched(sched: Sched) -> io::Result<()> {
    let policy = match sched {
        Sched::Fifo(_) => libc::SCHED_FIFO,
        Sched::Rr(_) => libc::SCHED_RR,
        Sched::Other(_) => libc::SCHED_OTHER,
    };
    let param = libc::sched_param { sched_priority: i32::from(sched.priority()) };
    // SAFETY: 0 is the calling thread; the parameter outlives the call.
    if unsafe { libc::sched_setscheduler(0, policy, &raw const param) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if let Sched::Other(nice) = sched {
        // For Linux a thread is a process here.
        setpriority_process(None, i32::from(nice))?;
    }
    Ok(())
}

/// A page fault later would be a delay that the test itself made.
#[inline(never)]
#[allow(clippy::large_stack_arrays)] // which is what this is for
fn touch_stack() {
    let mut stack = [0_u8; STACK];
    stack.iter_mut().step_by(1024).for_each(|byte| *byte = 1);
    black_box(&stack);
}

/// The process's memory, locked until this is dropped.
#[derive(Debug)]
pub struct LockedMemory(());

impl LockedMemory {
    /// Lock what is mapped now and what will be. What it means if that is refused.
    pub fn lock() -> Result<Self, Missing> {
        match mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE) {
            Ok(()) => Ok(Self(())),
            Err(error) => Err(Missing {
                what: "CAP_IPC_LOCK".to_owned(),
                consequence: format!(
                    "memory is not locked ({}), so a page fault may come in between; run with \
                     sudo, or raise the limit (ulimit -l unlimited)",
                    io::Error::from(error)
                ),
            }),
        }
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // Can only fail for arguments that it does not have.
        let _ = munlockall();
    }
}

/// Keeps idle CPUs from sleeping deeper than they can leave in this time. The kernel takes the
/// wish back when the file is closed, be it by a kill.
#[derive(Debug)]
pub struct DmaLatency {
    _open: File,
}

impl DmaLatency {
    /// Wish for at most `us`.
    pub fn hold(us: i32) -> io::Result<Self> {
        let mut file = File::options().write(true).open(DMA_LATENCY)?;
        file.write_all(&us.to_ne_bytes())?;
        Ok(Self { _open: file })
    }
}

/// Make SIGUSR1 end a wait in a system call, and do nothing else.
pub(crate) fn listen_for_wake() -> io::Result<()> {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: the handler does nothing, which is allowed at any time; the structure is zeroed,
    // which is a valid value of each of its fields, and outlives the call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
        // No SA_RESTART: the interrupted call has to return.
        if libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// End the wait of a thread of this process, after [`listen_for_wake`].
pub(crate) fn wake(tid: u32) {
    // SAFETY: tgkill takes numbers only. A thread that has ended since is an error of no
    // consequence.
    unsafe {
        libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, libc::SIGUSR1);
    }
}

/// `CLOCK_MONOTONIC`, ns.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn a_thread_gets_what_it_may_have_and_hears_what_it_may_not() {
        let allowed = sched_getaffinity(None).unwrap();
        let cpu = (0..CpuSet::MAX_CPU).rfind(|&cpu| allowed.is_set(cpu)).unwrap() as u16;
        let entered = std::thread::spawn(move || {
            let entered = enter(Realtime { cpu, sched: Sched::Fifo(3) }).unwrap();
            let status = std::fs::read_to_string("/proc/thread-self/sched").unwrap_or_default();
            assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
            (entered, status)
        });
        let (entered, _) = entered.join().unwrap();
        assert_eq!(entered.missing.is_empty(), entered.sched == Sched::Fifo(3));
        for missing in &entered.missing {
            assert_eq!(missing.what, "CAP_SYS_NICE");
        }
        let after = sched_getaffinity(None).unwrap();
        assert_eq!(after.count(), allowed.count(), "this thread is as it was");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        let result = std::thread::spawn(|| enter(Realtime { cpu: 1000, sched: Sched::Other(0) }));
        assert!(result.join().unwrap().is_err());
    }
}
