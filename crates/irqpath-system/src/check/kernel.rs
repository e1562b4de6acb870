// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules on the kernel: preemption model, irq threads, throttling, debugging options.

use super::Severity::{Note, Warning};
use super::{Facts, Verdict, with_fix, without_fix};
use crate::RtReserve;

/// What makes the files of a debugfs that is not mounted.
const MOUNT: &str = "mount -t debugfs debugfs /sys/kernel/debug && ";
const RT_KERNEL: &str = "a kernel with CONFIG_PREEMPT_RT=y (Debian: apt install linux-image-rt-$(dpkg --print-architecture))";

pub(super) fn judge_preemption(facts: &Facts) -> Option<Verdict> {
    match facts.preemption.as_str() {
        "rt" => without_fix("the kernel is PREEMPT_RT"),
        model @ ("full" | "lazy") => with_fix(
            Note,
            format!(
                "preemption is {model}: softirqs, handlers and code under spinlocks cannot be preempted"
            ),
            format!("where that is too long, boot {RT_KERNEL}"),
        ),
        model @ ("none" | "voluntary") if facts.preempt_dynamic => with_fix(
            Warning,
            format!("preemption is {model}: a woken task waits until kernel code gives way"),
            format!(
                "now: {}echo full > /sys/kernel/debug/sched/preempt; for good: boot with preempt=full",
                if facts.debugfs { "" } else { MOUNT }
            ),
        ),
        model @ ("none" | "voluntary") => with_fix(
            Warning,
            format!("preemption is {model}: a woken task waits until kernel code gives way"),
            format!(
                "boot a kernel with CONFIG_PREEMPT=y or CONFIG_PREEMPT_DYNAMIC=y, better {RT_KERNEL}"
            ),
        ),
        _ => with_fix(
            Note,
            "the preemption model is not known",
            "as root: mount -t debugfs debugfs /sys/kernel/debug, and check again",
        ),
    }
}

pub(super) fn irq_threads(facts: &Facts) -> Option<Verdict> {
    if facts.forced_irq_threads {
        return without_fix("device handlers run in threads, whose priority can be set");
    }
    let what = "most device handlers run in hard interrupt context";
    match facts.can_force_threads {
        Some(false) => {
            with_fix(Note, what, "to thread them, boot a kernel with CONFIG_IRQ_FORCED_THREADING=y")
        }
        _ => with_fix(Note, what, "to thread them, boot with threadirqs"),
    }
}

pub(super) fn rt_throttling(facts: &Facts) -> Option<Verdict> {
    match facts.rt_reserve() {
        None if facts.fair_server_runtime_ns == Some(0) => {
            without_fix("the fair server is off: real-time tasks keep the CPU")
        }
        None if facts.sched_rt_runtime_us.is_none() => None,
        None => without_fix("real-time tasks are not throttled"),
        Some(RtReserve::FairServer { runtime_ns: None }) => with_fix(
            Note,
            "normal tasks that real-time tasks starve get a part of every second",
            "to see and change it: mount -t debugfs debugfs /sys/kernel/debug, then /sys/kernel/debug/sched/fair_server",
        ),
        Some(RtReserve::FairServer { runtime_ns: Some(ns) }) => with_fix(
            Note,
            format!(
                "normal tasks that real-time tasks starve get {} ms of every second",
                ns / 1_000_000
            ),
            "only if a real-time task must have the whole CPU: for f in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do echo 0 > $f; done",
        ),
        Some(RtReserve::Throttling { for_others_us, period_us }) => with_fix(
            Note,
            format!(
                "real-time tasks that use {} us of {period_us} us are stopped for the rest",
                period_us - for_others_us
            ),
            "only if a real-time task must have the whole CPU: sysctl -w kernel.sched_rt_runtime_us=-1",
        ),
    }
}

pub(super) fn debug_kernel(facts: &Facts) -> Option<Verdict> {
    if facts.debug_options.is_empty() {
        return None;
    }
    with_fix(
        Warning,
        format!("this is a debugging kernel ({})", facts.debug_options.join(", ")),
        "measure on a kernel without these options",
    )
}

#[cfg(test)]
mod tests {
    use super::super::Severity::{self, Ok};
    use super::*;

