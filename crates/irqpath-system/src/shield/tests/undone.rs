// SPDX-License-Identifier: GPL-2.0-or-later
//! Set, drift, repair, reset, and death between any two steps of these.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::sync::mpsc;

use irqpath_model::change::{LeftReason, Value};
use irqpath_model::shield::{Mechanism, ObstacleKind, Wanted};

use super::*;
use crate::change::Access as _;

const MANAGED: &str = "proc/irq/10/smp_affinity";

fn access(fake: &Fake) -> FakeAccess {
    FakeAccess::new(fake).with_refusal(MANAGED, 5)
}

#[test]
fn a_shield_is_set_and_taken_down_again() {
    for (fake, mechanism) in
        [(machine(), Mechanism::Affinity), (with_cgroups(), Mechanism::Partition)]
    {
        let before = fake.read_all();
        let host = fake.host();
        let done = set(&host, &access(&fake), &wanted("2-3")).unwrap();
        assert_eq!(done.mechanism, mechanism);
        assert_eq!(text(&host, "proc/irq/8/smp_affinity"), "3");
        assert_eq!((affinity(&fake, 40), affinity(&fake, 41)), ("0-1".into(), "0-1".into()));
        let managed = done.obstacles.iter().find(|o| o.label == "irq 10 (eth0-3)").unwrap();
        assert_eq!((managed.errno, managed.fix.as_deref()), (5, Some("isolcpus=managed_irq,2-3")));
        if mechanism == Mechanism::Partition {
            let directory = "sys/fs/cgroup/irqpath.shield";
            assert_eq!(text(&host, &format!("{directory}/cpuset.cpus")), "2-3");
            assert_eq!(text(&host, &format!("{directory}/cpuset.cpus.partition")), "isolated");
            assert_eq!(text(&host, "sys/fs/cgroup/cgroup.subtree_control"), "cpu cpuset");
            assert!(host.path(format!("{directory}/run")).is_dir());
        }
        let status = status(&host, &access(&fake)).unwrap();
        assert_eq!((status.mechanism, &status.drift), (Some(mechanism), &vec![]));
        assert_eq!(status.pending.len(), 1, "{:?}", status.pending);
        let reset = reset(&host, &access(&fake)).unwrap();
        assert_eq!((reset.was_set, &reset.undone.left), (true, &vec![]));
        assert_eq!(fake.read_all(), before);
        assert!(!super::reset(&host, &access(&fake)).unwrap().was_set);
    }
}

/// The kernel gives a new interrupt the default that the shield has set.
#[test]
fn an_interrupt_that_comes_later_gets_the_default_of_before() {
    let fake = machine();
    let host = fake.host();
    let default = text(&host, "proc/irq/default_smp_affinity");
    set(&host, &access(&fake), &wanted("2-3")).unwrap();
    assert_eq!(text(&host, "proc/irq/default_smp_affinity"), "3");
    // One that the shield gave, one that somebody bound since.
    let fake = fake.with_file("proc/irq/60/smp_affinity", "3\n");
    let fake = fake.with_file("proc/irq/61/smp_affinity", "1\n");
    // A change of the shield does not make them older.
    set(&host, &access(&fake), &wanted("2")).unwrap();
    let fake = fake.with_file("proc/irq/62/smp_affinity", "b\n");
    let reset = reset(&host, &access(&fake)).unwrap();
    assert_eq!(reset.newborn, 2);
    let mask = |irq: u32| text(&host, &format!("proc/irq/{irq}/smp_affinity"));
    assert_eq!((mask(60), mask(61), mask(62)), (default.clone(), "1".into(), default));
}

#[test]
fn set_twice_is_set_once() {
    for fake in [machine(), with_cgroups(), with_kernel_shield()] {
        let before = fake.read_all();
        let access = access(&fake);
        set(&fake.host(), &access, &wanted("2-3")).unwrap();
        let (once, writes) = (fake.read_all(), access.written.borrow().len());
        let again = set(&fake.host(), &access, &wanted("2-3")).unwrap();
        assert_eq!((again.changed, fake.read_all()), (vec![], once));
        assert_eq!(access.written.borrow().len(), writes);
        reset(&fake.host(), &access).unwrap();
        assert_eq!(fake.read_all(), before);
    }
}

#[test]
fn killed_between_any_two_steps_a_reset_finds_the_host_as_it_was() {
    for (make, at_least) in
        [(machine as fn() -> Fake, 60), (with_cgroups, 60), (with_kernel_shield, 40)]
    {
        let deaths = die_and_reset(make, access, |host, dying| {
            set(host, dying, &wanted("3")).unwrap();
            dying.write("proc/irq/8/smp_affinity", "f").unwrap(); // drift
            repair(host, dying).unwrap();
            set(host, dying, &wanted("2-3")).unwrap();
            reset(host, dying).unwrap();
        });
        assert!(deaths > at_least, "{deaths}");
    }
}

