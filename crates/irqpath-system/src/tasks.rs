// SPDX-License-Identifier: GPL-2.0-or-later
//! The tasks of a host, from `/proc/PID/task/TID/{stat,status}`.
//!
//! Tasks come and go while the list is read; one that is gone is left out. A task's number and
//! its start time together name it for good (see [`TaskId`]).

use irqpath_model::{CpuList, Policy, Scheduling, TaskId};

use crate::Host;

/// Kernel thread (`include/linux/sched.h`, unchanged since 2.6).
pub(crate) const PF_KTHREAD: u64 = 0x0020_0000;
/// Its affinity cannot be changed from user space: per-CPU kernel threads.
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

/// What is needed of `/proc/TID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    pub comm: String,
    pub state: char,
    pub ppid: u32,
    pub flags: u64,
    pub nice: i8,
    pub start_ticks: u64,
    pub cpu: u16,
    pub rt_priority: u8,
    pub policy: u32,
}

impl Stat {
    /// How the task is scheduled; `None` for a policy that no kernel up to 6.18 has.
    pub(crate) fn scheduling(&self) -> Option<Scheduling> {
        let policy = Policy::from_repr(self.policy)?;
        Some(Scheduling { policy, priority: self.rt_priority, nice: self.nice })
    }

    /// The name is between the first `(` and the last `)`, and may contain both.
    pub(crate) fn parse_stat(text: &str) -> Option<Self> {
        let (before, rest) = text.rsplit_once(')')?;
        let comm = before.split_once('(')?.1.to_owned();
        // From field 3 on, so field n of proc_pid_stat(5) is words[n - 3].
        let words: Vec<&str> = rest.split_whitespace().collect();
        let field = |n: usize| words.get(n - 3).copied();
        Some(Self {
            comm,
            state: field(3)?.chars().next()?,
            ppid: field(4)?.parse().ok()?,
            flags: field(9)?.parse().ok()?,
            nice: field(19)?.parse().ok()?,
            start_ticks: field(22)?.parse().ok()?,
            cpu: field(39)?.parse().ok()?,
            rt_priority: field(40)?.parse().ok()?,
            policy: field(41)?.parse().ok()?,
        })
    }
}

/// `Cpus_allowed_list` of `/proc/TID/status`.
pub(crate) fn affinity_in_status(text: &str) -> Option<CpuList> {
    text.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:"))?.trim().parse().ok()
}

/// A task, as of the moment it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Thread id and start time, which name no other task later.
    pub id: TaskId,
    /// Thread id of its process's main thread.
    pub tgid: u32,
    /// The process that started its process.
    pub ppid: u32,
    /// Name of the task, as in `/proc`.
    pub comm: String,
    /// True for a kernel thread.
    pub kernel: bool,
    /// True if the kernel refuses to change its affinity.
    pub fixed: bool,
    /// CPUs that it may use, offline ones included.
    pub affinity: CpuList,
    /// CPU that it runs on, or last ran on.
    pub cpu: u16,
    /// True if it runs, or waits for its CPU.
    pub runnable: bool,
}

impl Task {
    /// What people call it.
    pub fn label(&self) -> String {
        format!("task {} ({})", self.id.tid, self.comm)
    }

    /// True if it runs where its interrupt goes; the kernel moves it.
    pub(crate) fn is_irq_thread(&self) -> bool {
        self.kernel && self.comm.starts_with("irq/")
    }

    /// The number of the interrupt whose thread it is: `irq/33-sound`, `irq/33-s-sound`.
    pub(crate) fn serves_irq(&self) -> Option<u32> {
        let rest = self.comm.strip_prefix("irq/").filter(|_| self.kernel)?;
        rest.split_once('-')?.0.parse().ok()
    }
}

impl Host {
    /// Every thread of every process that is there now.
    pub fn read_tasks(&self) -> Vec<Task> {
        let is_number = |name: &String| name.bytes().all(|b| b.is_ascii_digit());
        let processes = self.names_in("proc").into_iter().filter(is_number);
        processes
            .flat_map(|process| {
                let directory = format!("proc/{process}/task");
                let threads = self.names_in(&directory).into_iter().filter(is_number);
                let read = |tid: String| self.read_task(&process, &tid);
                threads.filter_map(read).collect::<Vec<_>>()
            })
            .collect()
    }

    fn read_task(&self, process: &str, tid: &str) -> Option<Task> {
        let file = |name: &str| self.read(&format!("proc/{process}/task/{tid}/{name}")).ok();
        let stat = Stat::parse_stat(&file("stat")?)?;
        let affinity = affinity_in_status(&file("status")?)?;
        Some(Task {
            id: TaskId { tid: tid.parse().ok()?, start_ticks: stat.start_ticks },
            tgid: process.parse().ok()?,
            ppid: stat.ppid,
            comm: stat.comm,
            kernel: stat.flags & PF_KTHREAD != 0,
            fixed: stat.flags & PF_NO_SETAFFINITY != 0,
            affinity,
            cpu: stat.cpu,
            runnable: stat.state == 'R',
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    const STAT: &str = "712 (a) (b) S 1 712 712 0 -1 69238784 0 0 0 0 1 2 0 0 20 0 1 0 4242 0 0 \
        18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 3 50 1 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn a_name_may_hold_anything() {
        let stat = Stat::parse_stat(STAT).unwrap();
        assert_eq!(stat.comm, "a) (b");
        assert_eq!((stat.ppid, stat.start_ticks, stat.cpu), (1, 4242, 3));
        assert_eq!((stat.nice, stat.rt_priority, stat.policy), (0, 50, 1));
        assert_eq!(Stat::parse_stat("712 (sh"), None);
        assert_eq!(Stat::parse_stat(""), None);
    }

    #[test]
    fn tasks_that_are_half_gone_are_left_out() {
        let fake = Fake::new()
            .with_file("proc/712/task/712/stat", STAT)
            .with_file("proc/712/task/712/status", "Name:\tx\nCpus_allowed_list:\t0-3\n")
            .with_file("proc/712/task/713/stat", STAT)
            .with_file("proc/sys/kernel/ostype", "Linux\n");
        let tasks = fake.host().read_tasks();
        assert_eq!(tasks.len(), 1);
        let task = &tasks[0];
        assert_eq!((task.id.tid, task.tgid, task.affinity.to_string()), (712, 712, "0-3".into()));
        assert!(task.kernel && task.fixed, "{task:?}");
    }

    #[test]
    fn this_process_is_among_the_real_tasks() {
        let own = std::process::id();
        let tasks = Host::real().read_tasks();
        let task = tasks.iter().find(|t| t.id.tid == own).unwrap();
        assert!(!task.kernel && !task.affinity.is_empty(), "{task:?}");
    }
}
