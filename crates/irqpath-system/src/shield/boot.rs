// SPDX-License-Identifier: GPL-2.0-or-later
//! What a running kernel cannot do any more: the boot parameters that a shield lacks.

use irqpath_model::CpuList;
use irqpath_model::shield::{Obstacle, ObstacleKind, Switch, Wanted};

use super::Snapshot;

/// What a boot parameter would take off the shielded CPUs.
struct Need {
    switch: Switch,
    label: &'static str,
    option: &'static str,
    parameter: &'static str,
    reason: &'static str,
}

const NEEDS: [Need; 2] = [
    Need {
        switch: Switch::Ticks,
        label: "the tick",
        option: "CONFIG_NO_HZ_FULL",
        parameter: "nohz_full=",
        reason: "it can be stopped under a running task only on CPUs that were chosen at boot",
    },
    Need {
        switch: Switch::Rcu,
        label: "RCU callbacks",
        option: "CONFIG_RCU_NOCB_CPU",
        parameter: "rcu_nocbs=",
        reason: "they can be handed to threads only on CPUs that were chosen at boot",
    },
];

/// What the kernel would need at boot for `wanted`.
pub(super) fn boot_obstacles(snapshot: &Snapshot, wanted: &Wanted) -> Vec<Obstacle> {
    let lacking = |need: &&Need| {
        let have = match need.switch {
            Switch::Ticks => &snapshot.nohz_full,
            _ => &snapshot.rcu_nocbs,
        };
        wanted.is_on(need.switch) && !wanted.cpus.is_subset(have)
    };
    NEEDS.iter().filter(lacking).map(|need| boot_obstacle(snapshot, wanted, need)).collect()
}

fn boot_obstacle(snapshot: &Snapshot, wanted: &Wanted, need: &Need) -> Obstacle {
    let built = snapshot.config.get(need.option).copied();
    let (reason, fix) = if built == Some(false) {
        (format!("this kernel was built without {}", need.option), None)
    } else {
        (need.reason.to_owned(), Some(boot_parameter(snapshot, need.parameter, &wanted.cpus)))
    };
    Obstacle {
        label: need.label.to_owned(),
        switch: need.switch,
        kind: ObstacleKind::NeedsBoot,
        reason,
        errno: 0,
        fix,
    }
}

/// The parameter as it has to be: with the CPUs that it has already.
fn boot_parameter(snapshot: &Snapshot, name: &str, cpus: &CpuList) -> String {
    let has = snapshot.parameter(name.trim_end_matches('='));
    let has: CpuList = has.and_then(|text| text.parse().ok()).unwrap_or_default();
    format!("{name}{}", has.union(cpus))
}

/// The parameter for interrupts whose affinity the kernel manages. `isolcpus` takes flags and then
/// CPUs; those that are there stay.
pub(super) fn managed_irq(snapshot: &Snapshot, cpus: &CpuList) -> String {
    let has = snapshot.parameter("isolcpus").unwrap_or_default();
    let (flags, list): (Vec<&str>, Vec<&str>) =
        has.split(',').filter(|w| !w.is_empty()).partition(|w| w.starts_with(char::is_alphabetic));
    // Without a flag the list means `domain`, which has to be said once there is another.
    let domain = (flags.is_empty() && !list.is_empty()).then_some("domain");
    let mut words: Vec<&str> = flags.into_iter().filter(|&f| f != "managed_irq").collect();
    words.extend(domain);
    words.insert(0, "managed_irq");
    let list: CpuList = list.join(",").parse().unwrap_or_default();
    format!("isolcpus={},{}", words.join(","), list.union(cpus))
}
