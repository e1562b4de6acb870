// SPDX-License-Identifier: GPL-2.0-or-later
//! Adds up the time of each occupant of a stage and gives it its name.

use std::collections::HashMap;

use irqpath_model::{Cause, CauseKind, Names, Task};

use crate::Occupant;

#[derive(Debug, Default, Clone, Copy)]
struct Share {
    ns: u64,
    nr_times: u32,
}

/// The occupants of one stage so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    shares: Vec<(CauseKind, Occupant, Share)>,
    /// Position in `shares` of what the last segment belonged to.
    last: Option<usize>,
}

impl Tally {
    /// Add a segment; it is a new piece unless the same occupant had the segment before.
    pub(super) fn add_segment(&mut self, kind: CauseKind, occupant: Occupant, ns: u64) {
        let is_same = |(k, o, _): &(CauseKind, Occupant, Share)| *k == kind && *o == occupant;
        if let Some(share) = self.last.and_then(|at| self.shares.get_mut(at)).filter(|s| is_same(s))
        {
            share.2.ns += ns;
            return;
        }
        let at = self.shares.iter().position(is_same).unwrap_or_else(|| {
            self.shares.push((kind, occupant, Share::default()));
            self.shares.len() - 1
        });
        let share = &mut self.shares[at].2;
        share.ns += ns;
        share.nr_times = share.nr_times.saturating_add(1);
        self.last = Some(at);
    }

    /// The causes, longest first.
    pub(super) fn into_causes(self, names: &Names) -> Vec<Cause> {
        let mut by_name: HashMap<(CauseKind, String), Share> = HashMap::new();
        for (kind, occupant, share) in self.shares {
            let sum = by_name.entry((kind, name_occupant(&occupant, names))).or_default();
            sum.ns += share.ns;
            sum.nr_times = sum.nr_times.saturating_add(share.nr_times);
        }
        let mut causes: Vec<Cause> = by_name
            .into_iter()
            .map(|((kind, who), Share { ns, nr_times })| Cause { kind, who, ns, nr_times })
            .collect();
        causes.sort_by(|a, b| {
            b.ns.cmp(&a.ns).then_with(|| a.kind.cmp(&b.kind)).then_with(|| a.who.cmp(&b.who))
        });
        causes
    }
}

/// The name of an occupant.
pub(crate) fn name_occupant(occupant: &Occupant, names: &Names) -> String {
    match occupant {
        Occupant::Unknown | Occupant::Unseen => "-".to_owned(),
        Occupant::Stolen => "hypervisor".to_owned(),
        Occupant::Nmi => "NMI".to_owned(),
        Occupant::Hardirq(Some(origin)) => names.origin(*origin),
        Occupant::Hardirq(None) => "unknown hardirq".to_owned(),
        Occupant::Softirq(Some(vec)) => vec.name().to_owned(),
        Occupant::Softirq(None) => "unknown softirq".to_owned(),
        Occupant::Task(task) => name_thread(task),
    }
}

fn name_thread(task: &Task) -> String {
    if task.is_idle() {
        return "idle".to_owned();
    }
    let boosted = if task.is_boosted() { " (boosted)" } else { "" };
    format!("{}:{} {}{boosted}", task.comm, task.tid, task.effective_scheduling())
}