#[test]
fn drift_is_seen_repaired_and_left_to_whoever_made_it() {
    let fake = machine();
    let (host, access) = (fake.host(), access(&fake));
    set(&host, &access, &wanted("2-3")).unwrap();
    access.write("proc/irq/8/smp_affinity", "c").unwrap();
    let fake = fake.with_task(77, 2, "new-kthread", "0-3", KTHREAD);
    let drift = status(&host, &access).unwrap().drift;
    let seen: Vec<_> = drift.iter().map(|d| (d.label.as_str(), d.new)).collect();
    assert_eq!(seen, [("task 77 (new-kthread)", true)], "irq 8 was asked onto CPU 2-3 alone");
    access.write("proc/irq/8/smp_affinity", "e").unwrap();
    let drift = status(&host, &access).unwrap().drift;
    assert_eq!((drift[0].label.as_str(), drift[0].new), ("irq 8 (rtc0)", false));
    assert_eq!(repair(&host, &access).unwrap().unwrap().changed.len(), 2);
    assert_eq!(text(&host, "proc/irq/8/smp_affinity"), "2");
    assert_eq!(repair(&host, &access).unwrap().unwrap().changed.len(), 0);
    access.write("sys/devices/virtual/workqueue/cpumask", "1").unwrap();
    let reset = reset(&host, &access).unwrap();
    let left = &reset.undone.left[..];
    assert!(
        matches!(left, [l] if l.label == "unbound workqueues"
            && matches!(&l.reason, LeftReason::ChangedMeanwhile { found: Value::Cpus(c), .. } if c.to_string() == "0")),
        "{left:?}"
    );
    // What the other one set last is what the host would have without us.
    assert_eq!(text(&host, "proc/irq/8/smp_affinity"), "e");
    assert_eq!(affinity(&fake, 77), "0-3");
    assert!(repair(&host, &access).unwrap().is_none());
}

#[test]
fn who_inherited_our_affinity_gets_the_ancestors_back() {
    let fake = machine();
    set(&fake.host(), &access(&fake), &wanted("2-3")).unwrap();
    let fake = fake
        .with_task(100, 40, "child", "0-1", 0)
        .with_task(101, 100, "grandchild", "0-1", 0)
        .with_task(102, 41, "of-chosen", "0-1", 0)
        .with_task(103, 40, "own-choice", "0", 0);
    let reset = reset(&fake.host(), &access(&fake)).unwrap();
    assert_eq!(reset.heirs, 2);
    let all = [100, 101, 102, 103].map(|tid| affinity(&fake, tid));
    assert_eq!(all, ["0-3", "0-3", "0-1", "0"]);
}

#[test]
fn who_inherited_follows_a_shield_of_other_cpus_and_gets_the_ancestors_back() {
    for (first, second, inherited, follows) in
        [("3", "2-3", "0-2", "0-1"), ("2-3", "3", "0-1", "0-2")]
    {
        let fake = machine();
        set(&fake.host(), &access(&fake), &wanted(first)).unwrap();
        let fake = fake.with_task(100, 40, "child", inherited, 0).with_task(
            101,
            100,
            "grandchild",
            inherited,
            0,
        );
        set(&fake.host(), &access(&fake), &wanted(second)).unwrap();
        assert_eq!([100, 101].map(|tid| affinity(&fake, tid)), [follows, follows]);
        reset(&fake.host(), &access(&fake)).unwrap();
        assert_eq!([100, 101].map(|tid| affinity(&fake, tid)), ["0-3", "0-3"]);
    }
}

#[test]
fn a_partition_that_does_not_come_true_is_taken_back_and_affinities_are_used() {
    let word = "sys/fs/cgroup/irqpath.shield/cpuset.cpus.partition";
    let fake = with_cgroups();
    let before = fake.read_all();
    let mut access = access(&fake);
    access
        .becomes
        .insert(word.into(), "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n".into());
    let done = set(&fake.host(), &access, &wanted("2-3")).unwrap();
    assert_eq!(done.mechanism, Mechanism::Affinity);
    let why = done.obstacles.iter().find(|o| o.kind == ObstacleKind::NoPartition).unwrap();
    assert!(why.reason.contains("not exclusive"), "{}", why.reason);
    assert!(!fake.host().path("sys/fs/cgroup/irqpath.shield").exists());
    let writes = access.written.borrow().len();
    assert_eq!(repair(&fake.host(), &access).unwrap().unwrap().changed, []);
    assert_eq!(access.written.borrow().len(), writes, "a repair does not try again");
    reset(&fake.host(), &access).unwrap();
    assert_eq!(fake.read_all(), before);
    let asked = Wanted { mechanism: Mechanism::Partition, ..wanted("2-3") };
    let error = set(&fake.host(), &access, &asked).unwrap_err().to_string();
    assert!(
        error.contains("not exclusive") && error.ends_with("use --mechanism affinity"),
        "{error}"
    );
    assert_eq!(fake.read_all(), before);
}

