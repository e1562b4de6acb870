// SPDX-License-Identifier: GPL-2.0-or-later
//! On the local engine.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use irqpath_lab::campaign::CampaignError;
use rustix::process::{Pid, Signal, kill_process};

use super::bench::{Bench, local_engine, read_console};

fn kill(pid: &str) {
    let pid = Pid::from_raw(pid.parse().expect("number")).expect("process");
    kill_process(pid, Signal::KILL).expect("killed");
}

#[test]
fn a_campaign_runs_every_unit_once_and_another_start_runs_none() {
    let bench = Bench::new(7);
    let report = bench.run(&local_engine(3)).unwrap();
    bench.require_complete(&report);
    assert_eq!((report.nr_started, report.nr_failed, bench.list_starts().len()), (7, 0, 7));
    let workers: std::collections::BTreeSet<_> =
        bench.list_starts().into_iter().map(|[_, _, worker]| worker).collect();
    assert!(workers.iter().all(|worker| worker.starts_with("local-")), "{workers:?}");

    let again = bench.run(&local_engine(3)).unwrap();
    bench.require_complete(&again);
    assert_eq!((again.nr_earlier, again.nr_started, bench.list_starts().len()), (7, 0, 7));
}

#[test]
fn a_share_runs_on_two_workers_and_so_does_something_of_each_worker() {
    let mut bench = Bench::new(20);
    bench.verify_percent = 10;
    let report = bench.run(&local_engine(2)).unwrap();
    bench.require_complete(&report);
    assert!((2..=4).contains(&report.verified.len()), "{report:?}");
    assert_eq!(report.nr_started, 20 + report.verified.len());
    assert!(report.wrong.is_empty() && report.unverifiable.is_empty());
    // One worker cannot check itself; the results count, and it is said.
    let mut alone = Bench::new(3);
    alone.verify_percent = 100;
    let report = alone.run(&local_engine(1)).unwrap();
    alone.require_complete(&report);
    assert_eq!((report.verified.len(), report.unverifiable.len()), (0, 3));
}

#[test]
fn a_unit_whose_worker_is_killed_runs_again_and_what_is_left_is_removed() {
    let bench = Bench::new(4);
    bench.add_fault("slow-e2");
    let report = thread::scope(|scope| {
        let campaign = scope.spawn(|| bench.run(&local_engine(2)));
        let [pid, _, _] = bench.wait_for_start("e2");
        kill(&pid);
        campaign.join().unwrap().unwrap()
    });
    assert_eq!((report.nr_started, report.nr_failed, report.nr_leftovers), (5, 1, 1));
    bench.require_complete(&report);
    let again = bench.run(&local_engine(2)).unwrap();
    bench.require_complete(&again);
    assert_eq!((again.nr_leftovers, again.nr_started), (0, 0));
}

/// The whole campaign is killed, as by a power cut: no unit lives on, and the next start does the
/// rest.
#[test]
fn a_campaign_that_is_killed_goes_on_where_it_was() {
    let bench = Bench::new(6);
    for unit in &bench.units[2..] {
        bench.add_fault(&format!("slow-{}", unit.experiment));
    }
    let mut campaign = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "local::campaign_to_kill", "--ignored", "--nocapture"])
        .env("CAMPAIGN_TO_KILL", bench.path())
        .spawn()
        .unwrap();
    let [pid, _, _] = bench.wait_for_start("e3");
    campaign.kill().unwrap();
    campaign.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while std::path::Path::new(&format!("/proc/{pid}/exe")).exists() {
        assert!(Instant::now() < end, "a unit outlives its campaign");
        thread::sleep(Duration::from_millis(10));
    }
    let nr_started = bench.list_starts().len();
    assert!((3..6).contains(&nr_started), "{nr_started}");
    let report = bench.run(&local_engine(2)).unwrap();
    bench.require_complete(&report);
    assert!(report.nr_earlier >= 2 && report.nr_leftovers >= 1, "{report:?}");
    assert_eq!(report.nr_earlier + report.nr_started, 6);
}

