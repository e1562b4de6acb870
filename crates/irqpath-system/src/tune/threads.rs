// SPDX-License-Identifier: GPL-2.0-or-later
//! The threads of a host with their policies, from `/proc/PID/task/TID/stat`.

use irqpath_model::TaskId;
use irqpath_model::tune::LiveThread;

use crate::Host;
use crate::tasks::{PF_KTHREAD, Stat};

impl Host {
    /// How often a thread has gone to sleep (`voluntary_ctxt_switches`); `None` if it is gone.
    pub fn count_sleeps(&self, tid: u32) -> Option<u64> {
        let text = self.read(&format!("proc/{tid}/status")).ok()?;
        text.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"))?.trim().parse().ok()
    }

    /// Every thread that is there now. One that ends meanwhile is left out.
    pub fn live_threads(&self) -> Vec<LiveThread> {
        let numbers = |directory: &str| {
            let names = self.names_in(directory).into_iter();
            names.filter_map(|name| name.parse::<u32>().ok()).collect::<Vec<_>>()
        };
        let threads = |pid: u32| {
            let directory = format!("proc/{pid}/task");
            numbers(&directory).into_iter().map(move |tid| format!("{directory}/{tid}/stat"))
        };
        let read = |path: String| {
            let stat = Stat::parse_stat(&self.read(&path).ok()?)?;
            let tid = path.rsplit('/').nth(1)?.parse().ok()?;
            Some(LiveThread {
                id: TaskId { tid, start_ticks: stat.start_ticks },
                kernel: stat.flags & PF_KTHREAD != 0,
                scheduling: stat.scheduling().unwrap_or_default(),
                comm: stat.comm,
            })
        };
        numbers("proc").into_iter().flat_map(threads).filter_map(read).collect()
    }
}
