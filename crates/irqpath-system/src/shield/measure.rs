// SPDX-License-Identifier: GPL-2.0-or-later
//! What reached the shielded CPUs during some seconds: interrupts and softirqs by the kernel's
//! counts, tasks by their run time.
//!
//! A task that came and went in between is not seen, nor is one that moved away. Who has a tracer
//! fills in [`Measured::occupied`], which has them too.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use irqpath_model::shield::{Arrived, Measured, Ran};
use irqpath_model::{CpuList, InterruptCounts};

use crate::{Host, SystemError, Task};

/// Watch for `duration`, or until `stop`.
pub fn measure(
    host: &Host,
    cpus: &CpuList,
    duration: Duration,
    stop: &dyn Fn() -> bool,
) -> Result<Measured, SystemError> {
    const PAUSE: Duration = Duration::from_millis(50);
    let started = Instant::now();
    let before = (host.interrupt_counts()?, run_times(host));
    while started.elapsed() < duration && !stop() {
        std::thread::sleep(PAUSE.min(duration.saturating_sub(started.elapsed())));
    }
    let after = host.interrupt_counts()?;
    let duration_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let names = host.irq_names()?;
    let mut arrived = count_arrived(&before.0, &after, cpus);
    for one in arrived.iter_mut().filter(|a| !a.softirq) {
        let name = one.label.parse().ok().and_then(|irq: u32| names.get(&irq));
        one.name = name.cloned().unwrap_or_default();
    }
    let ran = count_ran(host, &before.1, cpus);
    Ok(Measured { duration_ns, arrived, ran, ..Measured::default() })
}

fn count_arrived(
    before: &InterruptCounts,
    after: &InterruptCounts,
    cpus: &CpuList,
) -> Vec<Arrived> {
    let tables =
        [(false, &before.interrupts, &after.interrupts), (true, &before.softirqs, &after.softirqs)];
    let mut all: Vec<Arrived> = tables
        .into_iter()
        .flat_map(|(softirq, old, new)| {
            new.iter().map(move |(label, counts)| {
                // A CPU that went off or on changes the columns.
                let old = |cpu: &u16| {
                    let column = before.cpus.iter().position(|c| c == cpu)?;
                    old.get(label)?.get(column).copied()
                };
                let columns = after.cpus.iter().zip(counts).filter(|(cpu, _)| cpus.contains(**cpu));
                let counts = columns
                    .map(|(cpu, n)| (*cpu, n.saturating_sub(old(cpu).unwrap_or(0))))
                    .filter(|(_, n)| *n > 0)
                    .collect();
                Arrived { label: label.clone(), name: String::new(), softirq, counts }
            })
        })
        .filter(|one| !one.counts.is_empty())
        .collect();
    all.sort_by_key(|one| (one.softirq, std::cmp::Reverse(one.counts.values().sum::<u64>())));
    all
}

/// Run time of every task, from the first number of its `schedstat`.
fn run_times(host: &Host) -> BTreeMap<u32, u64> {
    let tasks = host.read_tasks();
    tasks.iter().filter_map(|task| Some((task.id.tid, run_time(host, task)?))).collect()
}

fn run_time(host: &Host, task: &Task) -> Option<u64> {
    let text = host.read_fact(&format!("proc/{}/task/{}/schedstat", task.tgid, task.id.tid))?;
    text.split_whitespace().next()?.parse().ok()
}

fn count_ran(host: &Host, before: &BTreeMap<u32, u64>, cpus: &CpuList) -> Vec<Ran> {
    let one = |task: Task| {
        let run_ns = run_time(host, &task)?;
        let run_ns = run_ns.saturating_sub(before.get(&task.id.tid).copied().unwrap_or(0));
        (run_ns > 0 && cpus.contains(task.cpu)).then(|| Ran {
            tid: task.id.tid,
            inside: task.affinity.is_subset(cpus),
            comm: task.comm,
            kernel: task.kernel,
            cpu: task.cpu,
            run_ns,
        })
    };
    let mut all: Vec<Ran> = host.read_tasks().into_iter().filter_map(one).collect();
    all.sort_by_key(|ran| std::cmp::Reverse(ran.run_ns));
    all
}
