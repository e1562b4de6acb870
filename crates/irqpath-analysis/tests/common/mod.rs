// SPDX-License-Identifier: GPL-2.0-or-later
//! Builders shared by the tests: tasks, transitions and records in few words.

#![allow(dead_code)] // every test binary uses its own part

use irqpath_model::{
    Cause, CauseKind, Names, Occupancy, Origin, PathEnd, PathRecord, Point, SoftirqVec, Stamp,
    Task, Transition, Via,
};

pub const DISK: Origin = Origin::Irq(36);
pub const NIC: Origin = Origin::Irq(40);

/// A task with an effective and a normal priority.
pub fn boosted(tid: u32, comm: &str, prio: i16, normal_prio: i16) -> Task {
    Task { tid, comm: comm.into(), prio, normal_prio, ..Task::default() }
}

pub fn task(tid: u32, comm: &str, prio: i16) -> Task {
    boosted(tid, comm, prio, prio)
}

pub fn idle() -> Task {
    task(0, "swapper/0", 140)
}

pub fn switch(to: Task) -> Transition {
    Transition::SwitchIn(to)
}

/// This task runs, the switch to it was not seen.
pub fn unseen(task: Task) -> Transition {
    Transition::Unseen(task)
}

pub fn hardirq(origin: Origin) -> Transition {
    Transition::HardirqEntry(origin)
}

pub fn softirq(vec: SoftirqVec) -> Transition {
    Transition::SoftirqEntry(vec)
}

/// Transitions of one CPU, numbered from 1; NMIs get no number.
pub fn block(cpu: u16, transitions: &[(u64, Transition)]) -> Vec<Occupancy> {
    let mut seq = 0;
    let number = |(ns, what): &(u64, Transition)| {
        let is_nmi = matches!(what, Transition::NmiEnd { .. });
        seq += u64::from(!is_nmi);
        Occupancy { ns: *ns, cpu, seq: if is_nmi { 0 } else { seq }, what: what.clone() }
    };
    transitions.iter().map(number).collect()
}

/// A record of an FIFO 80 target (prio 19) with these stamps (point, ns, CPU).
pub fn record(origin: Origin, via: Via, stamps: &[(Point, u64, u16)]) -> PathRecord {
    let mut all = [None; Point::COUNT];
    for &(point, ns, cpu) in stamps {
        all[point.index()] = Some(Stamp { ns, cpu });
    }
    PathRecord {
        origin,
        via,
        stamps: all,
        timer_fn: 0,
        target: task(100, "target", 19),
        end: PathEnd::User,
        queues: Vec::new(),
        cgroup: None,
    }
}

pub fn names() -> Names {
    let mut names = Names::default();
    names.irqs.insert(36, "virtio1-req.0".to_owned());
    names
}

/// Causes in the short form the tables use.
pub fn short(causes: &[Cause]) -> Vec<(CauseKind, &str, u64, u32)> {
    causes.iter().map(|c| (c.kind, c.who.as_str(), c.ns, c.nr_times)).collect()
}
