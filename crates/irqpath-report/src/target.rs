// SPDX-License-Identifier: GPL-2.0-or-later
//! How every view names the target of a path: `cyclictest:712 f:90`.
//!
//! A task of the normal policy with nice 0 is most tasks; its `o:0` is left out where no other row
//! has the same name with another priority.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use irqpath_model::{Comm, Folded, PathSummary, Scheduling, Summary};

use crate::text::group_digits;

/// What has no row of its own, in words; `None` if everything has.
pub fn describe_folded(summary: &Summary) -> Option<String> {
    let Folded { nr_paths, nr_names, nr_tasks } = summary.traced().folded;
    if nr_paths == 0 {
        return None;
    }
    let nr_rows = summary.traced().paths.iter().filter(|path| path.key.folded).count();
    let rows = if nr_rows == 1 { "row" } else { "rows" };
    let about = |n: u64, one: &str| match n {
        0 | 1 => format!("1 {one}"),
        n => format!("about {} {one}s", group_digits(n)),
    };
    Some(format!(
        "folded {} paths of {} and {} into {nr_rows} {rows} {}, as their share of the table was \
         full; --task NAME|TID shows one apart",
        group_digits(nr_paths),
        about(nr_names, "name"),
        about(nr_tasks, "task"),
        Folded::COMM
    ))
}

/// The targets of a table's rows.
#[derive(Debug)]
pub struct Targets<'a> {
    /// Names that several policies or priorities share.
    shared: HashSet<&'a Comm>,
}

impl<'a> Targets<'a> {
    /// Finds the names that several policies or priorities share in these rows.
    pub fn from_paths(paths: &'a [PathSummary]) -> Self {
        let mut first = HashMap::new();
        let is_other = |path: &&'a PathSummary| {
            *first.entry(&path.key.comm).or_insert(path.key.sched) != path.key.sched
        };
        Self { shared: paths.iter().filter(is_other).map(|path| &path.key.comm).collect() }
    }

    /// The name, the tid where it was always the same task, and policy and priority where they say
    /// something. The name is as foreign as it was.
    pub fn target_name(&self, path: &PathSummary) -> String {
        let mut text = path.key.comm.to_string();
        if let Some(tid) = path.tid {
            let _ = write!(text, ":{tid}");
        }
        let sched = self.sched_word(path);
        if !sched.is_empty() {
            text.push(' ');
            text.push_str(sched);
        }
        text
    }

    /// Policy and priority; empty where they say nothing.
    pub fn sched_word<'p>(&self, path: &'p PathSummary) -> &'p str {
        let is_plain = path.key.sched.is_none_or(Scheduling::is_default);
        if is_plain && !self.shared.contains(&path.key.comm) { "" } else { &path.sched }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{Measured, Names, Origin, PathKey, PathStats, Paths, Policy, Via};

    fn path(comm: &str, policy: Policy, prio: i16, tid: Option<u32>) -> PathSummary {
        let key = PathKey {
            origin: Origin::Irq(36),
            via: Via::empty(),
            comm: comm.into(),
            sched: Some(Scheduling::from_prio(policy, prio)),
            folded: false,
            cgroup: None,
        };
        PathSummary::new(PathStats { tid, ..PathStats::new(key) }, &Names::default())
    }

    #[test]
    fn what_is_folded_is_told_with_its_numbers() {
        assert_eq!(describe_folded(&Summary::default()), None);
        let key = PathKey::others_of(Origin::Irq(36));
        let others = PathSummary::new(PathStats::new(key), &Names::default());
        let nr = Folded { nr_paths: 81_234, nr_names: 52_000, nr_tasks: 1 };
        let traced = Paths { folded: nr, paths: vec![others], ..Paths::default() };
        let summary = Summary::from_measured(Measured::Paths(traced));
        let text = describe_folded(&summary).unwrap_or_default();
        let want = "folded 81 234 paths of about 52 000 names and 1 task into 1 row (others)";
        assert!(text.starts_with(want), "{text}");
    }

    #[test]
    fn priorities_are_shown_where_they_say_something() {
        let paths = [
            path("cyclictest", Policy::Normal, 120, Some(711)),
            path("cyclictest", Policy::Fifo, 9, Some(712)),
            path("sshd", Policy::Normal, 120, None),
            path("irq/36-eth0", Policy::Fifo, 49, Some(99)),
            path("kworker/0:1H", Policy::Normal, 100, None),
        ];
        let targets = Targets::from_paths(&paths);
        let names: Vec<String> = paths.iter().map(|path| targets.target_name(path)).collect();
        assert_eq!(
            names,
            [
                "cyclictest:711 o:0",
                "cyclictest:712 f:90",
                "sshd",
                "irq/36-eth0:99 f:50",
                "kworker/0:1H o:-20"
            ]
        );
    }
}
