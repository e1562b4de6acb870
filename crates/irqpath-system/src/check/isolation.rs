// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules on what else runs: irqbalance, isolation, timers, watchdogs, memory.

use irqpath_model::CpuList;

use super::Severity::{Note, Warning};
use super::facts::FarLine;
use super::{Facts, Verdict, with_fix, without_fix};

pub(super) fn judge_irqbalance(facts: &Facts) -> Option<Verdict> {
    let Some(tid) = facts.irqbalance else { return without_fix("irqbalance does not run") };
    with_fix(
        Warning,
        format!("irqbalance runs (process {tid})"),
        "systemctl disable --now irqbalance, or keep it away from isolated CPUs with IRQBALANCE_BANNED_CPULIST in its environment file",
    )
}

pub(super) fn judge_isolation(facts: &Facts) -> Option<Verdict> {
    let isolation = &facts.isolation;
    if isolation.isolated.is_empty() && isolation.nohz_full.is_empty() {
        return match example_split(&facts.online) {
            None => without_fix("there is one CPU, none can be isolated"),
            Some((kept, free)) => with_fix(
                Note,
                "no CPU is isolated",
                format!(
                    "to keep CPU {free} free, for example, boot with isolcpus=managed_irq,domain,{free} nohz_full={free} rcu_nocbs={free} irqaffinity={kept} (CONFIG_NO_HZ_FULL)"
                ),
            ),
        };
    }
    // Whichever is set names the CPUs that were meant.
    let cpus =
        if isolation.isolated.is_empty() { &isolation.nohz_full } else { &isolation.isolated };
    let lacking: Vec<String> = [
        ("isolcpus=managed_irq,domain,", &isolation.isolated),
        ("nohz_full=", &isolation.nohz_full),
        ("rcu_nocbs=", &isolation.rcu_nocbs),
    ]
    .into_iter()
    .filter(|(_, list)| list.is_empty())
    .map(|(parameter, _)| format!("{parameter}{cpus}"))
    .collect();
    if lacking.is_empty() {
        return without_fix(format!("CPU {cpus} is isolated, without tick and RCU callbacks"));
    }
    with_fix(
        Note,
        format!("CPU {cpus} is isolated in part"),
        format!("boot with {} too (CONFIG_NO_HZ_FULL and CONFIG_RCU_NOCB_CPU)", lacking.join(" ")),
    )
}

/// A split of the online CPUs: those kept for everything, those to keep free (the last quarter).
fn example_split(online: &str) -> Option<(CpuList, CpuList)> {
    let online: CpuList = online.parse().ok()?;
    let nr_free = (online.len() / 4).max(1);
    let nr_kept = online.len().checked_sub(nr_free).filter(|&n| n > 0)?;
    Some((online.iter().take(nr_kept).collect(), online.iter().skip(nr_kept).collect()))
}

pub(super) fn default_affinity(facts: &Facts) -> Option<Verdict> {
    let isolated: CpuList = facts.isolation.isolated.parse().ok()?;
    let affinity: CpuList = facts.isolation.default_smp_affinity.parse().ok()?;
    let online: CpuList = facts.online.parse().ok()?;
    if isolated.is_empty() || affinity.is_empty() {
        return None;
    }
    let both: CpuList = isolated.iter().filter(|&cpu| affinity.contains(cpu)).collect();
    if both.is_empty() {
        return without_fix("new interrupts stay away from isolated CPUs");
    }
    let kept = online.difference(&isolated);
    with_fix(
        Warning,
        format!("new interrupts may go to isolated CPU {both}"),
        format!(
            "now: echo {} > /proc/irq/default_smp_affinity; for good: boot with irqaffinity={kept}",
            kept.to_mask()
        ),
    )
}

pub(super) fn timer_migration(facts: &Facts) -> Option<Verdict> {
    let tickless = &facts.isolation.nohz_full;
    match facts.timer_migration? {
        0 => without_fix("high-resolution timers stay on their CPU"),
        _ if tickless.is_empty() => without_fix("without nohz_full= it changes nothing"),
        _ => with_fix(
            Note,
            format!(
                "timers that CPU {tickless} sets expire on others, which wakes their tasks late"
            ),
            "sysctl -w kernel.timer_migration=0",
        ),
    }
}

