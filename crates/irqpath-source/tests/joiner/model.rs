// SPDX-License-Identifier: GPL-2.0-or-later
//! A small kernel that makes scripts: what it does, a real one could do.
//!
//! Three CPUs, eight tasks. Hardirqs nest, softirqs run once they are pending, only a sleeping
//! task is woken, only a runnable one is switched in, time always goes on. While one of the tasks
//! is current no program runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

pub const CPUS: usize = 3;
/// Targets, an irq thread, ksoftirqd, a kworker, an ordinary kernel thread.
pub const TASKS: [u32; 8] = [10, 11, 12, 13, 20, 21, 22, 23];

/// The task of which nothing is seen, as of threads of pid 1 on a kernel that we met.
const UNSEEN: u32 = 13;

/// One random choice: CPU, what to do, with what, and the time until then.
pub type Choice = (u8, u8, u8, u16);

#[derive(Default)]
struct Cpu {
    current: u32,
    /// Exits that are due and when each was entered, innermost last.
    hardirqs: Vec<(&'static str, u64)>,
    softirq: Option<u8>,
    softirq_origin: Option<u64>,
    pending: [bool; 10],
    pending_origin: [Option<u64>; 10],
    /// Raised unseen: these run unseen too, at the end of the interrupt that raised them.
    raised_unseen: [bool; 10],
    working: bool,
}

#[derive(Default)]
pub struct Model {
    pub script: String,
    pub now: u64,
    /// For wakeups whose interrupt is beyond doubt: their time, and when its handler began.
    pub truth: BTreeMap<u64, u64>,
    /// For wakeups that were seen: their time, and when the task was switched in, if that was seen.
    pub ends: BTreeMap<u64, Option<u64>>,
    woken: BTreeMap<u32, u64>,
    cpus: [Cpu; CPUS],
    runnable: Vec<u32>,
    running: Vec<u32>,
    queued: bool,
}

impl Model {
    pub fn new() -> Self {
        Self { now: 1_000, ..Self::default() }
    }

    /// The script that these choices make.
    pub fn script(choices: &[Choice]) -> Self {
        let mut model = Self::new();
        for &(cpu, what, with, wait) in choices {
            let cpu = usize::from(cpu) % CPUS;
            if !model.cpus[cpu].hardirqs.is_empty() {
                model.in_hardirq(cpu, what, with, wait);
            } else if model.cpus[cpu].softirq.is_some() {
                model.in_softirq(cpu, what, with, wait);
            } else {
                model.in_task(cpu, what, with, wait);
            }
        }
        model
    }

    fn write(&mut self, cpu: usize, wait: u16, event: &str) {
        self.now += 1 + u64::from(wait);
        let _ = writeln!(self.script, "{cpu} {} {event}", self.now);
    }

    /// An event, where programs see it.
    fn event(&mut self, cpu: usize, wait: u16, event: &str) {
        if self.is_seen(cpu) {
            self.write(cpu, wait, event);
        }
    }

    fn is_seen(&self, cpu: usize) -> bool {
        self.cpus[cpu].current != UNSEEN
    }

    /// When the interrupt began for which this CPU works; `None` where that is not simple.
    fn origin(&self, cpu: usize) -> Option<u64> {
        let cpu = &self.cpus[cpu];
        match cpu.hardirqs.last() {
            Some((_, entered)) => (cpu.hardirqs.len() <= 4).then_some(*entered),
            None => cpu.softirq.and(cpu.softirq_origin),
        }
    }

    fn in_hardirq(&mut self, cpu: usize, what: u8, with: u8, wait: u16) {
        match what % 10 {
            0 | 1 => self.wake(cpu, with, wait),
            2 if self.cpus[cpu].hardirqs.len() < 6 => self.interrupt(cpu, with, wait),
            3 | 4 => self.start_something(cpu, with, wait),
            5 => {
                let expiry = self.now.saturating_sub(u64::from(with));
                self.event(cpu, wait, &format!("hrtimer_entry {expiry}"));
                self.wake(cpu, with, wait);
                self.event(cpu, 0, "hrtimer_exit");
            }
            _ => {
                let (exit, _) = self.cpus[cpu].hardirqs.pop().expect("the caller looked");
                self.event(cpu, wait, exit);
                if exit.ends_with(" 2 2") {
                    self.wake_task(cpu, 20, 0); // its thread, unless it is awake
                }
            }
        }
    }

    fn in_softirq(&mut self, cpu: usize, what: u8, with: u8, wait: u16) {
        match what % 6 {
            0 | 1 => self.wake(cpu, with, wait),
            2 => self.interrupt(cpu, with, wait),
            3 => self.start_something(cpu, with, wait),
            _ => {
                let vec = self.cpus[cpu].softirq.take().expect("the caller looked");
                self.event(cpu, wait, &format!("softirq_exit {vec}"));
            }
        }
    }

