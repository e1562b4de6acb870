// SPDX-License-Identifier: GPL-2.0-or-later
//! Threaded NAPI: a thread of its own polls each queue of a network device, so that packets wait
//! while something more urgent runs (`tune --packets`).
//!
//! The switch is `/sys/class/net/DEVICE/threaded`. What the threads are worth is planned from whom
//! they wake, as with other threads. The rule to know: the switch stands in the journal before the
//! priorities of the threads, so that they go back in the opposite order.

use std::collections::{BTreeMap, BTreeSet};

use irqpath_model::TaskId;
use irqpath_model::change::{Form, Refusal, Target, Value};
use irqpath_model::tune::{
    Association, LiveThread, PacketDevice, PacketState, Packets, TuneChange, TunePlan,
};

use super::{OWNER, TuneError, check_rights};
use crate::Host;
use crate::change::{Access, Step, StepOutcome, Verdict, apply_steps};
use crate::journal::{Journal, Ledger, peek_journal};

const NET: &str = "sys/class/net";
/// What the kernel says of a device without NAPI (`dev_set_threaded`).
const EOPNOTSUPP: i32 = 95;
/// Where packets were served before: in the interrupt's thread, with the kernel's priority.
const UNTIL_LEARNED: u8 = 50;

/// Network devices that are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Devices {
    /// All but the loopback.
    All,
    /// These.
    Named(Vec<String>),
}

impl Devices {
    /// From `eth0,eth1` or `all`.
    pub fn from_list(list: &str) -> Self {
        if list == "all" {
            return Self::All;
        }
        Self::Named(list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    pub(super) fn list_names(&self, host: &Host) -> Vec<String> {
        match self {
            Self::Named(names) => names.clone(),
            Self::All => {
                let is_device = |name: &String| {
                    // A file there is `bonding_masters`.
                    name != "lo" && host.path(format!("{NET}/{name}")).is_dir()
                };
                host.names_in(NET).into_iter().filter(is_device).collect()
            }
        }
    }
}

/// Network devices that come while somebody watches.
#[derive(Debug)]
pub struct DeviceWatch {
    devices: Devices,
    known: BTreeSet<Identity>,
    /// At the last look.
    present: BTreeSet<Identity>,
}

/// Name and index (`/sys/class/net/DEVICE/ifindex`), which no later device of the name has.
type Identity = (String, String);

impl DeviceWatch {
    /// From now on.
    pub fn start(host: &Host, devices: Devices) -> Self {
        let present = list_present(host, &devices);
        Self { devices, known: present.clone(), present }
    }

    /// Those that came since the start and were not returned before, also in place of one with the same
    /// name. One that was not there at the last call waits for the next, because udev may rename it.
    pub fn take_new(&mut self, host: &Host) -> Vec<String> {
        let now = list_present(host, &self.devices);
        let stayed: BTreeSet<Identity> = now.intersection(&self.present).cloned().collect();
        let new = stayed.difference(&self.known).map(|(name, _)| name.clone()).collect();
        self.known.extend(stayed);
        self.known.retain(|device| now.contains(device));
        self.present = now;
        new
    }
}

fn list_present(host: &Host, devices: &Devices) -> BTreeSet<Identity> {
    let index = |name: String| {
        let file = is_file_name(&name).then(|| format!("{NET}/{name}/ifindex"))?;
        let index = host.read_fact(&file)?;
        Some((name, index))
    };
    devices.list_names(host).into_iter().filter_map(index).collect()
}

/// How the devices are now, and what would be done. Needs no privilege.
pub fn list_devices(
    host: &Host,
    access: &dyn Access,
    devices: &Devices,
) -> Result<Packets, TuneError> {
    let content = peek_journal(host, OWNER)?;
    let names = devices.list_names(host);
    let look = |name: String| {
        let state = look_at(host, access, &content.ledger, &name);
        PacketDevice { name, state }
    };
    Ok(Packets { devices: names.into_iter().map(look).collect(), offers: list_offers(host) })
}

/// Forget that devices of these names were switched: they are gone, and others have their names.
pub fn forget_devices(host: &Host, names: &[String]) -> Result<(), TuneError> {
    let targets: Vec<Target> = names.iter().map(|name| target_of(name)).collect();
    let content = peek_journal(host, OWNER)?;
    if targets.iter().any(|target| content.ledger.get(target).is_some()) {
        let mut journal = Journal::open(host, OWNER)?;
        journal.release_targets(&targets);
        if journal.ledger().is_empty() {
            journal.finish()?;
        }
    }
    Ok(())
}

/// Switch those that [`list_devices`] would switch. `known` is kept as what was known before.
pub fn switch_devices(
    host: &Host,
    access: &dyn Access,
    devices: &Devices,
    known: &[Association],
) -> Result<Packets, TuneError> {
    let mut packets = list_devices(host, access, devices)?;
    let would = |device: &&mut PacketDevice| device.state == PacketState::WouldSwitch;
    let mut chosen: Vec<&mut PacketDevice> = packets.devices.iter_mut().filter(would).collect();
    if chosen.is_empty() {
        return Ok(packets);
    }
    check_rights(host)?;
    let mut journal = Journal::open(host, OWNER)?;
    journal.begin_set(&known)?;
    let step = |device: &&mut PacketDevice| Step {
        target: target_of(&device.name),
        label: format!("threaded NAPI of {}", device.name),
        new: Value::Text("1".to_owned()),
        pin: false,
    };
    let steps = chosen.iter().map(step).collect();
    let outcomes = apply_steps(access, &mut journal, steps)?;
    for (device, StepOutcome { verdict, .. }) in chosen.iter_mut().zip(outcomes) {
        device.state = match verdict {
            Verdict::Done | Verdict::Became(_) => PacketState::Switched,
            Verdict::Already => PacketState::Already,
            Verdict::Gone => PacketState::Missing,
            Verdict::Refused(Refusal { errno: EOPNOTSUPP, .. }) => PacketState::NoNapi,
            Verdict::Refused(refusal) => PacketState::Refused(refusal.reason),
        };
    }
    // What was refused was never changed.
    let refused = chosen.iter().filter(|device| device.state != PacketState::Switched);
    let refused: Vec<Target> = refused.map(|device| target_of(&device.name)).collect();
    journal.release_targets(&refused);
    if journal.ledger().is_empty() {
        journal.finish()?;
    }
    Ok(packets)
}

/// Lets the new threads of devices serve packets as urgently as before, until it is known for whom.
pub fn plan_new_threads(
    packets: &Packets,
    threads: &[LiveThread],
    held: &BTreeMap<TaskId, u8>,
) -> TunePlan {
    let is_new = |thread: &&LiveThread| {
        let is_of = |device: &PacketDevice| polls_device(&thread.comm, &device.name);
        let mut switched = packets.devices.iter().filter(|d| d.state == PacketState::Switched);
        thread.kernel
            && thread.scheduling.is_default()
            && !held.contains_key(&thread.id)
            && switched.any(is_of)
    };
    let change = |thread: &LiveThread| TuneChange {
        thread: thread.clone(),
        priority: UNTIL_LEARNED,
        task: thread.clone(),
        why: "serves packets; for whom is to be learned".to_owned(),
    };
    let changes = threads.iter().filter(is_new).map(change).collect();
    TunePlan { changes, ..TunePlan::default() }
}

/// `napi/DEVICE-ID` (`napi_kthread_create`); the name may be cut.
pub(super) fn polls_device(comm: &str, device: &str) -> bool {
    let rest = comm.strip_prefix("napi/").and_then(|rest| rest.strip_prefix(device));
    let id = rest.and_then(|rest| rest.strip_prefix('-'));
    id.is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_digit()))
}

