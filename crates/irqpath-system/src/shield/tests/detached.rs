// SPDX-License-Identifier: GPL-2.0-or-later
//! Attached cgroups that give their CPUs back: in any order, when they have ended, beside others that
//! change the shield, and killed between any two steps. And what a container's runtime says.

use super::attached::{attach_to, with_units};
use super::threads::ROOT;
use super::*;
use crate::shield::{Container, Moment};

const POD: &str = "kubepods/pod7";

fn detached(host: &Host, access: &dyn Access, name: &str) -> Detached {
    detach(host, access, Whose::Named(name), &|| false).unwrap()
}

/// The CPUs that are shielded now.
fn shielded(host: &Host, access: &dyn Access) -> String {
    status(host, access).unwrap().wanted.map_or_else(String::new, |w| w.cpus.to_string())
}

#[test]
fn each_order_in_which_two_go_ends_where_it_began() {
    for order in [["motor", "/kubepods/pod7"], ["/kubepods/pod7", "motor.service"]] {
        for ended in [false, true] {
            let fake = with_units();
            let before = fake.read_all();
            let (host, access) = (fake.host(), FakeAccess::new(&fake));
            attach_to(&host, &access, "motor", "3").unwrap();
            attach_to(&host, &access, POD, "2").unwrap();
            if ended {
                // The pod is gone before anybody gives back what it had.
                std::fs::remove_dir_all(host.path("sys/fs/cgroup/kubepods/pod7")).unwrap();
            }
            assert!(matches!(detached(&host, &access, order[0]), Detached::Rest(_)), "{order:?}");
            let rest = if order[0] == "motor" { "2" } else { "3" };
            assert_eq!(shielded(&host, &access), rest);
            assert_eq!(status(&host, &access).unwrap().drift, []);
            let last = detached(&host, &access, order[1]);
            assert!(matches!(last, Detached::Nothing(r) if r.undone.left.is_empty()), "{order:?}");
            let mut left = before;
            left.retain(|path, _| !ended || !path.to_string_lossy().contains("pod7"));
            let now: Vec<_> = fake.read_all().into_iter().collect();
            assert_eq!(now, left.into_iter().collect::<Vec<_>>(), "{order:?} {ended}");
        }
    }
}

#[test]
fn a_shield_of_its_own_stays() {
    let fake = with_units();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    set(&host, &access, &wanted("1")).unwrap();
    let only_set = fake.read_all();
    attach_to(&host, &access, "motor", "3").unwrap();
    detached(&host, &access, "motor");
    assert_eq!(shielded(&host, &access), "1");
    assert_eq!(status(&host, &access).unwrap().drift, []);
    let is_cgroup = |path: &std::path::Path| path.to_string_lossy().contains("cgroup");
    let cgroups = |files: Vec<(std::path::PathBuf, String)>| -> Vec<_> {
        files.into_iter().filter(|(path, _)| is_cgroup(path)).collect()
    };
    let now = cgroups(fake.read_all().into_iter().collect());
    assert_eq!(now, cgroups(only_set.into_iter().collect()));
    reset(&host, &access).unwrap();
}

#[test]
fn what_is_not_attached_is_named_in_a_line() {
    let fake = with_units();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    let text =
        |name: &str| detach(&host, &access, Whose::Named(name), &|| false).unwrap_err().to_string();
    assert!(text("motor").contains("no shield is set"));
    attach_to(&host, &access, "arm.service", "3").unwrap();
    attach_to(&host, &access, "arm.scope", "2").unwrap();
    assert!(text("motor").contains("no cgroup motor is attached"));
    assert!(text("arm").contains("/system.slice/arm.scope"), "{}", text("arm"));
    assert!(text("/arm.scope").contains("no cgroup /arm.scope"));
}

/// A container with this id in the cgroup of a unit or a pod.
fn contain(
    host: &Host,
    access: &dyn Access,
    id: &str,
    path: &str,
    cpus: &str,
) -> Result<Set, ShieldError> {
    let plan = || plan_attach_container(host, id, &format!("/{path}"), &wanted(cpus));
    attach(host, access, &plan, &|| false)
}

