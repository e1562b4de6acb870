// SPDX-License-Identifier: GPL-2.0-or-later
//! Sets a shield, and repairs one that drifted. Everything that can refuse is asked before the
//! first change: a shield is there or it is not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use irqpath_model::change::Target;
use irqpath_model::shield::{
    Changed, ChangedHow, Mechanism, Obstacle, ObstacleKind, Reset, Set, Switch, Wanted,
};
use irqpath_model::{CpuList, TaskId};

use super::check::{check_files, check_rights, check_wanted};
use super::entry::{Entry, PATIENCE, in_force, is_held_back, read_entry};
use super::handed::{make_attached, remove_attached};
use super::heirs::Ancestors;
use super::join::{join_partition, leave_partition};
use super::plan::{Plan, plan_shield};
use super::recall::recall_threads;
use super::refused::{all_refused, contested_obstacle, unattached_obstacle};
use super::reset::take_down;
use super::siblings::is_cpu;
use super::{OWNER, ShieldError, Snapshot, partition};
use crate::Host;
use crate::change::{
    Access, PARTITION_DIRECTORY, Step, StepOutcome, Verdict, apply_steps, undo_changes,
};
use crate::journal::{Journal, JournalError, Ledger, peek_journal};
use crate::tasks::Stat;

/// Tasks that are forked while others are moved are met in the next round. A round takes
/// milliseconds, and children of moved tasks are right from the start.
const ROUNDS: usize = 50;
/// So many tasks that ended are forgotten at once; one line of the journal for each.
const ENDED: usize = 1000;

fn changed_value(outcome: StepOutcome) -> Option<Changed> {
    let new = match outcome.verdict {
        Verdict::Done => outcome.step.new,
        Verdict::Became(value) => value,
        Verdict::Already | Verdict::Gone | Verdict::Refused(_) => return None,
    };
    // A pin that changes nothing is for the kernel only.
    let Step { target, label, .. } = outcome.step;
    (outcome.before.as_ref() != Some(&new)).then_some(Changed {
        label,
        target,
        before: outcome.before,
        new,
        how: ChangedHow::Done,
    })
}

/// What setting it would change, without a change, a lock or a privilege.
pub fn dry_run(host: &Host, access: &dyn Access, wanted: &Wanted) -> Result<Set, ShieldError> {
    check_wanted(host, wanted, &CpuList::default())?;
    let ledger = peek_journal(host, OWNER)?.ledger;
    let snapshot = Snapshot::read_for(host, access, wanted, &ledger)?;
    let plan = plan_shield(&snapshot, wanted, &ledger.without_refusals());
    check_mechanism(&plan, wanted)?;
    let steps = plan.all_steps();
    let planned = steps.filter_map(|step| {
        let before = access.get(&step.target).ok().flatten();
        (before.as_ref() != Some(&step.new)).then(|| Changed {
            label: step.label.clone(),
            target: step.target.clone(),
            before,
            new: step.new.clone(),
            how: ChangedHow::Planned,
        })
    });
    let changed = planned.collect();
    let mechanism = in_force(plan.partition || !plan.attached.is_empty(), &plan, wanted);
    let Plan { obstacles, kept, placed, notes, .. } = plan;
    Ok(Set {
        wanted: wanted.clone(),
        mechanism,
        changed,
        obstacles,
        kept,
        placed,
        notes,
        why: list_reasons(wanted),
    })
}

fn list_reasons(wanted: &Wanted) -> BTreeMap<Switch, String> {
    wanted.switches.iter().map(|switch| (*switch, switch.reason().to_owned())).collect()
}

