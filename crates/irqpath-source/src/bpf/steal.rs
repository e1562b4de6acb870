// SPDX-License-Identifier: GPL-2.0-or-later
//! Where the kernel keeps how much time the hypervisor has stolen from a CPU.
//!
//! Only KVM on x86 is known: its count is a per-CPU variable of the guest that is exact whenever the
//! CPU runs. Xen, Hyper-V and arm64 keep theirs elsewhere; there stolen time has the name of what
//! the CPU was doing.

use irqpath_files::input;
use libbpf_rs::Btf;
use libbpf_rs::btf::types::{DataSec, Var};

/// Of the file that says how locked down the kernel is: three words.
const MAX_LOCKDOWN: u64 = 1 << 12;

/// How far a CPU's `steal_time` lies behind its `runqueues`; 0 where nothing is to be read.
pub fn rq_to_stolen(btf: &Btf<'_>) -> i64 {
    if !is_kvm_guest() || may_not_read() {
        return 0;
    }
    match (per_cpu_offset(btf, "runqueues"), per_cpu_offset(btf, "steal_time")) {
        (Some(rq), Some(stolen)) => stolen - rq,
        _ => 0,
    }
}

fn per_cpu_offset(btf: &Btf<'_>, name: &str) -> Option<i64> {
    let id = btf.type_by_name::<Var<'_>>(name)?.type_id();
    let section = btf.type_by_name::<DataSec<'_>>(".data..percpu")?;
    section.iter().find(|var| var.ty == id).map(|var| i64::from(var.offset))
}

/// In this lockdown the kernel refuses programs that read its memory by address.
fn may_not_read() -> bool {
    let lockdown = input::read_text("/sys/kernel/security/lockdown".as_ref(), MAX_LOCKDOWN);
    let lockdown = lockdown.unwrap_or_default();
    lockdown.contains("[confidentiality]")
}

/// True if KVM is the hypervisor. On a real machine, or under another one, looking at a count that
/// never moves would cost at every event.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, unused_unsafe)] // newer compilers know that CPUID is safe
fn is_kvm_guest() -> bool {
    use std::arch::x86_64::__cpuid;

    const HYPERVISOR: u32 = 1 << 31;
    // SAFETY: every x86-64 CPU has CPUID, which only reads.
    let leaf = |nr| unsafe { __cpuid(nr) };
    // A hypervisor that offers several interfaces has the next one 0x100 further.
    leaf(1).ecx & HYPERVISOR != 0
        && [0x4000_0000, 0x4000_0100]
            .map(leaf)
            .iter()
            .any(|l| [l.ebx, l.ecx, l.edx].map(u32::to_le_bytes).concat() == b"KVMKVMKVM\0\0\0")
}

/// As above; no other architecture is read.
#[cfg(not(target_arch = "x86_64"))]
fn is_kvm_guest() -> bool {
    false
}
