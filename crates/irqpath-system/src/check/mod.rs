// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath check`: what on this host makes paths long or measurements wrong, and how to fix it.
//!
//! Gathering ([`Facts`]) and judging ([`judge_facts`]) are apart: judging is pure, so that every
//! advice is tested on hosts that nobody here owns. [`RULES`] is the whole list; a rule that
//! finds nothing to say (the host does not tell) returns `None`.
//!
//! The rule to know: an advice is an exact command or boot parameter, true for Linux 6.1 to
//! 6.18. What changed within that range is decided by the release in the facts.

mod facts;
mod isolation;
mod kernel;
mod power;
mod tracing;

use std::cmp::Reverse;

use irqpath_model::check::{Finding, Severity};

pub use facts::{Facts, IdleState};

use crate::Host;

/// What a rule says of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Verdict {
    severity: Severity,
    what: String,
    fix: Option<String>,
}

#[allow(clippy::unnecessary_wraps)] // wrapped here once, not in every rule
fn without_fix(what: impl Into<String>) -> Option<Verdict> {
    Some(Verdict { severity: Severity::Ok, what: what.into(), fix: None })
}

#[allow(clippy::unnecessary_wraps)] // as above
fn with_fix(
    severity: Severity,
    what: impl Into<String>,
    fix: impl Into<String>,
) -> Option<Verdict> {
    Some(Verdict { severity, what: what.into(), fix: Some(fix.into()) })
}

struct Rule {
    id: &'static str,
    why: &'static str,
    judge: fn(&Facts) -> Option<Verdict>,
}

/// Every rule: its name, why it matters, its judge.
#[rustfmt::skip]
const RULES: &[Rule] = &[
    Rule { id: "kernel", judge: tracing::judge_kernel,
        why: "the tracing programs use features of Linux 6.1" },
    Rule { id: "capabilities", judge: tracing::judge_capabilities,
        why: "loading tracing programs needs CAP_BPF, reading kernel data in them CAP_PERFMON" },
    Rule { id: "lockdown", judge: tracing::judge_lockdown,
        why: "lockdown for confidentiality forbids BPF programs to read kernel memory" },
    Rule { id: "btf", judge: tracing::judge_btf,
        why: "the tracing programs are fitted to the kernel by its type information" },
    Rule { id: "bpf_jit", judge: tracing::bpf_jit,
        why: "interpreted tracing programs are several times slower and disturb what they measure" },
    Rule { id: "tracefs", judge: tracing::judge_tracefs,
        why: "irqpath traces without it, but rtla, trace-cmd and perf need it" },
    Rule { id: "perf_event_paranoid", judge: tracing::perf_event_paranoid,
        why: "it decides whether perf can be used beside irqpath without privileges" },
    Rule { id: "unprivileged_bpf", judge: tracing::unprivileged_bpf,
        why: "any user may load BPF programs, which has been a way into the kernel more than once" },
    Rule { id: "clocksource", judge: power::judge_clocksource,
        why: "every time stamp and timer reads the clock; a slow one costs microseconds each time" },
    Rule { id: "virtual_machine", judge: power::virtual_machine,
        why: "the host may stop a virtual CPU at any point, which no trace inside can explain" },
    Rule { id: "preemption", judge: kernel::judge_preemption,
        why: "it decides how long kernel code may keep a woken task waiting" },
    Rule { id: "irq_threads", judge: kernel::irq_threads,
        why: "handlers in hard interrupt context delay every task of that CPU, whatever its priority" },
    Rule { id: "rt_throttling", judge: kernel::rt_throttling,
        why: "the kernel takes the CPU away from real-time tasks that use nearly all of it" },
    Rule { id: "debug_kernel", judge: kernel::debug_kernel,
        why: "these debugging options make locks, memory and interrupts many times slower" },
    Rule { id: "governor", judge: power::judge_governor,
        why: "a CPU that was clocked down handles the interrupt slowly until the clock rises" },
    Rule { id: "idle_states", judge: power::idle_states,
        why: "the first interrupt after idling waits until the CPU has left its idle state" },
    Rule { id: "smt", judge: power::judge_smt,
        why: "two CPUs share one core: work on one slows the other in a way no trace shows" },
    Rule { id: "irqbalance", judge: isolation::judge_irqbalance,
        why: "it moves interrupts between CPUs every ten seconds, against affinities set by hand" },
    Rule { id: "isolation", judge: isolation::judge_isolation,
        why: "on CPUs that are not isolated other tasks, ticks and RCU work run at any time" },
    Rule { id: "default_affinity", judge: isolation::default_affinity,
        why: "new interrupts go to the CPUs of the default affinity" },
    Rule { id: "timer_migration", judge: isolation::timer_migration,
        why: "a timer set on an idle CPU may expire on another one, which delays and disturbs both" },
    Rule { id: "numa_balancing", judge: isolation::numa_balancing,
        why: "pages are unmapped to learn who uses them, and each makes its task fault" },
    Rule { id: "device_nodes", judge: isolation::far_lines,
        why: "a handler on another node reads its device's memory across the link between them" },
    Rule { id: "nmi_watchdog", judge: isolation::nmi_watchdog,
        why: "it interrupts each CPU with an NMI every few seconds and occupies a performance counter" },
    Rule { id: "soft_watchdog", judge: isolation::soft_watchdog,
        why: "it runs a timer and a thread of the highest priority on each CPU every few seconds" },
    Rule { id: "huge_pages", judge: isolation::huge_pages,
        why: "compacting memory and collapsing pages stop a task for as long as they take" },
    Rule { id: "swap", judge: isolation::judge_swap,
        why: "a page that was swapped out makes its task wait for the disk" },
];

