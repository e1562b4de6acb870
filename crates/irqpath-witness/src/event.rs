// SPDX-License-Identifier: GPL-2.0-or-later
//! One record of `bpf/witness.bpf.c`, which has the layout.

use irqpath_model::{Comm, Origin, SoftirqVec, Vector};

/// Bytes of a record.
pub(crate) const EVENT_BYTES: usize = 64;

const ON_CPU: u8 = 1;
const ON_RQ: u8 = 2;
const DELAYED: u8 = 4;
const KTHREAD: u8 = 8;
const IN_SYSCALL: u8 = 16;
const PREEMPTED: u8 = 32;
const CALLBACK: u8 = 64;

/// A task as an event describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub tid: u32,
    pub tgid: u32,
    pub comm: Comm,
    pub prio: i16,
    pub normal_prio: i16,
    pub is_kthread: bool,
    /// On a run queue and, unless its dequeue is delayed, runnable.
    pub is_on_rq: bool,
    /// On a CPU, or about to leave it.
    pub is_on_cpu: bool,
    /// Asleep, but still on its run queue (Linux 6.12 and newer).
    pub is_delayed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // named like the tracepoints
pub enum What {
    /// `cpu` is where the task was last; `state` what it sleeps in.
    Waking {
        task: Subject,
        cpu: u16,
        state: u32,
    },
    /// The task is on the run queue of `cpu`.
    Wakeup {
        tid: u32,
        cpu: u16,
    },
    Switch {
        prev: u32,
        prev_state: u32,
        preempted: bool,
        next: Subject,
        in_syscall: bool,
    },
    Migrate {
        tid: u32,
        from: u16,
        to: u16,
    },
    IrqEntry(Origin),
    /// `wakes` is the irq thread that is woken next, or 0.
    IrqExit {
        wakes: u32,
    },
    SoftirqRaise(SoftirqVec),
    SoftirqEntry(SoftirqVec),
    SoftirqExit(SoftirqVec),
    /// The address of the timer that is set.
    HrtimerStart(u64),
    /// When the timer was to expire, `CLOCK_MONOTONIC` ns, and its address.
    HrtimerEntry {
        expires_ns: u64,
        timer: u64,
    },
    HrtimerExit,
    WorkQueue(u64),
    WorkStart(u64),
    WorkEnd,
    IpiSend {
        to: u16,
        has_callback: bool,
    },
    SysExit,
    TaskExit {
        tid: u32,
    },
    Nmi {
        duration_ns: u64,
    },
}

/// What is read from a CPU at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    pub ns: u64,
    /// What the hypervisor had taken from this CPU by then, ns; 0 where that is not known.
    pub steal_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub ns: u64,
    /// What a recorder that was attached after irqpath read at the same event.
    pub again: Option<Reading>,
    /// What the hypervisor had taken from this CPU by then, ns; 0 where that is not known.
    pub steal_ns: u64,
    pub cpu: u16,
    /// The task in whose context it happened; the one that goes, in a switch.
    pub current: u32,
    pub what: What,
}

/// The event in these bytes; `None` if they are none.
pub(crate) fn decode_event(bytes: &[u8]) -> Option<Event> {
    let bytes: &[u8; EVENT_BYTES] = bytes.first_chunk()?;
    let u16_at = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
    let u32_at = |at: usize| u32::from(u16_at(at)) | u32::from(u16_at(at + 2)) << 16;
    let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
    let flags = bytes[19];
    let has = |flag: u8| flags & flag != 0;
    let (tid, nr, value) = (u32_at(24), u32_at(28), u64_at(32));
    let task = || Subject {
        tid,
        tgid: u32_at(44),
        comm: Comm::from_bytes(&bytes[48..64]),
        prio: u16_at(40).cast_signed(),
        normal_prio: u16_at(42).cast_signed(),
        is_kthread: has(KTHREAD),
        is_on_rq: has(ON_RQ),
        is_on_cpu: has(ON_CPU),
        is_delayed: has(DELAYED),
    };
    let what = match bytes[18] {
        1 => What::Waking { task: task(), cpu: nr as u16, state: value as u32 },
        2 => What::Wakeup { tid, cpu: nr as u16 },
        3 => What::Switch {
            prev: nr,
            prev_state: value as u32,
            preempted: has(PREEMPTED),
            next: task(),
            in_syscall: has(IN_SYSCALL),
        },
        4 => What::Migrate { tid, from: value as u16, to: nr as u16 },
        5 => What::IrqEntry(Origin::Irq(nr)),
        6 => What::IrqExit { wakes: tid },
        7 => What::IrqEntry(Origin::Vector(*Vector::ALL.get(nr as usize)?)),
        8 => What::IrqExit { wakes: 0 },
        9 => What::SoftirqRaise(SoftirqVec::from_nr(nr)?),
        10 => What::SoftirqEntry(SoftirqVec::from_nr(nr)?),
        11 => What::SoftirqExit(SoftirqVec::from_nr(nr)?),
        12 => What::HrtimerEntry { expires_ns: value, timer: u64::from(nr) << 32 | u64::from(tid) },
        13 => What::HrtimerExit,
        14 => What::WorkQueue(value),
        15 => What::WorkStart(value),
        16 => What::WorkEnd,
        17 => What::IpiSend { to: nr as u16, has_callback: has(CALLBACK) },
        18 => What::SysExit,
        19 => What::TaskExit { tid },
        20 => What::Nmi { duration_ns: value },
        21 => What::HrtimerStart(value),
        _ => return None,
    };
    let (ns, steal_ns) = (u64_at(0), u64_at(8));
    Some(Event { ns, again: None, steal_ns, cpu: u16_at(16), current: u32_at(20), what })
}
