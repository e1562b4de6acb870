// SPDX-License-Identifier: GPL-2.0-or-later
//! What is planned, and what is refused before anything is changed.

use irqpath_model::change::{Target, Value};
use irqpath_model::shield::{ChangedHow, Mechanism, ObstacleKind, Wanted};

use super::*;
use crate::journal::Ledger;

fn planned(fake: &Fake, wanted: &Wanted) -> Plan {
    let snapshot = Snapshot::read(&fake.host(), &FakeAccess::new(fake)).unwrap();
    plan_shield(&snapshot, wanted, &Ledger::default())
}

fn lines(plan: &Plan) -> Vec<String> {
    let steps = plan.settings.iter().chain(&plan.tasks);
    steps.map(|step| format!("{}: {}", step.label, step.new)).collect()
}

#[test]
fn each_switch_changes_its_own() {
    let fake = machine();
    let table: [(Switch, &[&str]); 7] = [
        // Those of latency.rs have their own.
        (Switch::Tasks, &["task 1 (init): CPU 0-1", "task 40 (server): CPU 0-1"]),
        (
            Switch::Irqs,
            &[
                "new interrupts: CPU 0-1",
                "packets of eth0 rx-0 (rps_cpus): CPU 0-1",
                "irq 8 (rtc0): CPU 0-1",
                "irq 10 (eth0-3): CPU 0-1",
            ],
        ),
        (Switch::Ticks, &[]),
        (Switch::Kthreads, &["task 2 (kthreadd): CPU 0-1", "task 6 (rcuop/1): CPU 0-1"]),
        (Switch::Workqueues, &["unbound workqueues: CPU 0-1", "workqueue writeback: CPU 0-1"]),
        (Switch::Rcu, &["task 6 (rcuop/1): CPU 0-1"]),
        (Switch::Timers, &["watchdogs: CPU 0-1"]),
    ];
    for (switch, want) in table {
        assert_eq!(lines(&planned(&fake, &only("2-3", &[switch]))), want, "{switch:?}");
    }
}

#[test]
fn timers_of_cpus_without_a_tick_stay_there() {
    let fake = machine().with_file("sys/devices/system/cpu/nohz_full", "3\n");
    let timers = |cpus| lines(&planned(&fake, &only(cpus, &[Switch::Timers])));
    let stays = "timers that leave CPUs without a tick: 0".to_owned();
    assert_eq!(timers("2-3"), ["watchdogs: CPU 0-1".to_owned(), stays]);
    assert_eq!(timers("2"), ["watchdogs: CPU 0-1,3"]);
}

#[test]
fn what_was_asked_onto_the_shielded_cpus_alone_stays() {
    let fake = machine().with_task(42, 1, "control", "3", 0);
    let kept = planned(&fake, &wanted("2-3")).kept;
    let kept: Vec<_> = kept.iter().map(|k| format!("{} on {}", k.label, k.cpus)).collect();
    assert_eq!(kept, ["irq 9 (asked) on 3", "task 42 (control) on 3"]);
    // irqbalance puts an interrupt anywhere; nobody asked for that.
    let fake = machine().with_irqbalance(50);
    let plan = planned(&fake, &only("2-3", &[Switch::Irqs]));
    assert!(lines(&plan).contains(&"irq 9 (asked): CPU 0-1".to_owned()));
    let told = plan.obstacles.iter().find(|o| o.kind == ObstacleKind::Irqbalance).unwrap();
    assert!(told.fix.as_deref().unwrap().starts_with("IRQBALANCE_BANNED_CPULIST=2-3 in "));
}

#[test]
fn what_needs_a_boot_parameter_comes_with_it() {
    let boot = "boot/config-6.12.9";
    let of = |fake: &Fake, switch| {
        let obstacles = planned(fake, &only("2-3", &[switch])).obstacles;
        obstacles.iter().map(|o| (o.reason.clone(), o.fix.clone())).next()
    };
    let built = machine().with_file(boot, "CONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\n");
    assert_eq!(of(&built, Switch::Ticks).unwrap().1.unwrap(), "nohz_full=2-3");
    assert_eq!(of(&built, Switch::Rcu).unwrap().1.unwrap(), "rcu_nocbs=1-3");
    let without = machine().with_file(boot, "CONFIG_SMP=y\n");
    let (reason, fix) = of(&without, Switch::Ticks).unwrap();
    assert_eq!((reason.as_str(), fix), ("this kernel was built without CONFIG_NO_HZ_FULL", None));
    let booted = machine().with_file("sys/devices/system/cpu/nohz_full", "2-3\n");
    assert_eq!(of(&booted, Switch::Ticks), None);
}

#[test]
fn the_line_for_managed_interrupts_keeps_what_is_there() {
    let fake = machine();
    for (cmdline, want) in [
        ("quiet", "isolcpus=managed_irq,2-3"),
        ("isolcpus=1", "isolcpus=managed_irq,domain,1-3"),
        ("isolcpus=nohz,domain,1", "isolcpus=managed_irq,nohz,domain,1-3"),
        ("isolcpus=managed_irq,1,5", "isolcpus=managed_irq,1-3,5"),
    ] {
        let mut snapshot = Snapshot::read(&fake.host(), &FakeAccess::new(&fake)).unwrap();
        snapshot.cmdline = cmdline.to_owned();
        assert_eq!(boot::managed_irq(&snapshot, &"2-3".parse().unwrap()), want, "{cmdline}");
    }
}

