// SPDX-License-Identifier: GPL-2.0-or-later
//! What to do when somebody undoes each repair: look less often, and say who it may be.
//!
//! One repair after another of the same value is a contest, which neither side wins. The watch
//! doubles its interval with each, up to [`MAX_DOUBLINGS`], and returns to the interval that was
//! asked for after one look that finds all contested values as they should be.

use std::collections::BTreeMap;
use std::time::Duration;

use irqpath_model::change::Target;
use irqpath_model::shield::Changed;

use super::opponents::{Opponent, find_opponents};
use crate::Host;

/// So many repairs in a row make a contest; a device that appears or a task that starts needs one.
const CONTESTED: u32 = 3;
/// From every 2 s to about every minute.
const MAX_DOUBLINGS: u32 = 5;
/// The repairs so far.
#[derive(Debug, Clone, Default)]
pub struct Contest {
    /// For every value of the last look how often it was repaired in a row.
    repairs: BTreeMap<Target, u32>,
    doublings: u32,
}

impl Contest {
    /// Take note of what one look repaired. Returns the values that are contested, if that makes
    /// the interval longer.
    pub fn note_repairs<'a>(&mut self, changed: &'a [Changed]) -> Vec<&'a Changed> {
        let before = std::mem::take(&mut self.repairs);
        let repairs = |target: &Target| before.get(target).map_or(1, |n| n + 1);
        self.repairs = changed.iter().map(|c| (c.target.clone(), repairs(&c.target))).collect();
        let is_contested = |c: &&Changed| self.repairs[&c.target] >= CONTESTED;
        let contested: Vec<&Changed> = changed.iter().filter(is_contested).collect();
        if contested.is_empty() {
            self.doublings = 0;
        } else if self.doublings < MAX_DOUBLINGS {
            self.doublings += 1;
            return contested;
        }
        Vec::new()
    }

    /// How long to wait for the next look, where `asked` is without a contest.
    pub fn next_interval(&self, asked: Duration) -> Duration {
        asked * (1 << self.doublings)
    }
}

/// Who may undo the repairs of a value. The kernel does not tell who wrote; a running program that
/// does such things is named, otherwise what it does it to.
pub fn guess_opponent(host: &Host, contested: &Changed) -> String {
    match &contested.target {
        Target::TaskAffinity { task }
        | Target::ProcessCgroup { task, .. }
        | Target::ThreadCgroup { task, .. } => {
            let status = host.read_fact(&format!("proc/{}/status", task.tid)).unwrap_or_default();
            let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
            match users.and_then(|users| users.split_whitespace().next()) {
                Some(user) => format!("perhaps by itself, or by another program of uid {user}"),
                None => "perhaps by itself".to_owned(),
            }
        }
        target => match (name_opponents(host, target), target) {
            (Some(names), _) => format!("perhaps by {names}"),
            (None, Target::File { path, .. }) => format!("in /{path}, by a program unknown"),
            _ => "by a program unknown".to_owned(),
        },
    }
}

/// Programs that run and set such values: `irqbalance (50) or tuned (812)`.
pub fn name_opponents(host: &Host, target: &Target) -> Option<String> {
    if target.task().is_some() {
        return None; // said of the task itself
    }
    let all = find_opponents(host, &host.read_tasks());
    let names: Vec<String> =
        all.iter().filter(|one| one.writes(target)).map(Opponent::label).collect();
    (!names.is_empty()).then(|| names.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;
    use irqpath_model::TaskId;
    use irqpath_model::change::{Form, Value};
    use irqpath_model::shield::ChangedHow;

    const ASKED: Duration = Duration::from_secs(2);

    fn of(target: Target) -> Changed {
        let cpus = Value::Cpus("0-1".parse().unwrap());
        Changed { label: "x".into(), target, before: None, new: cpus, how: ChangedHow::Done }
    }

    fn irq(nr: u32) -> Changed {
        of(Target::File { path: format!("proc/irq/{nr}/smp_affinity"), form: Form::Mask })
    }

    #[test]
    fn a_contest_is_looked_at_less_and_less_often() {
        let mut contest = Contest::default();
        let round = [irq(8)];
        let mut seconds = Vec::new();
        for _ in 0..9 {
            contest.note_repairs(&round);
            seconds.push(contest.next_interval(ASKED).as_secs());
        }
        assert_eq!(seconds, [2, 2, 4, 8, 16, 32, 64, 64, 64]);
        contest.note_repairs(&[]);
        assert_eq!(contest.next_interval(ASKED), ASKED);
    }

    #[test]
    fn values_that_drift_once_are_no_contest() {
        let mut contest = Contest::default();
        for nr in 0..100 {
            assert!(contest.note_repairs(&[irq(nr)]).is_empty());
            assert_eq!(contest.next_interval(ASKED), ASKED);
        }
    }

    #[test]
    fn the_contested_value_is_named_and_not_the_one_beside_it() {
        let mut contest = Contest::default();
        contest.note_repairs(&[irq(1)]);
        contest.note_repairs(&[irq(1)]);
        let round = [irq(2), irq(1)];
        assert_eq!(contest.note_repairs(&round), [&round[1]]);
    }

    #[test]
    fn an_opponent_is_a_program_a_user_or_a_file() {
        let host = |fake: &Fake| guess_opponent(&fake.host(), &irq(8));
        let alone = Fake::new().with_task(41, 1, "db", "0-3", 0);
        assert_eq!(host(&alone), "in /proc/irq/8/smp_affinity, by a program unknown");
        let tuned =
            alone.with_task(812, 1, "tuned", "0-3", 0).with_task(813, 1, "irqbalance", "0-3", 0);
        // Any process may be called irqbalance.
        assert_eq!(host(&tuned), "perhaps by tuned (812)");
        let both = tuned.with_irqbalance(50);
        assert_eq!(host(&both), "perhaps by irqbalance (50) or tuned (812)");
        let task = of(Target::TaskAffinity { task: TaskId { tid: 41, start_ticks: 41 } });
        let uid = rustix::process::geteuid().as_raw();
        let want = format!("perhaps by itself, or by another program of uid {uid}");
        assert_eq!(guess_opponent(&both.host(), &task), want);
    }
}