fn end(host: &Host, access: &dyn Access, id: &str) -> Result<Detached, ShieldError> {
    detach(host, access, Whose::Container(id), &|| false)
}

#[test]
fn a_container_gives_back_its_own_by_its_whole_id() {
    let fake = with_units();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    // A unit of the administrator, and a container whose id is the unit's name.
    attach_to(&host, &access, "motor", "3").unwrap();
    contain(&host, &access, "a-b", POD, "2").unwrap();
    for stranger in ["motor", "motor.service", "b", "a", "pod7", ""] {
        let error = end(&host, &access, stranger).unwrap_err();
        assert!(matches!(error, ShieldError::NothingAttached { .. }), "{stranger}: {error}");
    }
    assert_eq!(shielded(&host, &access), "2-3");
    end(&host, &access, "a-b").unwrap();
    assert_eq!(shielded(&host, &access), "3");
    reset(&host, &access).unwrap();
}

#[test]
fn a_container_takes_nothing_that_is_shielded_and_what_a_dead_one_left() {
    let fake = with_units();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    set(&host, &access, &wanted("1")).unwrap();
    let refused = contain(&host, &access, "c1", POD, "1").unwrap_err().to_string();
    assert!(refused.contains("CPU 1 is shielded already"), "{refused}");
    contain(&host, &access, "c1", POD, "3").unwrap();
    let taken =
        contain(&host, &access, "c2", "system.slice/arm.scope", "3").unwrap_err().to_string();
    assert!(taken.contains("has one of CPU 3 already"), "{taken}");
    // It has ended, and its runtime says so only later.
    std::fs::remove_dir_all(host.path("sys/fs/cgroup/kubepods/pod7")).unwrap();
    contain(&host, &access, "c2", "system.slice/arm.scope", "3").unwrap();
    assert!(matches!(end(&host, &access, "c1"), Err(ShieldError::NothingAttached { .. })));
    end(&host, &access, "c2").unwrap();
    assert_eq!(shielded(&host, &access), "1");
    reset(&host, &access).unwrap();
}

#[test]
fn a_repair_and_any_other_end_give_back_what_a_dead_container_left() {
    let fake = with_units();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    let before = fake.read_all();
    let kill = |path: &str| std::fs::remove_dir_all(host.path(format!("{ROOT}/{path}"))).unwrap();
    // Nobody calls the hook for the first; the second one's end tells of both.
    contain(&host, &access, "c1", POD, "3").unwrap();
    contain(&host, &access, "c2", "system.slice/arm.scope", "2").unwrap();
    kill(POD);
    assert!(matches!(end(&host, &access, "c2").unwrap(), Detached::Nothing(_)));
    // With a unit beside it, a repair does.
    contain(&host, &access, "c2", "system.slice/arm.scope", "2").unwrap();
    attach_to(&host, &access, "motor", "3").unwrap();
    assert_eq!(repair(&host, &access).unwrap().unwrap().wanted.containers.len(), 1);
    kill("system.slice/arm.scope");
    assert_eq!(repair(&host, &access).unwrap().unwrap().wanted.cpus, "3".parse().unwrap());
    assert_eq!(shielded(&host, &access), "3");
    detached(&host, &access, "motor");
    // And alone it takes everything down.
    let fake = fake
        .with_file(&format!("{ROOT}/{POD}/cgroup.procs"), "")
        .with_file(&format!("{ROOT}/{POD}/cgroup.subtree_control"), "");
    contain(&host, &access, "c3", POD, "3").unwrap();
    kill(POD);
    assert!(repair(&host, &access).unwrap().is_none());
    let gone =
        ["kubepods", "system.slice/arm.scope"].map(|path| host.path(format!("{ROOT}/{path}")));
    let mut before = before;
    before.retain(|path, _| !gone.iter().any(|gone| path.starts_with(gone)));
    let mut after = fake.read_all();
    after.retain(|path, _| before.contains_key(path));
    assert_eq!(after, before);
}

