// SPDX-License-Identifier: GPL-2.0-or-later
//! What makes the CPU itself slow is changed on shielded CPUs alone, and put back.

use irqpath_model::shield::ObstacleKind;

use super::*;

const NEW: [Switch; 6] = [
    Switch::Idle,
    Switch::Poll,
    Switch::Governor,
    Switch::FairServer,
    Switch::Statistics,
    Switch::Ticks,
];

/// CPUs 2 and 3 have each a frequency of their own, CPUs 0 and 1 share one.
fn slow_machine() -> Fake {
    let cpu = "sys/devices/system/cpu";
    let fake = machine()
        .with_file("proc/version", "Linux version 6.12.9 #1 SMP PREEMPT_RT\n")
        .with_file("proc/sys/vm/stat_interval", "1\n")
        .with_file("sys/devices/system/cpu/nohz_full", "3\n")
        .with_task(8, 2, "ktimers/3", "3", PER_CPU)
        .with_fixed(8, 1);
    let fake = (0..4).fold(fake, |fake, nr| {
        fake.with_file(&format!("{cpu}/cpu{nr}/power/pm_qos_resume_latency_us"), "0\n")
            .with_file(&format!("{cpu}/cpu{nr}/cpuidle/state0/latency"), "0\n")
            .with_file(&format!("{cpu}/cpu{nr}/cpuidle/state1/latency"), "2\n")
            .with_file(&format!("{cpu}/cpu{nr}/cpuidle/state2/latency"), "133\n")
            .with_file(&format!("sys/kernel/debug/sched/fair_server/cpu{nr}/runtime"), "50000000\n")
    });
    [("policy0", "0 1"), ("policy2", "2"), ("policy3", "3")].into_iter().fold(fake, |fake, one| {
        let file = |name: &str| format!("{cpu}/cpufreq/{}/{name}", one.0);
        fake.with_file(&file("affected_cpus"), &format!("{}\n", one.1))
            .with_file(&file("scaling_available_governors"), "powersave performance\n")
            .with_file(&file("scaling_governor"), "powersave\n")
    })
}

fn lines(set: &Set) -> Vec<String> {
    set.changed.iter().map(|c| format!("{}: {}", c.label, c.new)).collect()
}

#[test]
fn each_switch_changes_its_own_on_shielded_cpus() {
    let fake = slow_machine();
    let table: [(Switch, &[&str]); 6] = [
        (Switch::Idle, &["latency in us that CPU 3 may have to wake up: 2"]),
        (Switch::Poll, &["latency in us that CPU 3 may have to wake up: n/a"]),
        (Switch::Governor, &["cpufreq governor of CPU 3: performance"]),
        (Switch::FairServer, &["fair server of CPU 3, ns: 0"]),
        (Switch::Statistics, &["folding of counters: 10"]),
        (Switch::Ticks, &["priority of task 8 (ktimers/3): f:98"]),
    ];
    for (switch, want) in table {
        let before = fake.read_all();
        let (host, access) = (fake.host(), FakeAccess::new(&fake));
        let asked = only("3", &[switch]);
        let planned = dry_run(&host, &access, &asked).unwrap();
        assert_eq!(lines(&planned), want, "{switch:?}");
        assert_eq!(fake.read_all(), before);
        assert_eq!(lines(&set(&host, &access, &asked).unwrap()), want, "{switch:?}");
        assert_eq!(status(&host, &access).unwrap().drift, []);
        assert_eq!(reset(&host, &access).unwrap().undone.left, []);
        assert_eq!(fake.read_all(), before, "{switch:?}");
    }
}

#[test]
fn killed_between_any_two_steps_the_cpu_is_as_it_was() {
    let deaths = die_and_reset(slow_machine, FakeAccess::new, |host, dying| {
        set(host, dying, &only("3", &NEW)).unwrap();
        set(host, dying, &only("2", &[Switch::Idle, Switch::Governor])).unwrap();
        reset(host, dying).unwrap();
    });
    assert!(deaths > 30, "{deaths}");
}

#[test]
fn what_cannot_be_had_is_named() {
    let fake = slow_machine();
    let planned = dry_run(&fake.host(), &FakeAccess::new(&fake), &only("1", &[Switch::Governor]));
    let obstacles = planned.unwrap().obstacles;
    assert_eq!(obstacles[0].reason, "CPU 0, which is not shielded, shares its frequency");
    let bare = machine();
    let asked = only("3", &[Switch::FairServer, Switch::Idle, Switch::Governor]);
    let planned = dry_run(&bare.host(), &FakeAccess::new(&bare), &asked).unwrap();
    assert_eq!((planned.changed, planned.obstacles.len()), (vec![], 1));
    assert_eq!(planned.obstacles[0].kind, ObstacleKind::Unavailable);
    assert!(planned.obstacles[0].fix.as_deref().unwrap().starts_with("mount -t debugfs"));
}

#[test]
fn a_timer_thread_is_raised_only_where_the_tick_can_stop() {
    let ticks = |fake: &Fake| {
        lines(&dry_run(&fake.host(), &FakeAccess::new(fake), &only("3", &[Switch::Ticks])).unwrap())
    };
    assert!(ticks(&slow_machine().with_file("sys/devices/system/cpu/nohz_full", "1\n")).is_empty());
    assert!(ticks(&slow_machine().with_file("proc/version", "Linux PREEMPT\n")).is_empty());
}
