// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs that get shielded CPUs without leaving their unit.

use super::threads::{CPU3, ROOT, UNIT, with_threads};
use super::*;

const ARM: &str = "sys/fs/cgroup/system.slice/arm.service";

/// What makes a machine on which it cannot work.
type Change<'a> = &'a dyn Fn(Fake) -> Fake;

fn cpus(text: &str) -> CpuList {
    text.parse().unwrap()
}

fn keep(host: &Host, access: &dyn Access, pid: u32, list: &str) -> Result<CpuList, String> {
    enter_in_unit(host, access, pid, Some(&cpus(list))).map_err(|error| {
        let text = error.to_string();
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    })
}

/// Its process ended, and left its cgroup empty.
fn end(host: &Host, pid: u32, cgroup: &str) {
    std::fs::remove_dir_all(host.path(format!("proc/{pid}"))).unwrap();
    std::fs::write(host.path(format!("{cgroup}/cgroup.threads")), "").unwrap();
}

#[test]
fn a_program_keeps_its_unit_and_gives_its_cpus_back_to_the_shield() {
    let fake = with_threads();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    let before = fake.read_all();
    let refused = keep(&host, &access, 70, "3").unwrap_err();
    assert!(refused.starts_with("no shield is set"), "{refused}");
    set(&host, &access, &wanted("2-3")).unwrap();
    let refused = keep(&host, &access, 70, "1,3").unwrap_err();
    assert!(refused.starts_with("CPU 1 is not shielded"), "{refused}");
    assert_eq!(keep(&host, &access, 70, "3").unwrap(), cpus("3"));
    let inside = "0::/system.slice/arm.service/irqpath.cpu3";
    assert_eq!(text(&host, "proc/70/cgroup"), inside);
    assert_eq!(text(&host, &format!("{ROOT}/irqpath.shield/cpuset.cpus")), "2");
    assert_eq!(text(&host, &format!("{ARM}/cgroup.procs")), "70", "the unit has it as before");
    assert_eq!(status(&host, &access).unwrap().drift, []);
    // The unit may start another one there; nobody else may.
    assert_eq!(keep(&host, &access, 70, "3").unwrap(), cpus("3"));
    let refused = keep(&host, &access, 62, "3").unwrap_err();
    assert!(refused.starts_with("CPU 3 is not shielded (shielded: 2)"), "{refused}");
    reset(&host, &access).unwrap();
    assert_eq!(fake.read_all(), before);
}

#[test]
fn the_cpus_of_a_program_that_ended_are_free_for_the_next() {
    let fake = with_threads();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    set(&host, &access, &wanted("3")).unwrap();
    keep(&host, &access, 70, "3").unwrap();
    assert!(enter(&host, &access, 62, None).unwrap_err().to_string().starts_with("no shield"));
    end(&host, 70, &format!("{ARM}/irqpath.cpu3"));
    keep(&host, &access, 60, "3").unwrap();
    assert_eq!(text(&host, &format!("{CPU3}/cgroup.threads")), "60");
    assert!(!host.path(format!("{ARM}/irqpath.cpu3")).exists());
    assert_eq!(text(&host, &format!("{ARM}/cgroup.type")), "domain");
    // A repair gives it back to the shield.
    end(&host, 60, CPU3);
    assert_eq!(repair(&host, &access).unwrap().unwrap().wanted.attached, [].into());
    assert_eq!(text(&host, &format!("{ROOT}/irqpath.shield/cpuset.cpus")), "3");
    assert_eq!(status(&host, &access).unwrap().drift, []);
    assert_eq!(reset(&host, &access).unwrap().undone.left, []);
    assert!(!host.path(CPU3).exists());
    assert_eq!(text(&host, &format!("{UNIT}/cgroup.type")), "domain");
}