/// Of the test above, which kills it; alone it does nothing.
#[test]
#[ignore = "one process of a test: cargo test --locked -p irqpath-lab --test campaign local:: starts it"]
fn campaign_to_kill() {
    let Some(place) = std::env::var_os("CAMPAIGN_TO_KILL") else { return };
    let bench = Bench::at(place.as_ref(), 6);
    bench.run(&local_engine(2)).unwrap();
}

#[test]
fn a_unit_that_hangs_is_ended_and_runs_again_and_not_for_ever() {
    let mut bench = Bench::new(4);
    for unit in &mut bench.units {
        unit.limit_s = 4;
    }
    bench.attempts = 2;
    bench.add_fault("hang-once-e1");
    bench.add_fault("hang-e3");
    let report = bench.run(&local_engine(2)).unwrap();
    assert_eq!(report.settled.len(), 3);
    let why = &report.open[&3];
    assert_eq!(why, "failed 2 times: the time limit of 4 s is over");
    assert_eq!((report.nr_started, report.nr_failed), (6, 3));
    // The next start tries again.
    bench.remove_fault("hang-e3");
    let report = bench.run(&local_engine(2)).unwrap();
    bench.require_complete(&report);
    assert_eq!(report.nr_started, 1);
}

#[test]
fn a_unit_that_fails_is_open_with_its_last_word() {
    let bench = Bench::new(2);
    bench.add_fault("fail-e1");
    let report = bench.run(&local_engine(2)).unwrap();
    assert_eq!((report.settled.len(), report.nr_failed), (1, 3));
    let why = &report.open[&1];
    assert!(why.starts_with("failed 3 times: "), "{why}");
}

#[test]
fn a_worker_with_wrong_bytes_is_named_and_all_that_it_did_runs_again() {
    let mut bench = Bench::new(12);
    bench.verify_percent = 10;
    bench.add_fault("wrong-local-1");
    for unit in &bench.units {
        // Every worker gets some.
        bench.add_fault(&format!("slow-{}", unit.experiment));
    }
    let report = bench.run(&local_engine(3)).unwrap();
    bench.require_complete(&report);
    assert_eq!(report.wrong.keys().collect::<Vec<_>>(), ["local-1"]);
    assert!(report.settled.values().all(|run| run.worker != "local-1"));
    let by_wrong = bench.list_starts().iter().filter(|[_, _, worker]| worker == "local-1").count();
    assert!(by_wrong >= 3, "{by_wrong}");

    // What it did is known to be wrong at the next start, too, and it gets nothing more.
    let again = bench.run(&local_engine(3)).unwrap();
    bench.require_complete(&again);
    assert_eq!((again.nr_started, again.wrong.len()), (0, 1));
}

#[test]
fn of_two_workers_the_one_that_differs_from_itself_is_wrong() {
    let mut bench = Bench::new(6);
    bench.verify_percent = 100;
    bench.add_fault("unsteady-local-0");
    let report = bench.run(&local_engine(2)).unwrap();
    bench.require_complete(&report);
    assert_eq!(report.wrong.keys().collect::<Vec<_>>(), ["local-0"]);
    assert_eq!(report.unverifiable.len(), 6, "one worker is left");
}

#[test]
fn two_workers_that_both_repeat_themselves_leave_a_unit_open() {
    let mut bench = Bench::new(1);
    bench.verify_percent = 100;
    bench.add_fault("wrong-local-0");
    let report = bench.run(&local_engine(2)).unwrap();
    assert!(report.settled.is_empty() && report.wrong.is_empty(), "{report:?}");
    assert_eq!(report.undecided, [0].into());
    // A third worker decides, of what there is already.
    let report = bench.run(&local_engine(3)).unwrap();
    assert_eq!(report.undecided, [0].into(), "the runs are used up");
    // An arbiter decides before it comes to that.
    let mut bench = Bench::new(1);
    bench.verify_percent = 100;
    bench.add_fault("wrong-local-0");
    let mut arbiter = local_engine(1);
    "here".clone_into(&mut arbiter.name);
    let report = bench.run_with(&local_engine(2), Some(&arbiter)).unwrap();
    bench.require_complete(&report);
    assert_eq!(report.wrong.keys().collect::<Vec<_>>(), ["local-0"]);
}