/// Judge a host. Worst first, otherwise in the order of the rules.
pub fn judge_facts(facts: &Facts) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES
        .iter()
        .filter_map(|rule| {
            let Verdict { severity, what, fix } = (rule.judge)(facts)?;
            Some(Finding { id: rule.id.to_owned(), severity, what, why: rule.why.to_owned(), fix })
        })
        .collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    findings
}

impl Host {
    /// Look at this host and judge it.
    pub fn check(&self) -> Vec<Finding> {
        judge_facts(&self.read_facts())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::testing::Fake;

    #[test]
    fn names_are_unique_and_reasons_are_one_line() {
        let ids: BTreeSet<_> = RULES.iter().map(|r| r.id).collect();
        assert_eq!(ids.len(), RULES.len());
        for rule in RULES {
            assert!(!rule.why.contains('\n') && !rule.why.ends_with('.'), "{}", rule.id);
        }
    }

    #[test]
    fn the_worst_comes_first() {
        let facts = Facts {
            clocksource: "hpet".into(),
            governors: vec!["performance".into()],
            thp: Some("always".into()),
            irqbalance: Some(77),
            ..Facts::default()
        };
        let severities: Vec<_> = judge_facts(&facts).iter().map(|f| f.severity).collect();
        let mut sorted = severities.clone();
        sorted.sort_by_key(|&s| Reverse(s));
        assert_eq!(severities, sorted);
        assert_eq!(severities[0], Severity::Problem);
    }

    #[test]
    fn what_is_bad_has_a_fix_and_findings_read_back() {
        for facts in [Facts::default(), Host::real().read_facts()] {
            let findings = judge_facts(&facts);
            for f in &findings {
                assert!(f.severity < Severity::Warning || f.fix.is_some(), "{f:?}");
                assert!(!f.what.is_empty() && !f.what.contains('\n'), "{f:?}");
            }
            let json = serde_json::to_string(&findings).unwrap();
            assert_eq!(serde_json::from_str::<Vec<Finding>>(&json).unwrap(), findings);
        }
    }

    #[test]
    fn an_empty_host_is_judged_without_a_panic() {
        let findings = Fake::new().host().check();
        let problems = findings.iter().filter(|f| f.severity == Severity::Problem);
        assert_eq!(problems.map(|f| f.id.as_str()).collect::<Vec<_>>(), ["btf"]);
    }
}
