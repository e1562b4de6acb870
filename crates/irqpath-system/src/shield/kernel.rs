// SPDX-License-Identifier: GPL-2.0-or-later
//! `/proc/shield` of a kernel with irqpath: the kernel takes the shielded CPUs from whoever may use
//! others, keeps what each had asked for, and gives it back. Two or three masks are all that a
//! shield changes then.

use irqpath_model::CpuList;
use irqpath_model::change::{Form, Target};
use irqpath_model::shield::{Mechanism, Switch, Wanted};

use crate::Host;

const DIRECTORY: &str = "proc/shield";

/// The masks of a kernel that has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelShield {
    /// CPUs shielded from tasks, of the kernel and of others.
    pub procs: CpuList,
    /// CPUs that the kernel shields from interrupts now.
    pub irqs: CpuList,
    /// CPUs in `nohz_full=` whose tick may stop.
    pub ltmrs: CpuList,
}

impl KernelShield {
    pub(super) fn read(host: &Host) -> Option<Self> {
        let file = |name| CpuList::from_mask(&host.read_fact(&format!("{DIRECTORY}/{name}"))?);
        Some(Self { procs: file("procs")?, irqs: file("irqs")?, ltmrs: file("ltmrs")? })
    }

    /// What is to be added where: the file, its CPUs now, and those to come.
    pub(super) fn missing_cpus(&self, wanted: &Wanted, nohz_full: &CpuList) -> Vec<Addition<'_>> {
        let all = [
            (Switch::Irqs, "irqs", "interrupts", &self.irqs, wanted.cpus.clone()),
            (Switch::Tasks, "procs", "tasks", &self.procs, wanted.cpus.clone()),
            (Switch::Ticks, "ltmrs", "ticks", &self.ltmrs, wanted.cpus.intersection(nohz_full)),
        ];
        let of = |(switch, name, label, found, cpus): (Switch, &str, _, _, CpuList)| {
            let needed = wanted.is_on(switch) && !cpus.is_empty();
            needed.then(|| Addition { target: file_target(name), label, found, cpus })
        };
        all.into_iter().filter_map(of).collect()
    }
}

/// CPUs that are added to a mask.
pub(super) struct Addition<'a> {
    pub target: Target,
    pub label: &'static str,
    pub found: &'a CpuList,
    pub cpus: CpuList,
}

fn file_target(name: &str) -> Target {
    Target::File { path: format!("{DIRECTORY}/{name}"), form: Form::Mask }
}

/// Whether the kernel's own shield is to be used where there is one.
pub(super) fn is_wanted(wanted: &Wanted) -> bool {
    matches!(wanted.mechanism, Mechanism::Auto | Mechanism::Kernel)
}

/// True if something is to be kept off that it can keep off.
pub(super) fn has_part(wanted: &Wanted) -> bool {
    [Switch::Tasks, Switch::Irqs, Switch::Ticks].into_iter().any(|switch| wanted.is_on(switch))
}

/// The switch that a file of it belongs to.
pub(super) fn switch_of(path: &str) -> Option<Switch> {
    match path.strip_prefix(DIRECTORY)? {
        "/procs" => Some(Switch::Tasks),
        "/irqs" => Some(Switch::Irqs),
        "/ltmrs" => Some(Switch::Ticks),
        _ => None,
    }
}
