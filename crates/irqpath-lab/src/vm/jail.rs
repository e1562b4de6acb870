// SPDX-License-Identifier: GPL-2.0-or-later
//! What QEMU may do on this host. A guest, or whoever reaches QEMU, must not become root here.
//!
//! QEMU filters its own system calls where it was built with seccomp. When root starts it, it runs
//! as a user that nothing else runs as, without capabilities, and inherits what it needs as open
//! files ([`super::inherit`]). Where the kernel refuses another user, as in a user namespace with
//! one user, QEMU runs as the caller.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::{Accelerator, version};
use crate::kernel::Arch;

/// No processes, no other user, no scheduling, no system calls of the past.
pub const SANDBOX: &str = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";
/// Users that systemd's table of user numbers assigns to nobody: 60706 to 61183.
const FIRST_USER: u32 = 60706;
const NR_USERS: u32 = 478;
const KVM: &str = "/dev/kvm";

/// QEMU behind `setpriv`, which replaces itself by it.
pub fn qemu_command(arch: Arch, accelerator: Accelerator) -> Command {
    let mut command =
        setpriv_command(choose_user(), (accelerator == Accelerator::Kvm).then(kvm_group).flatten());
    command.arg(version::program_name(arch));
    command
}

fn setpriv_command(user: Option<u32>, group: Option<u32>) -> Command {
    let mut command = Command::new("setpriv");
    if let Some(user) = user {
        command.arg(format!("--reuid={user}")).arg(format!("--regid={user}"));
        command.arg(group.map_or("--clear-groups".to_owned(), |gid| format!("--groups={gid}")));
        command.args(["--inh-caps=-all", "--bounding-set=-all"]);
    }
    // The signal comes last: a change of the user would clear it.
    command.args(["--no-new-privs", "--pdeathsig", "KILL", "--"]);
    command
}

/// The user for QEMU, if root starts it and can be another one. Parallel labs get different ones.
fn choose_user() -> Option<u32> {
    static USER: OnceLock<Option<u32>> = OnceLock::new();
    *USER.get_or_init(|| {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let user = FIRST_USER + std::process::id() % NR_USERS;
        try_command(setpriv_command(Some(user), None).arg("true")).then_some(user)
    })
}

/// True if QEMU, as the user that it runs as, can open `/dev/kvm`.
pub fn can_open_kvm() -> bool {
    let Ok(device) = fs::metadata(KVM) else { return false };
    match choose_user() {
        None => fs::File::options().read(true).write(true).open(KVM).is_ok(),
        Some(_) => device.mode() & 0o006 == 0o006 || kvm_group().is_some(),
    }
}

/// The group that may open `/dev/kvm`, if it is not root's.
fn kvm_group() -> Option<u32> {
    let device = fs::metadata(KVM).ok()?;
    (device.gid() != 0 && device.mode() & 0o060 == 0o060).then_some(device.gid())
}

/// True if this QEMU was built with seccomp.
pub fn has_sandbox(arch: Arch) -> bool {
    static ANSWERS: [OnceLock<bool>; 2] = [const { OnceLock::new() }; 2];
    let answer = match arch {
        Arch::X86_64 => &ANSWERS[0],
        Arch::Arm64 => &ANSWERS[1],
    };
    *answer.get_or_init(|| {
        // The arguments are read in their order, and -version ends it.
        try_command(
            Command::new(version::program_name(arch)).args(["-sandbox", SANDBOX, "-version"]),
        )
    })
}

fn try_command(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
