// SPDX-License-Identifier: GPL-2.0-or-later
//! The watch: it looks again and again, and acts when something changed.

use std::time::{Duration, Instant};

use irqpath_model::tune::{
    Document, LiveThread, OrdinaryThread, PacketState, TuneChange, TunePlan,
};
use irqpath_report::text;
use irqpath_system::Host;
use irqpath_system::change::RealAccess;
use irqpath_system::tune::{DeviceWatch, TuneError};

use super::lessons::{Lessons, STEP};
use super::plan::{Aim, Basis, empty_document, plan_and_apply, print_document, switch_new_packets};
use crate::host::signals::Stop;
use crate::output::console;

/// Between looks after one that brought a thread back: the next ones know enough wakeups to rank it.
const SOON: Duration = Duration::from_millis(500);
/// So many of them.
const NR_SOON: u32 = 10;
/// News that bring nothing about, as of a thread that the kernel refused to change, cost no more than
/// a look in this time; other threads wait no longer for theirs.
const QUIET: Duration = Duration::from_secs(2);

/// When the watch looks next.
#[derive(Default)]
struct Pace {
    nr_soon: u32,
    /// News brought nothing about: more of it does not hasten the next look.
    is_deaf: bool,
}

impl Pace {
    /// Wait for the next look; true if news came.
    fn wait(
        &mut self,
        interval: Duration,
        lessons: &mut Lessons,
        stop: &Stop,
    ) -> anyhow::Result<bool> {
        let wait = match (self.nr_soon, self.is_deaf) {
            (0, false) => interval,
            (0, true) => interval.min(QUIET),
            _ => interval.min(SOON),
        };
        let heeds = self.nr_soon == 0 && !self.is_deaf;
        (self.nr_soon, self.is_deaf) = (self.nr_soon.saturating_sub(1), false);
        if heeds {
            return lessons.listen_for_news(wait, stop);
        }
        lessons.listen(wait, stop, || {})?;
        Ok(false)
    }

    /// After a look for news, which may have changed something.
    fn follow(&mut self, has_changed: bool) {
        if has_changed {
            self.nr_soon = NR_SOON;
        } else {
            self.is_deaf = true;
        }
    }
}

/// What the watch looks at.
pub struct Watched<'a> {
    pub lessons: &'a mut Lessons,
    /// Network devices that threads shall poll once they come.
    pub devices: Option<DeviceWatch>,
}

/// Switch network devices that came. Those that could not be switched while somebody else has the
/// journal stay in `waiting`.
fn follow_devices(
    devices: Option<&mut DeviceWatch>,
    (host, access): (&Host, &RealAccess),
    waiting: &mut Vec<String>,
    json: bool,
) -> anyhow::Result<()> {
    let Some(devices) = devices else { return Ok(()) };
    waiting.extend(devices.take_new(host));
    if waiting.is_empty() {
        return Ok(());
    }
    let mut packets = match switch_new_packets((host, access), waiting) {
        Err(TuneError::Journal(error)) if error.is_locked() => return Ok(()),
        other => other?,
    };
    waiting.clear();
    // Each container that starts brings one without.
    packets.devices.retain(|device| device.state != PacketState::NoNapi);
    if packets.devices.is_empty() {
        return Ok(());
    }
    // They were said at the start.
    packets.offers.clear();
    print_document(json, true, &Document { packets: Some(packets), ..empty_document() })
}

/// Keep learning, and act when something changed. Ends with a signal, which leaves what was set.
pub fn keep_learning(
    aim: Aim,
    (interval, json): (Duration, bool),
    (host, access): (&Host, &RealAccess),
    Watched { lessons, mut devices }: Watched<'_>,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut new_devices = Vec::new();
    let mut last = TunePlan::default();
    let mut pace = Pace::default();
    while !stop.is_requested() {
        let started = Instant::now();
        let is_early = pace.wait(interval, lessons, stop)?;
        follow_devices(devices.as_mut(), (host, access), &mut new_devices, json)?;
        let learned = lessons.report_learned(host)?;
        let basis = Basis { known: &learned.associations, selection: lessons.selection() };
        let (plan, applied) = match plan_and_apply(aim, (host, access), basis, false) {
            // Somebody else's turn; the next look will do.
            Err(TuneError::Journal(error)) if error.is_locked() => {
                console::print_note(&error.to_string());
                if is_early {
                    pace.follow(true);
                }
                continue;
            }
            other => other?,
        };
        let has_changed = match &applied {
            Some(applied) => !applied.is_nothing(),
            None => what_changes(&plan) != what_changes(&last),
        };
        if is_early {
            pace.follow(has_changed);
        }
        if has_changed && json {
            let plan = Some(plan.clone());
            print_document(json, true, &Document { plan, applied, ..empty_document() })?;
        } else if has_changed {
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
