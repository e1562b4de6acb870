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
    let mut contest = Contest::default();
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
        if !repaired.changed.is_empty() {
            say(Said::Repaired(Box::new(repaired)))?;
        }
    }
    Ok(())
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
    use irqpath_model::TaskId;
    use irqpath_model::change::{Target, Value};
    use irqpath_model::shield::ChangedHow;

    /// A task that widens its affinity again before each look, as any user can.
    fn set_with_repair(is_fought: bool) -> Set {
        let changed = Changed {
            label: "task 40 (stubborn)".to_owned(),
            target: Target::TaskAffinity { task: TaskId { tid: 40, start_ticks: 1 } },
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
}
