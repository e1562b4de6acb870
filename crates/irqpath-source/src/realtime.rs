// SPDX-License-Identifier: GPL-2.0-or-later
//! What a thread that measures asks of the kernel: a CPU of its own, a policy, memory that stays.
//!
//! Neighbours: `respond` and `jitter` call [`enter_realtime`] on their threads. The rule to know:
//! what is set ends with the thread, or with the process, so that nothing is left behind however
//! they end. A refusal is reported and measured without; only a CPU that cannot be had is an
//! error.

#![allow(unsafe_code)] // sched_getparam and a signal handler; each use says why it is sound

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write as _};

use irqpath_model::{Missing, Scheduling};
use rustix::mm::{MlockAllFlags, mlockall, munlockall};
use rustix::process::getpriority_process;
use rustix::thread::{CpuSet, gettid, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use crate::launch::set_scheduling;

/// Stack that is touched before measuring, bytes: more than any loop here uses.
const STACK: usize = 256 << 10;

const DMA_LATENCY: &str = "/dev/cpu_dma_latency";

/// What a thread asks for.
#[derive(Debug, Clone, Copy)]
pub struct Realtime {
    /// The only CPU that the thread may run on.
    pub cpu: u16,
    /// How urgent it is.
    pub sched: Scheduling,
}

/// What a thread got.
#[derive(Debug, Clone)]
pub struct Entered {
    /// Kernel thread id, as in `/proc`.
    pub tid: u32,
    /// Policy and priority in force, read back. Policies that are not real-time count as
    /// `SCHED_OTHER`.
    pub sched: Scheduling,
    /// Rights that the kernel refused, each with its consequence; empty if all was granted.
    pub missing: Vec<Missing>,
}

/// Bind the calling thread, give it its priority and make its stack present.
pub fn enter_realtime(asked: Realtime) -> io::Result<Entered> {
    let mut set = CpuSet::new();
    set.set(usize::from(asked.cpu));
    sched_setaffinity(None, &set)?;
    let mut missing = Vec::new();
    let refused = set_scheduling(0, asked.sched).err();
    let sched = sched_in_force()?;
    missing.extend(refused.map(|error| no_priority(asked.sched, sched, &error)));
    touch_stack();
    Ok(Entered { tid: gettid().as_raw_nonzero().get() as u32, sched, missing })
}

fn no_priority(asked: Scheduling, sched: Scheduling, error: &io::Error) -> Missing {
    Missing {
        what: "CAP_SYS_NICE".to_owned(),
        consequence: format!(
            "the task runs at {sched} and not at {asked} ({error}), so its times include waiting \
             for other tasks; run with sudo, or raise the limit (ulimit -r)"
        ),
    }
}

/// What the kernel says about the calling thread.
fn sched_in_force() -> io::Result<Scheduling> {
    let mut param = libc::sched_param { sched_priority: 0 };
    // SAFETY: 0 is the calling thread; the parameter outlives the calls.
    let (policy, got) =
        unsafe { (libc::sched_getscheduler(0), libc::sched_getparam(0, &raw mut param)) };
    if policy < 0 || got != 0 {
        return Err(io::Error::last_os_error());
    }
    let priority = param.sched_priority as u8;
    Ok(match policy & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_FIFO => Scheduling::fifo(priority),
        libc::SCHED_RR => Scheduling::rr(priority),
        // For Linux a thread is a process here.
        _ => Scheduling::other(getpriority_process(None)? as i8),
    })
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
    extern "C" fn ignore_signal(_: libc::c_int) {}
    // SAFETY: the handler does nothing, which is allowed at any time; the structure is zeroed,
    // which is a valid value of each of its fields, and outlives the call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ignore_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        // No SA_RESTART: the interrupted call has to return.
        if libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// End the wait of a thread of this process, after [`listen_for_wake`].
pub(crate) fn wake_thread(tid: u32) {
    // SAFETY: tgkill takes numbers only. A thread that has ended since is an error of no
    // consequence.
    unsafe {
        libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, libc::SIGUSR1);
    }
}

/// `CLOCK_MONOTONIC` in ns, the clock of every stamp.
#[inline]
pub fn now_ns() -> u64 {
    read_clock(ClockId::Monotonic)
}

/// CPU time of the calling thread, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    read_clock(ClockId::ThreadCPUTime)
}

fn read_clock(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    /// A field of the calling thread's `/proc/.../stat`, counted from 1 as proc(5) does.
    pub(crate) fn stat(field: usize) -> i32 {
        let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let rest = text.rsplit_once(')').unwrap().1;
        rest.split_whitespace().nth(field - 3).unwrap().parse().unwrap()
    }

    fn sched_in_proc() -> Scheduling {
        match stat(41) {
            libc::SCHED_FIFO => Scheduling::fifo(stat(40) as u8),
            libc::SCHED_RR => Scheduling::rr(stat(40) as u8),
            _ => Scheduling::other(stat(19) as i8),
        }
    }

    #[test]
    fn a_thread_gets_what_it_may_have_and_hears_what_it_may_not() {
        let allowed = sched_getaffinity(None).unwrap();
        let cpu = (0..CpuSet::MAX_CPU).rfind(|&cpu| allowed.is_set(cpu)).unwrap() as u16;
        for asked in
            [Scheduling::fifo(3), Scheduling::rr(4), Scheduling::other(5), Scheduling::other(-20)]
        {
            let entered = std::thread::spawn(move || {
                let entered = enter_realtime(Realtime { cpu, sched: asked }).unwrap();
                assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
                assert_eq!(entered.sched, sched_in_proc(), "asked for {asked}");
                entered
            });
            let entered = entered.join().unwrap();
            assert_eq!(entered.missing.is_empty(), entered.sched == asked, "{entered:?}");
            for missing in &entered.missing {
                assert_eq!(missing.what, "CAP_SYS_NICE");
                let told = format!("runs at {} and not at {asked}", entered.sched);
                assert!(missing.consequence.contains(&told), "{missing:?}");
            }
        }
        let after = sched_getaffinity(None).unwrap();
        assert_eq!(after.count(), allowed.count(), "this thread is as it was");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        let result = std::thread::spawn(|| {
            enter_realtime(Realtime { cpu: 1000, sched: Scheduling::other(0) })
        });
        assert!(result.join().unwrap().is_err());
    }
}
