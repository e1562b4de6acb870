// SPDX-License-Identifier: GPL-2.0-or-later
//! Gives up what a measurement does not need once its programs are attached.
//!
//! From then on it reads what strangers name: tasks, interrupts, recordings. [`confine`] keeps a few
//! capabilities, forbids new ones, and lets the kernel refuse (`EPERM`) every system call that is
//! not on the list below: no program can be started, no other process touched, no network reached,
//! no memory made executable, no tracing program loaded.
//!
//! Neighbour: `capability` of `irqpath-system` says what has to be there before.

use std::collections::BTreeMap;
use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};

/// What a command keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kept {
    /// Symbols of the kernel can be looked up (`CAP_SYSLOG`).
    pub symbols: bool,
    /// Files can be made in directories of other users (`CAP_DAC_OVERRIDE`), as with sudo in a home.
    pub files: bool,
    /// The reader can make itself more urgent while records pile up (`CAP_SYS_NICE`).
    pub urgency: bool,
    /// Policies and priorities of all tasks can be changed (`CAP_SYS_NICE`).
    pub priorities: bool,
    /// Memory that is mapped later is locked as well (`CAP_IPC_LOCK`): without it, an allocation
    /// beyond the limit of locked memory would fail.
    pub locked_memory: bool,
    /// Devices that interrupt can be started and stopped.
    pub devices: bool,
    /// An RTC can interrupt more often than 64 times a second (`CAP_SYS_RESOURCE`).
    pub rates: bool,
}

impl Kept {
    fn capabilities(self) -> CapabilitySet {
        let mut kept = CapabilitySet::empty();
        kept.set(CapabilitySet::SYSLOG, self.symbols);
        kept.set(CapabilitySet::DAC_OVERRIDE, self.files);
        kept.set(CapabilitySet::SYS_NICE, self.urgency || self.priorities);
        kept.set(CapabilitySet::IPC_LOCK, self.locked_memory);
        kept.set(CapabilitySet::SYS_RESOURCE, self.rates);
        kept
    }
}

/// Give up every capability of the calling thread but those of `kept`. Threads that it starts have
/// no more.
pub fn give_up_capabilities(kept: Kept) -> io::Result<()> {
    let now = capabilities(None)?;
    let permitted = now.permitted & kept.capabilities();
    let effective = now.effective & permitted;
    let inheritable = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective, permitted, inheritable })?)
}

/// The same, and for all threads: no new privileges, and the filter. Cannot be taken back. A kernel
/// without seccomp goes without the filter.
///
/// # Errors
/// If the kernel refuses.
pub fn confine(kept: Kept) -> io::Result<()> {
    give_up_capabilities(kept)?;
    set_no_new_privs(true)?;
    let Some(program) = program(kept)? else { return Ok(()) };
    match apply_filter_all_threads(&program) {
        Err(seccompiler::Error::Seccomp(error) | seccompiler::Error::Prctl(error)) => {
            let absent = [Some(libc::ENOSYS), Some(libc::EINVAL)].contains(&error.raw_os_error());
            if absent { Ok(()) } else { Err(error) }
        }
        other => other.map_err(io::Error::other),
    }
}

/// `None` on processors that the filter's compiler does not know.
fn program(kept: Kept) -> io::Result<Option<BpfProgram>> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(None) };
    let rules = rules(kept).map_err(io::Error::other)?;
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch);
    let program = filter.and_then(BpfProgram::try_from).map_err(io::Error::other)?;
    Ok(Some(program))
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules(kept: Kept) -> Result<Rules, seccompiler::BackendError> {
    let plain = PLAIN.iter().chain(OF_THIS_PROCESSOR);
    let priorities = PRIORITIES.iter().filter(|_| kept.priorities);
    let mut rules: Rules = plain.chain(priorities).map(|&call| (call, Vec::new())).collect();
    for &(call, argument, values) in ONE_OF {
        let rule = |&value| one_of(argument, value);
        rules.insert(call, values.iter().map(rule).collect::<Result<_, _>>()?);
    }
    if kept.devices {
        let requests = crate::respond::requests().into_iter();
        let allowed: Result<Vec<_>, _> = requests.map(|nr| one_of(1, nr.into())).collect();
        rules.entry(libc::SYS_ioctl).or_default().extend(allowed?);
    }
    if kept.urgency && !kept.priorities {
        // Its own niceness, and no other task's.
        rules.insert(libc::SYS_setpriority, vec![one_of(1, 0)?]);
    }
    rules.insert(libc::SYS_tgkill, vec![one_of(0, u64::from(std::process::id()))?]);
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let exec = SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64);
        let not_exec = SeccompCondition::new(2, SeccompCmpArgLen::Dword, exec, 0)?;
        rules.insert(call, vec![SeccompRule::new(vec![not_exec])?]);
    }
    Ok(rules)
}

