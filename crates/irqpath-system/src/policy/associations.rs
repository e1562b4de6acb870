// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's table of associations: fields between tabs. It ends with the page, and then with a
//! line that says how many are missing. Names are escaped by the kernel.

use std::cmp::Reverse;
use std::io::ErrorKind;

use irqpath_model::policy::{Association, Associations};
use rustix::io::Errno;

use super::{PolicyError, require_policies};
use crate::change::Access;
use crate::{Host, SystemError};

const PATH: &str = "sys/kernel/irqpath/associations";
const TITLES: &str =
    "irq\tname\tpid\tcomm\tprio\thits\truns\tmisses\tage_ms\tcredit\tpinned\tmm_switched";

/// What the kernel has learned. The table names tasks of all users, so only root may read it.
pub fn read_associations(host: &Host) -> Result<Associations, PolicyError> {
    require_policies(host)?;
    let text = host.read(PATH).map_err(|error| match &error {
        SystemError::Read { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            PolicyError::Hidden { path: PATH.to_owned() }
        }
        _ => error.into(),
    })?;
    let (titles, rows) = text.split_once('\n').unwrap_or((&text, ""));
    if titles != TITLES {
        return Err(PolicyError::OtherColumns { path: PATH.to_owned(), found: titles.to_owned() });
    }
    Ok(parse_rows(rows))
}

/// Make the association of an interrupt with a task by hand, or (`pinned` false) leave it to learning.
/// Source: `Documentation/ABI/testing/procfs-irq-irqpath`.
pub fn pin_association(
    host: &Host,
    access: &dyn Access,
    (irq, tid): (u32, u32),
    pinned: bool,
) -> Result<(), PolicyError> {
    require_policies(host)?;
    let path = format!("proc/irq/{irq}/irqpath_target");
    let (sign, what) = if pinned { ("", "given to") } else { ("-", "taken from") };
    access.write(&path, &format!("{sign}{tid}\n")).map_err(|source| {
        let why = match Errno::from_io_error(&source) {
            Some(Errno::ACCESS) => return PolicyError::Forbidden { path },
            Some(Errno::NOENT) if host.path(&path).exists() => "the task has none with it",
            Some(Errno::NOENT | Errno::NXIO) => "the interrupt has no handler",
            Some(Errno::SRCH) => "there is no such task",
            Some(Errno::INVAL) => "it is no FIFO, RR or deadline task of user space",
            Some(Errno::NOSPC) => "all that the task can have were made by hand",
            _ => return PolicyError::NotPinned { irq, what, tid, why: source.to_string() },
        };
        PolicyError::NotPinned { irq, what, tid, why: why.to_owned() }
    })
}

pub(super) fn parse_rows(rows: &str) -> Associations {
    let (missing, rows): (Vec<&str>, Vec<&str>) =
        rows.lines().partition(|line| line.starts_with('#'));
    let read: Vec<Option<Association>> = rows.into_iter().map(parse_row).collect();
    let nr_unreadable = read.iter().filter(|row| row.is_none()).count();
    let mut list: Vec<Association> = read.into_iter().flatten().collect();
    list.sort_by_key(|a| (a.irq, Reverse(a.priority), a.tid));
    Associations { list, complete: missing.is_empty(), nr_unreadable }
}

fn parse_row(line: &str) -> Option<Association> {
    let fields: Vec<&str> = line.split('\t').collect();
    let &[irq, name, tid, comm, priority, hits, runs, misses, age_ms, trust, pinned, mm_switched] =
        fields.as_slice()
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
        success: success_rate(nr_runs, nr_mispredicted),
        age_ns: age_ms.saturating_mul(1_000_000),
        trust: trust.parse().ok()?,
        pinned: pinned == "1",
        nr_mm_switched: mm_switched.parse().ok()?,
    })
}

/// The kernel's counters may lose one, so that there can be more mispredictions than runs.
fn success_rate(nr_runs: u64, nr_mispredicted: u64) -> Option<f64> {
    (nr_runs > 0).then(|| nr_runs.saturating_sub(nr_mispredicted) as f64 / nr_runs as f64)
}
