// SPDX-License-Identifier: GPL-2.0-or-later
//! What makes a shielded CPU itself answer late or compute unevenly: sleep states, its frequency,
//! the server that runs ordinary tasks between real-time ones, counters that are folded by a work
//! item, and a timer softirq that never gets its turn. `latency` has read how fast a CPU can be.
//!
//! The rule to know: all of it but `vm.stat_interval` is per CPU, and only shielded CPUs are
//! changed. A frequency that is shared with a CPU outside stays as it is.

use irqpath_model::Scheduling;
use irqpath_model::change::{Form, Target, Value};
use irqpath_model::shield::{Obstacle, ObstacleKind, Switch, Wanted};

use super::Snapshot;
use super::latency::{CPUS, STAT_FILE, resume_file, server_file};
use crate::Task;
use crate::change::Step;

/// A CPU that may not sleep at all; 0 means no limit.
const NO_SLEEP: &str = "n/a";
/// Seconds between two foldings of the counters; tuned's realtime profiles have the same.
const STAT_INTERVAL: &str = "10";
/// Above programs of FIFO 97 or less; the threads that stop a CPU have 99.
const SOFTIRQ_PRIORITY: u8 = 98;

/// The changes, and what cannot be had.
pub(super) fn plan_latency(snapshot: &Snapshot, wanted: &Wanted) -> (Vec<Step>, Vec<Obstacle>) {
    let mut plan = LatencyPlan { snapshot, wanted, steps: Vec::new(), obstacles: Vec::new() };
    if wanted.is_on(Switch::Poll) || wanted.is_on(Switch::Idle) {
        plan.limit_sleep();
    }
    if wanted.is_on(Switch::Governor) {
        plan.choose_governor();
    }
    if wanted.is_on(Switch::FairServer) {
        plan.stop_fair_server();
    }
    if wanted.is_on(Switch::Statistics) && snapshot.latency.has_stat_interval {
        plan.add_text(STAT_FILE.to_owned(), "folding of counters".to_owned(), STAT_INTERVAL);
    }
    if wanted.is_on(Switch::Ticks) {
        plan.raise_softirqs();
    }
    (plan.steps, plan.obstacles)
}

struct LatencyPlan<'a> {
    snapshot: &'a Snapshot,
    wanted: &'a Wanted,
    steps: Vec<Step>,
    obstacles: Vec<Obstacle>,
}

impl LatencyPlan<'_> {
    fn add_text(&mut self, path: String, label: String, new: &str) {
        let target = Target::File { path, form: Form::Text };
        self.steps.push(Step { target, label, new: Value::Text(new.to_owned()), pin: false });
    }

    fn add_obstacle(&mut self, switch: Switch, label: String, reason: &str, fix: Option<&str>) {
        let (kind, fix) = (ObstacleKind::Unavailable, fix.map(str::to_owned));
        let reason = reason.to_owned();
        self.obstacles.push(Obstacle { label, switch, kind, reason, errno: 0, fix });
    }

    fn limit_sleep(&mut self) {
        let latency = &self.snapshot.latency;
        let polls = self.wanted.is_on(Switch::Poll);
        for cpu in latency.limited.iter() {
            let states = latency.exit_latencies_us.get(&cpu).map_or(&[][..], Vec::as_slice);
            let shallowest = states.iter().copied().filter(|&us| us > 0).min();
            let limit = match shallowest {
                _ if polls => NO_SLEEP.to_owned(),
                Some(us) if states.iter().any(|&other| other > us) => us.to_string(),
                // There is one state of sleep, or Linux does not choose.
                _ => continue,
            };
            let label = format!("latency in us that CPU {cpu} may have to wake up");
            self.add_text(resume_file(cpu), label, &limit);
        }
    }

    fn choose_governor(&mut self) {
        for (name, cpus, governors) in &self.snapshot.latency.policies {
            if cpus.is_disjoint(&self.wanted.cpus) {
                continue;
            }
            let outside = cpus.difference(&self.wanted.cpus);
            let label = format!("cpufreq governor of CPU {cpus}");
            if !outside.is_empty() {
                let reason = format!("CPU {outside}, which is not shielded, shares its frequency");
                self.add_obstacle(Switch::Governor, label, &reason, None);
            } else if governors.split_whitespace().any(|one| one == "performance") {
                self.add_text(
                    format!("{CPUS}/cpufreq/{name}/scaling_governor"),
                    label,
                    "performance",
                );
            } else {
                let reason = "the kernel has no governor performance";
                self.add_obstacle(Switch::Governor, label, reason, None);
            }
        }
    }

    fn stop_fair_server(&mut self) {
        let servers = &self.snapshot.latency.fair_servers;
        for cpu in servers.iter() {
            self.add_text(server_file(cpu), format!("fair server of CPU {cpu}, ns"), "0");
        }
        let has_one = self.snapshot.version.is_none_or(|version| version >= (6, 12));
        if servers.is_empty() && has_one {
            let reason = "its files are not there, or may not be seen";
            let fix = Some("mount -t debugfs none /sys/kernel/debug");
            self.add_obstacle(Switch::FairServer, "the fair server".to_owned(), reason, fix);
        }
    }

    /// Below a task that computes, the timer softirq is never served, and the tick goes on while
    /// it is pending. Without `nohz_full` there is a tick in any case.
    fn raise_softirqs(&mut self) {
        let tickless = self.wanted.cpus.intersection(&self.snapshot.nohz_full);
        if !self.snapshot.latency.is_realtime || tickless.is_empty() {
            return;
        }
        for cpu in tickless.iter() {
            let named = |name: String| {
                let is_one = |task: &&Task| task.kernel && task.comm == name;
                self.snapshot.tasks.iter().find(is_one)
            };
            let timers = named(format!("ktimers/{cpu}"));
            let Some(thread) = timers.or_else(|| named(format!("ksoftirqd/{cpu}"))) else {
                continue;
            };
            let step = Step {
                target: Target::TaskScheduling { task: thread.id },
                label: format!("priority of {}", thread.label()),
                new: Value::Scheduling(Scheduling::fifo(SOFTIRQ_PRIORITY)),
                pin: false,
            };
            self.steps.push(step);
        }
    }
}
