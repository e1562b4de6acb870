// SPDX-License-Identifier: GPL-2.0-or-later
//! The filter, tried by a process of its own: nobody who is confined comes out again.

use super::*;
use std::fmt::Debug;
use std::fs;
use std::fs::File;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

/// What the process keeps, and the directory that it works in.
const CONFINED: [&str; 2] = ["IRQPATH_TEST_CONFINED", "IRQPATH_TEST_DIRECTORY"];

/// Start one test again, by itself, to be confined there.
fn again(test: &str, keeps: &str) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("old"), "old").unwrap();
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", &format!("confine::tests::{test}")]).stdout(Stdio::piped());
    let output = again.env(CONFINED[0], keeps).env(CONFINED[1], directory.path()).output().unwrap();
    assert!(output.status.success(), "{keeps}: {}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(fs::read(directory.path().join("old")).unwrap(), b"old", "{keeps}");
}

/// What the process that was started again keeps, and its directory.
fn confined() -> Option<(String, PathBuf)> {
    let [keeps, directory] = CONFINED.map(std::env::var_os);
    Some((keeps?.into_string().unwrap(), directory?.into()))
}

#[track_caller]
fn eperm<T: Debug>(done: io::Result<T>) {
    let error = done.unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}");
}

#[test]
fn what_is_not_on_the_list_is_refused_with_eperm() {
    let Some((_, directory)) = confined() else {
        return again("what_is_not_on_the_list_is_refused_with_eperm", "");
    };
    // As a user there is nothing to keep.
    let nice = capabilities(None).unwrap().permitted & CapabilitySet::SYS_NICE;
    confine(Kept { urgency: true, ..Kept::default() }).unwrap();
    // As `tune --apply` asks before it changes a priority.
    assert_eq!(capabilities(None).unwrap().permitted, nice);
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(status.contains(line), "{line}: {status}");
    }
    rustix::process::setpriority_process(None, if nice.is_empty() { 1 } else { -1 }).unwrap();
    // Programs, and what else would be another process.
    eperm(Command::new("true").spawn());
    eperm(raw(libc::SYS_clone, libc::SIGCHLD.into(), 0));
    eperm(raw(libc::SYS_clone, (libc::CLONE_NEWUSER | libc::CLONE_NEWNS).into(), 0));
    eperm(raw(libc::SYS_clone, (THREAD | libc::CLONE_NEWNET).into(), 0));
    eperm(raw(libc::SYS_unshare, libc::CLONE_NEWUSER.into(), 0));
    assert_eq!(raw(libc::SYS_clone3, 0, 0).unwrap_err().raw_os_error(), Some(libc::ENOSYS));
    // The network and other processes.
    eperm(TcpListener::bind("127.0.0.1:0"));
    eperm(UdpSocket::bind("127.0.0.1:0"));
    eperm(UnixListener::bind(directory.join("s")));
    eperm(raw_all(libc::SYS_sendto, [0, 0, 0, 0, 1 << 32, 0]));
    eperm(raw(libc::SYS_ptrace, libc::PTRACE_TRACEME.into(), 0));
    eperm(raw(libc::SYS_kill, 1, 0));
    eperm(raw(libc::SYS_tgkill, 1, 1));
    eperm(raw3(libc::SYS_fcntl, 0, libc::F_SETOWN.into(), 1));
    eperm(raw3(libc::SYS_fcntl, 0, F_SETSIG, 9));
    // Every task of root's, and one of somebody.
    eperm(raw3(libc::SYS_setpriority, libc::PRIO_USER.into(), 0, 5));
    eperm(raw3(libc::SYS_setpriority, libc::PRIO_PGRP.into(), 0, 5));
    eperm(raw3(libc::SYS_setpriority, libc::PRIO_PROCESS.into(), 1, 5));
    eperm(raw(libc::SYS_sched_setscheduler, 0, 0));
    // The kernel.
    eperm(raw(libc::SYS_bpf, 5, 0));
    eperm(raw(libc::SYS_bpf, 0, 0));
    eperm(raw(libc::SYS_bpf, BPF_LINK_CREATE.cast_signed(), 0));
    eperm(raw(libc::SYS_init_module, 0, 0));
    eperm(raw(libc::SYS_setresuid, 0, 0));
    eperm(raw(libc::SYS_mount, 0, 0));
    eperm(raw(libc::SYS_perf_event_open, 0, 0));
    eperm(raw(libc::SYS_ioctl, 0, libc::TIOCSTI.cast_signed()));
    eperm(raw3(libc::SYS_mprotect, 0, 4096, (libc::PROT_READ | libc::PROT_EXEC).into()));
    // And what a measurement does all the time goes on.
    let pair = UnixStream::pair().unwrap();
    io::Write::write_all(&mut &pair.0, b"x").unwrap();
    let copy = pair.0.try_clone().unwrap();
    copy.set_nonblocking(true).unwrap();
    std::thread::spawn(|| ()).join().unwrap();
    assert_eq!(fs::read(directory.join("old")).unwrap(), b"old");
}