fn one_of(argument: u8, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    let is = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?;
    SeccompRule::new(vec![is])
}

/// Calls that are harmless whatever their arguments, on what is open or may be opened.
const PLAIN: &[i64] = &[
    // Files and directories.
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_getdents64,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_umask,
    libc::SYS_getcwd,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_fadvise64,
    // Memory.
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_membarrier,
    libc::SYS_munlockall,
    // Threads, time and signals of this process.
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_timerfd_settime,
    libc::SYS_gettimeofday,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    // Waiting, and the pairs of sockets by which signals arrive.
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_shutdown,
];

/// Older forms that some libraries still use.
#[cfg(target_arch = "x86_64")]
const OF_THIS_PROCESSOR: &[i64] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_wait,
    libc::SYS_pipe,
    libc::SYS_dup2,
    libc::SYS_time,
    libc::SYS_chmod,
];
#[cfg(not(target_arch = "x86_64"))]
const OF_THIS_PROCESSOR: &[i64] = &[];

const PRIORITIES: &[i64] = &[
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_getparam,
    libc::SYS_setpriority,
    libc::SYS_getpriority,
];

/// Calls that are let through only if an argument is one of these: call, number of the argument,
/// values.
const ONE_OF: &[(i64, u8, &[u64])] = &[
    // Maps and statistics of the programs that are loaded: look up (1), update (2), delete (3), next
    // key (4), information (15), look up and delete (21), batches of these (24, 25), detach (34).
    (libc::SYS_bpf, 0, &[1, 2, 3, 4, 15, 21, 24, 25, 34]),
    // The terminal's modes and size, non-blocking files; never its input (TIOCSTI).
    (
        libc::SYS_ioctl,
        1,
        &[
            libc::TCGETS,
            libc::TCSETS,
            libc::TCSETSW,
            libc::TCSETSF,
            libc::TIOCGWINSZ,
            libc::TIOCGPGRP,
            libc::FIONBIO,
            libc::FIONREAD,
            libc::FIOCLEX,
            libc::TCGETS2,
            libc::TCSETS2,
            libc::TCSETSW2,
            libc::TCSETSF2,
        ],
    ),
    (libc::SYS_socketpair, 0, &[libc::AF_UNIX as u64]),
    // Its own limits and no others'.
    (libc::SYS_prlimit64, 0, &[0]),
    // Names of threads and of memory.
    (libc::SYS_prctl, 0, &[libc::PR_SET_NAME as u64, PR_SET_VMA]),
];

