// SPDX-License-Identifier: GPL-2.0-or-later
//! Interrupts and tasks that were named go onto the shielded CPUs, and back.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};

use irqpath_model::shield::{ObstacleKind, PlacedTask};

use super::*;

const UNIT: &str = "sys/fs/cgroup/system.slice/motor.service/cgroup.procs";

/// A unit of two processes, and a program outside.
fn with_unit(fake: Fake) -> Fake {
    let cgroup = "0::/system.slice/motor.service\n";
    fake.with_task(60, 1, "motor", "0-3", 0)
        .with_task(61, 60, "helper", "0-3", 0)
        .with_file("proc/60/cgroup", cgroup)
        .with_file("proc/61/cgroup", cgroup)
        .with_file(UNIT, "60\n61\n")
        .with_file("sys/fs/cgroup/cgroup.procs", "40\n")
        .with_file("proc/softirqs", "  CPU0 CPU1 CPU2 CPU3\n")
}

fn name(wanted: Wanted, irqs: &[&str], tasks: &[PlacedTask]) -> Wanted {
    let cpus = wanted.cpus.clone();
    let irqs = irqs.iter().map(|irq| ((*irq).to_owned(), cpus.clone())).collect();
    Wanted { irqs, tasks: tasks.to_vec(), ..wanted }
}

fn motor() -> PlacedTask {
    PlacedTask::Unit("motor.service".to_owned())
}

fn list(all: &[irqpath_model::shield::Kept]) -> Vec<String> {
    all.iter().map(|one| format!("{} on {}", one.label, one.cpus)).collect()
}

#[test]
fn named_interrupts_and_tasks_are_placed_and_put_back() {
    for (make, mechanism) in [
        (machine as fn() -> Fake, Mechanism::Affinity),
        (with_cgroups, Mechanism::Partition),
        (with_kernel_shield, Mechanism::Kernel),
    ] {
        let fake = with_unit(make());
        let before = fake.read_all();
        let (host, access) = (fake.host(), FakeAccess::new(&fake));
        let server = find_task(&host, "40").unwrap();
        let asked = name(wanted("2-3"), &["rtc", "11"], &[motor(), server]);
        let done = set(&host, &access, &asked).unwrap();
        assert_eq!(done.mechanism, mechanism);
        assert_eq!(
            list(&done.placed),
            [
                "irq 8 (rtc0) on 2-3",
                "irq 11 (disk) on 2-3",
                "task 40 (server) on 2-3",
                "task 60 (motor) on 2-3",
                "task 61 (helper) on 2-3"
            ]
        );
        assert_eq!(text(&host, "proc/irq/8/smp_affinity"), "c");
        assert_eq!([40, 60, 61].map(|tid| affinity(&fake, tid)), ["2-3", "2-3", "2-3"]);
        if mechanism == Mechanism::Partition {
            let inside = text(&host, "sys/fs/cgroup/irqpath.shield/run/cgroup.procs");
            assert_eq!(inside, "40\n60\n61");
        }
        let status = status(&host, &access).unwrap();
        assert_eq!((status.drift, list(&status.placed)), (vec![], list(&done.placed)));
        assert_eq!(set(&host, &access, &asked).unwrap().changed, []);
        assert_eq!(reset(&host, &access).unwrap().undone.left, []);
        assert_eq!(fake.read_all(), before);
    }
}

#[test]
fn what_is_not_named_any_more_goes_back_and_off_the_cpus() {
    for make in [machine as fn() -> Fake, with_cgroups] {
        let fake = with_unit(make());
        let before = fake.read_all();
        let (host, access) = (fake.host(), FakeAccess::new(&fake));
        set(&host, &access, &name(wanted("2-3"), &["rtc", "11"], &[motor()])).unwrap();
        set(&host, &access, &name(wanted("2-3"), &["rtc"], &[])).unwrap();
        assert_eq!([60, 61].map(|tid| affinity(&fake, tid)), ["0-1", "0-1"]);
        assert_eq!(text(&host, UNIT).lines().count(), 2);
        assert_eq!(text(&host, "proc/irq/8/smp_affinity"), "c");
        assert_eq!(text(&host, "proc/irq/11/smp_affinity"), "1");
        reset(&host, &access).unwrap();
        assert_eq!(fake.read_all(), before);
    }
}