#[test]
fn who_times_programs_can_do_nothing_else() {
    if confined().is_none() {
        return again("who_times_programs_can_do_nothing_else", "");
    }
    let filter = compile_meter_filter().unwrap().unwrap();
    let is_admin = capabilities(None).unwrap().effective.contains(CapabilitySet::SYS_ADMIN);
    // Statistics that there are not, so that none are turned on.
    let unknown = 99_u32;
    let attr = (&raw const unknown).addr().cast_signed() as i64;
    seccompiler::apply_filter(&filter).unwrap();
    let refused =
        |call, a| raw(call, a, 0).err().and_then(|error| error.raw_os_error()) == Some(libc::EPERM);
    let asked = raw3(libc::SYS_bpf, BPF_ENABLE_STATS.cast_signed(), attr, 4);
    let is_open = !is_admin || asked.unwrap_err().raw_os_error() == Some(libc::EINVAL);
    let others = [0, 5, 15, 28].map(|command| refused(libc::SYS_bpf, command));
    let calls =
        [libc::SYS_mount, libc::SYS_openat, libc::SYS_socket, libc::SYS_clone, libc::SYS_execve];
    let calls = calls.map(|call| refused(call, 0));
    // A process that cannot write says how it went by its status alone.
    let is_right = is_open && others == [true; 4] && calls == [true; 5];
    let _ = raw(libc::SYS_exit_group, i64::from(!is_right), 0);
}

#[test]
fn what_is_loaded_can_be_attached_again_where_that_is_kept() {
    let Some((_, _)) = confined() else {
        return again("what_is_loaded_can_be_attached_again_where_that_is_kept", "");
    };
    confine(Kept { links: true, ..Kept::default() }).unwrap();
    let error = raw(libc::SYS_bpf, BPF_LINK_CREATE.cast_signed(), 0).unwrap_err();
    assert_ne!(error.raw_os_error(), Some(libc::EPERM), "without a program it is refused: {error}");
    eperm(raw(libc::SYS_bpf, 5, 0));
}

#[test]
fn only_streams_of_one_kind_connect() {
    let Some((keeps, directory)) = confined() else {
        for keeps in ["unix", "inet"] {
            again("only_streams_of_one_kind_connect", keeps);
        }
        return;
    };
    let there = UnixListener::bind(directory.join("s")).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let is_unix = keeps == "unix";
    let connects = Some(if is_unix { Connects::Unix } else { Connects::Inet });
    confine(Kept { connects, ..Kept::default() }).unwrap();
    let (by_path, by_address) =
        (UnixStream::connect(directory.join("s")), std::net::TcpStream::connect(address));
    if is_unix {
        drop(by_path.unwrap());
        eperm(by_address);
    } else {
        drop(by_address.unwrap());
        eperm(by_path);
    }
    eperm(UdpSocket::bind("127.0.0.1:0"));
    eperm(TcpListener::bind("127.0.0.1:0"));
    drop(there);
}