#[test]
fn programs_inside_go_back_to_where_they_came_from() {
    let fake = with_cgroups()
        .with_task(120, 40, "program", "0-3", 0)
        .with_file("proc/120/cgroup", "0::/system.slice\n")
        .with_file("sys/fs/cgroup/system.slice/cgroup.procs", "120\n");
    let (host, access) = (fake.host(), access(&fake));
    let procs = |cgroup: &str| format!("sys/fs/cgroup/{cgroup}cgroup.procs");
    set(&host, &access, &wanted("2-3")).unwrap();
    enter(&host, &access, 120, None).unwrap();
    let inside = procs("irqpath.shield/run/");
    assert_eq!(
        (text(&host, &inside), text(&host, &procs("system.slice/"))),
        ("120".into(), String::new())
    );
    // A child, of which the journal knows nothing.
    let fake = fake
        .with_task(121, 120, "child", "2-3", 0)
        .with_file("proc/121/cgroup", "0::/irqpath.shield/run\n")
        .with_file(&inside, "120\n121\n");
    reset(&host, &access).unwrap();
    assert!(!host.path("sys/fs/cgroup/irqpath.shield").exists());
    // The child goes where its parent came from.
    for pid in [120, 121] {
        assert_eq!(text(&host, &format!("proc/{pid}/cgroup")), "0::/system.slice");
    }
    assert_eq!(text(&host, &procs("system.slice/")), "120\n121");
    assert_eq!(fake.read_all().keys().filter(|path| path.ends_with("run")).count(), 0);
}

#[test]
fn a_program_enters_the_shield_and_leaves_with_it() {
    for (fake, inside) in [(machine(), "0::/"), (with_cgroups(), "0::/irqpath.shield/run")] {
        let fake = fake.with_task(120, 40, "program", "0-3", 0);
        let (host, access) = (fake.host(), access(&fake));
        let cpus = |text: &str| text.parse::<CpuList>().unwrap();
        let refused = |text| enter(&host, &access, 120, Some(&cpus(text))).unwrap_err().to_string();
        assert!(refused("3").starts_with("no shield is set"));
        set(&host, &access, &wanted("2-3")).unwrap();
        assert!(refused("1,3").starts_with("CPU 1 is not shielded (shielded: 2-3)"));
        assert_eq!(enter(&host, &access, 120, None).unwrap(), cpus("2-3"));
        enter(&host, &access, 120, Some(&cpus("3"))).unwrap();
        assert_eq!(
            (affinity(&fake, 120), text(&host, "proc/120/cgroup")),
            ("3".into(), inside.into())
        );
        assert_eq!(status(&host, &access).unwrap().drift, []);
        let reset = reset(&host, &access).unwrap();
        // It asked for CPU 3; that is not ours to change.
        let after = (affinity(&fake, 120), text(&host, "proc/120/cgroup"));
        assert_eq!(after, ("3".into(), "0::/".into()));
        assert_eq!(reset.undone.left.len(), 1, "its affinity: {:?}", reset.undone.left);
    }
}

#[test]
fn a_task_that_dies_while_it_is_moved_is_no_error() {
    const ESRCH: i32 = 3;
    let fake = machine();
    let access = FakeAccess::new(&fake).with_refusal("affinity/40", ESRCH);
    let done = set(&fake.host(), &access, &wanted("2-3")).unwrap();
    assert!(done.obstacles.iter().all(|o| o.label != "task 40 (server)"), "{:?}", done.obstacles);
    std::fs::remove_dir_all(fake.host().path("proc/40")).unwrap();
    let reset = reset(&fake.host(), &access).unwrap();
    assert_eq!((reset.undone.gone, reset.undone.left), (1, vec![]));
}

#[test]
fn two_at_once_end_as_one() {
    let fake = machine();
    let before = fake.read_all();
    let host = fake.host();
    std::thread::scope(|scope| {
        for cpus in ["2-3", "3", "2-3", "3"] {
            let (host, fake) = (&host, &fake);
            scope.spawn(move || set(host, &FakeAccess::new(fake), &wanted(cpus)).unwrap());
        }
    });
    assert_eq!(status(&host, &FakeAccess::new(&fake)).unwrap().drift, []);
    reset(&host, &FakeAccess::new(&fake)).unwrap();
    assert_eq!(fake.read_all(), before);
}