#[test]
fn without_a_right_worker_it_ends_and_says_why() {
    let mut bench = Bench::new(3);
    bench.verify_percent = 100;
    bench.add_fault("unsteady-local-0");
    bench.add_fault("unsteady-local-1");
    let error = bench.run(&local_engine(2)).unwrap_err();
    assert!(matches!(&error, CampaignError::NoWorker(all) if all == "local-0, local-1"), "{error}");
}

#[test]
fn a_damaged_a_torn_and_a_foreign_result_are_set_aside_and_run_again() {
    let bench = Bench::new(5);
    let report = bench.run(&local_engine(2)).unwrap();
    let path = |unit: usize| report.settled[&unit].path.clone();
    let console = |unit: usize| path(unit).join("console.log");
    fs::write(console(0), read_console(&path(0)).replacen('0', "1", 1)).unwrap();
    fs::write(console(1), "").unwrap();
    fs::remove_file(path(2).join("unit.json")).unwrap();
    // The result of another unit under this one's name.
    fs::remove_dir_all(path(3)).unwrap();
    fs::create_dir(path(3)).unwrap();
    for name in ["console.log", "unit.json"] {
        fs::copy(path(4).join(name), path(3).join(name)).unwrap();
    }
    let again = bench.run(&local_engine(2)).unwrap();
    bench.require_complete(&again);
    assert_eq!((again.nr_damaged, again.nr_started), (4, 4));
    assert_eq!(fs::read_dir(bench.place().join("damaged")).unwrap().count(), 4);
}

/// A disk of one megabyte that fills up: units fail, nothing half-made counts, and with room the
/// next start does what is missing. One worker: beside the unit that fills the disk another may fail, too.
#[test]
fn a_full_disk_loses_nothing_and_counts_nothing_twice() {
    let mut bench = Bench::new(3);
    if !bench.mount_small_disk() {
        println!("skipped: a full disk: mounting a tmpfs needs root");
        return;
    }
    bench.add_fault("large-e1");
    let report = bench.run(&local_engine(1)).unwrap();
    assert_eq!((report.settled.len(), report.nr_failed), (2, 3));
    let why = &report.open[&1];
    assert!(why.contains("free space"), "{why}");
    assert_eq!(bench.count_partials(), 0);
    bench.remove_fault("large-e1");
    let again = bench.run(&local_engine(2)).unwrap();
    bench.require_complete(&again);
    assert_eq!((again.nr_earlier, again.nr_started), (2, 1));
}

#[test]
fn a_directory_in_which_others_can_write_proves_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new(1);
    fs::create_dir(bench.place()).unwrap();
    fs::set_permissions(bench.place(), fs::Permissions::from_mode(0o777)).unwrap();
    let error = bench.run(&local_engine(1)).unwrap_err().to_string();
    assert!(error.contains("can be written by others") && error.contains("only you"), "{error}");
}

/// What irqpath itself needs for a large campaign; the figures of docs/campaign.md.
#[test]
fn a_large_campaign_is_judged_in_seconds() {
    let Some(nr) = std::env::var("IRQPATH_CAMPAIGN_UNITS").ok().and_then(|nr| nr.parse().ok())
    else {
        println!("skipped: a large campaign, minutes: IRQPATH_CAMPAIGN_UNITS=2000");
        return;
    };
    let mut bench = Bench::new(nr);
    bench.verify_percent = 10;
    let start = Instant::now();
    let report = bench.run(&local_engine(2)).unwrap();
    bench.require_complete(&report);
    let (ran, start) = (start.elapsed(), Instant::now());
    let again = bench.run(&local_engine(2)).unwrap();
    assert_eq!(again.nr_started, 0);
    println!("{nr} units: {ran:.1?} to run, {:.1?} to judge again", start.elapsed());
}
