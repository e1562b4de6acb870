// SPDX-License-Identifier: GPL-2.0-or-later
//! A machine that has slept: the kernel took CPUs off and forgot what was asked of them.

use super::*;

#[test]
fn one_repair_sets_everything_again_and_the_undo_is_still_exact() {
    for make in [machine as fn() -> Fake, with_cgroups] {
        let fake = make();
        let before = fake.read_all();
        let (host, access) = (fake.host(), FakeAccess::new(&fake));
        assert_eq!(repair(&host, &access).unwrap(), None, "no shield, no error");
        set(&host, &access, &wanted("2-3")).unwrap();
        let shielded = fake.read_all();
        access.write("proc/irq/8/smp_affinity", "f").unwrap();
        access.write("sys/devices/virtual/workqueue/cpumask", "f").unwrap();
        access.set_affinity(40, &"0-3".parse().unwrap()).unwrap();
        let partition = "sys/fs/cgroup/irqpath.shield/cpuset.cpus.partition";
        if host.path(partition).exists() {
            access.write(partition, "isolated invalid (No cpu available)").unwrap();
        }
        assert_ne!(status(&host, &access).unwrap().drift, []);
        let repaired = repair(&host, &access).unwrap().unwrap();
        assert!(repaired.changed.len() >= 3, "{:?}", repaired.changed);
        assert_eq!(fake.read_all(), shielded);
        assert_eq!(reset(&host, &access).unwrap().undone.left, []);
        assert_eq!(fake.read_all(), before);
    }
}
