// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules on the processor: clock source, virtual machine, governor, idle states, SMT.

use super::Severity::{Note, Problem, Warning};
use super::{Facts, Verdict, with_fix, without_fix};

/// Exit latency from which an idle state is worth a note, us.
const NOTE_LATENCY_US: u64 = 10;
/// Exit latency from which it is worth a warning, us.
const WARN_LATENCY_US: u64 = 50;

/// Clocks that are read from hardware behind a bus, or that only count ticks.
const SLOW_CLOCKS: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];

pub(super) fn judge_clocksource(facts: &Facts) -> Option<Verdict> {
    let current = facts.clocksource.as_str();
    let has_tsc_source = facts.available_clocksources.iter().any(|c| c == "tsc");
    let switch = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource";
    if current.is_empty() {
        return None;
    }
    if SLOW_CLOCKS.contains(&current) {
        let what = format!("the clock source is {current}");
        return if has_tsc_source {
            with_fix(Problem, format!("{what}, although tsc is available"), switch)
        } else if facts.has_tsc {
            with_fix(
                Problem,
                format!("{what}: the kernel gave up the tsc as unstable"),
                "dmesg | grep -i tsc tells why; update the firmware, and only if the tsc is known to be good boot with tsc=reliable",
            )
        } else {
            with_fix(Problem, what, "measure on a machine with a CPU counter as its clock source")
        };
    }
    if current != "tsc" && has_tsc_source {
        let what = format!("the clock source is {current}, although tsc is available");
        return with_fix(Note, what, format!("for cheaper time stamps: {switch}"));
    }
    without_fix(format!("the clock source is {current}"))
}

pub(super) fn virtual_machine(facts: &Facts) -> Option<Verdict> {
    let Some(hypervisor) = &facts.hypervisor else { return without_fix("no hypervisor was found") };
    let stolen = match facts.steal_permille {
        Some(n) if n > 0 => {
            format!("; {}.{} % of its time was stolen since boot", n / 10, n % 10)
        }
        _ => String::new(),
    };
    with_fix(
        Warning,
        format!("this is a virtual machine ({hypervisor}){stolen}"),
        "measure bounds on the bare machine, or on the host give each virtual CPU a CPU of its own (libvirt: virsh vcpupin) and real-time priority",
    )
}

