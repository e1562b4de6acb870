// SPDX-License-Identifier: GPL-2.0-or-later
//! Attached cgroups that give their CPUs back: in any order, when they have ended, beside others that
//! change the shield, and killed between any two steps. And what a container's runtime says.

use super::attached::{attach_to, with_units};
use super::*;
use crate::shield::{Container, Moment};

const POD: &str = "kubepods/pod7";

fn detached(host: &Host, access: &dyn Access, name: &str) -> Detached {
    detach(host, access, name, &|| false).unwrap()
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
    let text = |name: &str| detach(&host, &access, name, &|| false).unwrap_err().to_string();
    assert!(text("motor").contains("no shield is set"));
    attach_to(&host, &access, "arm.service", "3").unwrap();
    attach_to(&host, &access, "arm.scope", "2").unwrap();
    assert!(text("motor").contains("no cgroup motor is attached"));
    assert!(text("arm").contains("/system.slice/arm.scope"), "{}", text("arm"));
    assert!(text("/arm.scope").contains("no cgroup /arm.scope"));
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
        detach(host, dying, "motor", &|| false).unwrap();
        detach(host, dying, "/kubepods/pod7", &|| false).unwrap();
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
fn the_cgroup_and_the_cpus_of_a_container_are_found() {
    let fake = with_units().with_file("sys/fs/cgroup/kubepods/pod7/cpuset.cpus", "2-3\n");
    let fake = fake.with_file("proc/61/cgroup", "0::/../../outside\n");
    let fake = fake.with_file("proc/62/cgroup", "1:cpu:/a\n");
    let host = fake.host();
    assert_eq!(cgroup_of(&host, 60).unwrap(), "/system.slice/motor.service");
    for pid in [61, 62, 63] {
        assert!(cgroup_of(&host, pid).is_err(), "{pid}");
    }
    assert_eq!(cpuset_of(&host, "/kubepods/pod7").to_string(), "2-3");
    assert!(cpuset_of(&host, "/system.slice/motor.service").is_empty());
}
