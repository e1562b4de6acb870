// SPDX-License-Identifier: GPL-2.0-or-later
//! The system calls of a confined measurement; `rules` of the module above joins the lists.

/// Calls that are harmless whatever their arguments, on what is open or may be opened.
pub(super) const PLAIN: &[i64] = &[
    // Files and directories.
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
    libc::SYS_flock,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
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
    libc::SYS_capget,
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
    libc::SYS_recvfrom,
    libc::SYS_shutdown,
];

/// Those of a server whose sockets are open. No new one can be made.
pub(super) const SERVES: &[i64] = &[
    libc::SYS_accept4,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
];

/// Those of a process that only turns the statistics of BPF programs on and off.
pub(super) const METERS: &[i64] = &[
    libc::SYS_close,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigreturn,
    libc::SYS_exit_group,
];

/// What changes files and their names.
pub(super) const WRITES: &[i64] = &[
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
];

/// What changes the mode of a file, and the number of the argument with the mode. The journal does
/// not follow the umask; outputs do.
pub(super) const MODES: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
];

/// What opens a file, and the number of the argument with the flags; the mode follows it.
pub(super) const OPENS: &[(i64, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// Older forms that some libraries still use.
#[cfg(target_arch = "x86_64")]
pub(super) const OF_THIS_PROCESSOR: &[i64] = &[
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_wait,
    libc::SYS_pipe,
    libc::SYS_dup2,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const OF_THIS_PROCESSOR: &[i64] = &[];

pub(super) const PRIORITIES: &[i64] = &[
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_getparam,
    libc::SYS_getpriority,
];

/// Calls that are let through only if an argument is one of these: call, number of the argument,
/// values.
pub(super) const ONE_OF: &[(i64, u8, &[u64])] = &[
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
    // Copies and flags of a descriptor; not whom it signals (F_SETOWN, F_SETSIG).
    (
        libc::SYS_fcntl,
        1,
        &[
            libc::F_DUPFD as u64,
            libc::F_DUPFD_CLOEXEC as u64,
            libc::F_GETFD as u64,
            libc::F_SETFD as u64,
            libc::F_GETFL as u64,
            libc::F_SETFL as u64,
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
