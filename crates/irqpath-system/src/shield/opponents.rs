// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs that set the same values as a shield, each for its own purpose. `status` names those
//! that run, and `contest` the one that may have changed a value back.
//!
//! The rule to know: any user can give a process any name, so only root's count. irqbalance, which
//! is also told things, has to prove more.

use irqpath_model::change::Target;

use crate::change::{is_genuine_irqbalance, is_of_root};
use crate::{Host, Task};

/// A program of this name, what it does, and what keeps it off.
struct Kind {
    comm: &'static str,
    does: &'static str,
    fix: &'static str,
    /// Beginnings of the files that it writes.
    files: &'static [&'static str],
}

/// Names as in `/proc/PID/comm`, which has at most 15 characters.
const KINDS: [Kind; 7] = [
    // Told through its socket; where it has none, that is an obstacle.
    Kind { comm: "irqbalance", does: "", fix: "", files: &["proc/irq/"] },
    Kind {
        comm: "tuned",
        does: "sets the affinities, governors and sysctls of its profile",
        fix: "tuned-adm off ends that",
        files: &["proc/", "sys/devices/", "sys/class/net/", "sys/kernel/debug/"],
    },
    Kind {
        comm: "tuna",
        does: "sets affinities and priorities",
        fix: "close it",
        files: &["proc/irq/"],
    },
    Kind {
        comm: "intel_lpmd",
        does: "moves tasks and interrupts to a few CPUs while the machine is idle",
        fix: "systemctl stop intel_lpmd ends that",
        files: &["proc/irq/", "sys/fs/cgroup/", "sys/devices/system/cpu/"],
    },
    Kind {
        comm: "NetworkManager",
        does: "may set up the queues of a network device anew, without the masks of the shield",
        fix: "--watch sets them again",
        files: &["sys/class/net/", "proc/irq/"],
    },
    Kind {
        comm: "kubelet",
        does: "gives CPUs to pods, without knowing of the shield",
        fix: "reservedSystemCPUs with the option strict-cpu-reservation keeps pods off",
        files: &["sys/fs/cgroup/"],
    },
    Kind {
        comm: "numad",
        does: "moves processes to the memory that they use",
        fix: "systemctl stop numad ends that",
        files: &["sys/fs/cgroup/"],
    },
];

/// One that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opponent {
    pid: u32,
    kind: usize,
}

impl Opponent {
    const fn kind(&self) -> &'static Kind {
        &KINDS[self.kind]
    }

    /// `tuned (812)`.
    pub(super) fn label(&self) -> String {
        format!("{} ({})", self.kind().comm, self.pid)
    }

    /// What to know of it beside a shield; `None` for one that was told.
    pub(super) fn describe(&self) -> Option<String> {
        let Kind { does, fix, .. } = self.kind();
        (!does.is_empty()).then(|| format!("{} {does}; {fix}", self.label()))
    }

    /// True if it writes such values.
    pub(super) fn writes(&self, target: &Target) -> bool {
        let (Target::File { path, .. } | Target::Cgroup { path }) = target else { return false };
        self.kind().files.iter().any(|beginning| path.starts_with(beginning))
    }
}

/// Those that run, by their numbers.
pub(super) fn find_opponents(host: &Host, tasks: &[Task]) -> Vec<Opponent> {
    let of = |task: &Task| {
        let pid = task.id.tid;
        let kind = KINDS.iter().position(|kind| kind.comm == task.comm)?;
        let is_one = match task.comm.as_str() {
            "irqbalance" => is_genuine_irqbalance(host, pid),
            _ => is_of_root(host, pid),
        };
        (pid == task.tgid && !task.kernel && is_one).then_some(Opponent { pid, kind })
    };
    let mut found: Vec<Opponent> = tasks.iter().filter_map(of).collect();
    found.sort_by_key(|opponent| opponent.pid);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;
    use irqpath_model::change::Form;

    #[test]
    fn those_of_root_are_named_and_a_name_alone_is_not_enough() {
        let fake = Fake::new()
            .with_task(812, 1, "tuned", "0-3", 0)
            .with_task(813, 1, "kubelet", "0-3", 0)
            .with_task(814, 1, "NetworkManager", "0-3", 0)
            .with_task(815, 1, "intel_lpmd", "0-3", 0)
            .with_task(816, 1, "irqbalance", "0-3", 0)
            .with_task(817, 1, "tuned", "0-3", 0)
            .with_file("proc/817/status", "Uid:\t4242\t4242\t4242\t4242\n");
        let host = fake.host();
        let found = find_opponents(&host, &host.read_tasks());
        let labels: Vec<String> = found.iter().map(Opponent::label).collect();
        let want = ["tuned (812)", "kubelet (813)", "NetworkManager (814)", "intel_lpmd (815)"];
        assert_eq!(labels, want);
        assert_eq!(
            found[1].describe().unwrap(),
            "kubelet (813) gives CPUs to pods, without knowing of the shield; reservedSystemCPUs \
             with the option strict-cpu-reservation keeps pods off"
        );
        let file = |path: &str| Target::File { path: path.to_owned(), form: Form::Mask };
        let queue = file("sys/class/net/eth0/queues/rx-0/rps_cpus");
        let writers = found.iter().filter(|one| one.writes(&queue));
        assert_eq!(writers.map(Opponent::label).collect::<Vec<_>>(), [want[0], want[2]]);
    }
}
