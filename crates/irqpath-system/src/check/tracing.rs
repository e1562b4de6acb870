// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules on what tracing needs: release, privileges, type information, BPF settings.

use super::Severity::{Note, Problem, Warning};
use super::{Facts, Verdict, advise, ok};
use crate::{Capability, TRACING};

/// The oldest release that tracing is made for.
const OLDEST: (u32, u32) = (6, 1);

pub(super) fn kernel(facts: &Facts) -> Option<Verdict> {
    let version = facts.kernel_version()?;
    if version >= OLDEST {
        return ok(format!("the kernel is {}", facts.release));
    }
    advise(
        Problem,
        format!("the kernel is {}", facts.release),
        "boot Linux 6.1 or newer; recordings can be looked at with trace --replay FILE",
    )
}

pub(super) fn capabilities(facts: &Facts) -> Option<Verdict> {
    let held = facts.capabilities?;
    let missing = held.missing(TRACING);
    if missing.is_empty() {
        return ok("this user may trace");
    }
    let names = missing.iter().map(|c| c.name()).collect::<Vec<_>>().join(" and ");
    if held.user_namespace {
        return advise(
            Problem,
            format!("{names} of this user namespace do not count for tracing"),
            "run irqpath on the host, outside of the container",
        );
    }
    advise(
        Problem,
        format!("this user may not trace: {names} missing"),
        "run with sudo, or once: setcap cap_bpf,cap_perfmon+ep $(command -v irqpath)",
    )
}

pub(super) fn lockdown(facts: &Facts) -> Option<Verdict> {
    match facts.lockdown.as_deref()? {
        "confidentiality" => advise(
            Problem,
            "the kernel is locked down for confidentiality",
            "boot with lockdown=integrity",
        ),
        other => ok(format!("lockdown: {other}")),
    }
}

pub(super) fn btf(facts: &Facts) -> Option<Verdict> {
    if facts.btf {
        return ok("the kernel carries its type information");
    }
    advise(
        Problem,
        "the kernel has no BTF (/sys/kernel/btf/vmlinux is absent)",
        "boot a kernel with CONFIG_DEBUG_INFO_BTF=y; recordings can be looked at with trace --replay FILE",
    )
}

pub(super) fn bpf_jit(facts: &Facts) -> Option<Verdict> {
    match facts.bpf_jit_enable? {
        0 => advise(
            Warning,
            "the compiler for BPF programs is off",
            "sysctl -w net.core.bpf_jit_enable=1",
        ),
        _ => ok("BPF programs are compiled"),
    }
}

pub(super) fn tracefs(facts: &Facts) -> Option<Verdict> {
    if facts.tracefs? {
        return ok("tracefs is mounted");
    }
    advise(Note, "tracefs is not mounted", "mount -t tracefs tracefs /sys/kernel/tracing")
}

pub(super) fn perf_event_paranoid(facts: &Facts) -> Option<Verdict> {
    let level = facts.perf_event_paranoid?;
    let privileged = facts.capabilities.is_some_and(|held| held.has(Capability::Perfmon));
    if level < 0 || privileged {
        return ok("this user may use perf on the whole machine");
    }
    advise(
        Note,
        format!(
            "perf_event_paranoid is {level}: perf sees no other users' tasks or kernel tracepoints"
        ),
        "run perf with sudo, or sysctl -w kernel.perf_event_paranoid=-1",
    )
}

pub(super) fn unprivileged_bpf(facts: &Facts) -> Option<Verdict> {
    match facts.unprivileged_bpf_disabled? {
        0 => advise(
            Note,
            "any user may load BPF programs",
            "sysctl -w kernel.unprivileged_bpf_disabled=2 (irqpath does not need it)",
        ),
        _ => ok("only privileged users may load BPF programs"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Severity::Ok;
    use super::*;
    use crate::Capabilities;

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
            assert_eq!(kernel(&facts).map(|v| v.severity), want, "{release}");
        }
    }

    #[test]
    fn privileges() {
        let verdict = |effective, user_namespace| {
            let capabilities = Some(Capabilities { effective, user_namespace });
            let facts = Facts { capabilities, ..Facts::default() };
            let verdict = super::capabilities(&facts).unwrap();
            (verdict.severity, verdict.what, verdict.fix.unwrap_or_default())
        };
        assert_eq!(verdict(u64::MAX, false).0, Ok);
        let (severity, what, fix) = verdict(1 << 38, false);
        assert_eq!(severity, Problem);
        assert_eq!(what, "this user may not trace: CAP_BPF missing");
        assert!(fix.contains("setcap cap_bpf,cap_perfmon+ep"));
        assert!(verdict(u64::MAX, true).2.contains("outside of the container"));
        assert_eq!(capabilities(&Facts::default()), None);
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
            (tracefs, Note),
            (lockdown, Problem),
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
        let capabilities = Some(Capabilities { effective: 1 << 38, user_namespace: false });
        let facts = Facts { perf_event_paranoid: Some(4), capabilities, ..Facts::default() };
        assert_eq!(perf_event_paranoid(&facts).unwrap().severity, Ok);
    }
}