/// `PR_SET_VMA` (`include/uapi/linux/prctl.h`).
const PR_SET_VMA: u64 = 0x5356_4d41;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::{Command, Stdio};

    const CONFINED: &str = "IRQPATH_TEST_CONFINED";

    /// Run by itself it starts itself again, to be confined there.
    #[test]
    fn what_is_not_on_the_list_is_refused_with_eperm() {
        if std::env::var_os(CONFINED).is_some() {
            return try_all();
        }
        let test = "confine::tests::what_is_not_on_the_list_is_refused_with_eperm";
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", test]).env(CONFINED, "").stdout(Stdio::piped());
        let output = again.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    fn try_all() {
        let directory = tempfile::tempdir().unwrap();
        // As a user there is nothing to keep.
        let nice = capabilities(None).unwrap().permitted & CapabilitySet::SYS_NICE;
        confine(Kept { urgency: true, ..Kept::default() }).unwrap();
        // By the file, as the filter lets nobody ask the kernel.
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let permitted = format!("CapPrm:\t{:016x}", nice.bits());
        for line in [permitted.as_str(), "NoNewPrivs:\t1", "Seccomp:\t2"] {
            assert!(status.contains(line), "{line}: {status}");
        }
        rustix::process::setpriority_process(None, if nice.is_empty() { 1 } else { -1 }).unwrap();
        let eperm = |what: &str, error: io::Error| {
            assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{what}: {error}");
        };
        eperm("exec", Command::new("true").spawn().unwrap_err());
        eperm("TCP", TcpListener::bind("127.0.0.1:0").unwrap_err());
        eperm("UDP", UdpSocket::bind("127.0.0.1:0").unwrap_err());
        eperm("a socket with a name", UnixListener::bind(directory.path().join("s")).unwrap_err());
        eperm("ptrace", raw(libc::SYS_ptrace, libc::PTRACE_TRACEME.into(), 0));
        eperm("kill", raw(libc::SYS_kill, 1, 0));
        eperm("another's signals", raw(libc::SYS_tgkill, 1, 1));
        eperm("a loaded program", raw(libc::SYS_bpf, 5, 0));
        eperm("a map", raw(libc::SYS_bpf, 0, 0));
        eperm("a module", raw(libc::SYS_init_module, 0, 0));
        eperm("namespaces", raw(libc::SYS_unshare, libc::CLONE_NEWUSER.into(), 0));
        eperm("another user", raw(libc::SYS_setresuid, 0, 0));
        eperm("a mount", raw(libc::SYS_mount, 0, 0));
        eperm("counters", raw(libc::SYS_perf_event_open, 0, 0));
        eperm("priorities", raw(libc::SYS_sched_setscheduler, 0, 0));
        eperm("the terminal's input", raw(libc::SYS_ioctl, 0, libc::TIOCSTI.cast_signed()));
        eperm(
            "code",
            raw3(libc::SYS_mprotect, 0, 4096, (libc::PROT_READ | libc::PROT_EXEC).into()),
        );
        // And what a measurement does all the time goes on.
        let pair = UnixStream::pair().unwrap();
        io::Write::write_all(&mut &pair.0, b"x").unwrap();
        std::thread::spawn(|| ()).join().unwrap();
        std::fs::write(directory.path().join("file"), vec![0; 1 << 20]).unwrap();
        std::fs::rename(directory.path().join("file"), directory.path().join("other")).unwrap();
    }

    fn raw(call: i64, a: i64, b: i64) -> io::Error {
        raw3(call, a, b, 0)
    }

    #[allow(unsafe_code)] // calls that std does not make
    fn raw3(call: i64, a: i64, b: i64, c: i64) -> io::Error {
        // SAFETY: the filter refuses the call before the kernel looks at its arguments; were it not
        // there, each of these would fail or change this process, which is a test of its own.
        let result = unsafe { libc::syscall(call, a, b, c, 0_i64, 0_i64) };
        assert_eq!(result, -1, "call {call} was let through");
        io::Error::last_os_error()
    }

    #[test]
    fn the_filter_is_made_for_each_way_of_keeping() {
        for all in [false, true] {
            let kept = Kept {
                symbols: all,
                files: all,
                urgency: all,
                priorities: all,
                locked_memory: all,
                devices: all,
                rates: all,
            };
            assert!(program(kept).unwrap().is_some_and(|program| program.len() < 4096));
            let ioctls = rules(kept).unwrap().remove(&libc::SYS_ioctl).unwrap().len();
            assert_eq!(ioctls > rules(Kept::default()).unwrap()[&libc::SYS_ioctl].len(), all);
        }
        assert!(!rules(Kept::default()).unwrap().contains_key(&libc::SYS_sched_setscheduler));
    }
}
