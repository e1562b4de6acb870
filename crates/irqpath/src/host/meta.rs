// SPDX-License-Identifier: GPL-2.0-or-later
//! `meta.json`: what was measured, on which machine, and what measuring changed on it. Everything
//! is taken before the measurement, but for the counts after it and what was learned meanwhile.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use irqpath_model::{Meta, Names, Overhead, SCHEMA_VERSION};
use irqpath_system::Host;

/// How long the source keeps the kernel's BPF statistics on, at most.
const STATS_ON: Duration = Duration::from_millis(500);

/// Everything that can be known before the measurement starts.
pub fn before(host: &Host, names: Names) -> Meta {
    Meta {
        schema_version: SCHEMA_VERSION,
        irqpath_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command(),
        host: host.host_name(),
        started_at: now(),
        source: "live".to_owned(),
        kernel: host.kernel_info(),
        cpu: host.cpu_info(),
        isolation: host.isolation(),
        names,
        // They describe the result; a host without them can still be measured. Taken last, so
        // that they are of the moment when the measurement starts.
        before: host.interrupt_counts().unwrap_or_default(),
        ..Meta::default()
    }
}

/// The time, RFC 3339, UTC.
pub fn now() -> String {
    rfc3339(SystemTime::now())
}

/// The command line of this process.
pub fn command() -> Vec<String> {
    std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect()
}

/// What measuring changed on the measured system, one sentence each.
pub fn observer_effects(no_user: bool, overhead: &Overhead, duration: Duration) -> Vec<String> {
    let mut effects = Vec::new();
    if overhead.nr_events > 0 {
        let cost = match overhead.mean_event_ns {
            0 => String::new(),
            ns => format!(", about {ns} ns each"),
        };
        effects.push(format!(
            "Tracing programs ran {} times in interrupts, softirqs and the scheduler{cost}.",
            overhead.nr_events
        ));
    }
    if !no_user {
        effects.push(
            "The sys_exit tracepoint was enabled: every system call on the host took the slow \
             exit path (--no-user avoids it)."
                .to_owned(),
        );
    }
    if overhead.nr_sampled > 0 {
        effects.push(format!(
            "BPF statistics were on for the first {} ms: two clock reads more per program run.",
            STATS_ON.min(duration).as_millis()
        ));
    }
    if overhead.process_cpu_ns > 0 {
        effects.push(format!(
            "irqpath itself used {} ms of CPU time to read the records.",
            overhead.process_cpu_ns / 1_000_000
        ));
    }
    if overhead.urgent_ns > 0 {
        effects.push(format!(
            "irqpath was kept waiting and ran at nice -20 for {} ms to keep up.",
            overhead.urgent_ns / 1_000_000
        ));
    }
    effects
}

/// `2026-02-28T13:14:15Z`.
fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// The Gregorian date that is `days` after 1970-01-01.
fn date(mut days: u64) -> (u64, u64, u64) {
    let is_leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339() {
        for (seconds, want) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), want);
        }
    }

    #[test]
    fn effects_name_what_was_on() {
        let overhead =
            Overhead { nr_events: 10, mean_event_ns: 90, nr_sampled: 5, ..Overhead::default() };
        let second = Duration::from_secs(1);
        let all = observer_effects(false, &overhead, second).join("\n");
        for part in ["10 times", "90 ns", "sys_exit", "first 500 ms"] {
            assert!(all.contains(part), "{part} is not in {all}");
        }
        assert!(!observer_effects(true, &overhead, second).join("\n").contains("sys_exit"));
        let short = observer_effects(true, &overhead, Duration::from_millis(20)).join("\n");
        assert!(short.contains("first 20 ms"), "{short}");
    }
}
