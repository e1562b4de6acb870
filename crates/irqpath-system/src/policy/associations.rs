// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's table of associations: fields between tabs. It ends with the page.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PolicyError, require_policies};
use crate::Host;

const PATH: &str = "sys/kernel/irqpath/associations";
const TITLES: &str = "irq\tname\tpid\tcomm\tprio\thits\truns\tmisses\tage_ms\tcredit";

/// An interrupt and a real-time task that it wakes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Association {
    /// Number of the interrupt.
    pub irq: u32,
    /// Name of its action; the kernel keeps 15 bytes of it.
    pub name: String,
    /// The task.
    pub tid: u32,
    /// Its name.
    pub comm: String,
    /// Its own real-time priority.
    pub priority: u32,
    /// Wakeups of the task by this interrupt.
    pub nr_wakeups: u64,
    /// Handlers that the task ran.
    pub nr_runs: u64,
    /// Those of them that did not wake the task.
    pub nr_mispredicted: u64,
    /// Share of the handlers that did, 0 to 1; `None` if it ran none.
    pub success: Option<f64>,
    /// Since the last wakeup, ns.
    pub age_ns: u64,
    /// At 0 the task is offered no handler.
    pub trust: u32,
}

/// All of them, by interrupt, the highest priority first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Associations {
    /// The associations.
    pub list: Vec<Association>,
    /// False if there are more than the kernel shows.
    pub complete: bool,
    /// Lines that could not be read, as those of a task whose name holds a tab or a line break.
    pub nr_unreadable: usize,
}

/// What the kernel has learned. Needs no privilege.
pub fn associations(host: &Host) -> Result<Associations, PolicyError> {
    require_policies(host)?;
    let text = host.read(PATH)?;
    let (titles, rows) = text.split_once('\n').unwrap_or((&text, ""));
    if titles != TITLES {
        return Err(PolicyError::OtherColumns { path: PATH.to_owned(), found: titles.to_owned() });
    }
    Ok(parse(rows))
}

pub(super) fn parse(rows: &str) -> Associations {
    // The page may end within a line, whose numbers are then wrong.
    let (whole, cut) = rows.rsplit_once('\n').unwrap_or(("", rows));
    let read: Vec<Option<Association>> = whole.lines().map(row).collect();
    let nr_unreadable = read.iter().filter(|row| row.is_none()).count();
    let mut list: Vec<Association> = read.into_iter().flatten().collect();
    list.sort_by_key(|a| (a.irq, Reverse(a.priority), a.tid));
    Associations { list, complete: cut.is_empty(), nr_unreadable }
}

fn row(line: &str) -> Option<Association> {
    let fields: Vec<&str> = line.split('\t').collect();
    let &[irq, name, tid, comm, priority, hits, runs, misses, age_ms, trust] = fields.as_slice()
    else {
        return None;
    };
    let (nr_runs, nr_mispredicted) = (runs.parse().ok()?, misses.parse().ok()?);
    let age_ms: u64 = age_ms.parse().ok()?;
    Some(Association {
        irq: irq.parse().ok()?,
        name: name.to_owned(),
        tid: tid.parse().ok()?,
        comm: comm.to_owned(),
        priority: priority.parse().ok()?,
        nr_wakeups: hits.parse().ok()?,
        nr_runs,
        nr_mispredicted,
        success: success(nr_runs, nr_mispredicted),
        age_ns: age_ms.saturating_mul(1_000_000),
        trust: trust.parse().ok()?,
    })
}

/// The kernel's counters may lose one, so that there can be more mispredictions than runs.
fn success(nr_runs: u64, nr_mispredicted: u64) -> Option<f64> {
    (nr_runs > 0).then(|| nr_runs.saturating_sub(nr_mispredicted) as f64 / nr_runs as f64)
}