    fn severity(rule: fn(&Facts) -> Option<Verdict>, facts: &Facts) -> Option<Severity> {
        rule(facts).map(|v| v.severity)
    }

    #[test]
    fn preemption_models() {
        for (model, dynamic, want, fix) in [
            ("rt", false, Ok, ""),
            ("full", true, Note, "PREEMPT_RT"),
            ("lazy", true, Note, "PREEMPT_RT"),
            ("voluntary", true, Warning, "preempt=full"),
            ("voluntary", false, Warning, "CONFIG_PREEMPT_DYNAMIC"),
            ("none", true, Warning, "preempt=full"),
            ("", false, Note, "debugfs"),
        ] {
            let facts =
                Facts { preemption: model.into(), preempt_dynamic: dynamic, ..Facts::default() };
            let verdict = judge_preemption(&facts).unwrap();
            assert_eq!(verdict.severity, want, "{model}");
            assert!(verdict.fix.unwrap_or_default().contains(fix), "{model}");
        }
    }

    #[test]
    fn nobody_is_told_to_write_into_a_debugfs_that_is_not_mounted() {
        for debugfs in [false, true] {
            let facts = Facts {
                preemption: "voluntary".to_owned(),
                preempt_dynamic: true,
                debugfs,
                ..Facts::default()
            };
            let fix = judge_preemption(&facts).and_then(|verdict| verdict.fix).unwrap_or_default();
            let (mount, write) = (fix.find("mount -t debugfs"), fix.find("echo full"));
            assert!(write.is_some() && mount.is_none() == debugfs && mount <= write, "{fix}");
        }
    }

    #[test]
    fn threads_of_handlers() {
        for (forced, can, want, fix) in [
            (true, None, Ok, ""),
            (false, Some(true), Note, "boot with threadirqs"),
            (false, None, Note, "boot with threadirqs"),
            (false, Some(false), Note, "CONFIG_IRQ_FORCED_THREADING"),
        ] {
            let facts =
                Facts { forced_irq_threads: forced, can_force_threads: can, ..Facts::default() };
            let verdict = irq_threads(&facts).unwrap();
            assert_eq!(verdict.severity, want);
            assert!(verdict.fix.unwrap_or_default().contains(fix));
        }
    }

    #[test]
    fn throttling_by_release() {
        for (release, runtime, server, want, fix) in [
            ("6.1.0", Some(950_000), None, Some(Note), "sched_rt_runtime_us"),
            ("6.1.0", Some(-1), None, Some(Ok), ""),
            ("6.1.0", Some(1_000_000), None, Some(Ok), ""),
            ("6.1.0", None, None, None, ""),
            ("6.12.1", Some(950_000), Some(50_000_000), Some(Note), "fair_server"),
            ("6.18.44-x", Some(950_000), None, Some(Note), "debugfs"),
            ("6.12.1", Some(950_000), Some(0), Some(Ok), ""),
        ] {
            let facts = Facts {
                release: release.into(),
                sched_rt_runtime_us: runtime,
                sched_rt_period_us: Some(1_000_000),
                fair_server_runtime_ns: server,
                ..Facts::default()
            };
            let verdict = rt_throttling(&facts);
            assert_eq!(verdict.as_ref().map(|v| v.severity), want, "{release} {runtime:?}");
            let text = verdict.and_then(|v| v.fix).unwrap_or_default();
            assert!(text.contains(fix), "{text}");
        }
    }

    #[test]
    fn group_scheduling_keeps_throttling() {
        let facts = Facts {
            release: "6.18.1".into(),
            sched_rt_runtime_us: Some(950_000),
            rt_group_sched: Some(true),
            ..Facts::default()
        };
        let fix = rt_throttling(&facts).and_then(|v| v.fix).unwrap_or_default();
        assert!(fix.contains("sched_rt_runtime_us"), "{fix}");
    }

    #[test]
    fn debugging_kernels() {
        assert_eq!(severity(debug_kernel, &Facts::default()), None);
        let facts = Facts { debug_options: vec!["CONFIG_KASAN".into()], ..Facts::default() };
        assert_eq!(severity(debug_kernel, &facts), Some(Warning));
    }
}
