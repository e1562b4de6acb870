// SPDX-License-Identifier: GPL-2.0-or-later
//! On a kernel with `/proc/shield`: masks of the kernel instead of every task and interrupt.

use irqpath_model::shield::{Mechanism, Wanted};

use super::*;

#[test]
fn the_kernels_masks_are_added_to_and_put_back() {
    let fake = with_kernel_shield();
    let (host, before) = (fake.host(), fake.read_all());
    let access = FakeAccess::new(&fake);
    let done = set(&host, &access, &wanted("2-3")).unwrap();
    assert_eq!(done.mechanism, Mechanism::Kernel);
    let mask = |name: &str| text(&host, &format!("proc/shield/{name}"));
    assert_eq!([mask("procs"), mask("irqs"), mask("ltmrs")], ["c", "e", "8"]);
    // What the kernel does is left to it; what it leaves where it is, because it asked for nothing
    // else, is still moved if it was a driver that put it there.
    assert_eq!((affinity(&fake, 40), affinity(&fake, 2)), ("0-3".into(), "0-3".into()));
    assert_eq!(text(&host, "proc/irq/8/smp_affinity"), "f");
    assert_eq!(text(&host, "proc/irq/default_smp_affinity"), "f");
    assert_eq!(text(&host, "proc/irq/10/smp_affinity"), "3");
    assert!(!host.path("sys/fs/cgroup/irqpath.shield").exists());
    let kept: Vec<_> = done.kept.iter().map(|k| k.label.as_str()).collect();
    assert_eq!(kept, ["irq 9 (asked)"]);
    let status = status(&host, &access).unwrap();
    assert_eq!((status.mechanism, status.drift), (Some(Mechanism::Kernel), vec![]));
    reset(&host, &access).unwrap();
    assert_eq!(fake.read_all(), before);
}

#[test]
fn the_mechanism_is_the_one_that_keeps_things_off() {
    let table = [
        ("2-3", Switch::Irqs, Mechanism::Kernel),
        ("2-3", Switch::Tasks, Mechanism::Kernel),
        ("3", Switch::Ticks, Mechanism::Kernel),
        // Somebody else did it before us, so that nothing is ours.
        ("1", Switch::Irqs, Mechanism::Kernel),
        ("2-3", Switch::Timers, Mechanism::Affinity),
    ];
    for (cpus, switch, mechanism) in table {
        let fake = with_kernel_shield();
        let (host, access) = (fake.host(), FakeAccess::new(&fake));
        let asked = only(cpus, &[switch]);
        assert_eq!(dry_run(&host, &access, &asked).unwrap().mechanism, mechanism, "{asked:?}");
        assert_eq!(set(&host, &access, &asked).unwrap().mechanism, mechanism, "{asked:?}");
        let shown = status(&host, &access).unwrap().mechanism;
        assert_eq!(shown, Some(mechanism), "{asked:?}");
    }
}

#[test]
fn other_cpus_and_switches_start_from_what_was_before() {
    let fake = with_kernel_shield();
    let (host, before) = (fake.host(), fake.read_all());
    let access = FakeAccess::new(&fake);
    set(&host, &access, &wanted("2-3")).unwrap();
    set(&host, &access, &only("2", &[Switch::Irqs])).unwrap();
    assert_eq!(text(&host, "proc/shield/irqs"), "6");
    assert_eq!(text(&host, "proc/shield/procs"), "0");
    reset(&host, &access).unwrap();
    assert_eq!(fake.read_all(), before);
}

#[test]
fn other_mechanisms_leave_the_kernels_alone() {
    for mechanism in [Mechanism::Affinity, Mechanism::Partition] {
        let fake = with_kernel_shield();
        let host = fake.host();
        let asked = Wanted { mechanism, ..wanted("2-3") };
        let done = set(&host, &FakeAccess::new(&fake), &asked).unwrap();
        assert_eq!(done.mechanism, mechanism);
        assert_eq!(text(&host, "proc/shield/procs"), "0");
        assert_eq!(text(&host, "proc/irq/8/smp_affinity"), "3");
    }
}

#[test]
fn what_is_insisted_on_and_cannot_be_had_is_refused_by_a_dry_run_too() {
    let is_right = |mechanism, error: &ShieldError| match mechanism {
        Mechanism::Kernel => matches!(error, ShieldError::NoKernelShield),
        _ => matches!(error, ShieldError::NoPartition { .. }),
    };
    for (fake, mechanism) in
        [(with_cgroups(), Mechanism::Kernel), (machine(), Mechanism::Partition)]
    {
        let (host, before) = (fake.host(), fake.read_all());
        let access = FakeAccess::new(&fake);
        let asked = Wanted { mechanism, ..wanted("2-3") };
        for refused in [dry_run(&host, &access, &asked), set(&host, &access, &asked)] {
            let error = refused.unwrap_err();
            assert!(is_right(mechanism, &error), "{mechanism:?}: {error}");
        }
        assert_eq!(fake.read_all(), before);
    }
}
