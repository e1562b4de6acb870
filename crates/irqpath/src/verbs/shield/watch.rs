// SPDX-License-Identifier: GPL-2.0-or-later
//! Stays and repairs what drifts, with a line for each repair. The lock is held only while it
//! repairs. Ends with the shield (another process resets it) or with a signal, which leaves it.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use irqpath_model::shield::{Changed, Document, Set};
use irqpath_report::text;
use irqpath_system::Host;
use irqpath_system::shield::{self, Contest, ShieldError};

use super::context::{empty_document, open_host};
use crate::host::signals::Stop;
use crate::output::console;

pub fn run(interval: Duration, json: bool, stop: &Stop) -> anyhow::Result<ExitCode> {
    let (host, access) = open_host();
    let look = || shield::repair(&host, &access, &|| stop.is_requested());
    repair_until_stopped(
        &host,
        interval,
        |time| sleep_unless_stopped(time, stop),
        look,
        |said| match said {
            Said::Note(text) => {
                console::print_note(&text);
                Ok(())
            }
            Said::Repaired(set) if json => {
                console::print_json(&Document { set: Some(*set), ..empty_document() }, true)
            }
            Said::Repaired(set) => console::print_page(&text::shield::render_repaired(&set)),
        },
    )?;
    Ok(ExitCode::SUCCESS)
}

/// What a watch has to say.
enum Said {
    Note(String),
    Repaired(Box<Set>),
}

