// SPDX-License-Identifier: GPL-2.0-or-later
//! Guests that go wrong are reported as what they are.

use std::time::Duration;

use irqpath_lab::kernel::Arch;
use irqpath_lab::vm::{Ending, JobEnd, SplatKind, Stage};

use super::scene::Scene;

fn scene() -> Option<Scene> {
    Scene::exact(Arch::X86_64)
}

#[test]
fn a_job_that_fails() {
    let Some(scene) = scene() else { return };
    let outcome = scene.job("echo so far; exit 3");
    assert_eq!(
        (outcome.ending.clone(), outcome.job),
        (Ending::PoweredOff, Some(JobEnd::Exited(3)))
    );
    let error = outcome.require_success().unwrap_err().to_string();
    assert_eq!(error, "the job ended with status 3; its output ends: so far");
}

#[test]
fn a_job_that_asks_for_another_boot_gets_five_in_all() {
    let Some(scene) = scene() else { return };
    let outcome = scene.job("exit 75");
    assert_eq!((outcome.job, outcome.nr_boots), (Some(JobEnd::Exited(75)), 5));
}

#[test]
fn a_job_that_is_killed() {
    let Some(scene) = scene() else { return };
    let outcome = scene.job("sleep 1000 & echo left > file; kill -SEGV $$");
    assert_eq!(outcome.job, Some(JobEnd::Signalled(11)));
    assert_eq!(outcome.results.file_text("file").unwrap(), "left\n");
}

#[test]
fn a_job_that_waits_for_ever_ends_at_its_limit() {
    let Some(mut scene) = scene() else { return };
    scene.machine.limit_guest = Some(Duration::from_secs(300));
    let outcome = scene.job("echo before; sleep 100000");
    assert_eq!(outcome.job, Some(JobEnd::Limit(300)));
    assert_eq!(outcome.results.job_log(), "before\n");
    assert!(outcome.job_ns.is_some_and(|ns| (300..301).contains(&(ns / 1_000_000_000))));
    assert!(outcome.wall < Duration::from_secs(60), "{:?}", outcome.wall);
}

#[test]
fn a_panic() {
    let Some(scene) = scene() else { return };
    let outcome = scene.job("echo c > /proc/sysrq-trigger");
    assert_eq!(outcome.ending, Ending::Panic);
    let error = outcome.require_success().unwrap_err();
    assert!(error.to_string().contains("sysrq"), "{error}");
    assert!(error.log().contains("Kernel panic - not syncing"), "{}", error.log());
}

#[test]
fn a_guest_that_never_ends() {
    let Some(mut scene) = scene() else { return };
    // Other tests make this host slow, so what is long enough to boot is found out.
    let limit = scene.job("true").wall * 2 + Duration::from_secs(5);
    scene.machine.limit_host = limit;
    let outcome = scene.job("while :; do :; done");
    assert_eq!(outcome.ending, Ending::TimeLimit { stage: Stage::Job });
    assert!(outcome.wall >= limit && outcome.wall < limit + Duration::from_secs(20));
    let error = outcome.require_success().unwrap_err();
    assert!(error.log().contains("job starts"), "{}", error.log());
}

#[test]
fn a_guest_that_never_starts() {
    let Some(mut scene) = scene() else { return };
    scene.machine.limit_host = Duration::from_secs(3);
    let outcome = scene.job("true");
    let Ending::Hung { stage, cpus, .. } = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert_eq!(*stage, Stage::Boot);
    assert!(cpus.contains("processors are"), "{cpus}");
}

#[test]
fn results_that_do_not_fit() {
    let Some(mut scene) = scene() else { return };
    scene.machine.result_mib = 1;
    let outcome = scene.job("dd if=/dev/zero of=big bs=1k count=3000; true");
    let size = outcome.overflow.unwrap();
    assert!(size > 3000 << 10 && size < 4000 << 10, "{size}");
    let error = outcome.require_success().unwrap_err().to_string();
    assert!(error.contains("3 MiB") && error.contains("result_mib"), "{error}");
}

#[test]
fn a_job_that_switches_off() {
    let Some(scene) = scene() else { return };
    let outcome = scene.job("poweroff -f");
    assert_eq!(outcome.ending, Ending::Vanished);
    assert!(outcome.require_success().unwrap_err().to_string().contains("must not switch it off"));
}

#[test]
fn a_complaint_is_found_though_the_guest_went_on() {
    let Some(scene) = scene() else { return };
    let outcome = scene.job("echo '<4>WARNING: test' > /dev/kmsg; echo done");
    assert_eq!(outcome.ending, Ending::Splat);
    assert_eq!(outcome.splats[0].kind, SplatKind::Warning);
    assert_eq!(outcome.results.job_log(), "done\n");
    let error = outcome.require_success().unwrap_err().to_string();
    assert!(error.contains("WARNING: test"), "{error}");
}

#[test]
fn a_module_that_does_not_load() {
    let Some(scene) = scene() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("broken.ko");
    std::fs::write(&path, "no module").unwrap();
    let outcome = scene.run(&scene.guest().module_file(&path, "").job("true"));
    assert_eq!((outcome.ending.clone(), outcome.job), (Ending::SetupFailed, None));
    let error = outcome.require_success().unwrap_err();
    assert!(error.log().contains("cannot load /lib/modules/broken.ko"), "{}", error.log());
}