/// Others plan without the lock: a program that is not in its cgroup yet, or was moved out, is alive.
#[test]
fn a_program_that_lives_keeps_its_cpus_wherever_it_is() {
    let fake = with_threads();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    set(&host, &access, &wanted("2-3")).unwrap();
    keep(&host, &access, 70, "3").unwrap();
    let cgroup = format!("{ARM}/irqpath.cpu3");
    std::fs::write(host.path(format!("{cgroup}/cgroup.threads")), "").unwrap();
    std::fs::write(host.path("proc/70/cgroup"), "0::/system.slice/arm.service\n").unwrap();
    let refused = keep(&host, &access, 60, "3").unwrap_err();
    assert!(refused.starts_with("CPU 3 is not shielded (shielded: 2)"), "{refused}");
    repair(&host, &access).unwrap().unwrap();
    assert_eq!(text(&host, "proc/70/cgroup"), "0::/system.slice/arm.service/irqpath.cpu3");
    reset(&host, &access).unwrap();
}

#[test]
fn what_a_program_started_has_its_cpus_when_it_has_ended() {
    let fake = with_threads();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    set(&host, &access, &wanted("2-3")).unwrap();
    keep(&host, &access, 70, "3").unwrap();
    let cgroup = format!("{ARM}/irqpath.cpu3");
    std::fs::remove_dir_all(host.path("proc/70")).unwrap();
    let fake = fake
        .with_task(71, 1, "child", "3", 0)
        .with_file("proc/71/cgroup", "0::/system.slice/arm.service/irqpath.cpu3\n")
        .with_file(&format!("{cgroup}/cgroup.threads"), "71\n");
    for _ in 0..2 {
        repair(&host, &access).unwrap().unwrap();
        assert_eq!(text(&host, &format!("{cgroup}/cgroup.threads")), "71");
        assert_eq!(text(&host, &format!("{cgroup}/cpuset.cpus.partition")), "isolated");
    }
    end(&host, 71, &cgroup);
    repair(&host, &access).unwrap().unwrap();
    assert!(!host.path(&cgroup).exists());
    assert_eq!(text(&host, &format!("{ROOT}/irqpath.shield/cpuset.cpus")), "2-3");
    reset(&host, &access).unwrap();
    drop(fake);
}

#[test]
fn programs_of_a_unit_share_all_of_their_cpus_or_none() {
    let fake = with_threads();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    set(&host, &access, &wanted("1-3")).unwrap();
    keep(&host, &access, 60, "2-3").unwrap();
    for part in ["2", "3", "1-2"] {
        let refused = keep(&host, &access, 62, part).unwrap_err();
        assert!(refused.contains("is not shielded (shielded: 1)"), "{part}: {refused}");
    }
    assert_eq!(keep(&host, &access, 62, "2-3").unwrap(), cpus("2-3"));
    // Who names none gets those that nobody has.
    assert_eq!(enter_in_unit(&host, &access, 70, None).unwrap(), cpus("1"));
    assert_eq!(enter_in_unit(&host, &access, 62, None).unwrap(), cpus("2-3"));
    reset(&host, &access).unwrap();
}

#[test]
fn a_unit_that_cannot_be_kept_is_named_and_nothing_is_changed() {
    let whole = |fake: Fake| fake.with_file("proc/70/cgroup", "0::/\n");
    let memory = |fake: Fake| fake.with_file(&format!("{ARM}/cgroup.subtree_control"), "memory\n");
    let old = |fake: Fake| fake.with_file("proc/sys/kernel/osrelease", "6.10.1\n");
    let cases: [(Change<'_>, &str); 3] = [
        (&whole, "in no cgroup of its own"),
        (&memory, "hands the controller memory on"),
        (&old, "it needs Linux 6.11"),
    ];
    for (change, reason) in cases {
        let fake = change(with_threads());
        let (host, access) = (fake.host(), FakeAccess::new(&fake));
        set(&host, &access, &wanted("2-3")).unwrap();
        let before = fake.read_all();
        let refused = keep(&host, &access, 70, "3").unwrap_err();
        assert!(refused.starts_with("cannot keep the unit: "), "{refused}");
        assert!(refused.contains(reason) && refused.contains("--keep-unit"), "{refused}");
        assert_eq!(fake.read_all(), before);
    }
}

#[test]
fn killed_while_it_enters_it_is_undone_exactly() {
    let steps = die_and_reset(with_threads, FakeAccess::new, |host, dying| {
        if set(host, dying, &wanted("2-3")).is_ok() {
            let _ = keep(host, dying, 70, "3");
        }
    });
    assert!(steps > 60, "{steps}");
}