    fn in_task(&mut self, cpu: usize, what: u8, with: u8, wait: u16) {
        let pending = self.cpus[cpu].pending.iter().position(|p| *p);
        match (what % 12, pending) {
            (0..=2, _) => self.interrupt(cpu, with, wait),
            (3..=5, Some(vec)) => {
                self.cpus[cpu].pending[vec] = false;
                self.cpus[cpu].softirq = Some(vec as u8);
                self.cpus[cpu].softirq_origin = self.cpus[cpu].pending_origin[vec];
                self.event(cpu, wait, &format!("softirq_entry {vec}"));
            }
            (6 | 7, _) => self.event(cpu, wait, "sys_exit"),
            (8.., _) if self.cpus[cpu].current == 22 && (self.queued || with < 64) => {
                self.work(cpu, wait);
            }
            (8, _) if with < 64 => self.wake(cpu, with, wait),
            (8, _) => self.start_something(cpu, with, wait),
            _ => self.switch(cpu, with, wait),
        }
    }

    fn interrupt(&mut self, cpu: usize, with: u8, wait: u16) {
        let (entry, exit) = match with % 4 {
            0 => ("irq_entry 42 2", "irq_exit 42 2 2"),
            1 => ("irq_entry 43 1", "irq_exit 43 1 1"),
            2 => ("vector_entry local_timer", "vector_exit local_timer"),
            _ => ("vector_entry reschedule", "vector_exit reschedule"),
        };
        self.event(cpu, wait, entry);
        self.cpus[cpu].hardirqs.push((exit, self.now));
    }

    fn start_something(&mut self, cpu: usize, with: u8, wait: u16) {
        match with % 8 {
            0 => self.event(cpu, wait, &format!("ipi {}", (cpu + 1) % CPUS)),
            1 => {
                self.queued = true;
                self.event(cpu, wait, "queue_work 0x1000");
                self.wake_task(cpu, 22, 0);
            }
            vec => {
                let (origin, nr) = (self.origin(cpu), usize::from(vec));
                self.cpus[cpu].raised_unseen[nr] |= !self.is_seen(cpu);
                if !std::mem::replace(&mut self.cpus[cpu].pending[nr], true) {
                    self.cpus[cpu].pending_origin[nr] = origin;
                }
                self.event(cpu, wait, &format!("softirq_raise {vec}"));
            }
        }
    }

    fn work(&mut self, cpu: usize, wait: u16) {
        if self.cpus[cpu].working {
            self.cpus[cpu].working = false;
            self.event(cpu, wait, "work_end");
        } else if std::mem::take(&mut self.queued) {
            self.cpus[cpu].working = true;
            self.event(cpu, wait, "work_start 0x1000");
        }
    }

    fn wake(&mut self, cpu: usize, with: u8, wait: u16) {
        let tid = TASKS[usize::from(with) % TASKS.len()];
        let current = self.cpus[cpu].current;
        if tid == current && tid < 20 && with >= 128 && self.is_seen(cpu) {
            self.event(cpu, 0, "state 1"); // it was about to sleep
            self.event(cpu, wait, &format!("waking {tid}"));
            self.truth.extend(self.origin(cpu).map(|began| (self.now, began)));
        } else if tid != 20 {
            self.wake_task(cpu, tid, wait);
        }
    }

    fn wake_task(&mut self, cpu: usize, tid: u32, wait: u16) {
        if self.runnable.contains(&tid) || self.running.contains(&tid) {
            return;
        }
        self.runnable.push(tid);
        self.event(cpu, wait, &format!("waking {tid}"));
        if self.is_seen(cpu) {
            self.woken.insert(tid, self.now);
        }
        if self.is_seen(cpu) && tid != 20 {
            self.truth.extend(self.origin(cpu).map(|began| (self.now, began)));
        }
    }

    /// The current task sleeps or is preempted; a kworker inside a work item does neither.
    fn switch(&mut self, cpu: usize, with: u8, wait: u16) {
        let Cpu { current, working, .. } = self.cpus[cpu];
        if working || (self.runnable.is_empty() && current == 0) {
            return;
        }
        let next = match self.runnable.len() {
            0 => 0,
            nr => self.runnable.remove(usize::from(with) % nr),
        };
        let preempt = current != 0 && with.is_multiple_of(3);
        self.running.retain(|t| *t != current);
        if preempt {
            self.runnable.push(current);
        }
        if next != 0 {
            self.running.push(next);
        }
        self.cpus[cpu].current = next;
        for (nr, unseen) in std::mem::take(&mut self.cpus[cpu].raised_unseen).iter().enumerate() {
            self.cpus[cpu].pending[nr] &= !unseen;
        }
        let how = if preempt {
            "preempt"
        } else if current == 0 {
            "0"
        } else {
            "1"
        };
        let verb = if current == UNSEEN { "hidden" } else { "switch" };
        self.write(cpu, wait, &format!("{verb} {next} {how}"));
        let woken = self.woken.remove(&next);
        self.ends.extend(woken.map(|at| (at, (verb == "switch").then_some(self.now))));
    }
}
