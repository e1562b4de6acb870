// SPDX-License-Identifier: GPL-2.0-or-later
//! Keep up, and stay out of the way.
//!
//! Among hundreds of runnable tasks a normal reader comes too late to empty the record buffer;
//! a reader that is always urgent delays the tasks it measures. So it is urgent (nice -20) only
//! for a while after it was kept waiting, and a result says for how long. Real-time tasks stay
//! ahead of it in any case.

use std::time::{Duration, Instant};

use rustix::process::{getpriority_process, setpriority_process};
use rustix::time::{ClockId, clock_gettime};

/// Runnable but not running for this long between two looks means starved.
const STARVED: Duration = Duration::from_millis(50);
/// How long it stays urgent after that.
const URGENT_FOR: Duration = Duration::from_secs(2);
const MOST_URGENT_NICE: i32 = -20;

/// Watches the reader's own delays.
pub struct Urgency {
    normal_nice: i32,
    last: Instant,
    last_cpu: Duration,
    /// Since when it has been urgent, and until when it stays so.
    urgent: Option<(Instant, Instant)>,
    total: Duration,
}

impl Urgency {
    /// Watches the calling process from now on.
    pub fn new() -> Self {
        Self {
            normal_nice: getpriority_process(None).unwrap_or(0),
            last: Instant::now(),
            last_cpu: cpu_time(),
            urgent: None,
            total: Duration::ZERO,
        }
    }

    /// Call it at every look; `slept` is how long the reader meant to sleep since the last one.
    pub fn note_sleep(&mut self, slept: Duration) {
        let (now, cpu) = (Instant::now(), cpu_time());
        let busy = cpu.saturating_sub(self.last_cpu) + slept;
        let waited = now.duration_since(self.last).saturating_sub(busy);
        (self.last, self.last_cpu) = (now, cpu);
        if waited >= STARVED {
            // Without the privilege it stays normal, and what is lost is told.
            if self.urgent.is_some() || setpriority_process(None, MOST_URGENT_NICE).is_ok() {
                let since = self.urgent.map_or(now, |(since, _)| since);
                self.urgent = Some((since, now + URGENT_FOR));
            }
        } else if self.urgent.is_some_and(|(_, until)| now >= until) {
            self.relax_priority();
        }
    }

    /// Time spent urgent so far.
    pub fn total(&self) -> Duration {
        self.total + self.urgent.map_or(Duration::ZERO, |(since, _)| since.elapsed())
    }

    fn relax_priority(&mut self) {
        if let Some((since, _)) = self.urgent.take() {
            self.total += since.elapsed();
            let _ = setpriority_process(None, self.normal_nice);
        }
    }
}

impl Drop for Urgency {
    fn drop(&mut self) {
        self.relax_priority();
    }
}

fn cpu_time() -> Duration {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(t.tv_sec.unsigned_abs(), t.tv_nsec.unsigned_abs() as u32)
}
