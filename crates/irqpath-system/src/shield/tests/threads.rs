// SPDX-License-Identifier: GPL-2.0-or-later
//! Single threads that get CPUs for themselves: moved, refused, killed, ended and taken back.

use super::*;

pub(super) const ROOT: &str = "sys/fs/cgroup";
const SLICE: &str = "sys/fs/cgroup/system.slice";
pub(super) const UNIT: &str = "sys/fs/cgroup/system.slice/motor.service";
pub(super) const CPU3: &str = "sys/fs/cgroup/system.slice/motor.service/irqpath.cpu3";

/// A thread beside another one of its process, in this cgroup.
fn with_member(fake: Fake, tgid: u32, tid: u32, comm: &str, cgroup: &str) -> Fake {
    let stat = text(&fake.host(), &format!("proc/{tgid}/stat"));
    let (before, after) = (stat.find('(').unwrap(), stat.rfind(')').unwrap());
    let stat = format!("{}({comm}{}\n", &stat[..before], &stat[after..]);
    fake.with_thread(tgid, tid, "0-3")
        .with_file(&format!("proc/{tid}/stat"), &stat)
        .with_file(&format!("proc/{tgid}/task/{tid}/stat"), &stat)
        .with_file(&format!("proc/{tid}/cgroup"), &format!("0::/{cgroup}\n"))
}

fn with_cgroup(fake: Fake, path: &str, procs: &str, threads: &str) -> Fake {
    fake.with_file(&format!("{ROOT}/{path}/cgroup.procs"), procs)
        .with_file(&format!("{ROOT}/{path}/cgroup.threads"), threads)
        .with_file(&format!("{ROOT}/{path}/cgroup.type"), "domain\n")
        .with_file(&format!("{ROOT}/{path}/cgroup.subtree_control"), "")
}

/// motor.service has a process of three threads; arm.service has one of one.
pub(super) fn with_threads() -> Fake {
    let motor = "system.slice/motor.service";
    let fake = with_cgroup(with_cgroups(), motor, "60\n", "60\n61\n62\n");
    let fake = with_cgroup(fake, "system.slice/arm.service", "70\n", "70\n")
        .with_file(&format!("{SLICE}/cgroup.subtree_control"), "")
        .with_file(&format!("{SLICE}/cgroup.type"), "domain\n")
        .with_task(60, 1, "motor", "0-3", 0)
        .with_file("proc/60/cgroup", &format!("0::/{motor}\n"))
        .with_task(70, 1, "arm", "0-3", 0)
        .with_file("proc/70/cgroup", "0::/system.slice/arm.service\n");
    let fake = with_member(fake, 60, 61, "axis", motor);
    with_member(fake, 60, 62, "axis", motor)
}

fn attach_chosen(
    host: &Host,
    access: &dyn Access,
    chosen: Chosen<'_>,
    cpus: &str,
) -> Result<Set, ShieldError> {
    attach(host, access, &|| plan_attach_threads(host, chosen, &wanted(cpus)), &|| false)
}

fn attach_tids(
    host: &Host,
    access: &dyn Access,
    tids: &[u32],
    cpus: &str,
) -> Result<Set, ShieldError> {
    attach_chosen(host, access, Chosen::Tids(tids), cpus)
}

