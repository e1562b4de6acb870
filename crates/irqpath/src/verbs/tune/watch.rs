// SPDX-License-Identifier: GPL-2.0-or-later
//! The watch: it looks again and again, and acts when something changed.

use std::time::{Duration, Instant};

use irqpath_model::tune::{Document, LiveThread, OrdinaryThread, TuneChange, TunePlan};
use irqpath_report::text;
use irqpath_system::Host;
use irqpath_system::change::RealAccess;
use irqpath_system::tune::TuneError;

use super::lessons::{Lessons, STEP};
use super::plan::{Aim, Basis, empty_document, plan_and_apply, print_document};
use crate::host::signals::Stop;
use crate::output::console;

/// From a look for one wakeup to the next, which knows enough wakeups to rank the thread.
const SOON: Duration = Duration::from_millis(500);

/// Keep learning, and act when something changed. Ends with a signal, which leaves what was set.
pub fn keep_learning(
    aim: Aim,
    (interval, json): (Duration, bool),
    (host, access): (&Host, &RealAccess),
    lessons: &mut Lessons,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut last = TunePlan::default();
    let mut wait = interval;
    while !stop.is_requested() {
        let started = Instant::now();
        let is_early = lessons.listen(wait, stop, || {})?;
        wait = if is_early { interval.min(SOON) } else { interval };
        let learned = lessons.report_learned(host)?;
        let basis = Basis { known: &learned.associations, selection: lessons.selection() };
        let (plan, applied) = match plan_and_apply(aim, (host, access), basis, false) {
            // Somebody else's turn; the next look will do.
            Err(TuneError::Journal(error)) if error.is_locked() => {
                console::print_note(&error.to_string());
                continue;
            }
            other => other?,
        };
        let news = match &applied {
            Some(applied) => !applied.is_nothing(),
            None => what_changes(&plan) != what_changes(&last),
        };
        if news && json {
            let plan = Some(plan.clone());
            print_document(json, true, &Document { plan, applied, ..empty_document() })?;
        } else if news {
            console::print_page(&text::tune::render_changes(&plan, applied.as_ref()))?;
        }
        last = plan;
        // A source that returns at once must not turn this into a busy loop.
        std::thread::sleep(STEP.saturating_sub(started.elapsed()));
    }
    Ok(())
}

fn what_changes(plan: &TunePlan) -> (&[TuneChange], &[LiveThread], &[OrdinaryThread]) {
    (&plan.changes, &plan.take_back, &plan.ordinary)
}
