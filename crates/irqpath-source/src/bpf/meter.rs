// SPDX-License-Identifier: GPL-2.0-or-later
//! Lets the kernel time the programs of an agent from time to time.
//!
//! The kernel adds up runs and times of BPF programs only while somebody holds its statistics on,
//! which costs each run of every program of the host two looks at a clock, and needs `CAP_SYS_ADMIN`
//! each time. The agent gives that up. A process of its own keeps it, and nothing else: it is forked
//! before there is a second thread, has no file, and its filter leaves it that one command of `bpf`,
//! sleeping and ending. It ends with its parent.

#![allow(unsafe_code)] // fork, and what the C library does not wrap; each use says why it is sound

use std::io;
use std::time::Duration;

use libbpf_rs::libbpf_sys;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};
use seccompiler::BpfProgram;

use crate::confine;

/// How long the statistics are on each time.
pub const WINDOW: Duration = Duration::from_secs(1);

/// Has the kernel time BPF programs for [`WINDOW`] in every `every`, until this process ends. False if
/// that would take a capability that is not there.
///
/// # Errors
/// If there are threads already, or the kernel makes no process.
pub fn time_programs(every: Duration) -> io::Result<bool> {
    if !capabilities(None)?.effective.contains(CapabilitySet::SYS_ADMIN) {
        return Ok(false);
    }
    let Some(filter) = confine::compile_meter_filter()? else { return Ok(false) };
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("the meter must be started before any thread"));
    }
    // SAFETY: getpid has no preconditions.
    let parent = unsafe { libc::getpid() };
    // SAFETY: this process has one thread, so the child's copy of its memory is consistent.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let ended = become_meter(parent, &filter).map(|()| go_round(every));
            // SAFETY: ends the child at once, without what the parent wants done at its end.
            unsafe { libc::_exit(i32::from(ended.is_err())) }
        }
        _ => Ok(true),
    }
}

/// Any failure ends the child before it has asked for anything.
fn become_meter(parent: libc::pid_t, filter: &BpfProgram) -> io::Result<()> {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: numbers, a constant name, and a limit that outlives the call. No file is used later.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        check(libc::prctl(libc::PR_SET_NAME, c"irqpath-meter".as_ptr()))?;
        check(libc::setrlimit(libc::RLIMIT_CORE, &raw const none))?;
        check(libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) as libc::c_int)?;
        // The parent may have ended before its end could be told.
        if libc::getppid() != parent {
            return Err(io::ErrorKind::NotFound.into());
        }
    }
    let only = CapabilitySet::SYS_ADMIN;
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: only, permitted: only, inheritable })?;
    set_no_new_privs(true)?;
    seccompiler::apply_filter(filter).map_err(io::Error::other)
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Until the kernel refuses, or this process is killed.
fn go_round(every: Duration) {
    loop {
        std::thread::sleep(every.saturating_sub(WINDOW));
        // Not by libbpf, which would move the descriptor: it is 0 here, as no other is open.
        let kind: u32 = libbpf_sys::BPF_STATS_RUN_TIME;
        let (at, length) = (&raw const kind, size_of_val(&kind));
        // SAFETY: the kernel reads so many bytes there, and returns a descriptor or -1.
        let fd = unsafe { libc::syscall(libc::SYS_bpf, confine::BPF_ENABLE_STATS, at, length) };
        let Ok(fd @ 0..) = libc::c_int::try_from(fd) else { return };
        std::thread::sleep(WINDOW);
        // SAFETY: the descriptor from above, which nobody else has.
        unsafe { libc::close(fd) };
    }
}
