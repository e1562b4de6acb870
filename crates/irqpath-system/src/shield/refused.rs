// SPDX-License-Identifier: GPL-2.0-or-later
//! What could not be changed, in words for people: what the kernel refused, and tasks that somebody
//! moved back meanwhile. `plan` has the obstacles that are known before the first change.

use irqpath_model::change::{Refusal, Target};
use irqpath_model::shield::{Obstacle, ObstacleKind, Switch, Wanted};

use super::attached::obstacle_label;
use super::handed::Unattached;
use super::partition::is_own_cgroup;
use super::plan::TIMER_MIGRATION;
use super::{Snapshot, boot, kernel, latency};
use crate::change::Step;
use crate::journal::Ledger;

/// The switch that leaves this alone.
pub(super) fn switch_of(snapshot: &Snapshot, target: &Target) -> Switch {
    match target {
        Target::File { path, .. } if path == TIMER_MIGRATION => Switch::Timers,
        Target::File { path, .. } if path.starts_with("proc/irq/") => Switch::Irqs,
        // Other files are those of the partition.
        Target::File { path, .. } => {
            let mask = snapshot.masks.iter().find(|mask| mask.path == *path);
            let switch = mask.map(|mask| mask.switch).or_else(|| kernel::switch_of(path));
            let switch = switch.or_else(|| latency::switch_of(path));
            switch.unwrap_or(Switch::Tasks)
        }
        Target::TaskScheduling { .. } => Switch::Ticks,
        Target::Irqbalance { .. } | Target::IrqbalanceLines { .. } => Switch::Irqs,
        Target::TaskAffinity { task } => {
            let found = snapshot.tasks.iter().find(|found| found.id == *task);
            if found.is_some_and(|found| found.kernel) { Switch::Kthreads } else { Switch::Tasks }
        }
        _ => Switch::Tasks,
    }
}

/// Everything that the kernel refused, as obstacles. A partition has one of its own kind.
pub(super) fn all_refused(snapshot: &Snapshot, wanted: &Wanted, ledger: &Ledger) -> Vec<Obstacle> {
    let all = ledger.refused().filter(|(target, _)| !is_own_cgroup(target));
    all.map(|(target, refusal)| refused_obstacle(snapshot, wanted, target, refusal)).collect()
}

/// Tasks that are not as they should be at the end of a change, as one obstacle: a stranger may
/// have thousands of them.
pub(super) fn contested_obstacle(snapshot: &Snapshot, steps: &[Step]) -> Option<Obstacle> {
    let (first, others) = steps.split_first()?;
    let label = match others.len() {
        0 => first.label.clone(),
        1 => format!("{} and one other task", first.label),
        n => format!("{} and {n} other tasks", first.label),
    };
    Some(Obstacle {
        label,
        switch: switch_of(snapshot, &first.target),
        kind: ObstacleKind::Contested,
        reason: "began, or asked for other CPUs again, while tasks were moved".to_owned(),
        errno: 0,
        fix: Some("a cgroup partition, which leaves no such way, or --watch".to_owned()),
    })
}

/// A cgroup that got no partition, and why.
pub(super) fn unattached_obstacle((path, reason): Unattached) -> Obstacle {
    Obstacle {
        label: obstacle_label(&path),
        switch: Switch::Tasks,
        kind: ObstacleKind::NoPartition,
        reason,
        errno: 0,
        fix: None,
    }
}

/// What the kernel refused, as an obstacle. EIO (EPERM since 6.9) is how it says that it manages
/// an interrupt's affinity itself, or that the interrupt belongs to one CPU; EACCES without
/// CAP_DAC_OVERRIDE, as in the unit.
fn refused_obstacle(
    snapshot: &Snapshot,
    wanted: &Wanted,
    target: &Target,
    refusal: &Refusal,
) -> Obstacle {
    const EPERM: i32 = 1;
    const EIO: i32 = 5;
    const EACCES: i32 = 13;
    const ENOSPC: i32 = 28;
    let switch = switch_of(snapshot, target);
    let is_irq = refusal.label.starts_with("irq ");
    let (reason, fix) = match refusal.errno {
        EPERM | EIO | EACCES if is_irq => (
            format!("the kernel manages its affinity ({})", refusal.reason),
            Some(boot::managed_irq(snapshot, &wanted.cpus)),
        ),
        ENOSPC if is_irq => {
            (format!("no vector is free on the other CPUs ({})", refusal.reason), None)
        }
        _ => (refusal.reason.clone(), None),
    };
    Obstacle {
        label: refusal.label.clone(),
        switch,
        kind: ObstacleKind::Refused,
        reason,
        errno: refusal.errno,
        fix,
    }
}
