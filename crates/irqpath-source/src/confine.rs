// SPDX-License-Identifier: GPL-2.0-or-later
//! Gives up what a measurement does not need once its programs are attached.
//!
//! From then on it reads what strangers name: tasks, interrupts, recordings. [`confine`] keeps a few
//! capabilities, forbids new ones, and lets the kernel refuse (`EPERM`) every system call that is
//! not on the list below: no program can be started, no other process touched, no network reached,
//! no memory made executable, no tracing program loaded.
//!
//! Neighbour: `privileges` of `irqpath-system` says what has to be there before.

use std::collections::BTreeMap;
use std::io;

use calls::{METERS, MODES, OF_THIS_PROCESSOR, ONE_OF, OPENS, PLAIN, PRIORITIES, SERVES, WRITES};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads, sock_filter,
};

use crate::respond::{device, hpet, rtc};

mod calls;
#[cfg(test)]
mod tests;

/// What a command keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kept {
    /// Symbols of the kernel can be looked up (`CAP_SYSLOG`).
    pub symbols: bool,
    /// Files can be made in directories of other users (`CAP_DAC_OVERRIDE`), as with sudo in a home.
    pub files: bool,
    /// Root's own files can be changed: what was set is journalled.
    pub journal: bool,
    /// The reader can make itself more urgent while records pile up (`CAP_SYS_NICE`).
    pub urgency: bool,
    /// Policies and priorities of all tasks can be changed (`CAP_SYS_NICE`).
    pub priorities: bool,
    /// Programs that are loaded can be attached again (`BPF_LINK_CREATE`).
    pub links: bool,
    /// Memory that is mapped later is locked as well (`CAP_IPC_LOCK`): without it, an allocation
    /// beyond the limit of locked memory would fail.
    pub locked_memory: bool,
    /// Devices that interrupt can be started and stopped.
    pub devices: bool,
    /// Connections to the sockets that already listen can be accepted.
    pub network: bool,
    /// Connections can be made, of one kind.
    pub connects: Option<Connects>,
    /// An RTC can interrupt more often than 64 times a second (`CAP_SYS_RESOURCE`).
    pub rates: bool,
    /// Network devices can be set, by files of root (`CAP_NET_ADMIN`).
    pub net_devices: bool,
}

/// To whom connections can be made. The filter sees the kind of a socket and not its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connects {
    /// Sockets of this host that have a path.
    Unix,
    /// TCP.
    Inet,
}

impl Kept {
    fn capability_set(self) -> CapabilitySet {
        let mut kept = CapabilitySet::empty();
        kept.set(CapabilitySet::SYSLOG, self.symbols);
        kept.set(CapabilitySet::DAC_OVERRIDE, self.files);
        kept.set(CapabilitySet::SYS_NICE, self.urgency || self.priorities);
        kept.set(CapabilitySet::IPC_LOCK, self.locked_memory);
        kept.set(CapabilitySet::SYS_RESOURCE, self.rates);
        kept.set(CapabilitySet::NET_ADMIN, self.net_devices);
        kept
    }
}

/// Give up every capability of the calling thread but those of `kept`. Threads that it starts have
/// no more.
pub fn give_up_capabilities(kept: Kept) -> io::Result<()> {
    let now = capabilities(None)?;
    let permitted = now.permitted & kept.capability_set();
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
    let Some(program) = compile_filter(kept)? else { return Ok(()) };
    match apply_filter_all_threads(&program) {
        Err(seccompiler::Error::Seccomp(error) | seccompiler::Error::Prctl(error)) => {
            let absent = [Some(libc::ENOSYS), Some(libc::EINVAL)].contains(&error.raw_os_error());
            if absent { Ok(()) } else { Err(error) }
        }
        other => other.map_err(io::Error::other),
    }
}

/// `None` on processors that the filter's compiler does not know.
fn compile_filter(kept: Kept) -> io::Result<Option<BpfProgram>> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(None) };
    let rules = build_rules(kept).map_err(io::Error::other)?;
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch);
    let program = filter.and_then(BpfProgram::try_from).map_err(io::Error::other)?;
    Ok(Some([BpfProgram::from(NO_CLONE3), program].concat()))
}

/// The flags of `clone3` lie in memory, where no filter sees them. A C library that is told that
/// there is no such call uses `clone`.
const NO_CLONE3: [sock_filter; 3] = [
    bpf_statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
    bpf_statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_clone3 as u32),
    bpf_statement(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
];

/// One that goes on, or skips `jf` if it asks something and the answer is no.
const fn bpf_statement(code: u32, jf: u8, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf, k }
}

/// `enum bpf_cmd` (`include/uapi/linux/bpf.h`).
const BPF_LINK_CREATE: u64 = 28;
pub(crate) const BPF_ENABLE_STATS: u64 = 32;