#[test]
fn who_writes_no_files_opens_none_to_write() {
    let Some((_, directory)) = confined() else {
        return again("who_writes_no_files_opens_none_to_write", "");
    };
    confine(Kept { symbols: true, urgency: true, priorities: true, ..Kept::default() }).unwrap();
    let (old, new) = (directory.join("old"), directory.join("new"));
    for flags in [
        OFlags::WRONLY,
        OFlags::RDWR,
        OFlags::WRONLY | OFlags::TRUNC,
        OFlags::TRUNC,
        OFlags::CREATE,
        OFlags::WRONLY | OFlags::APPEND,
    ] {
        for path in [&old, &new, Path::new("/proc/self/mem"), Path::new(CORE_PATTERN)] {
            let error = open(path, flags, Mode::empty()).unwrap_err();
            assert_eq!(error, Errno::PERM, "{flags:?} {}", path.display());
        }
    }
    eperm(raw_all(libc::SYS_openat, [libc::AT_FDCWD.into(), 0, 1 << 22 | 2, 0, 0, 0]));
    #[cfg(target_arch = "x86_64")]
    eperm(raw(libc::SYS_open, 0, libc::O_RDWR.into()));
    eperm(raw(libc::SYS_openat2, 0, 0));
    eperm(fs::create_dir(&new));
    eperm(fs::rename(&old, &new));
    eperm(fs::hard_link(&old, &new));
    eperm(fs::remove_file(&old));
    eperm(fs::set_permissions(&old, fs::Permissions::from_mode(0o4755)));
    let file = File::open(&old).unwrap();
    eperm(file.set_permissions(fs::Permissions::from_mode(0o4755)));
    eperm(file.set_len(0));
}

#[test]
fn who_writes_files_makes_none_that_runs_as_its_owner() {
    let Some((keeps, directory)) = confined() else {
        let test = "who_writes_files_makes_none_that_runs_as_its_owner";
        return ["files", "journal"].into_iter().for_each(|keeps| again(test, keeps));
    };
    let is_journal = keeps == "journal";
    confine(Kept { files: !is_journal, journal: is_journal, ..Kept::default() }).unwrap();
    let new = directory.join("new");
    for mode in [0o4755, 0o2755] {
        let flags = OFlags::WRONLY | OFlags::CREATE;
        let error = open(&new, flags, Mode::from_raw_mode(mode)).unwrap_err();
        assert_eq!(error, Errno::PERM, "{mode:o}");
    }
    fs::write(&new, vec![0; 1 << 20]).unwrap();
    eperm(fs::set_permissions(&new, fs::Permissions::from_mode(0o4755)));
    let private = fs::set_permissions(&new, fs::Permissions::from_mode(0o600));
    assert_eq!(private.is_ok(), is_journal, "{private:?}");
    fs::create_dir(directory.join("inner")).unwrap();
    fs::rename(&new, directory.join("inner/other")).unwrap();
    fs::remove_file(directory.join("inner/other")).unwrap();
    fs::remove_dir(directory.join("inner")).unwrap();
}

/// `include/uapi/asm-generic/fcntl.h`.
const F_SETSIG: i64 = 10;
const CORE_PATTERN: &str = "/proc/sys/kernel/core_pattern";

/// As a C library asks for one.
const THREAD: i32 =
    libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_SIGHAND | libc::CLONE_THREAD;

fn raw(call: i64, a: i64, b: i64) -> io::Result<i64> {
    raw3(call, a, b, 0)
}

fn raw3(call: i64, a: i64, b: i64, c: i64) -> io::Result<i64> {
    raw_all(call, [a, b, c, 0, 0, 0])
}

#[allow(unsafe_code)] // calls that std does not make
fn raw_all(call: i64, with: [i64; 6]) -> io::Result<i64> {
    // SAFETY: the filter refuses the call before the kernel looks at its arguments; were it not
    // there, each of these would fail or change this process, which is a test of its own.
    let result =
        unsafe { libc::syscall(call, with[0], with[1], with[2], with[3], with[4], with[5]) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[test]
fn the_filter_is_made_for_each_way_of_keeping() {
    for all in [false, true] {
        let kept = Kept {
            symbols: all,
            files: all,
            journal: all,
            urgency: all,
            links: all,
            priorities: all,
            locked_memory: all,
            devices: all,
            rates: all,
            net_devices: all,
            network: all,
            connects: all.then_some(Connects::Inet),
        };
        assert!(compile_filter(kept).unwrap().is_some_and(|program| program.len() < 4096));
        let ioctls = build_rules(kept).unwrap().remove(&libc::SYS_ioctl).unwrap().len();
        assert_eq!(ioctls > build_rules(Kept::default()).unwrap()[&libc::SYS_ioctl].len(), all);
    }
    assert!(!build_rules(Kept::default()).unwrap().contains_key(&libc::SYS_sched_setscheduler));
}