fn target_of(device: &str) -> Target {
    Target::File { path: format!("{NET}/{device}/threaded"), form: Form::Text }
}

fn is_file_name(name: &str) -> bool {
    !name.contains('/') && ![".", ".."].contains(&name)
}

pub(super) fn is_device(host: &Host, name: &str) -> bool {
    is_file_name(name) && host.path(format!("{NET}/{name}")).is_dir()
}

fn look_at(host: &Host, access: &dyn Access, ledger: &Ledger, name: &str) -> PacketState {
    if !is_device(host, name) {
        return PacketState::Missing;
    }
    let target = target_of(name);
    match access.get(&target) {
        Ok(None) => PacketState::Unsupported,
        Ok(Some(Value::Text(now))) if now != "0" => PacketState::Already,
        Ok(_) if ledger.get(&target).is_some() => PacketState::ChangedMeanwhile,
        Ok(_) => PacketState::WouldSwitch,
        Err(error) => PacketState::Refused(error.to_string()),
    }
}

/// What may help receivers beside threads. Each costs something that only its user can judge.
fn list_offers(host: &Host) -> Vec<String> {
    let mut offers = Vec::new();
    if host.path("proc/sys/net/core/busy_poll").exists() {
        offers.push(
            "busy polling (SO_BUSY_POLL, or net.core.busy_read for all): a receiver polls its \
             device itself; in the lab a round trip without its wire was up to 65 % shorter, and the \
             CPU had no time for others; docs/tune.md has the priorities that it needs"
                .to_owned(),
        );
    }
    let has_file = |file: &str| {
        let devices = host.names_in(NET).into_iter();
        devices.map(|name| format!("{NET}/{name}/{file}")).any(|path| host.path(path).exists())
    };
    if has_file("napi_defer_hard_irqs") && has_file("gro_flush_timeout") {
        offers.push(
            "napi_defer_hard_irqs and gro_flush_timeout of the device: its interrupt stays off \
             between polls, and a packet may wait for the timeout"
                .to_owned(),
        );
        if host.kernel_version().is_some_and(|version| version >= (6, 13)) {
            offers.push(
                "irq_suspend_timeout (netlink, per NAPI): its interrupt stays off while an \
                 application polls with epoll; in the lab as short as busy polling"
                    .to_owned(),
            );
        }
    }
    offers
}