#[test]
fn a_partition_that_broke_is_drift() {
    let fake = with_cgroups();
    let access = access(&fake);
    set(&fake.host(), &access, &wanted("2-3")).unwrap();
    let word = "sys/fs/cgroup/irqpath.shield/cpuset.cpus.partition";
    access.write(word, "isolated invalid (Parent is not a partition root)\n").unwrap();
    let drift = status(&fake.host(), &access).unwrap().drift;
    assert!(matches!(&drift[..], [d] if d.label == "partition of CPU 2-3"), "{drift:?}");
    repair(&fake.host(), &access).unwrap();
    assert_eq!(text(&fake.host(), word), "isolated");
    access.write(word, "isolated invalid (no CPU online)\n").unwrap();
    let reset = reset(&fake.host(), &access).unwrap();
    assert_eq!(reset.undone.left, [], "the partition goes with its directory");
    assert!(!fake.host().path("sys/fs/cgroup/irqpath.shield").exists());
}

/// An irqbalance between two scans: it hears, and says what it knew before.
fn lagging_irqbalance(host: &Host) -> mpsc::Receiver<String> {
    let socket = UnixListener::bind(host.path("run/irqbalance/irqbalance50.sock")).unwrap();
    let (heard, told) = mpsc::channel();
    std::thread::spawn(move || {
        for peer in socket.incoming() {
            let (mut peer, mut buffer) = (peer.unwrap(), [0; 256]);
            let n = peer.read(&mut buffer).unwrap();
            match String::from_utf8_lossy(&buffer[..n]).strip_prefix("settings cpus ") {
                // The test may be over.
                Some(list) => drop(heard.send(list.to_owned())),
                None => peer.write_all(b"SLEEP 10 BANNED 0").unwrap(),
            }
        }
    });
    told
}

#[test]
fn an_irqbalance_that_lags_is_no_drift_and_gets_its_own_mask_again() {
    let fake = machine().with_irqbalance(50).with_file("run/irqbalance/keep", "");
    let (host, access) = (fake.host(), access(&fake));
    let told = lagging_irqbalance(&host);
    set(&host, &access, &wanted("2-3")).unwrap();
    assert_eq!(told.try_iter().collect::<Vec<_>>(), ["2-3"]);
    assert_eq!(status(&host, &access).unwrap().drift, []);
    reset(&host, &access).unwrap();
    assert_eq!(told.try_iter().collect::<Vec<_>>(), ["NULL"], "ours would come into force later");
}

#[test]
fn a_refusal_names_the_switch_that_leaves_it_out() {
    let fake = machine().with_file("sys/devices/system/cpu/nohz_full", "3\n");
    let access = access(&fake).with_refusal("proc/sys/kernel/timer_migration", 1);
    set(&fake.host(), &access, &wanted("2-3")).unwrap();
    let obstacles = status(&fake.host(), &access).unwrap().obstacles;
    let refused = obstacles.iter().filter(|o| o.kind == ObstacleKind::Refused);
    let refused: Vec<_> = refused.map(|o| (o.label.as_str(), o.switch)).collect();
    let timers = "timers that leave CPUs without a tick";
    let want = [(timers, Switch::Timers), ("irq 10 (eth0-3)", Switch::Irqs)];
    assert!(want.iter().all(|one| refused.contains(one)), "{refused:?}");
}

#[test]
fn a_number_that_another_task_has_taken_is_no_heir() {
    let fake = machine();
    set(&fake.host(), &access(&fake), &wanted("2-3")).unwrap();
    let fake = fake.with_task(100, 40, "heir", "0-1", 0);
    let mut access = access(&fake);
    // Between the look at the tasks and the change, the heir ends and its number is given away.
    let stat = fake.host().path("proc/100/stat");
    let later = std::fs::read_to_string(&stat).unwrap().replace(" 1 0 100 ", " 1 0 777 ");
    access.at_step =
        Some(("before an heir", Box::new(move || std::fs::write(&stat, &later).unwrap())));
    assert_eq!(reset(&fake.host(), &access).unwrap().heirs, 0);
    assert_eq!(affinity(&fake, 100), "0-1", "the other task's");
}

#[test]
fn a_stranger_named_irqbalance_moves_no_interrupt_that_was_pinned_by_hand() {
    let pinned = |fake: &Fake| {
        set(&fake.host(), &access(fake), &wanted("2-3")).unwrap();
        text(&fake.host(), "proc/irq/9/smp_affinity")
    };
    assert_eq!(pinned(&machine().with_task(50, 1, "irqbalance", "0-3", 0)), "8");
    assert_eq!(
        pinned(&machine().with_irqbalance(50)),
        "3",
        "it could have been put there by irqbalance"
    );
}
