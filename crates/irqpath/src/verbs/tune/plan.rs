// SPDX-License-Identifier: GPL-2.0-or-later
//! From what is known and pinned to priorities, and what is printed of it. `run`, `pin` and `watch`
//! use it.

use std::collections::BTreeMap;

use irqpath_analysis::learn::{Wakeups, keep_ordinary, plan_priorities, select_ordinary};
use irqpath_model::tune::{
    Applied, Association, Document, LiveThread, Packets, Steering, TunePlan,
};
use irqpath_model::{SCHEMA_VERSION, TaskId};
use irqpath_report::text;
use irqpath_source::ethtool::{insert_flow_rule, read_flow_table, remove_flow_rule};
use irqpath_source::launch::set_scheduling;
use irqpath_system::Host;
use irqpath_system::change::{FlowCalls, RealAccess};
use irqpath_system::tune::{self, Devices, TuneError};

use crate::output::console;

/// What is done with a plan.
#[derive(Debug, Clone, Copy)]
pub struct Aim {
    /// Carry it out.
    pub apply: bool,
    /// Also where somebody else has set a priority.
    pub force: bool,
}

/// What a plan is made from.
#[derive(Clone, Copy)]
pub struct Basis<'a> {
    /// What was learned; pins are added.
    pub known: &'a [Association],
    /// Which threads become ordinary.
    pub selection: Selection<'a>,
}

/// What becomes of interrupt threads that serve no real-time task.
#[derive(Clone, Copy)]
pub enum Selection<'a> {
    /// They stay real-time, and are so again.
    Off,
    /// Those that are ordinary stay so.
    Keep,
    /// They become ordinary.
    By(&'a Wakeups),
}

/// This machine, and the way to change it.
pub fn open_host() -> (Host, RealAccess) {
    let host = Host::real();
    let flows = FlowCalls {
        read_table: read_flow_table,
        insert_rule: insert_flow_rule,
        remove_rule: remove_flow_rule,
    };
    let access = RealAccess::new(&host).with_scheduling(set_scheduling).with_flows(flows);
    (host, access)
}

pub fn empty_document() -> Document {
    Document { schema_version: SCHEMA_VERSION, ..Document::default() }
}

/// The reasons for what is held, without pins, which are looked up anew.
pub fn known_otherwise(host: &Host) -> anyhow::Result<Vec<Association>> {
    let known = tune::known_associations(host)?;
    Ok(known.into_iter().filter(|one| !one.pinned).collect())
}

/// What the pins mean now.
pub fn pinned_now(host: &Host) -> Result<Vec<Association>, TuneError> {
    let pins = tune::all_pins(host)?;
    if pins.is_empty() {
        return Ok(Vec::new());
    }
    tune::resolve_pins(host, &pins, &host.live_threads())
}

/// Plan from what is known and pinned, and carry it out if that was asked for.
pub fn plan_and_apply(
    aim: Aim,
    (host, access): (&Host, &RealAccess),
    basis: Basis<'_>,
    retry: bool,
) -> Result<(TunePlan, Option<Applied>), TuneError> {
    let known = &[basis.known, &pinned_now(host)?].concat()[..];
    let established: Vec<Association> = known.iter().filter(|a| a.established).cloned().collect();
    let planner = |threads: &[LiveThread], held: &BTreeMap<TaskId, u8>| {
        let mut plan = plan_priorities(known, threads, held, aim.force);
        match basis.selection {
            Selection::Off => {}
            Selection::Keep => keep_ordinary(&mut plan),
            Selection::By(wakeups) => {
                select_ordinary(known, wakeups, threads, held, aim.force, &mut plan);
            }
        }
        plan
    };
    if aim.apply {
        let (plan, applied) = tune::apply_plan(host, access, &established, &planner, retry)?;
        return Ok((plan, Some(applied)));
    }
    let threads = host.live_threads();
    let held = tune::held_priorities(host, &threads)?;
    Ok((planner(&threads, &held), None))
}

/// Switch the devices of `--packets`, or say what would be switched.
pub fn prepare_packets(
    (host, access): (&Host, &RealAccess),
    devices: &Devices,
    apply: bool,
) -> anyhow::Result<Packets> {
    if !apply {
        return Ok(tune::list_devices(host, access, devices)?);
    }
    Ok(switch_packets((host, access), devices, &tune::known_associations(host)?)?)
}

/// The same for devices that came meanwhile, perhaps with the names of others.
pub fn switch_new_packets(
    (host, access): (&Host, &RealAccess),
    names: &[String],
) -> Result<Packets, TuneError> {
    let known = tune::known_associations(host)?;
    tune::forget_devices(host, names)?;
    switch_packets((host, access), &Devices::Named(names.to_vec()), &known)
}

/// Steer the receivers of `--steer` to queues of the devices, or say where they would go.
pub fn prepare_steering(
    (host, access): (&Host, &RealAccess),
    devices: &Devices,
    apply: bool,
) -> anyhow::Result<Steering> {
    if !apply {
        return Ok(tune::list_steering(host, access, devices)?);
    }
    Ok(tune::steer_receivers(host, access, devices, &tune::known_associations(host)?)?)
}

/// Until receivers are known, the new threads are as urgent as those that served the packets before.
fn switch_packets(
    (host, access): (&Host, &RealAccess),
    devices: &Devices,
    known: &[Association],
) -> Result<Packets, TuneError> {
    let packets = tune::switch_devices(host, access, devices, known)?;
    let planner = |threads: &[LiveThread], held: &BTreeMap<TaskId, u8>| {
        tune::plan_new_threads(&packets, threads, held)
    };
    tune::apply_plan(host, access, known, &planner, true)?;
    Ok(packets)
}

pub fn print_document(json: bool, one_line: bool, document: &Document) -> anyhow::Result<()> {
    if json {
        console::print_json(document, one_line)
    } else {
        console::print_page(&text::tune::format_document(document))
    }
}
