// SPDX-License-Identifier: GPL-2.0-or-later
//! What shielded CPUs share with others: the core with their siblings, the memory with their node.
//! `siblings` takes off who shares a core.

use std::collections::{BTreeMap, BTreeSet};

use irqpath_model::CpuList;
use irqpath_model::shield::Wanted;

use super::latency::CPUS;
use crate::Host;

/// What was read of CPUs that are to be shielded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// Others that share a core with one of them.
    pub siblings: CpuList,
    /// The nodes of the host, and their CPUs.
    pub nodes: BTreeMap<u16, CpuList>,
    /// True if the kernel moves pages to the node of who uses them.
    pub balances_memory: bool,
    /// Nodes of the devices of interrupts that were named.
    pub devices: BTreeMap<u32, u16>,
    /// CPUs that can be taken off.
    pub removable: CpuList,
}

impl Topology {
    pub(super) fn read<'a>(
        host: &Host,
        wanted: &Wanted,
        irqs: impl Iterator<Item = &'a u32>,
    ) -> Self {
        let node_of = |irq: u32| host.read_fact(&format!("proc/irq/{irq}/node"))?.parse().ok();
        let removable = wanted.offline.iter().filter(|cpu| host.path(online_file(*cpu)).exists());
        Self {
            siblings: host.read_siblings(&wanted.cpus),
            nodes: host.read_nodes(),
            balances_memory: host
                .read_number("proc/sys/kernel/numa_balancing")
                .is_some_and(|mode| mode & 1 != 0),
            devices: irqs.filter_map(|&irq| Some((irq, node_of(irq)?))).collect(),
            removable: removable.collect(),
        }
    }

    fn nodes_of(&self, cpus: &CpuList) -> BTreeSet<u16> {
        let touches = |(_, of_node): &(&u16, &CpuList)| !of_node.is_disjoint(cpus);
        self.nodes.iter().filter(touches).map(|(node, _)| *node).collect()
    }

    /// What a user should know of it.
    pub(super) fn describe(&self, wanted: &Wanted) -> Vec<String> {
        let cpus = &wanted.cpus;
        let mut notes = Vec::new();
        let busy = self.siblings.difference(&wanted.offline);
        if !busy.is_empty() {
            notes.push(format!(
                "CPU {busy} shares a core with CPU {cpus} and is not shielded, so its work slows them; \
                 --siblings shield or --siblings offline ends that"
            ));
        }
        if self.nodes.len() < 2 {
            return notes;
        }
        let nodes = self.nodes_of(cpus);
        let list = join(&nodes);
        notes.push(format!(
            "CPU {cpus} is on NUMA node {list}; memory of another node is slow: numactl --membind={list}"
        ));
        if self.balances_memory {
            notes.push(
                "kernel.numa_balancing is on: it unmaps pages to learn who uses them, and each makes \
                 its task fault; sysctl -w kernel.numa_balancing=0, or bind the memory"
                    .to_owned(),
            );
        }
        for (irq, node) in self.devices.iter().filter(|(_, node)| !nodes.contains(node)) {
            notes.push(format!(
                "the device of irq {irq} is on NUMA node {node}, CPU {cpus} on node {list}; a CPU of \
                 node {node} would reach it faster"
            ));
        }
        notes
    }
}

fn join(nodes: &BTreeSet<u16>) -> String {
    nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

pub(super) fn online_file(cpu: u16) -> String {
    format!("{CPUS}/cpu{cpu}/online")
}