fn refusal(fake: &Fake, chosen: Chosen<'_>, cpus: &str) -> String {
    let before = fake.read_all();
    let access = FakeAccess::new(fake);
    let error = attach_chosen(&fake.host(), &access, chosen, cpus).unwrap_err();
    assert_eq!(fake.read_all(), before);
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn a_thread_alone_gets_its_cpu_below_the_cgroup_of_its_process() {
    let fake = with_threads();
    let before = fake.read_all();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    let done = attach_tids(&host, &access, &[61], "3").unwrap();
    assert_eq!(done.mechanism, Mechanism::Partition);
    let label = "cgroup /system.slice/motor.service/irqpath.cpu3 with task 61 (axis)";
    assert_eq!(done.placed[0].label, label);
    assert_eq!(text(&host, &format!("{CPU3}/cgroup.threads")), "61");
    assert_eq!(text(&host, &format!("{CPU3}/cpuset.cpus.partition")), "isolated");
    for directory in [SLICE, UNIT, CPU3] {
        assert_eq!(text(&host, &format!("{directory}/cpuset.cpus.exclusive")), "3");
    }
    assert_eq!(text(&host, &format!("{UNIT}/cgroup.procs")), "60", "it stays where it is");
    assert_eq!(text(&host, &format!("{UNIT}/cgroup.type")), "domain threaded");
    // The kernel moves the thread; the others are moved away.
    assert_eq!([60, 61, 62, 40].map(|tid| affinity(&fake, tid)), ["0-2", "0-3", "0-2", "0-2"]);
    let now = status(&host, &access).unwrap();
    assert_eq!((now.drift, now.placed, now.notes), (vec![], done.placed, vec![]));
    assert_eq!(attach_tids(&host, &access, &[61], "3").unwrap().changed, []);
    assert_eq!(reset(&host, &access).unwrap().undone.left, []);
    assert_eq!(fake.read_all(), before);
}

#[test]
fn the_main_thread_of_a_process_goes_without_the_others() {
    let fake = with_threads();
    let before = fake.read_all();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    attach_tids(&host, &access, &[60], "3").unwrap();
    assert_eq!([60, 61].map(|tid| affinity(&fake, tid)), ["0-3", "0-2"]);
    assert_eq!(status(&host, &access).unwrap().drift, []);
    reset(&host, &access).unwrap();
    assert_eq!(fake.read_all(), before);
}

#[test]
fn threads_of_one_process_get_different_cpus_and_change_them() {
    let fake = with_threads();
    let before = fake.read_all();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    attach_tids(&host, &access, &[61], "2-3").unwrap();
    let taken = refusal(&fake, Chosen::Tids(&[62]), "3");
    assert!(taken.contains("motor.service/irqpath.cpu2 has one of CPU 3 already"), "{taken}");
    // The same thread may give one up, and another get it.
    attach_tids(&host, &access, &[61], "3").unwrap();
    assert!(!host.path(format!("{UNIT}/irqpath.cpu2")).exists());
    attach_tids(&host, &access, &[62], "2").unwrap();
    assert_eq!(text(&host, &format!("{CPU3}/cgroup.threads")), "61");
    assert_eq!(text(&host, &format!("{UNIT}/irqpath.cpu2/cgroup.threads")), "62");
    assert_eq!(text(&host, &format!("{UNIT}/cpuset.cpus.exclusive")), "2-3");
    assert_eq!(status(&host, &access).unwrap().drift, []);
    // What is above a thread's cgroup cannot be attached as a whole.
    let whole = plan_attach(&host, "motor", &wanted("1")).unwrap_err().to_string();
    assert!(whole.contains("irqpath.cpu2 is attached already; use irqpath shield reset first"));
    // A set replaces them all.
    set(&host, &access, &wanted("3")).unwrap();
    assert!(!host.path(CPU3).exists());
    assert_eq!(text(&host, &format!("{UNIT}/cgroup.type")), "domain");
    reset(&host, &access).unwrap();
    assert_eq!(fake.read_all(), before);
}

#[test]
fn a_thread_that_changes_its_cpus_gives_the_old_ones_back_to_the_shield() {
    let fake = with_threads();
    let before = fake.read_all();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    set(&host, &access, &wanted("2-3")).unwrap();
    attach_tids(&host, &access, &[61], "3").unwrap();
    attach_tids(&host, &access, &[61], "2").unwrap();
    assert_eq!(status(&host, &access).unwrap().wanted.unwrap().cpus, "2-3".parse().unwrap());
    assert_eq!(text(&host, &format!("{ROOT}/irqpath.shield/cpuset.cpus")), "3");
    reset(&host, &access).unwrap();
    assert_eq!(fake.read_all(), before);
}

#[test]
fn threads_by_name_are_met_again_when_the_unit_restarts() {
    let fake = with_threads();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    let names = ["axis".to_owned()];
    let chosen = Chosen::Names { cgroup: "motor", names: &names };
    attach_chosen(&host, &access, chosen, "3").unwrap();
    assert_eq!(text(&host, &format!("{CPU3}/cgroup.threads")), "61\n62");
    std::fs::remove_dir_all(host.path(UNIT)).unwrap();
    for tid in [60, 61, 62] {
        std::fs::remove_dir_all(host.path(format!("proc/{tid}"))).unwrap();
    }
    let note = "no thread of /system.slice/motor.service is named axis now";
    assert!(status(&host, &access).unwrap().notes.contains(&note.to_owned()));
    repair(&host, &access).unwrap().unwrap();
    assert!(!host.path(format!("{SLICE}/cpuset.cpus.exclusive")).exists());
    let motor = "system.slice/motor.service";
    let fake = with_cgroup(fake, motor, "80\n", "80\n81\n")
        .with_task(80, 1, "motor", "0-2", 0)
        .with_file("proc/80/cgroup", &format!("0::/{motor}\n"));
    let fake = with_member(fake, 80, 81, "axis", motor);
    repair(&host, &access).unwrap().unwrap();
    assert_eq!(text(&host, &format!("{CPU3}/cgroup.threads")), "81");
    assert_eq!(reset(&host, &access).unwrap().undone.left, []);
    assert!(!fake.host().path(CPU3).exists());
}

#[test]
fn a_thread_that_began_inside_goes_home_and_one_that_ended_leaves_nothing() {
    let fake = with_threads();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    attach_tids(&host, &access, &[61], "3").unwrap();
    let cgroup = "system.slice/motor.service/irqpath.cpu3";
    let fake = with_member(fake, 60, 63, "born", cgroup)
        .with_file(&format!("{CPU3}/cgroup.threads"), "63\n");
    for path in ["proc/61", "proc/60/task/61"] {
        std::fs::remove_dir_all(host.path(path)).unwrap();
    }
    let now = status(&host, &access).unwrap();
    let drifted: Vec<String> = now.drift.iter().map(|drift| drift.label.clone()).collect();
    assert!(!drifted.iter().any(|label| label.contains("born")), "{drifted:?}");
    assert!(now.notes.iter().any(|note| note.starts_with("thread 61 has ended, or its proc")));
    assert_eq!(reset(&host, &access).unwrap().undone.left, []);
    assert!(text(&host, &format!("{UNIT}/cgroup.threads")).lines().any(|tid| tid == "63"));
    assert_eq!(text(&host, "proc/63/cgroup"), "0::/system.slice/motor.service");
    assert!(!host.path(CPU3).exists());
    assert_eq!(text(&host, &format!("{UNIT}/cgroup.type")), "domain");
    drop(fake);
}

#[test]
fn a_thread_that_ends_during_a_repair_leaves_nothing_behind() {
    let fake = with_threads();
    let (host, mut access) = (fake.host(), FakeAccess::new(&fake));
    attach_tids(&host, &access, &[61], "3").unwrap();
    // Something to repair, so that there are steps to end at.
    let fake = fake.with_file("proc/irq/8/smp_affinity", "f\n");
    let own = fake.host();
    let ends = move || {
        for path in ["proc/61", "proc/60/task/61"] {
            let _ = std::fs::remove_dir_all(own.path(path));
        }
        std::fs::write(own.path(format!("{CPU3}/cgroup.threads")), "").unwrap();
    };
    access.at_step = Some(("before a write", Box::new(ends)));
    repair(&host, &access).unwrap().unwrap();
    assert!(!host.path("proc/61").exists());
    let access = FakeAccess::new(&fake);
    repair(&host, &access).unwrap().unwrap();
    assert!(!host.path(CPU3).exists());
    assert_eq!(text(&host, &format!("{UNIT}/cgroup.type")), "domain");
    assert_eq!(status(&host, &access).unwrap().drift, []);
    assert_eq!(reset(&host, &access).unwrap().undone.left, []);
    assert_eq!(text(&host, &format!("{ROOT}/cgroup.subtree_control")), "cpu");
}

#[test]
fn a_cgroup_that_is_gone_needs_no_undo() {
    let fake = with_threads();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    attach_tids(&host, &access, &[61], "3").unwrap();
    std::fs::remove_dir_all(host.path(UNIT)).unwrap();
    for tid in [60, 61, 62] {
        std::fs::remove_dir_all(host.path(format!("proc/{tid}"))).unwrap();
    }
    let done = reset(&host, &access).unwrap();
    assert_eq!((done.undone.left, done.was_set), (vec![], true));
    assert_eq!(text(&host, &format!("{ROOT}/cgroup.subtree_control")), "cpu");
    assert!(!host.path(format!("{SLICE}/cpuset.cpus.exclusive")).exists());
}

#[test]
fn what_cannot_work_is_refused_with_another_way() {
    let tids: &[u32] = &[61];
    let fake = with_threads();
    let says = |fake: &Fake, tids: &[u32], words: &str| {
        let text = refusal(fake, Chosen::Tids(tids), "3");
        assert!(text.contains(words), "{text}");
        assert!(text.contains("irqpath shield set --tid") || words.contains("no thread"), "{text}");
    };
    says(&fake, &[999], "there is no thread 999");
    says(&fake, &[5], "thread 5 is the kernel's");
    says(&fake, &[40], "the process of thread 40 is in no cgroup of its own");
    says(
        &fake,
        &[61, 70],
        "the threads are in /system.slice/motor.service and /system.slice/arm.s",
    );
    let old = with_threads().with_file("proc/sys/kernel/osrelease", "6.10.14\n");
    says(&old, tids, "it needs Linux 6.11;");
    let v1 = with_threads().with_file("proc/self/mounts", "proc /proc proc rw 0 0\n");
    says(&v1, tids, "cgroup2 is not mounted");
    let without = with_threads().with_file(&format!("{ROOT}/cgroup.controllers"), "cpu io\n");
    says(&without, tids, "no cpuset controller");
    let parent = with_threads().with_file(&format!("{UNIT}/worker/cgroup.type"), "domain\n");
    says(&parent, tids, "has a cgroup for processes below it: worker");
    let domains =
        with_threads().with_file(&format!("{UNIT}/cgroup.subtree_control"), "cpu memory\n");
    says(&domains, tids, "hands the controller memory on");
    let threaded = with_threads().with_file(&format!("{UNIT}/cgroup.type"), "threaded\n");
    says(&threaded, tids, "is a threaded cgroup of somebody else");
    let taken = with_threads().with_file(&format!("{UNIT}/cpuset.cpus.partition"), "isolated\n");
    says(&taken, tids, "already is a partition of CPU");
    let theirs = with_threads().with_file(&format!("{CPU3}/cgroup.type"), "threaded\n");
    says(&theirs, tids, "irqpath.cpu3 is there, and irqpath did not make it");
    let names = ["none".to_owned()];
    let none = refusal(&fake, Chosen::Names { cgroup: "motor", names: &names }, "3");
    assert!(none.contains("/system.slice/motor.service has no such thread"), "{none}");
    let names = ["a name that is too long".to_owned()];
    let long = refusal(&fake, Chosen::Names { cgroup: "motor", names: &names }, "3");
    assert!(long.contains("is no name of a thread"), "{long}");
}

#[test]
fn a_partition_or_a_move_that_the_kernel_refuses_leaves_nothing_behind() {
    let fake = with_threads();
    let before = fake.read_all();
    for file in ["cgroup.type", "cpuset.cpus.exclusive", "cpuset.cpus.partition", "cgroup.threads"]
    {
        let refusing = FakeAccess::new(&fake).with_refusal(&format!("{CPU3}/{file}"), 22);
        let error = attach_tids(&fake.host(), &refusing, &[61], "3").unwrap_err().to_string();
        assert!(error.contains("Invalid argument"), "{error}");
        assert_eq!(fake.read_all(), before, "{file}");
    }
}

#[test]
fn an_invalid_partition_and_a_controller_that_went_are_drift_that_a_repair_mends() {
    let fake = with_threads();
    let before = fake.read_all();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    attach_tids(&host, &access, &[61], "3").unwrap();
    let controller = format!("{UNIT}/cgroup.subtree_control");
    access.write(&controller, "-cpuset").unwrap();
    let labels = |host: &Host| -> Vec<String> {
        status(host, &access).unwrap().drift.into_iter().map(|drift| drift.label).collect()
    };
    assert_eq!(
        labels(&host),
        ["cpuset controller below /sys/fs/cgroup/system.slice/motor.service"]
    );
    repair(&host, &access).unwrap().unwrap();
    access.write("sys/fs/cgroup/system.slice/motor.service/cgroup.threads", "61").unwrap();
    assert_eq!(labels(&host), ["cgroup of task 61 (axis)"]);
    repair(&host, &access).unwrap().unwrap();
    assert_eq!(text(&host, &format!("{CPU3}/cgroup.threads")), "61");
    assert_eq!(text(&host, &format!("{CPU3}/cpuset.cpus.partition")), "isolated");
    reset(&host, &access).unwrap();
    assert_eq!(fake.read_all(), before);
}

#[test]
fn affinities_for_one_thread_name_the_way_that_keeps_a_partition() {
    let fake = with_threads();
    let asked = Wanted { tasks: vec![find_thread(&fake.host(), 61).unwrap()], ..wanted("3") };
    let done = dry_run(&fake.host(), &FakeAccess::new(&fake), &asked).unwrap();
    let fix =
        |done: Set| done.obstacles.into_iter().find_map(|o| o.fix.filter(|f| f.contains(' ')));
    let want = "irqpath shield attach --tid 61 --cpus 3 keeps a partition".to_owned();
    assert_eq!(fix(done), Some(want));
    let old = fake.with_file("proc/sys/kernel/osrelease", "6.10.14\n");
    assert_eq!(fix(dry_run(&old.host(), &FakeAccess::new(&old), &asked).unwrap()), None);
}

#[test]
fn killed_between_any_two_steps_it_is_undone_exactly() {
    let deaths = die_and_reset(with_threads, FakeAccess::new, |host, dying| {
        set(host, dying, &wanted("2")).unwrap();
        attach_tids(host, dying, &[61, 62], "3").unwrap();
        attach_tids(host, dying, &[62], "2").unwrap();
        reset(host, dying).unwrap();
    });
    assert!(deaths > 100, "{deaths}");
}