/// Set a shield, or change the one that is set. Once `is_stopped`, tasks that begin meanwhile are
/// not looked for again.
pub fn set(
    host: &Host,
    access: &dyn Access,
    wanted: &Wanted,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Set, ShieldError> {
    set_as_seen(host, access, wanted, None, is_stopped)
}

/// Set a shield. If `seen` is given, what is wanted was made of it: refuse if the journal says
/// something else by now.
pub(super) fn set_as_seen(
    host: &Host,
    access: &dyn Access,
    wanted: &Wanted,
    seen: Option<&Option<serde_json::Value>>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Set, ShieldError> {
    let before = seen.cloned().and_then(Entry::parse).map(|entry| entry.wanted.cpus);
    check_wanted(host, wanted, &before.unwrap_or_default())?;
    check_rights(host)?;
    let mut journal = Journal::open(host, OWNER)?;
    if seen.is_some_and(|seen| *seen != journal.content().wanted) {
        return Err(ShieldError::ChangedMeanwhile);
    }
    let snapshot = Snapshot::read_for(host, access, wanted, journal.ledger())?;
    let plan = plan_shield(&snapshot, wanted, &journal.ledger().without_refusals());
    check_mechanism(&plan, wanted)?;
    check_files(host, &plan, &snapshot)?;
    journal.begin_set(&describe_entry(host, &snapshot, wanted, read_entry(&journal)))?;
    let mut setter = Setter::new(host, access, snapshot, wanted, is_stopped);
    let done = match setter.make_changes(&mut journal) {
        Ok(done) => done,
        Err(error) => {
            // The disk is full, or the like. What is written down can still be taken back.
            take_down(host, access, journal, &mut Reset::default())?;
            return Err(error.into());
        }
    };
    if wanted.mechanism == Mechanism::Partition && done.mechanism != Mechanism::Partition {
        drop(journal);
        super::reset(host, access)?;
        return Err(no_partition(&done.obstacles));
    }
    Ok(done)
}

/// The shield's entry. One that is changed keeps what was there before it.
fn describe_entry(
    host: &Host,
    snapshot: &Snapshot,
    wanted: &Wanted,
    before: Option<Entry>,
) -> Entry {
    let wanted = wanted.clone();
    match before {
        Some(entry) => Entry { wanted, ..entry },
        None => Entry {
            wanted,
            since_ticks: own_start(host),
            lines: Some(snapshot.irqs.iter().map(|irq| irq.irq).collect()),
        },
    }
}

/// Refuse a mechanism that was insisted on and cannot be had.
fn check_mechanism(plan: &Plan, wanted: &Wanted) -> Result<(), ShieldError> {
    match wanted.mechanism {
        Mechanism::Kernel if !plan.kernel => Err(ShieldError::NoKernelShield),
        Mechanism::Partition if !plan.partition => Err(no_partition(&plan.obstacles)),
        _ => Ok(()),
    }
}

fn no_partition_in(obstacles: &[Obstacle]) -> Option<&Obstacle> {
    obstacles.iter().find(|o| o.kind == ObstacleKind::NoPartition)
}

fn no_partition(obstacles: &[Obstacle]) -> ShieldError {
    let reason = no_partition_in(obstacles).map(|o| o.reason.clone());
    let reason = reason.unwrap_or_else(|| "tasks are not to be shielded".to_owned());
    ShieldError::NoPartition { reason }
}

/// Set again what drifted of what this journal says; `None` if it says nothing of a shield.
pub(super) fn set_again(
    host: &Host,
    access: &dyn Access,
    mut journal: Journal,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Option<Set>, ShieldError> {
    let Some(Entry { wanted, .. }) = read_entry(&journal) else { return Ok(None) };
    let snapshot = Snapshot::read_for(host, access, &wanted, journal.ledger())?;
    Ok(Some(Setter::new(host, access, snapshot, &wanted, is_stopped).make_changes(&mut journal)?))
}

/// This process started after every task that was there before the shield.
fn own_start(host: &Host) -> u64 {
    let text = host.read_fact("proc/self/stat").unwrap_or_default();
    Stat::parse_stat(&text).map_or(0, |stat| stat.start_ticks)
}

struct Setter<'a> {
    host: &'a Host,
    access: &'a dyn Access,
    snapshot: Snapshot,
    wanted: &'a Wanted,
    is_stopped: &'a dyn Fn() -> bool,
    began: Instant,
    /// What was due when it was looked for last, and is not done.
    contested: Vec<Step>,
}

impl<'a> Setter<'a> {
    fn new(
        host: &'a Host,
        access: &'a dyn Access,
        snapshot: Snapshot,
        wanted: &'a Wanted,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> Self {
        let began = Instant::now();
        Self { host, access, snapshot, wanted, is_stopped, began, contested: Vec::new() }
    }

    fn make_changes(&mut self, journal: &mut Journal) -> Result<Set, JournalError> {
        let first = plan_shield(&self.snapshot, self.wanted, journal.ledger());
        self.release_cpus(journal, &first)?;
        let settings = select_due(journal.ledger(), first.settings.clone());
        let mut outcomes = apply_steps(self.access, journal, settings)?;
        leave_partition(self.access, journal, &first)?;
        self.release_attached(journal, &first)?;
        if first.partition && self.partition_holds(journal.ledger()) {
            outcomes.extend(self.join(journal)?);
        }
        outcomes.extend(self.move_tasks(journal)?);
        if first.partition {
            if !self.partition_holds(journal.ledger()) {
                let cpus = &self.wanted.own_cpus();
                let _declined =
                    partition::make_partition(self.access, journal, &self.snapshot, cpus)?;
                outcomes.extend(self.join(journal)?);
                // Tasks that asked for CPUs while these moved.
                outcomes.extend(self.move_tasks(journal)?);
            }
        } else if let Some(o) = no_partition_in(&first.obstacles) {
            partition::decline_partition(journal, &self.snapshot.cgroup.mount, &o.reason)?;
        }
        let (made, unattached) = make_attached(self.access, journal, &first.attached)?;
        outcomes.extend(made);
        let bound = select_due(journal.ledger(), first.bound);
        if !bound.is_empty() {
            outcomes.extend(apply_steps(self.access, journal, bound)?);
        }
        let last = self.release_stale(journal)?;
        self.forget_ended(journal);
        let offline = select_due(journal.ledger(), last.offline.clone());
        if !offline.is_empty() {
            outcomes.extend(apply_steps(self.access, journal, offline)?);
        }
        recall_threads(self.host, self.access);
        let mechanism = in_force(last.partition || !last.attached.is_empty(), &last, self.wanted);
        let mut obstacles = last.obstacles;
        obstacles.extend(all_refused(&self.snapshot, self.wanted, journal.ledger()));
        obstacles.extend(unattached.into_iter().map(unattached_obstacle));
        obstacles.extend(contested_obstacle(&self.snapshot, &self.contested));
        Ok(Set {
            wanted: self.wanted.clone(),
            mechanism,
            changed: outcomes.into_iter().filter_map(changed_value).collect(),
            obstacles,
            kept: last.kept,
            placed: last.placed,
            notes: last.notes,
            why: list_reasons(self.wanted),
        })
    }

    /// CPUs that are not to be off come back before anything is moved to them.
    fn release_cpus(&self, journal: &mut Journal, plan: &Plan) -> Result<(), JournalError> {
        let stays: BTreeSet<&Target> = plan.offline.iter().map(|step| &step.target).collect();
        let comes_back = |target: &Target| is_cpu(target) && !stays.contains(target);
        if journal.ledger().held().any(|(target, _)| comes_back(target)) {
            undo_changes(self.access, journal, comes_back)?;
        }
        Ok(())
    }

    /// CPUs go from one partition to another only when the first one has given them up.
    fn release_attached(&self, journal: &mut Journal, plan: &Plan) -> Result<(), JournalError> {
        let mount = &self.snapshot.cgroup.mount;
        let stays = plan.all_steps().map(|step| step.target.clone()).collect();
        remove_attached(self.access, journal, mount, &stays)?;
        if !plan.partition && !plan.attached.is_empty() && partition::is_held(journal.ledger()) {
            partition::remove_partition(self.access, journal, mount)?;
        }
        Ok(())
    }

    /// Moves each task once. One that has other CPUs again then chose them itself, and would make
    /// this last and the journal grow for as long as it likes.
    fn move_tasks(&mut self, journal: &mut Journal) -> Result<Vec<StepOutcome>, JournalError> {
        let (mut all, mut moved) = (Vec::new(), BTreeSet::new());
        let mut ended = BTreeSet::new();
        for round in 0..ROUNDS {
            self.snapshot.update_tasks(self.host, self.wanted, journal.ledger());
            let steps = self.due_tasks(journal.ledger());
            let steps = if self.adopt_heirs(journal, &steps)? {
                self.due_tasks(journal.ledger())
            } else {
                steps
            };
            // The first round is for all that are there, however many.
            let is_over = round > 0 && (self.began.elapsed() > PATIENCE || (self.is_stopped)());
            let is_new = |step: &Step| !is_over && !moved.contains(&step.target);
            let (steps, contested): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(is_new);
            self.contested = contested;
            self.contested.retain(|step| !ended.contains(&step.target));
            if steps.is_empty() {
                break;
            }
            moved.extend(steps.iter().map(|step| step.target.clone()));
            let outcomes = apply_steps(self.access, journal, steps)?;
            let gone = outcomes.iter().filter(|outcome| outcome.verdict == Verdict::Gone);
            ended.extend(gone.map(|outcome| outcome.step.target.clone()));
            all.extend(outcomes);
        }
        Ok(all)
    }

    /// Moves named and bound processes into the partition.
    fn join(&mut self, journal: &mut Journal) -> Result<Vec<StepOutcome>, JournalError> {
        self.snapshot.update_tasks(self.host, self.wanted, journal.ledger());
        let plan = plan_shield(&self.snapshot, self.wanted, journal.ledger());
        let since = read_entry(journal).map_or(u64::MAX, |entry| entry.since_ticks);
        join_partition(self.access, journal, &self.snapshot, &plan, since)
    }

    /// Tasks that ended need no undo. Without this the journal of a watch would grow with each
    /// task that a stranger starts, moves and ends.
    fn forget_ended(&self, journal: &mut Journal) {
        let there: BTreeSet<TaskId> = self.snapshot.tasks.iter().map(|task| task.id).collect();
        let has_ended = |target: &&Target| {
            let task = target.task().filter(|task| !there.contains(task));
            task.is_some() && matches!(self.access.get(target), Ok(None))
        };
        let ledger = journal.ledger();
        let known = ledger.held().map(|(target, _)| target);
        let known = known.chain(ledger.refused().map(|(target, _)| target));
        let ended: BTreeSet<Target> = known.filter(has_ended).cloned().collect();
        if ended.len() >= ENDED {
            journal.release_targets(&ended.into_iter().collect::<Vec<_>>());
        }
    }

    fn due_tasks(&self, ledger: &Ledger) -> Vec<Step> {
        let steps = plan_shield(&self.snapshot, self.wanted, ledger).tasks;
        select_due(ledger, select_differing(&self.snapshot, steps))
    }

    /// True if there were any: what is due is another thing then.
    fn adopt_heirs(&self, journal: &mut Journal, due: &[Step]) -> Result<bool, JournalError> {
        let since = read_entry(journal).map_or(u64::MAX, |entry| entry.since_ticks);
        let heirs = Ancestors::new(journal.ledger(), since).left_behind(&self.snapshot.tasks, due);
        journal.write_intents(&heirs)?;
        Ok(!heirs.is_empty())
    }

    fn partition_holds(&self, ledger: &Ledger) -> bool {
        let mount = &self.snapshot.cgroup.mount;
        let path = format!("{mount}/{PARTITION_DIRECTORY}/cpuset.cpus");
        let cpus = ledger.held().find_map(|(target, held)| match target {
            Target::File { path: p, .. } if *p == path => held.wanted().cpus(),
            _ => None,
        });
        let whole = partition::partition_state(self.access, mount)
            .is_some_and(|s| s == "isolated" || s == "root");
        whole && cpus == Some(&self.wanted.own_cpus())
    }

    /// Give back what an earlier `set` held and this one does not want.
    fn release_stale(&mut self, journal: &mut Journal) -> Result<Plan, JournalError> {
        let plan = plan_shield(&self.snapshot, self.wanted, journal.ledger());
        let mount = &self.snapshot.cgroup.mount;
        let wanted: BTreeSet<Target> = plan.all_steps().map(|step| step.target.clone()).collect();
        let is_stale = |target: &Target| match target {
            Target::ProcessCgroup { .. } => false, // see leave_partition
            t if wanted.contains(t) => false,
            t if partition::is_part(t, mount) => !plan.partition,
            // Gone devices and tasks are settled by reset.
            t => self.access.get(t).is_ok_and(|value| value.is_some()),
        };
        let stale: BTreeSet<Target> =
            journal.ledger().held().map(|(t, _)| t).filter(|t| is_stale(t)).cloned().collect();
        if !stale.is_empty() {
            undo_changes(self.access, journal, |target| stale.contains(target))?;
        }
        Ok(plan)
    }
}

/// Steps that the kernel has not refused just so when it was last asked. `set` starts with no
/// refusals, a repair with those of `set`.
fn select_due(ledger: &Ledger, steps: Vec<Step>) -> Vec<Step> {
    steps.into_iter().filter(|step| !is_held_back(ledger, step)).collect()
}

/// Steps whose task is not as it should be; a host has thousands of tasks.
fn select_differing(snapshot: &Snapshot, steps: Vec<Step>) -> Vec<Step> {
    let found = snapshot.task_affinities();
    let differs = |step: &Step| {
        let id = step.target.task();
        step.pin || id.and_then(|id| found.get(&id).copied()) != step.new.cpus()
    };
    steps.into_iter().filter(differs).collect()
}