pub(super) fn judge_governor(facts: &Facts) -> Option<Verdict> {
    let mut others: Vec<&str> =
        facts.governors.iter().map(String::as_str).filter(|&g| g != "performance").collect();
    others.sort_unstable();
    others.dedup();
    if facts.governors.is_empty() {
        return without_fix("Linux does not control the frequency of these CPUs");
    }
    if others.is_empty() {
        return without_fix("the cpufreq governor is performance");
    }
    with_fix(
        Warning,
        format!("the cpufreq governor is {}", others.join(", ")),
        "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    )
}

pub(super) fn idle_states(facts: &Facts) -> Option<Verdict> {
    let allowed = facts.cpu_dma_latency_us.and_then(|us| u64::try_from(us).ok());
    let allowed = allowed.unwrap_or(u64::MAX);
    let usable = facts.idle_states.iter().filter(|s| s.exit_latency_us <= allowed);
    let deepest = usable.max_by_key(|s| s.exit_latency_us);
    let Some(deepest) = deepest.filter(|s| s.exit_latency_us >= NOTE_LATENCY_US) else {
        return (!facts.idle_states.is_empty()).then(|| without_fix("idle CPUs wake up fast"))?;
    };
    let severity = if deepest.exit_latency_us >= WARN_LATENCY_US { Warning } else { Note };
    let for_good = match facts.idle_driver.as_str() {
        "intel_idle" => "; for good: boot with intel_idle.max_cstate=1",
        "acpi_idle" => "; for good: boot with processor.max_cstate=1",
        _ => "",
    };
    with_fix(
        severity,
        format!(
            "idle CPUs may enter {}, which takes {} us to leave",
            deepest.name, deepest.exit_latency_us
        ),
        format!("now: cpupower idle-set -D {NOTE_LATENCY_US}{for_good}"),
    )
}

pub(super) fn judge_smt(facts: &Facts) -> Option<Verdict> {
    if !facts.smt_active {
        return without_fix("no two CPUs share a core, as far as this kernel knows");
    }
    let busy = &facts.busy_siblings;
    if let Some(cpu) = busy.iter().next() {
        return with_fix(
            Warning,
            format!("CPU {busy} shares a core with an isolated CPU, and is not isolated"),
            format!(
                "now: echo 0 > /sys/devices/system/cpu/cpu{cpu}/online; for good: isolate it too"
            ),
        );
    }
    with_fix(
        Warning,
        "SMT is on",
        "now: echo off > /sys/devices/system/cpu/smt/control; for good: boot with nosmt; or leave the siblings of isolated CPUs idle",
    )
}

#[cfg(test)]
mod tests {
    use super::super::IdleState;
    use super::super::Severity::Ok;
    use super::*;

    #[test]
    fn clock_sources() {
        for (current, available, has_tsc, want, text) in [
            ("tsc", "tsc hpet", true, Some(Ok), ""),
            ("arch_sys_counter", "arch_sys_counter", false, Some(Ok), ""),
            ("kvm-clock", "kvm-clock", true, Some(Ok), ""),
            ("kvm-clock", "kvm-clock tsc", true, Some(Note), "echo tsc"),
            ("hpet", "hpet acpi_pm", true, Some(Problem), "tsc=reliable"),
            ("hpet", "tsc hpet", true, Some(Problem), "echo tsc"),
            ("refined-jiffies", "refined-jiffies", false, Some(Problem), "another"),
            ("", "", true, None, ""),
        ] {
            let facts = Facts {
                clocksource: current.into(),
                available_clocksources: available.split(' ').map(str::to_owned).collect(),
                has_tsc,
                ..Facts::default()
            };
            let verdict = judge_clocksource(&facts);
            assert_eq!(verdict.as_ref().map(|v| v.severity), want, "{current}");
            let fix = verdict.and_then(|v| v.fix).unwrap_or_default();
            assert!(fix.contains(text) || (text == "another" && fix.contains("counter")), "{fix}");
        }
    }

    #[test]
    fn virtual_machines_and_stolen_time() {
        let verdict = |hypervisor: Option<&str>, steal_permille| {
            let hypervisor = hypervisor.map(str::to_owned);
            virtual_machine(&Facts { hypervisor, steal_permille, ..Facts::default() }).unwrap()
        };
        assert_eq!(verdict(None, Some(5)).severity, Ok);
        assert_eq!(verdict(Some("KVM"), Some(0)).what, "this is a virtual machine (KVM)");
        assert_eq!(
            verdict(Some("KVM"), Some(123)).what,
            "this is a virtual machine (KVM); 12.3 % of its time was stolen since boot"
        );
    }

    #[test]
    fn governors() {
        for (list, want) in [
            (&[][..], "Linux does not control the frequency of these CPUs"),
            (&["performance", "performance"], "the cpufreq governor is performance"),
            (&["powersave", "performance", "powersave"], "the cpufreq governor is powersave"),
            (&["schedutil", "powersave"], "the cpufreq governor is powersave, schedutil"),
        ] {
            let governors = list.iter().map(|&s| s.to_owned()).collect();
            let verdict = judge_governor(&Facts { governors, ..Facts::default() }).unwrap();
            assert_eq!(verdict.what, want);
            assert_eq!(verdict.severity == Warning, verdict.fix.is_some());
        }
    }

    #[test]
    fn idle_states_within_the_allowed_latency() {
        let state = |name: &str, exit_latency_us| IdleState { name: name.into(), exit_latency_us };
        let states = vec![state("POLL", 0), state("C1E", 10), state("C6", 133)];
        for (idle_states_, allowed, driver, want, text) in [
            (states.clone(), None, "intel_idle", Some(Warning), "intel_idle.max_cstate=1"),
            (
                states.clone(),
                Some(2_000_000_000),
                "acpi_idle",
                Some(Warning),
                "processor.max_cstate=1",
            ),
            (states.clone(), Some(20), "psci_idle", Some(Note), "cpupower idle-set -D 10"),
            (states, Some(0), "intel_idle", Some(Ok), ""),
            (vec![], None, "", None, ""),
        ] {
            let facts = Facts {
                idle_states: idle_states_,
                cpu_dma_latency_us: allowed,
                idle_driver: driver.into(),
                ..Facts::default()
            };
            let verdict = idle_states(&facts);
            assert_eq!(verdict.as_ref().map(|v| v.severity), want, "{allowed:?}");
            assert!(verdict.and_then(|v| v.fix).unwrap_or_default().contains(text));
        }
    }

    #[test]
    fn smt_on_and_off() {
        let on = judge_smt(&Facts { smt_active: true, ..Facts::default() }).unwrap();
        assert!(on.severity == Warning && on.fix.unwrap().contains("nosmt"));
        assert_eq!(judge_smt(&Facts::default()).unwrap().severity, Ok);
        let busy_siblings = "2".parse().unwrap();
        let busy =
            judge_smt(&Facts { smt_active: true, busy_siblings, ..Facts::default() }).unwrap();
        assert_eq!(busy.what, "CPU 2 shares a core with an isolated CPU, and is not isolated");
        assert!(busy.fix.unwrap().contains("cpu2/online"));
    }
}
