// SPDX-License-Identifier: GPL-2.0-or-later
//! Flow rules that bring the packets of each real-time receiver by a queue of its own
//! (`tune --packets --steer`).
//!
//! `receivers` finds them, `steer_plan` decides. The thread that polls a queue then wakes the
//! receivers of that queue only, and gets its priority from them as every other thread does. The
//! rule to know: a rule stands in the journal with its location before it is made, and only a location
//! without a rule is taken. So whatever is found there later is ours or somebody else's.

use irqpath_model::change::{Refusal, Target, Value};
use irqpath_model::tune::{
    Association, CannotSteer, FoundRule, Receiver, SteerState, SteeredDevice, Steering,
};

use super::packets::{Devices, is_device, polls_device};
use super::receivers::list_receivers;
use super::steer_plan::{OwnRules, SteerPlan, plan_rules};
use super::{OWNER, TuneError, check_rights};
use crate::Host;
use crate::change::{Access, Step, Verdict, apply_steps, undo_changes};
use crate::journal::{Journal, Ledger, peek_journal};

/// By which queue the packets of each receiver would come. Needs no privilege for the caller's own
/// tasks.
pub fn list_steering(
    host: &Host,
    access: &dyn Access,
    devices: &Devices,
) -> Result<Steering, TuneError> {
    let content = peek_journal(host, OWNER)?;
    let looked = look_at_devices(host, access, devices, &content.ledger);
    Ok(Steering { devices: looked.into_iter().map(|look| look.device).collect() })
}

/// Make the rules that [`list_steering`] would make, and take those back whose reason is gone.
/// `known` is kept as what was known before, without what leads through the queues of such a device.
pub fn steer_receivers(
    host: &Host,
    access: &dyn Access,
    devices: &Devices,
    known: &[Association],
) -> Result<Steering, TuneError> {
    let content = peek_journal(host, OWNER)?;
    let mut looked = look_at_devices(host, access, devices, &content.ledger);
    if looked.iter().any(Look::has_work) {
        check_rights(host)?;
        let mut journal = Journal::open(host, OWNER)?;
        looked = look_at_devices(host, access, devices, journal.ledger());
        journal.begin_set(&still_known(known, &looked))?;
        take_back(access, &mut journal, &looked)?;
        make_rules(access, &mut journal, &mut looked)?;
        if journal.ledger().is_empty() {
            journal.finish()?;
        }
    }
    Ok(Steering { devices: looked.into_iter().map(|look| look.device).collect() })
}

/// A device, and what is to be done to it.
struct Look {
    device: SteeredDevice,
    plan: SteerPlan,
}

impl Look {
    fn has_work(&self) -> bool {
        !self.plan.rules.is_empty() || !self.plan.back.is_empty()
    }

    fn target(&self, location: u32) -> Target {
        Target::FlowRule { device: self.device.name.clone(), location }
    }
}

fn look_at_devices(
    host: &Host,
    access: &dyn Access,
    devices: &Devices,
    ledger: &Ledger,
) -> Vec<Look> {
    let receivers = list_receivers(host, &host.live_threads());
    let look = |name: String| {
        let mut device =
            SteeredDevice { name, cannot: None, receivers: Vec::new(), taken_back: Vec::new() };
        let mut plan = SteerPlan::default();
        match look_at(host, access, ledger, &device.name, &receivers) {
            Ok(found) => plan = found,
            Err(cannot) => device.cannot = Some(cannot),
        }
        device.receivers = std::mem::take(&mut plan.receivers);
        device.taken_back = plan.back.values().map(ToString::to_string).collect();
        Look { device, plan }
    };
    devices.list_names(host).into_iter().map(look).collect()
}

fn look_at(
    host: &Host,
    access: &dyn Access,
    ledger: &Ledger,
    name: &str,
    receivers: &[Receiver],
) -> Result<SteerPlan, CannotSteer> {
    if !is_device(host, name) {
        return Err(CannotSteer::Missing);
    }
    let table = access.flow_table(name).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CannotSteer::Missing,
        _ => CannotSteer::Refused(crate::change::error_reason(&error)),
    })?;
    if table.nr_queues < 2 {
        return Err(CannotSteer::OneQueue);
    }
    if !table.is_on {
        return Err(CannotSteer::Off);
    }
    let mut own = OwnRules::default();
    for (target, held) in ledger.held() {
        let Target::FlowRule { device, location } = target else { continue };
        let (true, Value::Text(words)) = (device == name, held.wanted()) else { continue };
        let Ok(rule) = words.parse() else { continue };
        if table.rules.get(location) == Some(&FoundRule::Plain(rule)) {
            own.there.insert(*location, rule);
        } else {
            own.removed.insert(rule.flow);
        }
    }
    Ok(plan_rules(&table, &own, receivers))
}

/// Packets come by other threads once the rules are others, so that what was learned of them no
/// longer holds.
fn still_known<'a>(known: &'a [Association], looked: &[Look]) -> Vec<&'a Association> {
    let changed: Vec<&Look> = looked.iter().filter(|look| look.has_work()).collect();
    let is_through = |one: &Association| {
        let polls = |comm: &str| changed.iter().any(|look| polls_device(comm, &look.device.name));
        one.carriers.iter().any(|carrier| polls(carrier.comm.as_str()))
    };
    known.iter().filter(|one| !is_through(one)).collect()
}

fn take_back(access: &dyn Access, journal: &mut Journal, looked: &[Look]) -> Result<(), TuneError> {
    let back: Vec<Target> = looked
        .iter()
        .flat_map(|look| look.plan.back.keys().map(|&location| look.target(location)))
        .collect();
    undo_changes(access, journal, |target| back.contains(target))?;
    Ok(())
}

fn make_rules(
    access: &dyn Access,
    journal: &mut Journal,
    looked: &mut [Look],
) -> Result<(), TuneError> {
    for look in looked {
        let steps = look.plan.rules.iter().map(|(&location, (number, rule))| {
            let receiver = &look.device.receivers[*number].receiver;
            Step {
                target: look.target(location),
                label: format!("packets of {} for {}", look.device.name, receiver.comm),
                new: Value::Text(rule.to_string()),
                pin: false,
            }
        });
        let outcomes = apply_steps(access, journal, steps.collect())?;
        let numbers: Vec<usize> = look.plan.rules.values().map(|(number, _)| *number).collect();
        let mut refused = Vec::new();
        for (number, outcome) in numbers.into_iter().zip(outcomes) {
            let state = match outcome.verdict {
                Verdict::Done => SteerState::Steered,
                Verdict::Already => SteerState::Already,
                // It stands in the journal, so that reset removes it.
                Verdict::Became(value) => {
                    SteerState::Refused(format!("the driver made {value} of it"))
                }
                Verdict::Gone => SteerState::Refused("the device is gone".to_owned()),
                Verdict::Refused(Refusal { reason, .. }) => {
                    refused.push(outcome.step.target);
                    SteerState::Refused(reason)
                }
            };
            look.device.receivers[number].state = state;
        }
        // What was refused was never changed.
        journal.release_targets(&refused);
    }
    Ok(())
}