pub(super) fn numa_balancing(facts: &Facts) -> Option<Verdict> {
    match facts.numa_balancing? {
        _ if facts.nr_nodes < 2 => None,
        0 => without_fix("the kernel leaves memory on its node"),
        _ => with_fix(
            Note,
            format!("the kernel balances memory between {} nodes", facts.nr_nodes),
            "sysctl -w kernel.numa_balancing=0, and bind tasks and memory with numactl",
        ),
    }
}

/// Lines named in one finding.
const NAMED_LINES: usize = 3;

pub(super) fn far_lines(facts: &Facts) -> Option<Verdict> {
    if facts.nr_nodes < 2 {
        return None;
    }
    let Some(first) = facts.far_lines.first() else {
        return without_fix("every interrupt is handled on its device's NUMA node");
    };
    let tell = |line: &FarLine| {
        let FarLine { irq, name, node, cpus, .. } = line;
        format!("irq {irq} ({name}) of node {node} by CPU {cpus}")
    };
    let mut told: Vec<_> = facts.far_lines.iter().take(NAMED_LINES).map(tell).collect();
    told.extend(match facts.far_lines.len() {
        0..=NAMED_LINES => None,
        all => Some(format!("{} more", all - NAMED_LINES)),
    });
    with_fix(
        Note,
        format!("handled on another NUMA node than their device's: {}", told.join(", ")),
        format!(
            "echo {} > /proc/irq/{}/smp_affinity_list, or shield CPUs of that node",
            first.near, first.irq
        ),
    )
}

pub(super) fn nmi_watchdog(facts: &Facts) -> Option<Verdict> {
    match facts.nmi_watchdog? {
        0 => without_fix("the NMI watchdog is off"),
        _ => with_fix(Note, "the NMI watchdog is on", "sysctl -w kernel.nmi_watchdog=0"),
    }
}

pub(super) fn soft_watchdog(facts: &Facts) -> Option<Verdict> {
    match facts.soft_watchdog? {
        0 => without_fix("the soft lockup watchdog is off"),
        _ => with_fix(Note, "the soft lockup watchdog is on", "sysctl -w kernel.soft_watchdog=0"),
    }
}

pub(super) fn huge_pages(facts: &Facts) -> Option<Verdict> {
    match facts.thp.as_deref()? {
        "always" => with_fix(
            Note,
            "transparent huge pages are always used",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled; for good: boot with transparent_hugepage=madvise",
        ),
        other => without_fix(format!("transparent huge pages: {other}")),
    }
}

pub(super) fn judge_swap(facts: &Facts) -> Option<Verdict> {
    if facts.swaps.is_empty() {
        return without_fix("no swap is in use");
    }
    with_fix(
        Note,
        format!("swap is in use ({})", facts.swaps.join(", ")),
        "swapoff -a, or call mlockall(MCL_CURRENT | MCL_FUTURE) in the real-time program",
    )
}

#[cfg(test)]
mod tests {
    use super::super::Severity::{self, Ok};
    use super::*;
    use irqpath_model::Isolation;

    fn host(online: &str, isolated: &str, nohz_full: &str, nocbs: &str, default: &str) -> Facts {
        Facts {
            online: online.into(),
            isolation: Isolation {
                isolated: isolated.into(),
                nohz_full: nohz_full.into(),
                rcu_nocbs: nocbs.into(),
                default_smp_affinity: default.into(),
            },
            ..Facts::default()
        }
    }

    #[test]
    fn isolated_cpus() {
        for (facts, want, text) in [
            (host("0", "", "", "", ""), Ok, ""),
            (host("0-1", "", "", "", ""), Note, "domain,1 nohz_full=1 rcu_nocbs=1 irqaffinity=0"),
            (host("0-7", "", "", "", ""), Note, "nohz_full=6-7 rcu_nocbs=6-7 irqaffinity=0-5"),
            (host("0-3", "2-3", "2-3", "2-3", ""), Ok, ""),
            (host("0-3", "2-3", "", "", ""), Note, "boot with nohz_full=2-3 rcu_nocbs=2-3 too"),
            (host("0-3", "", "3", "3", ""), Note, "boot with isolcpus=managed_irq,domain,3 too"),
        ] {
            let verdict = judge_isolation(&facts).unwrap();
            assert_eq!(verdict.severity, want, "{facts:?}");
            let fix = verdict.fix.unwrap_or_default();
            assert!(fix.contains(text), "{fix}");
        }
    }

