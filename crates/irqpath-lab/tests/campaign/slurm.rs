// SPDX-License-Identifier: GPL-2.0-or-later
//! On Slurm: a controller and two nodes, each a real daemon.

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;

use super::bench::{Bench, local_engine};
use super::cluster::{Cluster, slurm_engine};

#[test]
fn two_nodes_run_job_arrays_and_agree() {
    let Some(cluster) = Cluster::start("job arrays on two nodes") else { return };
    let mut bench = Bench::new(8);
    bench.verify_percent = 25;
    let report = bench.run(&cluster.engine()).unwrap();
    bench.require_complete(&report);
    assert!(report.verified.len() >= 2 && report.nr_failed == 0, "{report:?}");
    let workers: BTreeSet<String> =
        bench.list_starts().into_iter().map(|start| start[2].clone()).collect();
    assert_eq!(workers, ["w1".to_owned(), "w2".to_owned()].into());
    // An array has at most six tasks here, so there was more than one.
    let batches = std::fs::read_dir(bench.place().join("batches")).unwrap().count();
    assert!(batches >= 3, "{batches}");
    let again = bench.run(&cluster.engine()).unwrap();
    bench.require_complete(&again);
    assert_eq!(again.nr_started, 0);
}

#[test]
fn a_node_that_is_killed_loses_nothing_and_its_unit_runs_elsewhere() {
    let Some(mut cluster) = Cluster::start("a node that is killed") else { return };
    let bench = Bench::new(4);
    bench.add_fault("hang-once-e0");
    let engine = cluster.engine();
    let report = thread::scope(|scope| {
        let campaign = scope.spawn(|| bench.run(&engine));
        let [pid, _, worker] = bench.wait_for_start("e0");
        let node = if worker == "w1" { "w1" } else { "w2" };
        cluster.kill_node(node, &pid);
        campaign.join().unwrap().unwrap()
    });
    assert!(report.open.is_empty() && report.settled.len() == 4, "{report:?}");
    let starts = bench.list_starts();
    let of_unit: Vec<_> = starts.iter().filter(|[_, unit, _]| unit == "e0").collect();
    assert_eq!(of_unit.len(), 2, "{starts:?}");
    assert_ne!(of_unit[0][2], of_unit[1][2]);
    // Slurm started it again itself, and what the killed one left is removed.
    assert_eq!((report.nr_failed, report.nr_leftovers), (0, 1));
    bench.require_complete(&report);
    let again = bench.run(&cluster.engine()).unwrap();
    bench.require_complete(&again);
    assert_eq!((again.nr_started, again.nr_leftovers), (0, 0));
}

#[test]
fn a_node_with_wrong_bytes_is_named_by_a_third_worker() {
    let Some(cluster) = Cluster::start("a node with wrong bytes") else { return };
    let mut bench = Bench::new(6);
    bench.verify_percent = 10;
    bench.add_fault("wrong-w2");
    let mut here = local_engine(1);
    "here".clone_into(&mut here.name);
    let report = bench.run_with(&cluster.engine(), Some(&here)).unwrap();
    bench.require_complete(&report);
    assert_eq!(report.wrong.keys().collect::<Vec<_>>(), ["w2"]);
    assert!(report.settled.values().all(|run| run.worker != "w2"));
}

#[test]
fn a_unit_that_hangs_is_ended_by_slurm_and_runs_again() {
    let Some(cluster) = Cluster::start("a unit that hangs") else { return };
    let mut bench = Bench::new(3);
    for unit in &mut bench.units {
        unit.limit_s = 2;
    }
    bench.attempts = 2;
    bench.add_fault("hang-once-e1");
    let report = bench.run(&cluster.engine()).unwrap();
    assert!(report.open.is_empty() && report.settled.len() == 3, "{report:?}");
    assert_eq!((report.nr_started, report.nr_failed), (4, 1));
}

#[test]
fn a_full_disk_under_slurm_loses_nothing() {
    let Some(cluster) = Cluster::start("a full disk under Slurm") else { return };
    let mut bench = Bench::new(3);
    bench.attempts = 1;
    assert!(bench.mount_small_disk(), "root may mount");
    bench.add_fault("large-e2");
    let report = bench.run(&cluster.engine()).unwrap();
    assert_eq!((report.settled.len(), report.nr_failed), (2, 1));
    assert!(report.open[&2].contains("free space"), "{report:?}");
    bench.remove_fault("large-e2");
    let again = bench.run(&cluster.engine()).unwrap();
    bench.require_complete(&again);
    assert_eq!((again.nr_earlier, again.nr_started), (2, 1));
}

/// The arrays go on without the campaign, and the next start waits for them.
#[test]
fn a_campaign_that_is_killed_finds_its_arrays_again() {
    let Some(cluster) = Cluster::start("a campaign that is killed") else { return };
    let bench = Bench::new(5);
    for unit in &bench.units {
        bench.add_fault(&format!("slow-{}", unit.experiment));
    }
    let mut campaign = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "slurm::campaign_to_kill", "--ignored", "--nocapture"])
        .env("CAMPAIGN_TO_KILL", bench.path())
        .env("CAMPAIGN_CONF", cluster.conf())
        .spawn()
        .unwrap();
    bench.wait_for_start("e0");
    campaign.kill().unwrap();
    campaign.wait().unwrap();
    assert!(bench.list_starts().len() < 5, "it was killed too late to show anything");
    let report = bench.run(&cluster.engine()).unwrap();
    bench.require_complete(&report);
    assert_eq!((report.nr_earlier, report.nr_started, bench.list_starts().len()), (5, 0, 5));
}

/// Of the test above, which kills it; alone it does nothing.
#[test]
#[ignore = "one process of a test: IRQPATH_SLURM=1 cargo test --locked -p irqpath-lab --test campaign slurm:: starts it"]
fn campaign_to_kill() {
    let variable = std::env::var_os;
    let (Some(place), Some(conf)) = (variable("CAMPAIGN_TO_KILL"), variable("CAMPAIGN_CONF"))
    else {
        return;
    };
    Bench::at(place.as_ref(), 5).run(&slurm_engine(conf.into())).unwrap();
}
