// SPDX-License-Identifier: GPL-2.0-or-later
//! Cgroups of others that get CPUs for themselves: made, found, refused, killed and taken back.

use super::*;

const ROOT: &str = "sys/fs/cgroup";
const SLICE: &str = "sys/fs/cgroup/system.slice";
const UNIT: &str = "sys/fs/cgroup/system.slice/motor.service";

/// Units in slices, one of them with a process, and a program outside.
pub(super) fn with_units() -> Fake {
    let cgroup = "0::/system.slice/motor.service\n";
    let unit = |fake: Fake, path: &str, inside: &str| {
        fake.with_file(&format!("{ROOT}/{path}/cgroup.procs"), inside)
            .with_file(&format!("{ROOT}/{path}/cgroup.subtree_control"), "")
    };
    let mut fake = with_cgroups().with_file(&format!("{SLICE}/cgroup.subtree_control"), "");
    for (path, inside) in [
        ("system.slice/motor.service", "60\n61\n"),
        ("system.slice/arm.scope", ""),
        ("system.slice/arm.service", ""),
        ("user.slice/user-7.slice/user@7.service/app.slice/mine.service", ""),
        ("kubepods", ""),
        ("kubepods/pod7", ""),
    ] {
        fake = unit(fake, path, inside);
    }
    fake.with_task(60, 1, "motor", "0-3", 0)
        .with_task(61, 60, "helper", "0-3", 0)
        .with_file("proc/60/cgroup", cgroup)
        .with_file("proc/61/cgroup", cgroup)
        .with_file(&format!("{ROOT}/cgroup.procs"), "40\n")
}

pub(super) fn attach_to(
    host: &Host,
    access: &dyn Access,
    name: &str,
    cpus: &str,
) -> Result<Set, ShieldError> {
    attach(host, access, &|| plan_attach(host, name, &wanted(cpus)), &|| false)
}

