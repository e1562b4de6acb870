// SPDX-License-Identifier: GPL-2.0-or-later
//! Threads of interrupts that the kernel drove away from their interrupt.
//!
//! When the CPUs of a partition change, each kernel thread that is not bound to one CPU gets all CPUs
//! outside of partitions (`update_tasks_cpumask()` in kernel/cgroup/cpuset.c), threads of interrupts
//! among them. The handler of an interrupt on a shielded CPU would then run on another one, behind the
//! work there. A thread follows its interrupt again when the interrupt's mask is written, also with the
//! value that it has (`irq_set_thread_affinity()` in kernel/irq/manage.c).

use irqpath_model::CpuList;
use irqpath_model::change::Value;
use irqpath_model::shield::Kept;

use super::plan::{irq_label, irq_target};
use super::snapshot::read_irqs;
use super::{Irq, Snapshot};
use crate::change::Access;
use crate::{Host, Task};

/// The kernel thread that starts all others; its CPUs are those that the kernel gives them.
const KTHREADD: u32 = 2;

/// The interrupts of which a thread is somewhere else, with that thread's CPUs. One whose CPUs somebody
/// chose is none: the kernel's choice is the same for all.
fn find_driven_off<'a>(irqs: &'a [Irq], tasks: &[Task]) -> Vec<(&'a Irq, CpuList)> {
    let Some(general) = tasks.iter().find(|task| task.id.tid == KTHREADD && task.kernel) else {
        return Vec::new();
    };
    let thread_of = |irq: &Irq| {
        let its = irq.effective.as_ref().filter(|cpus| !cpus.is_empty()).unwrap_or(&irq.affinity);
        let mut threads = tasks.iter().filter(|task| task.serves_irq() == Some(irq.irq));
        threads.find(|thread| thread.affinity == general.affinity && thread.affinity != *its)
    };
    let found = irqs.iter().filter_map(|irq| Some((irq, thread_of(irq)?.affinity.clone())));
    found.collect()
}

/// Let each thread follow its interrupt again. One whose mask cannot be written stays: its driver keeps
/// it where it is.
pub(super) fn recall_threads(host: &Host, access: &dyn Access) {
    let irqs = read_irqs(host).unwrap_or_default();
    for (irq, _) in find_driven_off(&irqs, &host.read_tasks()) {
        if irq.managed {
            continue;
        }
        access.mark_step("before a thread is called back");
        let _kept = access.set(&irq_target(irq), &Value::Cpus(irq.affinity.clone()));
    }
}

/// Those that are off the shielded CPUs although their interrupt is there. Some controllers let a thread
/// follow only when the interrupt next arrives, so this is no drift. Which ones cannot be called back the
/// kernel tells since Linux 6.9.
pub(super) fn find_waiting(snapshot: &Snapshot, shielded: &CpuList) -> Vec<Kept> {
    if snapshot.version.is_none_or(|version| version < (6, 9)) {
        return Vec::new();
    }
    let is_there =
        |irq: &Irq| !irq.managed && !irq.affinity.is_empty() && irq.affinity.is_subset(shielded);
    let waiting = |(irq, found): (&Irq, CpuList)| Kept {
        label: format!("thread of {}", irq_label(irq)),
        cpus: found,
    };
    let off = find_driven_off(&snapshot.irqs, &snapshot.tasks).into_iter();
    off.filter(|(irq, _)| is_there(irq)).map(waiting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    /// `PF_KTHREAD`.
    const KERNEL: u64 = 0x0020_0000;

    fn found(kthreadd: &str, thread: &str, effective: &str) -> Vec<(u32, String)> {
        let fake = Fake::new()
            .with_task(2, 0, "kthreadd", kthreadd, KERNEL)
            .with_task(60, 2, "irq/33-sound", thread, KERNEL)
            // Of an ordinary task with such a name nobody's interrupt is.
            .with_task(61, 1, "irq/34-fake", "0-2", 0);
        let irq = |irq, effective: &str| Irq {
            irq,
            affinity: "3".parse().unwrap(),
            effective: Some(effective.parse().unwrap_or_default()),
            ..Irq::default()
        };
        let irqs = [irq(33, effective), irq(34, "3")];
        let off = find_driven_off(&irqs, &fake.host().read_tasks());
        off.into_iter().map(|(irq, cpus)| (irq.irq, cpus.to_string())).collect()
    }

    #[test]
    fn the_kernels_choice_is_recalled_and_a_persons_is_not() {
        let off = vec![(33, "0-2".to_owned())];
        assert_eq!(found("0-2", "0-2", "3"), off);
        // No effective mask: the asked one.
        assert_eq!(found("0-2", "0-2", ""), off);
        assert_eq!(found("0-2", "3", "3"), []);
        // Somebody chose these.
        assert_eq!(found("0-2", "1", "3"), []);
        assert_eq!(found("0-1", "0-2", "3"), []);
    }
}
