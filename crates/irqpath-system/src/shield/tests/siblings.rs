// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs that share a core or a node with shielded ones: named, shielded, taken off and brought back.

use super::*;

/// Two cores of two threads, each core with a node.
fn with_threads(fake: Fake) -> Fake {
    (0..4).fold(fake, |fake, cpu| {
        let core = if cpu < 2 { "0-1\n" } else { "2-3\n" };
        let directory = format!("sys/devices/system/cpu/cpu{cpu}");
        let fake = fake.with_file(&format!("{directory}/topology/thread_siblings_list"), core);
        // The first CPU cannot be taken off.
        if cpu == 0 { fake } else { fake.with_file(&format!("{directory}/online"), "1\n") }
    })
}

fn off(cpus: &str, offline: &str) -> Wanted {
    Wanted { offline: offline.parse().unwrap(), ..wanted(cpus) }
}

#[test]
fn a_sibling_is_named_and_goes_off_and_comes_back() {
    for make in [machine as fn() -> Fake, with_cgroups] {
        let fake = with_threads(make());
        let before = fake.read_all();
        let (host, access) = (fake.host(), FakeAccess::new(&fake));
        let done = set(&host, &access, &wanted("3")).unwrap();
        assert!(done.notes[0].starts_with("CPU 2 shares a core with CPU 3 and is not shielded, "));
        let cpus = "3".parse().unwrap();
        assert_eq!(siblings_of(&host, &cpus).unwrap().to_string(), "2");
        let asked = off("3", "2");
        let done = set(&host, &access, &asked).unwrap();
        assert_eq!(
            (done.notes, text(&host, "sys/devices/system/cpu/online")),
            (vec![], "0-1,3".into())
        );
        // The kernel says nothing of the core of a CPU that is off.
        let alone = "sys/devices/system/cpu/cpu3/topology/thread_siblings_list";
        let fake = fake.with_file(alone, "3\n");
        assert_eq!(siblings_of(&host, &cpus).unwrap().to_string(), "2");
        assert_eq!(set(&host, &access, &asked).unwrap().changed, []);
        assert_eq!(status(&host, &access).unwrap().drift, []);
        access.write("sys/devices/system/cpu/cpu2/online", "1").unwrap();
        assert_eq!(status(&host, &access).unwrap().drift[0].label, "CPU 2 online");
        repair(&host, &access).unwrap();
        assert_eq!(text(&host, "sys/devices/system/cpu/online"), "0-1,3");
        let fake = fake.with_file(alone, "2-3\n");
        assert_eq!(reset(&host, &access).unwrap().undone.left, []);
        assert_eq!(fake.read_all(), before);
    }
}

#[test]
fn a_sibling_to_which_something_was_bound_stays_on() {
    for (fake, who) in [
        (machine().with_task(42, 1, "control", "2", 0), "task 42 (control) was asked onto CPU 2"),
        (
            machine().with_file("proc/irq/11/smp_affinity", "4\n"),
            "irq 11 (disk) was asked onto CPU 2",
        ),
    ] {
        let fake = with_threads(fake);
        let before = fake.read_all();
        let (host, access) = (fake.host(), FakeAccess::new(&fake));
        let done = set(&host, &access, &off("3", "2")).unwrap();
        let label = "CPU 2, which shares a core with a shielded one";
        let obstacle = done.obstacles.iter().find(|o| o.label == label).unwrap();
        assert!(obstacle.reason.starts_with(who), "{}", obstacle.reason);
        assert_eq!(text(&host, "sys/devices/system/cpu/online"), "0-3");
        reset(&host, &access).unwrap();
        assert_eq!(fake.read_all(), before);
    }
    let fake = with_threads(machine());
    let done = set(&fake.host(), &FakeAccess::new(&fake), &off("1", "0")).unwrap();
    assert!(done.obstacles.iter().any(|o| o.reason == "the kernel cannot take it off"));
}

#[test]
fn memory_nodes_are_named_where_there_are_several() {
    let fake = machine()
        .with_file("sys/devices/system/node/node0/cpulist", "0-1\n")
        .with_file("sys/devices/system/node/node1/cpulist", "2-3\n")
        .with_file("proc/sys/kernel/numa_balancing", "1\n")
        .with_file("proc/irq/11/node", "0\n")
        .with_file("proc/softirqs", "  CPU0 CPU1 CPU2 CPU3\n");
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    let irqs = [("disk".to_owned(), "3".parse().unwrap())].into();
    set(&host, &access, &Wanted { irqs, ..wanted("3") }).unwrap();
    let notes = status(&host, &access).unwrap().notes;
    let has = |part: &str| notes.iter().any(|note| note.starts_with(part));
    assert!(has("CPU 3 is on NUMA node 1; memory of another node is slow: numactl --membind=1"));
    assert!(has("kernel.numa_balancing is on: "));
    assert!(has("the device of irq 11 is on NUMA node 0, CPU 3 on node 1; "), "{notes:?}");
}

#[test]
fn killed_between_any_two_steps_the_siblings_are_back() {
    let make = || with_threads(with_cgroups());
    let deaths = die_and_reset(make, FakeAccess::new, |host, dying| {
        set(host, dying, &off("3", "2")).unwrap();
        set(host, dying, &off("1", "")).unwrap();
        reset(host, dying).unwrap();
    });
    assert!(deaths > 60, "{deaths}");
}