#[test]
fn threads_of_a_cpu_are_named_and_left() {
    let plan = planned(&machine(), &only("2-3", &[Switch::Kthreads]));
    let labels: Vec<_> = plan.obstacles.iter().map(|o| o.label.as_str()).collect();
    assert_eq!(labels, ["task 3 (ksoftirqd/3)"]);
    assert_eq!(plan.obstacles[0].reason, "it belongs to CPU 3");
}

#[test]
fn a_partition_is_made_where_it_can_be() {
    let of = |fake: &Fake, wanted: &Wanted| {
        let plan = planned(fake, wanted);
        let why = plan.obstacles.into_iter().find(|o| o.kind == ObstacleKind::NoPartition);
        (plan.partition, why.map(|o| o.reason).unwrap_or_default())
    };
    assert_eq!(of(&with_cgroups(), &wanted("2-3")), (true, String::new()));
    assert_eq!(of(&with_cgroups(), &only("2-3", &[Switch::Irqs])), (false, String::new()));
    for (fake, want) in [
        (machine(), "cgroup2 is not mounted"),
        (
            with_cgroups().with_file("sys/fs/cgroup/cgroup.controllers", "io\n"),
            "cgroup2 has no cpuset controller here (version 1 may have it)",
        ),
        (
            with_cgroups().with_file("sys/fs/cgroup/cgroup.type", "domain\n"),
            "the cgroup hierarchy here is only a part of the host's",
        ),
        (
            with_cgroups().with_file("proc/sys/kernel/osrelease", "6.1.0\n"),
            "kernels before 6.2 forget the affinity of tasks when a partition is made",
        ),
        (
            with_cgroups().with_task(42, 2, "control", "3", KTHREAD),
            "task 42 (control) was asked onto CPU 3 alone, the kernel",
        ),
    ] {
        assert_eq!(of(&fake, &wanted("2-3")), (false, want.to_owned()));
    }
}

#[test]
fn a_partition_confirms_kernel_threads_that_it_would_move() {
    let plan = planned(&with_cgroups(), &only("2-3", &[Switch::Tasks]));
    let pinned: Vec<_> = plan.tasks.iter().filter(|s| s.pin).map(|s| (&s.target, &s.new)).collect();
    let tids: Vec<_> = pinned.iter().filter_map(|(t, _)| Some(t.task()?.tid)).collect();
    assert_eq!(tids, [2, 5, 6, 7]);
    // An interrupt's thread follows its interrupt, the others leave the partition.
    let new: Vec<_> = pinned.iter().map(|(_, new)| new.to_string()).collect();
    assert_eq!(new, ["CPU 0-1", "CPU 2", "CPU 0-1", "CPU 0-1"]);
}

#[test]
fn planning_for_other_cpus_starts_from_what_was_before() {
    let fake = machine();
    let access = FakeAccess::new(&fake);
    set(&fake.host(), &access, &wanted("3")).unwrap();
    assert_eq!(affinity(&fake, 40), "0-2");
    set(&fake.host(), &access, &wanted("1")).unwrap();
    assert_eq!(affinity(&fake, 40), "0,2-3");
    assert_eq!(affinity(&fake, 41), "0");
    assert_eq!(text(&fake.host(), "proc/irq/8/smp_affinity"), "d");
    set(&fake.host(), &access, &only("1", &[Switch::Tasks])).unwrap();
    assert_eq!(text(&fake.host(), "proc/irq/8/smp_affinity"), "f");
}

#[test]
fn nonsense_is_refused_before_anything_is_changed() {
    let table: [(Fake, &str, &str); 7] = [
        (machine(), "", "the CPU list is empty; this machine has CPUs 0-3"),
        (machine(), "7", "there is no CPU 7 here; this machine has CPUs 0-3"),
        (
            machine(),
            "0-3",
            "CPU 0-3 are all CPUs that are online; leave at least one for everything else",
        ),
        (
            machine().with_file("sys/devices/system/cpu/online", "0-2\n"),
            "3",
            "CPU 3 is offline (online: 0-2); bring it up with: echo 1 > /sys/devices/system/cpu/cpu3/online",
        ),
        (
            machine().with_file("sys/devices/system/cpu/online", "0\n"),
            "0",
            "this machine has one CPU online, 0; a shield needs a second one for everything else",
        ),
        (
            machine().with_file("proc/self/uid_map", "0 1000 1\n"),
            "3",
            "missing CAP_SYS_NICE; run with sudo outside of the container (its root is not the host's)",
        ),
        (
            machine().with_link("proc/self/ns/pid", "pid:[1]"),
            "3",
            "this is a container with process ids of its own",
        ),
    ];
    for (fake, cpus, want) in table {
        let before = fake.read_all();
        let error = set(&fake.host(), &FakeAccess::new(&fake), &wanted(cpus)).unwrap_err();
        assert!(error.to_string().starts_with(want), "{error}");
        assert_eq!(fake.read_all(), before);
        assert!(!fake.host().path("var/lib/irqpath/shield.journal").exists());
    }
}

#[test]
fn a_dry_run_changes_nothing_and_says_what_it_would() {
    let fake = with_cgroups();
    let before = fake.read_all();
    let set = dry_run(&fake.host(), &FakeAccess::new(&fake), &wanted("2-3")).unwrap();
    assert_eq!(set.mechanism, Mechanism::Partition);
    let irq = set.changed.iter().find(|c| c.label == "irq 8 (rtc0)").unwrap();
    assert_eq!(irq.before, Some(Value::Cpus("0-3".parse().unwrap())));
    assert_eq!(irq.how, ChangedHow::Planned);
    assert!(matches!(&irq.target, Target::File { path, .. } if path == "proc/irq/8/smp_affinity"));
    assert_eq!(fake.read_all(), before);
    assert!(!fake.host().path("var").exists());
}