    #[test]
    fn interrupts_on_isolated_cpus() {
        let fix = |facts| default_affinity(&facts).map(|v| v.fix.unwrap_or_default());
        assert_eq!(fix(host("0-3", "", "", "", "0-3")), None);
        assert_eq!(fix(host("0-3", "2-3", "", "", "0-1")).unwrap(), "");
        assert_eq!(
            fix(host("0-3", "2-3", "", "", "0-3")).unwrap(),
            "now: echo 3 > /proc/irq/default_smp_affinity; for good: boot with irqaffinity=0-1"
        );
        assert_eq!(fix(host("?", "2-3", "", "", "0-3")), None);
    }

    #[test]
    fn switches() {
        type Rule = fn(&Facts) -> Option<Verdict>;
        let facts = |n: Option<i64>| Facts {
            timer_migration: n,
            nmi_watchdog: n,
            soft_watchdog: n,
            thp: n.map(|n| if n == 0 { "never".into() } else { "always".into() }),
            swaps: n.filter(|&n| n == 1).map(|_| "/swap".into()).into_iter().collect(),
            irqbalance: n.filter(|&n| n == 1).map(|_| 7),
            ..Facts::default()
        };
        let mut tickless = host("0-3", "", "3", "", "");
        tickless.timer_migration = Some(1);
        assert_eq!(timer_migration(&tickless).unwrap().severity, Note);
        let rules: [(Rule, Severity, Option<Severity>); 6] = [
            (timer_migration, Ok, None),
            (nmi_watchdog, Note, None),
            (soft_watchdog, Note, None),
            (huge_pages, Note, None),
            (judge_swap, Note, Some(Ok)),
            (judge_irqbalance, Warning, Some(Ok)),
        ];
        for (index, (rule, on, unknown)) in rules.into_iter().enumerate() {
            let severity = |n| rule(&facts(n)).map(|v| v.severity);
            assert_eq!(severity(Some(1)), Some(on), "{index}");
            assert_eq!(severity(Some(0)), Some(Ok), "{index}");
            assert_eq!(severity(None), unknown, "{index}");
        }
    }

    #[test]
    fn far_lines_are_named_but_not_all() {
        let line = |irq| FarLine {
            irq,
            name: "nvme0q1".to_owned(),
            node: 1,
            cpus: "2".parse().unwrap(),
            near: "4-7".parse().unwrap(),
        };
        let facts = |nr_nodes, nr: u32| Facts {
            nr_nodes,
            far_lines: (24..24 + nr).map(line).collect(),
            ..Facts::default()
        };
        assert_eq!(far_lines(&facts(1, 0)), None);
        assert_eq!(far_lines(&facts(2, 0)).unwrap().severity, Ok);
        let found = far_lines(&facts(2, 5)).unwrap();
        assert!(found.what.ends_with("irq 26 (nvme0q1) of node 1 by CPU 2, 2 more"), "{found:?}");
        assert!(found.fix.unwrap().starts_with("echo 4-7 > /proc/irq/24/smp_affinity_list"));
    }

    #[test]
    fn memory_is_balanced_where_there_are_nodes() {
        let facts =
            |nr_nodes, numa_balancing| Facts { nr_nodes, numa_balancing, ..Facts::default() };
        assert_eq!(numa_balancing(&facts(1, Some(1))), None);
        assert_eq!(numa_balancing(&facts(2, None)), None);
        assert_eq!(numa_balancing(&facts(2, Some(0))).unwrap().fix, None);
        let on = numa_balancing(&facts(2, Some(1))).unwrap();
        assert!(on.severity == Note && on.fix.unwrap().contains("numa_balancing=0"));
    }
}