#[test]
fn a_unit_that_starts_later_is_placed_by_a_repair() {
    for make in [machine as fn() -> Fake, with_cgroups] {
        let fake = make().with_file("proc/softirqs", "  CPU0\n");
        let (host, access) = (fake.host(), FakeAccess::new(&fake));
        let done = set(&host, &access, &name(wanted("2-3"), &[], &[motor()])).unwrap();
        assert_eq!(
            (done.placed, done.notes),
            (vec![], vec!["nothing of motor.service runs now".to_owned()])
        );
        let fake = fake
            .with_task(160, 1, "motor", "0-1", 0)
            .with_file("proc/160/cgroup", "0::/system.slice/motor.service\n")
            .with_file(UNIT, "160\n");
        let repaired = repair(&host, &access).unwrap().unwrap();
        assert_eq!(list(&repaired.placed), ["task 160 (motor) on 2-3"]);
        assert_eq!(affinity(&fake, 160), "2-3");
        reset(&host, &access).unwrap();
        assert_eq!((affinity(&fake, 160), text(&host, UNIT)), ("0-3".into(), "160".into()));
    }
}

#[test]
fn a_process_bound_by_hand_goes_into_the_partition_alone() {
    let fake = with_cgroups()
        .with_task(42, 1, "control", "3", 0)
        .with_file("sys/fs/cgroup/cgroup.procs", "42\n");
    let before = fake.read_all();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    let done = set(&host, &access, &wanted("2-3")).unwrap();
    assert_eq!(
        (done.mechanism, list(&done.kept)[1].as_str()),
        (Mechanism::Partition, "task 42 (control) on 3")
    );
    assert_eq!(text(&host, "sys/fs/cgroup/irqpath.shield/run/cgroup.procs"), "42");
    assert_eq!(affinity(&fake, 42), "3");
    // One thread of several cannot go alone.
    reset(&host, &access).unwrap();
    assert_eq!(fake.read_all(), before);
    let fake = fake.with_thread(42, 43, "0-3");
    let done = set(&host, &FakeAccess::new(&fake), &wanted("2-3")).unwrap();
    let why = done.obstacles.iter().find(|o| o.kind == ObstacleKind::NoPartition).unwrap();
    assert_eq!(why.reason, "task 42 (control) was asked onto CPU 3 alone, not all of its process");
}

#[test]
fn one_thread_is_placed_without_the_others_of_its_process() {
    let fake = with_unit(with_cgroups()).with_thread(60, 65, "0-3");
    let before = fake.read_all();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    let thread = find_thread(&host, 65).unwrap();
    let done = set(&host, &access, &name(wanted("3"), &[], std::slice::from_ref(&thread))).unwrap();
    assert_eq!(
        (done.mechanism, list(&done.placed)),
        (Mechanism::Affinity, vec!["task 65 (motor) on 3".into()])
    );
    assert_eq!([60, 65].map(|tid| affinity(&fake, tid)), ["0-2", "3"]);
    let why = done.obstacles.iter().find(|o| o.kind == ObstacleKind::NoPartition).unwrap();
    assert_eq!(why.reason, "task 65 (motor) goes alone, without the other threads of its process");
    assert_eq!(status(&host, &access).unwrap().drift, []);
    assert_eq!(reset(&host, &access).unwrap().undone.left, []);
    assert_eq!(fake.read_all(), before);
    // With all of its threads it is the process, which a partition takes in.
    let all = [thread, find_thread(&host, 60).unwrap()];
    assert_eq!(
        set(&host, &access, &name(wanted("3"), &[], &all)).unwrap().mechanism,
        Mechanism::Partition
    );
    reset(&host, &access).unwrap();
    assert_eq!(fake.read_all(), before);
    let ended = find_thread(&host, 4242).unwrap_err().to_string();
    assert!(ended.starts_with("there is no thread 4242; "), "{ended}");
}

#[test]
fn killed_between_any_two_steps_everything_named_goes_back() {
    for (make, at_least) in [(machine as fn() -> Fake, 60), (with_cgroups, 80)] {
        let make = || {
            let fake = with_unit(make()).with_task(42, 1, "control", "3", 0);
            fake.with_file("sys/fs/cgroup/cgroup.procs", "40\n42\n")
        };
        let deaths = die_and_reset(make, FakeAccess::new, |host, dying| {
            let server = find_task(host, "40").unwrap();
            let asked = name(wanted("3"), &["rtc", "disk"], std::slice::from_ref(&server));
            set(host, dying, &asked).unwrap();
            let asked = name(wanted("2-3"), &["rtc"], &[motor()]);
            set(host, dying, &asked).unwrap();
            reset(host, dying).unwrap();
        });
        assert!(deaths > at_least, "{deaths}");
    }
}

