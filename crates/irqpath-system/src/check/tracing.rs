// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules on what tracing needs: release, privileges, type information, BPF settings.

use super::Severity::{Note, Problem, Warning};
use super::{Facts, Verdict, with_fix, without_fix};
use rustix::thread::CapabilitySet;

/// The oldest release that tracing is made for.
const OLDEST: (u32, u32) = (6, 1);

pub(super) fn judge_kernel(facts: &Facts) -> Option<Verdict> {
    let version = facts.kernel_version()?;
    if version >= OLDEST {
        return without_fix(format!("the kernel is {}", facts.release));
    }
    with_fix(
        Problem,
        format!("the kernel is {}", facts.release),
        "boot Linux 6.1 or newer; recordings can be looked at with trace --replay FILE",
    )
}

pub(super) fn judge_capabilities(facts: &Facts) -> Option<Verdict> {
    let Err(missing) = facts.privileges?.may_trace() else {
        return without_fix("this user may trace");
    };
    let names = missing.names();
    if missing.user_namespace {
        return with_fix(
            Problem,
            format!("{names} of this user namespace do not count for tracing"),
            "run irqpath on the host, outside of the container",
        );
    }
    with_fix(
        Problem,
        format!("this user may not trace: {names} missing"),
        "run with sudo, or once: setcap cap_bpf,cap_perfmon+ep $(command -v irqpath)",
    )
}

pub(super) fn judge_lockdown(facts: &Facts) -> Option<Verdict> {
    match facts.lockdown.as_deref()? {
        "confidentiality" => with_fix(
            Problem,
            "the kernel is locked down for confidentiality",
            "boot with lockdown=integrity",
        ),
        other => without_fix(format!("lockdown: {other}")),
    }
}

pub(super) fn judge_btf(facts: &Facts) -> Option<Verdict> {
    if facts.btf {
        return without_fix("the kernel carries its type information");
    }
    with_fix(
        Problem,
        "the kernel has no BTF (/sys/kernel/btf/vmlinux is absent)",
        "boot a kernel with CONFIG_DEBUG_INFO_BTF=y; recordings can be looked at with trace --replay FILE",
    )
}

pub(super) fn bpf_jit(facts: &Facts) -> Option<Verdict> {
    match facts.bpf_jit_enable? {
        0 => with_fix(
            Warning,
            "the compiler for BPF programs is off",
            "sysctl -w net.core.bpf_jit_enable=1",
        ),
        _ => without_fix("BPF programs are compiled"),
    }
}

pub(super) fn judge_tracefs(facts: &Facts) -> Option<Verdict> {
    if facts.tracefs? {
        return without_fix("tracefs is mounted");
    }
    with_fix(Note, "tracefs is not mounted", "mount -t tracefs tracefs /sys/kernel/tracing")
}

pub(super) fn perf_event_paranoid(facts: &Facts) -> Option<Verdict> {
    let level = facts.perf_event_paranoid?;
    let privileged = facts
        .privileges
        .is_some_and(|held| held.require_capabilities(CapabilitySet::PERFMON).is_ok());
    if level < 0 || privileged {
        return without_fix("this user may use perf on the whole machine");
    }
    with_fix(
        Note,
        format!(
            "perf_event_paranoid is {level}: perf sees no other users' tasks or kernel tracepoints"
        ),
        "run perf with sudo, or sysctl -w kernel.perf_event_paranoid=-1",
    )
}

pub(super) fn unprivileged_bpf(facts: &Facts) -> Option<Verdict> {
    match facts.unprivileged_bpf_disabled? {
        0 => with_fix(
            Note,
            "any user may load BPF programs",
            "sysctl -w kernel.unprivileged_bpf_disabled=2 (irqpath does not need it)",
        ),
        _ => without_fix("only privileged users may load BPF programs"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Severity::Ok;
    use super::*;
    use crate::Privileges;

    #[test]
    fn releases() {
        for (release, want) in [
            ("6.1.0-18-amd64", Some(Ok)),
            ("6.18.44", Some(Ok)),
            ("10.0", Some(Ok)),
            ("5.15.0", Some(Problem)),
            ("6.0.19", Some(Problem)),
            ("", None),
        ] {
            let facts = Facts { release: release.into(), ..Facts::default() };
            assert_eq!(judge_kernel(&facts).map(|v| v.severity), want, "{release}");
        }
    }

    #[test]
    fn privileges() {
        let verdict = |effective, user_namespace| {
            let privileges = Some(Privileges { effective, user_namespace });
            let facts = Facts { privileges, ..Facts::default() };
            let verdict = judge_capabilities(&facts).unwrap();
            (verdict.severity, verdict.what, verdict.fix.unwrap_or_default())
        };
        assert_eq!(verdict(CapabilitySet::all(), false).0, Ok);
        let (severity, what, fix) = verdict(CapabilitySet::PERFMON, false);
        assert_eq!(severity, Problem);
        assert_eq!(what, "this user may not trace: CAP_BPF missing");
        assert!(fix.contains("setcap cap_bpf,cap_perfmon+ep"));
        assert!(verdict(CapabilitySet::all(), true).2.contains("outside of the container"));
        assert_eq!(judge_capabilities(&Facts::default()), None);
    }

    #[test]
    fn settings() {
        type Rule = fn(&Facts) -> Option<Verdict>;
        let facts = |n: Option<i64>| Facts {
            bpf_jit_enable: n,
            perf_event_paranoid: n.map(|n| 2 - 3 * n),
            unprivileged_bpf_disabled: n,
            tracefs: n.map(|n| n != 0),
            lockdown: n.map(|n| if n == 0 { "confidentiality".into() } else { "none".into() }),
            ..Facts::default()
        };
        let rules: [(Rule, super::super::Severity); 5] = [
            (bpf_jit, Warning),
            (perf_event_paranoid, Note),
            (unprivileged_bpf, Note),
            (judge_tracefs, Note),
            (judge_lockdown, Problem),
        ];
        for (index, (rule, bad)) in rules.into_iter().enumerate() {
            let severity = |n| rule(&facts(n)).map(|v| v.severity);
            assert_eq!(severity(Some(0)), Some(bad), "{index}");
            assert_eq!(severity(Some(1)), Some(Ok), "{index}");
            assert_eq!(severity(None), None, "{index}");
        }
    }

    #[test]
    fn paranoia_does_not_concern_the_privileged() {
        let effective = CapabilitySet::PERFMON;
        let privileges = Some(Privileges { effective, user_namespace: false });
        let facts = Facts { perf_event_paranoid: Some(4), privileges, ..Facts::default() };
        assert_eq!(perf_event_paranoid(&facts).unwrap().severity, Ok);
    }
}