#[test]
fn cpus_that_were_shielded_before_stay_shielded() {
    let fake = with_units();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    set(&host, &access, &wanted("1,3")).unwrap();
    attach_to(&host, &access, "motor", "3").unwrap();
    detached(&host, &access, "motor");
    assert_eq!(shielded(&host, &access), "1,3");
    assert_eq!(status(&host, &access).unwrap().drift, []);
    reset(&host, &access).unwrap();
}

#[test]
fn what_is_refused_leaves_a_cgroup_all_that_it_had() {
    let fake = with_units();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    set(&host, &access, &wanted("1,3")).unwrap();
    attach_to(&host, &access, "motor", "3").unwrap();
    let before = status(&host, &access).unwrap().wanted;
    let file = "sys/fs/cgroup/system.slice/motor.service/cpuset.cpus.exclusive";
    let refusing = FakeAccess::new(&fake).with_refusal(file, 22);
    attach_to(&host, &refusing, "motor", "2").unwrap_err();
    assert_eq!(status(&host, &access).unwrap().wanted, before);
    repair(&host, &access).unwrap();
    detached(&host, &access, "motor");
    assert_eq!(shielded(&host, &access), "1,3");
    reset(&host, &access).unwrap();
}

#[test]
fn a_cpu_that_went_off_keeps_nobody_from_giving_back() {
    let fake = with_units();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    contain(&host, &access, "c1", POD, "2").unwrap();
    contain(&host, &access, "c2", "system.slice/arm.scope", "3").unwrap();
    let fake = fake.with_file("sys/devices/system/cpu/online", "0-2\n");
    end(&host, &access, "c1").unwrap();
    assert_eq!(shielded(&fake.host(), &access), "3");
    reset(&host, &access).unwrap();
}

/// Another irqpath between the look and the lock: its cgroup is not forgotten.
#[test]
fn two_that_attach_at_once_both_have_their_cpus() {
    let fake = with_units();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    let other = std::cell::Cell::new(true);
    let plan = || {
        let planned = plan_attach(&host, "motor", &wanted("3"));
        if other.take() {
            attach_to(&host, &access, POD, "2").unwrap();
        }
        planned
    };
    let done = attach(&host, &access, &plan, &|| false).unwrap();
    assert_eq!(done.wanted.attached.len(), 2, "{:?}", done.wanted);
    assert_eq!(shielded(&host, &access), "2-3");
    reset(&host, &access).unwrap();
}

#[test]
fn killed_while_one_goes_it_is_undone_exactly() {
    let deaths = die_and_reset(with_units, FakeAccess::new, |host, dying| {
        attach_to(host, dying, "motor", "3").unwrap();
        attach_to(host, dying, POD, "2").unwrap();
        detach(host, dying, Whose::Named("motor"), &|| false).unwrap();
        detach(host, dying, Whose::Named("/kubepods/pod7"), &|| false).unwrap();
    });
    assert!(deaths > 60, "{deaths}");
}

#[test]
fn a_runtime_is_understood() {
    let state = |status: &str, annotation: &str| {
        format!(
            "{{\"ociVersion\":\"1.0.2\",\"id\":\"c1\",\"status\":\"{status}\",\"pid\":60,\
             \"bundle\":\"/b\",\"annotations\":{{\"org.irqpath.shield\":\"{annotation}\"}}}}"
        )
    };
    let moment = |text: &str| Container::parse(text).unwrap().moment();
    let begins = |cpus: Option<&str>| Moment::Begins {
        pid: 60,
        cpus: cpus.map(|list| list.parse().unwrap()),
    };
    assert_eq!(moment(&state("creating", "2-3")).unwrap(), begins(Some("2-3")));
    assert_eq!(moment(&state("created", "cpuset")).unwrap(), begins(None));
    assert_eq!(moment(&state("stopped", "2-3")).unwrap(), Moment::Ended);
    assert_eq!(moment("{\"id\":\"c1\",\"status\":\"created\"}").unwrap(), Moment::Unasked);
    let wrong = moment(&state("created", "all of them")).unwrap_err();
    assert!(wrong.contains("all of them") && wrong.contains("cpuset"), "{wrong}");
    for text in ["", "[]", "{\"id\":\"c1\"}", "{\"id\":1,\"status\":\"created\"}"] {
        assert_eq!(Container::parse(text).unwrap_err().lines().count(), 1, "{text}");
    }
}

