// SPDX-License-Identifier: GPL-2.0-or-later
//! What is on the shielded CPUs: now, and while the tracer watched.

use irqpath_model::shield::Measured;
use irqpath_model::{CauseKind, Occupied};

use super::*;
use crate::change::Access;

/// A task that runs on `cpu`.
fn running(fake: Fake, tid: u32, comm: &str, cpus: &str, cpu: u16) -> Fake {
    let stat = format!(
        "{tid} ({comm}) R 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 {tid} 0 0 \
         1 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 {cpu} 0 0 0 0 0\n"
    );
    let fake = fake.with_task(tid, 1, comm, cpus, 0);
    fake.with_file(&format!("proc/{tid}/task/{tid}/stat"), &stat)
        .with_file(&format!("proc/{tid}/stat"), &stat)
}

#[test]
fn who_runs_there_now_and_who_may_run_elsewhere() {
    let fake = running(machine(), 50, "inside", "3", 3);
    let fake = running(fake, 51, "elsewhere", "0-3", 1);
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    set(&host, &access, &wanted("2-3")).unwrap();
    // It asks for all CPUs again and is put onto a shielded one.
    let fake = running(fake, 52, "stray", "0-3", 2);
    let found = status(&fake.host(), &access).unwrap().running;
    let found: Vec<_> = found.iter().map(|r| (r.label.as_str(), r.cpu, r.inside)).collect();
    assert_eq!(found, [("task 50 (inside)", 3, true), ("task 52 (stray)", 2, false)]);
}

#[test]
fn the_tracer_names_who_strayed_and_not_who_belongs_there() {
    let fake = machine().with_task(50, 1, "inside", "3", 0);
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    set(&host, &access, &wanted("2-3")).unwrap();
    access.set_affinity(40, &"0-3".parse().unwrap()).unwrap();
    let one = |tid: Option<u32>| Occupied {
        cpu: 3,
        kind: CauseKind::Thread,
        who: String::new(),
        tid,
        n: 2,
        total_ns: 1_500,
        max_ns: 1_000,
    };
    // 3 is bound to its CPU, 5 follows its interrupt, 9999 has ended.
    let occupied = [Some(3), Some(5), Some(40), Some(50), Some(9999), None].map(one).to_vec();
    let measured = Measured { occupied, ..Measured::default() };
    let status = status(&host, &access).unwrap();
    assert_eq!(find_strayed(&host, &status, &measured), ["task 40 (server): 2 times, 1.5 us"]);
}
