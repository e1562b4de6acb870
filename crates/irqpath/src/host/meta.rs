// SPDX-License-Identifier: GPL-2.0-or-later
//! `meta.json`: what was measured, on which machine, and what measuring changed on it. Everything
//! is taken before the measurement, but for the counts after it and what was learned meanwhile.

use std::time::Duration;

use irqpath_model::{Meta, Names, Overhead, SCHEMA_VERSION, printable};
use irqpath_system::Host;
use jiff::Timestamp;

/// How long the source keeps the kernel's BPF statistics on, at most.
const STATS_ON: Duration = Duration::from_millis(500);

/// Everything that can be known before the measurement starts.
pub fn collect_before(host: &Host, names: Names) -> Meta {
    Meta {
        schema_version: SCHEMA_VERSION,
        irqpath_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command_line(),
        host: host.host_name(),
        boot_id: host.boot_id(),
        run_id: host.make_unique_name(),
        commit: tested_commit(),
        started_at: format_now(),
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

/// The time, RFC 3339, UTC: `2026-02-28T13:14:15Z`.
pub fn format_now() -> String {
    format!("{:.0}", Timestamp::now())
}

/// The variable that says which revision is under test.
const COMMIT: &str = "IRQPATH_COMMIT";
/// A longer name is cut; that of a commit has 64 characters at most.
const MAX_COMMIT: usize = 128;

/// The revision under test, as the environment says; empty if it does not.
pub fn tested_commit() -> String {
    let told = std::env::var_os(COMMIT).unwrap_or_default();
    let told: String = told.to_string_lossy().trim().chars().take(MAX_COMMIT).collect();
    printable(&told).into_owned()
}

/// The command line of this process.
pub fn command_line() -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_whole_seconds_of_utc() {
        let now = format_now();
        assert_eq!(now.len(), "2026-02-28T13:14:15Z".len(), "{now}");
        assert!(now.ends_with('Z') && now.parse::<Timestamp>().is_ok(), "{now}");
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