#[test]
fn an_annotation_of_a_pod_is_for_its_containers() {
    let moment = |annotations: &[(&str, &str)]| {
        let all: std::collections::BTreeMap<_, _> = annotations.iter().copied().collect();
        let state = serde_json::json!({
            "id": "c1", "status": "created", "pid": 60, "annotations": all,
        });
        Container::parse(&state.to_string()).unwrap().moment()
    };
    let begins = |cpus: &str| Moment::Begins { pid: 60, cpus: Some(cpus.parse().unwrap()) };
    let (all, app) = (("org.irqpath.shield", "2-3"), ("org.irqpath.shield.app", "2"));
    let containerd = |kind| ("io.kubernetes.cri.container-type", kind);
    let cri_o = |kind| ("io.kubernetes.cri-o.ContainerType", kind);
    let (named, sidecar) =
        (("io.kubernetes.cri.container-name", "app"), ("io.kubernetes.container.name", "log"));
    // What holds the namespaces of the pod has no work.
    for sandbox in [containerd("sandbox"), cri_o("sandbox")] {
        assert_eq!(moment(&[all, sandbox]).unwrap(), Moment::Unasked);
    }
    assert_eq!(moment(&[all, containerd("container"), named]).unwrap(), begins("2-3"));
    assert_eq!(moment(&[app, named]).unwrap(), begins("2"));
    assert_eq!(moment(&[app, all, named]).unwrap(), begins("2"));
    assert_eq!(moment(&[app, cri_o("container"), sidecar]).unwrap(), Moment::Unasked);
    assert_eq!(moment(&[app]).unwrap(), Moment::Unasked);
    let wrong = moment(&[("org.irqpath.shield.app", "every"), named]).unwrap_err();
    assert!(wrong.starts_with("org.irqpath.shield.app is 'every'"), "{wrong}");
}

#[test]
fn the_cgroup_and_the_cpus_of_a_container_are_found() {
    let mut fake = with_units().with_file("sys/fs/cgroup/kubepods/pod7/cpuset.cpus", "2-3\n");
    for (pid, path) in [
        (61, "0::/system.slice/runc-c1.scope\n"),
        (62, "0::/machine.slice/libpod-c1.scope/container\n"),
        (63, "0::/kubepods/pod7/c1\n"),
        (64, "0::/user.slice/session-2.scope\n"),
        (65, "0::/../../c1\n"),
        (66, "1:cpu:/c1\n"),
        (67, "0::/system.slice/runc-xc1.scope\n"),
    ] {
        fake = fake.with_file(&format!("proc/{pid}/cgroup"), path);
    }
    let host = fake.host();
    let found = |pid: u32| container_cgroup(&host, pid, "c1");
    assert_eq!(found(61).unwrap(), "/system.slice/runc-c1.scope");
    assert_eq!(found(62).unwrap(), "/machine.slice/libpod-c1.scope");
    assert_eq!(found(63).unwrap(), "/kubepods/pod7/c1");
    for pid in [64, 65, 66, 67, 68] {
        let error = found(pid).unwrap_err().to_string();
        assert!(error.contains("no cgroup of its own"), "{pid}: {error}");
    }
    assert!(container_cgroup(&host, 61, "").is_err());
    assert_eq!(cpuset_of(&host, "/kubepods/pod7").to_string(), "2-3");
    assert!(cpuset_of(&host, "/system.slice/motor.service").is_empty());
}