/// The filter of the process that has the kernel time BPF programs; see `bpf::meter`. `None` on
/// processors that the filter's compiler does not know.
pub(crate) fn compile_meter_filter() -> io::Result<Option<BpfProgram>> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(None) };
    let mut rules: Rules = METERS.iter().map(|&call| (call, Vec::new())).collect();
    let stats = one_of(0, BPF_ENABLE_STATS).map_err(io::Error::other)?;
    rules.insert(libc::SYS_bpf, vec![stats]);
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch);
    filter.and_then(BpfProgram::try_from).map(Some).map_err(io::Error::other)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn build_rules(kept: Kept) -> Result<Rules, seccompiler::BackendError> {
    let writes = kept.files || kept.journal;
    let plain = PLAIN.iter().chain(OF_THIS_PROCESSOR);
    let plain = plain.chain(PRIORITIES.iter().filter(|_| kept.priorities));
    let plain = plain.chain(SERVES.iter().filter(|_| kept.network));
    let plain = plain.chain(WRITES.iter().filter(|_| writes));
    let mut rules: Rules = plain.map(|&call| (call, Vec::new())).collect();
    for &(call, argument, values) in ONE_OF {
        let rule = |&value| one_of(argument, value);
        rules.insert(call, values.iter().map(rule).collect::<Result<_, _>>()?);
    }
    for &(call, flags) in OPENS {
        let to_read = match_bits(flags, libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC, 0)?;
        let mut allowed = vec![SeccompRule::new(vec![to_read])?];
        if writes {
            allowed.push(of_no_owner(flags + 1)?);
        }
        rules.insert(call, allowed);
    }
    for &(call, mode) in MODES.iter().filter(|_| kept.journal) {
        rules.insert(call, vec![of_no_owner(mode)?]);
    }
    if kept.links {
        rules.entry(libc::SYS_bpf).or_default().push(one_of(0, BPF_LINK_CREATE)?);
    }
    if kept.devices {
        let requests =
            [&rtc::REQUESTS[..], &hpet::REQUESTS, &device::REQUESTS].concat().into_iter();
        let allowed: Result<Vec<_>, _> = requests.map(|nr| one_of(1, nr.into())).collect();
        rules.entry(libc::SYS_ioctl).or_default().extend(allowed?);
    }
    if let Some(connects) = kept.connects {
        rules.insert(libc::SYS_socket, of_streams(connects)?);
        rules.insert(libc::SYS_connect, Vec::new());
    }
    if kept.priorities || kept.urgency {
        let mut of_tasks = vec![match_value(0, libc::PRIO_PROCESS.into())?];
        if !kept.priorities {
            // Its own niceness, and no other task's.
            of_tasks.push(match_value(1, 0)?);
        }
        rules.insert(libc::SYS_setpriority, vec![SeccompRule::new(of_tasks)?]);
    }
    rules.insert(libc::SYS_tgkill, vec![one_of(0, u64::from(std::process::id()))?]);
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![SeccompRule::new(vec![match_bits(2, libc::PROT_EXEC, 0)?])?]);
    }
    // A thread of this process, in the namespaces it is in.
    let thread = match_bits(0, NAMESPACES | libc::CLONE_THREAD, libc::CLONE_THREAD)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![thread])?]);
    // Over a pair of sockets, and to none that has a name.
    let no_name = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?;
    rules.insert(libc::SYS_sendto, vec![SeccompRule::new(vec![no_name])?]);
    Ok(rules)
}

/// Sockets of streams, of the families that are needed.
fn of_streams(connects: Connects) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let families: &[i32] = match connects {
        Connects::Unix => &[libc::AF_UNIX],
        Connects::Inet => &[libc::AF_INET, libc::AF_INET6],
    };
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    let rule = |family: &i32| {
        let of_family = match_value(0, (*family).cast_unsigned().into())?;
        SeccompRule::new(vec![of_family, match_bits(1, !flags, libc::SOCK_STREAM)?])
    };
    families.iter().map(rule).collect()
}

/// No file is made that runs with the rights of its owner.
fn of_no_owner(mode: u8) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![match_bits(mode, (libc::S_ISUID | libc::S_ISGID).cast_signed(), 0)?])
}

const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// True if those bits of the argument that are in `mask` are `value`.
fn match_bits(
    argument: u8,
    mask: i32,
    value: i32,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    let masked = SeccompCmpOp::MaskedEq(u64::from(mask.cast_unsigned()));
    SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        masked,
        u64::from(value.cast_unsigned()),
    )
}

fn match_value(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn one_of(argument: u8, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![match_value(argument, value)?])
}