/// Waits and looks, until `wait` is over or there is no shield any more.
fn repair_until_stopped(
    host: &Host,
    interval: Duration,
    mut wait: impl FnMut(Duration) -> bool,
    mut look: impl FnMut() -> Result<Option<Set>, ShieldError>,
    mut say: impl FnMut(Said) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (mut contest, mut named) = (Contest::default(), String::new());
    while wait(contest.next_interval(interval)) {
        let repaired = match look() {
            Ok(Some(repaired)) => repaired,
            Ok(None) => {
                let text = "the shield was taken down; nothing is left to watch";
                return say(Said::Note(text.to_owned()));
            }
            // Somebody else's turn; the next look will do.
            Err(ShieldError::Journal(error)) if error.is_locked() => {
                say(Said::Note(error.to_string()))?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let contested = contest.note_repairs(&repaired.changed);
        if let Some((first, others)) = contested.split_first() {
            let next = contest.next_interval(interval);
            say(Said::Note(describe_contention(host, first, others.len(), next)))?;
        }
        let suspected = name_suspects(host, &repaired.changed);
        if !suspected.is_empty() && suspected != named {
            say(Said::Note(format!("changed back, perhaps by {suspected}")))?;
        }
        named = suspected;
        if !repaired.changed.is_empty() {
            say(Said::Repaired(Box::new(repaired)))?;
        }
    }
    Ok(())
}

/// Programs that run and set one of the values that were repaired; empty if there is none.
fn name_suspects(host: &Host, changed: &[Changed]) -> String {
    let names = changed.iter().find_map(|one| shield::name_opponents(host, &one.target));
    names.unwrap_or_default()
}

/// Who undoes the repairs, and what follows.
fn describe_contention(host: &Host, first: &Changed, nr_others: usize, next: Duration) -> String {
    let others = match nr_others {
        0 => String::new(),
        1 => " (and one other value)".to_owned(),
        n => format!(" (and {n} other values)"),
    };
    format!(
        "{}{others} is changed after each repair, {}; the next look is in {} s",
        first.label,
        shield::guess_opponent(host, first),
        next.as_secs()
    )
}

/// True when the time is over, false when a signal came.
fn sleep_unless_stopped(interval: Duration, stop: &Stop) -> bool {
    const STEP: Duration = Duration::from_millis(100);
    let started = Instant::now();
    while !stop.is_requested() {
        let left = interval.saturating_sub(started.elapsed());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(STEP));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    use irqpath_model::TaskId;
    use irqpath_model::change::{Form, Target, Value};
    use irqpath_model::shield::ChangedHow;

    /// A task that widens its affinity again before each look, as any user can.
    fn set_with_repair(is_fought: bool) -> Set {
        let target = Target::TaskAffinity { task: TaskId { tid: 40, start_ticks: 1 } };
        set_repairing("task 40 (stubborn)", target, is_fought)
    }

    fn set_repairing(label: &str, target: Target, is_fought: bool) -> Set {
        let changed = Changed {
            label: label.to_owned(),
            target,
            before: Some(Value::Cpus("0-3".parse().unwrap())),
            new: Value::Cpus("0-1".parse().unwrap()),
            how: ChangedHow::Done,
        };
        let set = serde_json::json!({
            "wanted": {"cpus": "2-3", "mechanism": "auto", "since_ticks": 90, "switches": ["tasks"]},
            "mechanism": "affinity",
            "changed": if is_fought { vec![changed] } else { Vec::new() },
            "obstacles": [],
            "kept": [],
        });
        serde_json::from_value(set).unwrap()
    }

    #[test]
    fn a_watch_looks_less_often_where_each_repair_is_undone_and_names_the_opponent() {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::new(directory.path());
        let task = directory.path().join("proc/40");
        std::fs::create_dir_all(&task).unwrap();
        std::fs::write(task.join("status"), "Name:\tstubborn\nUid:\t1000\t1000\t1000\t1000\n")
            .unwrap();

        // Ten looks with an opponent, then one without, then the shield is gone.
        let mut looks = [vec![true; 10], vec![false]].concat().into_iter();
        let (mut waits, mut notes, mut nr_repaired) = (Vec::new(), Vec::new(), 0);
        repair_until_stopped(
            &host,
            Duration::from_secs(2),
            |time| {
                waits.push(time.as_secs());
                true
            },
            || Ok(looks.next().map(set_with_repair)),
            |said| {
                match said {
                    Said::Note(text) => notes.push(text),
                    Said::Repaired(_) => nr_repaired += 1,
                }
                Ok(())
            },
        )
        .unwrap();

        assert_eq!(waits, [2, 2, 2, 4, 8, 16, 32, 64, 64, 64, 64, 2]);
        assert_eq!(nr_repaired, 10);
        assert_eq!(notes.len(), 6, "{notes:?}");
        assert_eq!(
            notes[0],
            "task 40 (stubborn) is changed after each repair, perhaps by itself, or by another program of uid \
             1000; the next look is in 4 s"
        );
        assert_eq!(notes[5], "the shield was taken down; nothing is left to watch");
    }

    #[test]
    fn who_may_have_changed_a_value_back_is_named_once() {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::new(directory.path());
        let uid = std::fs::metadata(directory.path()).unwrap().uid();
        for process in ["proc/812", "proc/812/task/812"] {
            let process = directory.path().join(process);
            std::fs::create_dir_all(&process).unwrap();
            let stat = "812 (tuned) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 812 0 0 \
                        1 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 0 0 0 0 0 0\n";
            std::fs::write(process.join("stat"), stat).unwrap();
            let status = format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\nCpus_allowed_list:\t0\n");
            std::fs::write(process.join("status"), status).unwrap();
        }
        let path = "proc/irq/8/smp_affinity".to_owned();
        let target = Target::File { path, form: Form::Mask };
        let mut looks = [true, true, false].into_iter();
        let mut notes = Vec::new();
        repair_until_stopped(
            &host,
            Duration::from_secs(2),
            |_| true,
            || Ok(looks.next().map(|fought| set_repairing("irq 8 (rtc0)", target.clone(), fought))),
            |said| {
                if let Said::Note(text) = said {
                    notes.push(text);
                }
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(notes[0], "changed back, perhaps by tuned (812)");
        assert_eq!(notes.len(), 2, "{notes:?}");
    }
}
