// SPDX-License-Identifier: GPL-2.0-or-later
//! A process without privileges that acts for one that has some: it sends signals and runs commands
//! when the flight recorder asks.
//!
//! It is forked before there is a second thread, becomes the user who called `sudo` (or nobody, where
//! root has no such user), and keeps no capability, no file but its socket, and no way to new
//! privileges. What it may do is fixed when it is forked: a request says only which part of that.
//! One request is at work at a time, a command has [`MAX_RUN`], and what it leaves behind is killed.

#![allow(unsafe_code)] // fork, and what the C library does not wrap; each use says why it is sound

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use irqpath_files::input;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

/// How long a command may run.
pub const MAX_RUN: Duration = Duration::from_secs(10);
/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Longest request: a path and a few words.
const MAX_REQUEST: usize = 16 << 10;
/// Of the list of its children.
const MAX_CHILDREN: u64 = 1 << 20;
/// Rounds in which what a command left behind is killed; each finds the children of the last.
const MAX_ROUNDS: usize = 100;

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send a signal to a process, which is the one that has the number when the helper starts.
    Signal {
        /// Its number.
        signal: i32,
        /// The process.
        pid: u32,
    },
    /// Run a command by the shell.
    Shell(String),
}

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunAs {
    /// User.
    pub uid: u32,
    /// Group; there are no others.
    pub gid: u32,
}

impl RunAs {
    /// The user whom every system has for those who are nobody.
    pub const NOBODY: Self = Self { uid: 65_534, gid: 65_534 };
}

/// The helper, as its parent sees it. It ends when this is dropped.
#[derive(Debug)]
pub struct Helper {
    socket: File,
    is_busy: bool,
}

/// What came of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acted {
    /// Actions that succeeded.
    pub nr_done: u8,
    /// 1 if the next one failed; those after it were not tried.
    pub nr_failed: u8,
}

impl Helper {
    /// Fork it, with the actions of each part. `become_other` is `None` where this process is not
    /// root, and the helper stays who it is.
    ///
    /// # Errors
    /// If there are threads already, a process does not exist, or the kernel refuses.
    pub fn start(parts: [Vec<Action>; 2], become_other: Option<RunAs>) -> io::Result<Self> {
        if std::fs::read_dir("/proc/self/task")?.count() != 1 {
            return Err(io::Error::other("the helper must be started before any thread"));
        }
        let parts = open_processes(parts)?;
        let (ours, theirs) = socket_pair()?;
        // SAFETY: this process has one thread, so the child's copy of its memory is consistent.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(ours);
                let kept = list_descriptors(&theirs, &parts);
                let ended = enter_child(theirs, &kept, become_other);
                let ended = ended.map(|socket| serve(socket, &parts));
                // SAFETY: ends the child at once, without what the parent wants done at its end.
                unsafe { libc::_exit(i32::from(ended.is_err())) }
            }
            _ => Ok(Self { socket: ours.into(), is_busy: false }),
        }
    }

    /// Ask for one part; false if the last request is still at work.
    ///
    /// # Errors
    /// If the helper has gone.
    pub fn ask(&mut self, part: u8, trigger: &str, capture: &str) -> io::Result<bool> {
        if self.is_busy {
            return Ok(false);
        }
        let mut request = vec![part];
        request.extend(trigger.bytes().filter(|&byte| byte != 0));
        request.push(0);
        request.extend(capture.bytes().filter(|&byte| byte != 0).take(MAX_REQUEST / 2));
        self.socket.write_all(&request)?;
        self.is_busy = true;
        Ok(true)
    }

    /// What came of the last request, once; never waits.
    pub fn poll_acted(&mut self) -> Option<Acted> {
        let mut answer = [0; 2];
        match self.socket.read(&mut answer) {
            Ok(2) => {
                self.is_busy = false;
                Some(Acted { nr_done: answer[0], nr_failed: answer[1] })
            }
            // It was killed; the actions at work count as one that failed.
            Ok(_) if self.is_busy => {
                self.is_busy = false;
                Some(Acted { nr_done: 0, nr_failed: 1 })
            }
            _ => None,
        }
    }

    /// True while a request is at work.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }
}

/// An action with what it acts on.
enum Ready {
    Signal(i32, OwnedFd),
    Shell(String),
}

fn open_processes(parts: [Vec<Action>; 2]) -> io::Result<[Vec<Ready>; 2]> {
    let open = |action| match action {
        Action::Shell(command) => Ok(Ready::Shell(command)),
        Action::Signal { signal, pid } => {
            let pid_t = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
            // SAFETY: takes numbers, and returns a descriptor or -1.
            let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid_t, 0) };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: a descriptor that nobody else owns.
            Ok(Ready::Signal(signal, unsafe { OwnedFd::from_raw_fd(fd as RawFd) }))
        }
    };
    let [first, second] = parts;
    let first = first.into_iter().map(open).collect::<io::Result<_>>()?;
    Ok([first, second.into_iter().map(open).collect::<io::Result<_>>()?])
}

fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut pair = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the array has room for both descriptors.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: two descriptors that nobody else owns.
    let pair = pair.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    // The parent never waits for the helper.
    // SAFETY: sets a flag of a descriptor that is open.
    if unsafe { libc::fcntl(pair[0].as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let [ours, theirs] = pair;
    Ok((ours, theirs))
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Become who acts. Any failure ends the child before it has heard a request.
fn enter_child(socket: OwnedFd, kept: &[RawFd], become_other: Option<RunAs>) -> io::Result<File> {
    // SAFETY: a constant name, and numbers. What takes the place of standard input is open; a
    // process without one has nothing to lose by the failure.
    unsafe {
        libc::setsid();
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        libc::dup2(null, 0);
        libc::dup2(2, 1);
        check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))?;
    }
    close_all_but(kept)?;
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit outlives the call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) })?;
    std::env::set_current_dir("/")?;
    give_up_everything(become_other)?;
    Ok(socket.into())
}

fn list_descriptors(socket: &OwnedFd, parts: &[Vec<Ready>; 2]) -> Vec<RawFd> {
    let processes = parts.iter().flatten().filter_map(|action| match action {
        Ready::Signal(_, process) => Some(process.as_raw_fd()),
        Ready::Shell(_) => None,
    });
    let mut kept: Vec<RawFd> = processes.chain([socket.as_raw_fd()]).collect();
    kept.sort_unstable();
    kept
}

/// Close what the caller of irqpath left open, too: a command must not inherit it. `kept` is sorted.
fn close_all_but(kept: &[RawFd]) -> io::Result<()> {
    let mut next: libc::c_uint = 3;
    for fd in kept.iter().map(|&fd| fd as libc::c_uint).chain([libc::c_uint::MAX]) {
        if fd > next {
            // SAFETY: this process only serves from here on, and never uses what is closed.
            check(unsafe { libc::syscall(libc::SYS_close_range, next, fd - 1, 0) } as libc::c_int)?;
        }
        next = fd.saturating_add(1);
    }
    Ok(())
}

/// Users, groups, capabilities, and the way back to any.
fn give_up_everything(become_other: Option<RunAs>) -> io::Result<()> {
    if let Some(RunAs { uid, gid }) = become_other {
        // While it still may: later ones could be got back from the bounding set.
        for capability in 0..64 {
            // SAFETY: takes numbers. One that this kernel does not have is an error of no account.
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        }
        // SAFETY: these take numbers; no list of groups is read, as it has no entries.
        unsafe {
            check(libc::setgroups(0, std::ptr::null()))?;
            check(libc::setresgid(gid, gid, gid))?;
            check(libc::setresuid(uid, uid, uid))?;
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets)?;
    set_no_new_privs(true)?;
    // Nobody of that user's other programs may read what root's memory has left in this one.
    // SAFETY: takes numbers.
    check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) })
}

/// Until the parent has gone.
fn serve(mut socket: File, parts: &[Vec<Ready>; 2]) {
    let mut request = vec![0; MAX_REQUEST];
    while let Ok(n @ 1..) = socket.read(&mut request) {
        let actions = &parts[usize::from(request[0]).min(1)];
        let words = String::from_utf8_lossy(&request[1..n]);
        let (trigger, capture) = words.split_once('\0').unwrap_or_default();
        let mut acted = [0u8; 2];
        for action in actions {
            let is_done = match action {
                Ready::Signal(signal, process) => send_signal(*signal, process),
                Ready::Shell(command) => run_command(command, trigger, capture, &socket),
            };
            acted[usize::from(!is_done)] += 1;
            if !is_done {
                break;
            }
        }
        if socket.write_all(&acted).is_err() {
            return;
        }
    }
}

fn send_signal(signal: i32, process: &OwnedFd) -> bool {
    let (fd, no_info) = (process.as_raw_fd(), std::ptr::null::<libc::siginfo_t>());
    // SAFETY: without information about the sender the call reads no memory.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, no_info, 0) == 0 }
}

/// Run it in a group of its own, and kill what is left of it afterwards.
fn run_command(command: &str, trigger: &str, capture: &str, socket: &File) -> bool {
    let spawned = Command::new("/bin/sh")
        .args(["-c", command])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("IRQPATH_TRIGGER", trigger)
        .env("IRQPATH_CAPTURE", capture)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn();
    let Ok(mut child) = spawned else { return false };
    let deadline = Instant::now() + MAX_RUN;
    let mut status = None;
    while status.is_none() && Instant::now() < deadline && !has_gone(socket) {
        sleep(LOOK_EVERY);
        status = child.try_wait().ok().flatten();
    }
    if status.is_none() {
        // SAFETY: takes numbers; the child was not waited for, and keeps its own.
        unsafe { libc::kill(-child.id().cast_signed(), libc::SIGKILL) };
        let _ = child.wait();
    }
    kill_descendants();
    status.is_some_and(|status| status.success() && status.signal().is_none())
}

/// True if the recorder has ended.
fn has_gone(socket: &File) -> bool {
    let mut wait = libc::pollfd { fd: socket.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: one structure, which outlives the call.
    unsafe { libc::poll(&raw mut wait, 1, 0) > 0 && wait.revents & libc::POLLHUP != 0 }
}

/// Children whose parents ended belong to this process, so that none escapes.
fn kill_descendants() {
    for _ in 0..MAX_ROUNDS {
        let path = format!("/proc/self/task/{}/children", std::process::id());
        let children = input::read_text(path.as_ref(), MAX_CHILDREN).unwrap_or_default();
        let pids: Vec<libc::pid_t> =
            children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        if pids.is_empty() {
            return;
        }
        for pid in pids {
            // SAFETY: these take numbers; a child that was not waited for keeps its own.
            unsafe {
                libc::kill(-pid, libc::SIGKILL);
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, std::ptr::null_mut(), 0);
            }
        }
    }
}