/// An irqbalance that takes interrupts up at once, and was told of 9 before.
fn talking_irqbalance(host: &Host) -> Arc<Mutex<String>> {
    let socket = UnixListener::bind(host.path("run/irqbalance/irqbalance50.sock")).unwrap();
    let lines = Arc::new(Mutex::new("9".to_owned()));
    let told = Arc::clone(&lines);
    std::thread::spawn(move || {
        for peer in socket.incoming() {
            let (mut peer, mut buffer) = (peer.unwrap(), [0; 256]);
            let n = peer.read(&mut buffer).unwrap();
            let heard = String::from_utf8_lossy(&buffer[..n]).into_owned();
            match heard.strip_prefix("settings ban irqs ") {
                Some(irqs) => *told.lock().unwrap() = irqs.replace("NONE", ""),
                None if heard == "setup" => {
                    let irqs = told.lock().unwrap().clone();
                    let irqs = irqs.split_whitespace();
                    let irqs = irqs.map(|irq| format!("IRQ {irq} LOAD 0 DIFF 0 CLASS 0 "));
                    let irqs = irqs.collect::<Vec<_>>().concat();
                    peer.write_all(format!("SLEEP 10 {irqs}BANNED 0").as_bytes()).unwrap();
                }
                None => {}
            }
        }
    });
    lines
}

#[test]
fn irqbalance_is_told_of_named_interrupts_and_those_it_left_alone_are_intent() {
    let fake = machine()
        .with_irqbalance(50)
        .with_file("proc/softirqs", "  CPU0 CPU1 CPU2 CPU3\n")
        .with_file("run/irqbalance/keep", "");
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    let lines = talking_irqbalance(&host);
    let done = set(&host, &access, &name(wanted("2-3"), &["rtc"], &[])).unwrap();
    assert_eq!(*lines.lock().unwrap(), "8 9");
    assert_eq!(list(&done.kept)[0], "irq 9 (asked) on 3", "irqbalance cannot have put it there");
    assert_eq!(text(&host, "proc/irq/9/smp_affinity"), "8");
    assert_eq!(text(&host, "proc/irq/8/smp_affinity"), "c");
    reset(&host, &access).unwrap();
    assert_eq!(*lines.lock().unwrap(), "9");
    // Of the others nobody knows who bound them.
    *lines.lock().unwrap() = String::new();
    let done = set(&host, &access, &wanted("2-3")).unwrap();
    assert_eq!(text(&host, "proc/irq/9/smp_affinity"), "3");
    assert_eq!(
        done.notes,
        ["irq 9 (asked) was on CPU 3 alone, where irqbalance may have put it; --irq 9 keeps it"]
    );
}

#[test]
fn a_program_brings_its_interrupt_along() {
    let fake = with_unit(with_cgroups()).with_task(120, 40, "program", "0-3", 0);
    let before = fake.read_all();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    let one = "3".parse().unwrap();
    let rtc = ["rtc".to_owned()];
    let no_shield = bind_irqs(&host, &access, &rtc, &one).unwrap_err();
    assert!(matches!(no_shield, ShieldError::NotSet), "{no_shield}");
    set(&host, &access, &wanted("2-3")).unwrap();
    let outside = bind_irqs(&host, &access, &rtc, &"1".parse().unwrap()).unwrap_err();
    assert!(outside.to_string().starts_with("CPU 1 is not shielded"), "{outside}");
    bind_irqs(&host, &access, &rtc, &one).unwrap();
    assert_eq!(text(&host, "proc/irq/8/smp_affinity"), "8");
    assert_eq!(status(&host, &access).unwrap().drift, []);
    reset(&host, &access).unwrap();
    assert_eq!(fake.read_all(), before);
}

#[test]
fn names_that_fit_nothing_are_refused() {
    let fake = with_unit(machine()).with_thread(60, 65, "0-3");
    let host = fake.host();
    let refused = |text: &str| find_task(&host, text).unwrap_err().to_string();
    assert!(refused("4242").starts_with("there is no process 4242; "));
    assert!(refused("../x").starts_with("'../x' is neither a process nor a unit; "));
    assert_eq!(find_task(&host, "motor").unwrap(), motor());
    let unknown = check_irqs(&host, &["eth7".to_owned()]).unwrap_err().to_string();
    assert!(unknown.contains("eth7") && unknown.lines().count() == 1, "{unknown}");
}