fn refusal(fake: &Fake, name: &str, cpus: &str) -> String {
    let error = attach_to(&fake.host(), &FakeAccess::new(fake), name, cpus).unwrap_err();
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn a_unit_gets_its_cpus_in_its_own_cgroup_and_everything_else_leaves_them() {
    let fake = with_units();
    let before = fake.read_all();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    let done = attach_to(&host, &access, "motor", "3").unwrap();
    assert_eq!(done.mechanism, Mechanism::Partition);
    assert_eq!(done.placed[0].label, "cgroup /system.slice/motor.service");
    assert_eq!(text(&host, &format!("{SLICE}/cpuset.cpus.exclusive")), "3");
    assert_eq!(text(&host, &format!("{UNIT}/cpuset.cpus.exclusive")), "3");
    assert_eq!(text(&host, &format!("{UNIT}/cpuset.cpus.partition")), "isolated");
    assert_eq!(text(&host, &format!("{UNIT}/cgroup.procs")), "60\n61", "it stays where it is");
    assert!(!host.path("sys/fs/cgroup/irqpath.shield").exists());
    // The kernel moves the unit; the others are moved away.
    assert_eq!([60, 61, 40].map(|tid| affinity(&fake, tid)), ["0-3", "0-3", "0-2"]);
    assert_eq!(text(&host, "proc/irq/8/smp_affinity"), "7");
    let status = status(&host, &access).unwrap();
    assert_eq!(
        (status.drift, status.placed, status.mechanism),
        (vec![], done.placed, Some(Mechanism::Partition))
    );
    assert_eq!(attach_to(&host, &access, "motor.service", "3").unwrap().changed, []);
    assert_eq!(reset(&host, &access).unwrap().undone.left, []);
    assert_eq!(fake.read_all(), before);
}

#[test]
fn several_cgroups_beside_a_shield_share_what_is_above_them() {
    let fake = with_units();
    let before = fake.read_all();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    set(&host, &access, &wanted("2-3")).unwrap();
    attach_to(&host, &access, "motor", "3").unwrap();
    let own = || text(&host, "sys/fs/cgroup/irqpath.shield/cpuset.cpus");
    assert_eq!(own(), "2", "the shield's own partition gives the CPU up");
    attach_to(&host, &access, "arm.service", "1").unwrap();
    assert_eq!(text(&host, &format!("{SLICE}/cpuset.cpus.exclusive")), "1,3");
    let taken = refusal(&fake, "/kubepods/pod7", "1");
    assert!(taken.contains("/system.slice/arm.service has one of CPU 1"), "{taken}");
    assert_eq!(status(&host, &access).unwrap().drift, []);
    // A set replaces them all.
    let asked = wanted("2-3");
    set(&host, &access, &asked).unwrap();
    assert_eq!(own(), "2-3");
    assert!(!host.path(format!("{UNIT}/cpuset.cpus.partition")).exists());
    assert_eq!(status(&host, &access).unwrap().wanted, Some(asked));
    assert_eq!(reset(&host, &access).unwrap().undone.left, []);
    assert_eq!(fake.read_all(), before);
}

#[test]
fn names_and_paths_lead_to_one_cgroup_or_nowhere() {
    let fake = with_units().with_link(&format!("{ROOT}/link.slice"), "system.slice");
    assert!(refusal(&fake, "arm", "3").contains("system.slice/arm.scope, system.slice/arm.serv"));
    // It is below a unit that is delegated to a user, who may call it what he likes.
    assert!(refusal(&fake, "mine", "3").starts_with("there is no cgroup of a unit mine; "));
    for path in ["/none", "/", "/system.slice/../kubepods", "/link.slice/motor.service", "/a//b"] {
        assert!(refusal(&fake, path, "3").starts_with(&format!("{path} is not a cgroup; ")));
    }
    for (name, path) in [("kubepods/pod7", "kubepods/pod7"), ("system.slice", "system.slice")] {
        let wanted = plan_attach(&fake.host(), name, &wanted("3")).unwrap();
        assert_eq!(wanted.attached.keys().collect::<Vec<_>>(), [path]);
    }
}

#[test]
fn a_kernel_that_cannot_says_what_to_do() {
    let old = with_units().with_file("proc/sys/kernel/osrelease", "6.10.14\n");
    assert!(
        refusal(&old, "motor", "3").contains("it needs Linux 6.11; use irqpath shield set --ta")
    );
    let without = with_units().with_file(&format!("{ROOT}/cgroup.controllers"), "cpu io\n");
    assert!(refusal(&without, "motor", "3").contains("no cpuset controller"));
    let v1 = with_units().with_file("proc/self/mounts", "proc /proc proc rw 0 0\n");
    assert!(refusal(&v1, "motor", "3").contains("cgroup2 is not mounted"));
}

#[test]
fn a_partition_that_the_kernel_refuses_leaves_nothing_behind() {
    let fake = with_units();
    let before = fake.read_all();
    let host = fake.host();
    let file = format!("{UNIT}/cpuset.cpus.partition");
    let refusing = FakeAccess::new(&fake).with_refusal(&file, 22);
    let error = attach_to(&host, &refusing, "motor", "3").unwrap_err().to_string();
    assert!(error.starts_with("cannot make a partition there: partition of /system.s"), "{error}");
    assert_eq!(fake.read_all(), before);
    // Or takes it, and says that it does not hold. A shield that was set stays as it was.
    set(&host, &FakeAccess::new(&fake), &wanted("2-3")).unwrap();
    let shielded = fake.read_all();
    let mut lying = FakeAccess::new(&fake);
    lying.becomes.insert(file, "isolated invalid (Parent is not a partition root)\n".into());
    let error = attach_to(&host, &lying, "motor", "3").unwrap_err().to_string();
    assert!(error.contains("isolated invalid (Parent"), "{error}");
    assert_eq!(fake.read_all(), shielded);
    reset(&host, &FakeAccess::new(&fake)).unwrap();
    assert_eq!(fake.read_all(), before);
}

#[test]
fn a_partition_of_somebody_else_is_used_as_it_is_or_refused() {
    let fake = with_units()
        .with_file(&format!("{UNIT}/cpuset.cpus.partition"), "isolated\n")
        .with_file(&format!("{UNIT}/cpuset.cpus.effective"), "3\n");
    let before = fake.read_all();
    let other = refusal(&fake, "motor", "2");
    assert!(other.starts_with("/system.slice/motor.service already is a partition of CPU 3, "));
    assert_eq!(fake.read_all(), before);
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    let done = attach_to(&host, &access, "motor", "3").unwrap();
    assert!(done.placed[0].label.ends_with("motor.service, a partition that somebody else made"));
    let cgroups = |line: &String| line.starts_with("sys/fs/cgroup");
    assert_eq!(access.written.borrow().iter().find(|line| cgroups(line)), None);
    assert_eq!(text(&host, "proc/irq/8/smp_affinity"), "7");
    reset(&host, &access).unwrap();
    assert_eq!(fake.read_all(), before);
}

#[test]
fn who_was_bound_to_these_cpus_is_named_and_others_are_shielded_all_the_same() {
    let fake = with_units().with_task(42, 1, "control", "3", 0).with_thread(42, 43, "0-3");
    let before = fake.read_all();
    let (host, mut access) = (fake.host(), FakeAccess::new(&fake));
    let kernel = FakeAccess::new(&fake);
    let moves_off = move || {
        let partition = kernel.read(&format!("{UNIT}/cpuset.cpus.partition"));
        if partition.is_ok_and(|word| word.trim() == "isolated") {
            kernel.set_affinity(42, &"0-2".parse().unwrap()).unwrap();
        }
    };
    access.at_step = Some(("after a write", Box::new(moves_off)));
    let done = attach_to(&host, &access, "motor", "3").unwrap();
    assert_eq!(done.mechanism, Mechanism::Partition);
    assert!(
        done.notes[0].starts_with("task 42 (control) was asked onto CPU 3 alone, of which /sys")
    );
    // What it had asked for is not forgotten when more CPUs are taken.
    attach_to(&host, &access, "arm.service", "1").unwrap();
    assert_eq!(affinity(&fake, 42), "0-2");
    assert_eq!(status(&host, &access).unwrap().drift, []);
    assert_eq!(reset(&host, &FakeAccess::new(&fake)).unwrap().undone.left, []);
    assert_eq!(fake.read_all(), before);
}

#[test]
fn a_cgroup_that_dies_is_no_error_and_one_that_returns_is_attached_again() {
    let fake = with_units();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    attach_to(&host, &access, "motor", "3").unwrap();
    std::fs::remove_dir_all(host.path(UNIT)).unwrap();
    let status_now = status(&host, &access).unwrap();
    assert!(
        status_now.notes.contains(&"there is no cgroup /system.slice/motor.service now".into())
    );
    let repaired = repair(&host, &access).unwrap().unwrap();
    assert_eq!(repaired.obstacles.iter().find(|o| o.label.contains("motor")), None);
    let fake = fake
        .with_file(&format!("{UNIT}/cgroup.procs"), "60\n61\n")
        .with_file(&format!("{UNIT}/cgroup.subtree_control"), "");
    repair(&host, &access).unwrap().unwrap();
    assert_eq!(text(&host, &format!("{UNIT}/cpuset.cpus.partition")), "isolated");
    std::fs::remove_dir_all(host.path(UNIT)).unwrap();
    let done = reset(&host, &access).unwrap();
    assert_eq!((done.undone.left, done.was_set), (vec![], true));
    assert!(!host.path(format!("{SLICE}/cpuset.cpus.exclusive")).exists());
    assert_eq!(text(&fake.host(), &format!("{ROOT}/cgroup.subtree_control")), "cpu");
}

#[test]
fn what_others_have_begun_to_use_stays_and_an_invalid_partition_goes() {
    let fake = with_units();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    attach_to(&host, &access, "motor", "3").unwrap();
    let fake = fake
        .with_file(&format!("{SLICE}/arm.service/cpuset.cpus"), "0-1\n")
        .with_file(&format!("{UNIT}/cpuset.cpus.partition"), "isolated invalid (CPU offline)\n");
    let drift = status(&host, &access).unwrap().drift;
    assert_eq!(drift[0].label, "partition of /system.slice/motor.service");
    assert_eq!(reset(&host, &access).unwrap().undone.left, []);
    let host = fake.host();
    assert_eq!(text(&host, &format!("{UNIT}/cpuset.cpus.partition")), "member");
    assert_eq!(text(&host, &format!("{SLICE}/cpuset.cpus.exclusive")), "");
    assert_eq!(text(&host, &format!("{SLICE}/arm.service/cpuset.cpus")), "0-1");
}

#[test]
fn killed_between_any_two_steps_it_is_undone_exactly() {
    let deaths = die_and_reset(with_units, FakeAccess::new, |host, dying| {
        attach_to(host, dying, "motor", "3").unwrap();
        attach_to(host, dying, "kubepods/pod7", "2").unwrap();
        set(host, dying, &wanted("3")).unwrap();
        reset(host, dying).unwrap();
    });
    assert!(deaths > 100, "{deaths}");
}

#[test]
fn a_shield_whose_last_cpu_goes_to_a_cgroup_is_undone_exactly() {
    let fake = with_units();
    let before = fake.read_all();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    set(&host, &access, &wanted("2")).unwrap();
    attach_to(&host, &access, "motor", "3").unwrap();
    // The shield's own partition goes; what is attached still has its controller from the root.
    attach_to(&host, &access, "arm.service", "2").unwrap();
    assert_eq!(status(&host, &access).unwrap().drift, []);
    assert_eq!(reset(&host, &access).unwrap().undone.left, []);
    assert_eq!(fake.read_all(), before);
}
