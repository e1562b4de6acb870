// SPDX-License-Identifier: GPL-2.0-or-later
//! Families that only an agent has: where slow paths lost their time, interrupts on CPUs that are
//! kept free, and the agent's own size.

use std::fmt;

use irqpath_model::CauseKind;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use super::families::{Labels, to_seconds, write_family};
use super::recorder::write_recorder;
use super::{AgentFacts, Exposed};

/// Writes them all.
pub fn write_facts(
    e: &mut DescriptorEncoder<'_>,
    exposed: &Exposed,
    facts: &AgentFacts,
) -> fmt::Result {
    let counter = MetricType::Counter;
    let seconds = Some(&Unit::Seconds);
    let rows = facts.causes.iter().map(|(kind, ns)| {
        let labels =
            vec![("kind", word_of(&kind)), ("class", class_word(kind, facts.causes.is_virtual()))];
        (labels, to_seconds(ns))
    });
    write_family(e, "slow_cause", "Time of slow paths by what took it", seconds, counter, rows)?;
    let rows = facts.intrusions.iter().map(|intrusion| {
        let why: &'static str = intrusion.why.into();
        let labels = vec![
            ("cpu", intrusion.cpu.to_string()),
            ("origin", exposed.names.origin(intrusion.origin)),
            ("why", why.to_owned()),
        ];
        (labels, intrusion.nr as f64)
    });
    let help = "Hard interrupts on a CPU that is kept free of them, and why they came";
    write_family(e, "isolated_cpu_hardirqs", help, None, counter, rows)?;
    write_clients(e, facts)?;
    if let Some(clock) = &facts.clock {
        let rows = std::iter::once((Labels::new(), clock.nr_jumps() as f64));
        let help = "Times that the clock of the day was set while the agent ran";
        write_family(e, "clock_jumps", help, None, counter, rows)?;
    }
    if let Some(recorder) = &facts.recorder {
        write_recorder(e, recorder)?;
    }
    write_size(e, exposed, facts)?;
    write_programs(e, facts)
}

fn write_clients(e: &mut DescriptorEncoder<'_>, facts: &AgentFacts) -> fmt::Result {
    let counter = MetricType::Counter;
    let row =
        |name, (word, nr): &(&'static str, u64)| (vec![(name, (*word).to_owned())], *nr as f64);
    let rows = facts.refusals.iter().map(|one| row("why", one));
    write_family(e, "refused_requests", "Requests without an answer", None, counter, rows)?;
    let rows = facts.answers.iter().map(|one| row("status", one));
    write_family(e, "http_answers", "Answers over HTTP", None, counter, rows)?;
    let Some(pushes) = &facts.pushes else { return Ok(()) };
    let rows = pushes.by_result.iter().map(|one| row("result", one));
    write_family(e, "otlp_pushes", "Pushes to the collector", None, counter, rows)?;
    let rows = std::iter::once((Labels::new(), pushes.nr_rejected as f64));
    let help = "Points that the collector left out of what it accepted";
    write_family(e, "otlp_rejected_points", help, None, counter, rows)
}

/// A program that the kernel never timed has no row: a mean of nothing would be taken for a fact.
fn write_programs(e: &mut DescriptorEncoder<'_>, facts: &AgentFacts) -> fmt::Result {
    let counter = MetricType::Counter;
    let timed = || facts.programs.iter().filter(|program| program.nr_runs > 0);
    let labels = |name: &String| vec![("program", name.clone())];
    let rows = timed().map(|one| (labels(&one.name), one.nr_runs as f64));
    let help = "Runs of a tracing program that the kernel timed, which are a sample of all";
    write_family(e, "observer_program_runs", help, None, counter, rows)?;
    let rows = timed().map(|one| (labels(&one.name), to_seconds(one.run_ns)));
    let (help, unit) = ("How long these runs took", Some(&Unit::Seconds));
    write_family(e, "observer_program", help, unit, counter, rows)
}

fn write_size(e: &mut DescriptorEncoder<'_>, exposed: &Exposed, facts: &AgentFacts) -> fmt::Result {
    let gauge = MetricType::Gauge;
    let one = |value: f64| std::iter::once((Labels::new(), value));
    let overhead = &exposed.summary.overhead;
    let bytes = Some(&Unit::Bytes);
    let rows = [("process", overhead.peak_rss_bytes), ("tables", overhead.map_bytes)];
    let rows = rows.map(|(part, n)| (vec![("part", part.to_owned())], n as f64));
    write_family(e, "observer_memory", "Peak memory", bytes, gauge, rows.into_iter())?;
    let (help, resident) = ("Resident memory of the process now", facts.resident_bytes as f64);
    write_family(e, "observer_resident", help, bytes, gauge, one(resident))?;
    let help = "Mean time of one run of a tracing program, of those that the kernel timed";
    let mean = to_seconds(overhead.mean_event_ns);
    write_family(e, "observer_event", help, Some(&Unit::Seconds), gauge, one(mean))?;
    let help = "Tracepoints or features that this kernel lacks";
    write_family(
        e,
        "missing_features",
        help,
        None,
        gauge,
        one(exposed.summary.missing.len() as f64),
    )
}

/// Nothing of this machine can mend the hypervisor's share.
fn class_word(kind: CauseKind, is_virtual: bool) -> String {
    if kind.is_hypervisors(is_virtual) {
        return "hypervisor".to_owned();
    }
    word_of(&kind.class())
}

/// As `summary.json` spells it.
pub fn word_of(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_machines_idle_exits_are_its_hypervisors() {
        let kinds = [CauseKind::Steal, CauseKind::Idle, CauseKind::Thread];
        let words = |is_virtual| kinds.map(|kind| class_word(kind, is_virtual));
        assert_eq!(words(true), ["hypervisor", "hypervisor", "interference"]);
        assert_eq!(words(false), ["hypervisor", "idle", "interference"]);
    }
}
