// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs that the running kernel really refuses, since their type is changed before they are loaded.
//! The verifier refuses the context of those that read it, the others cannot be attached.

#![allow(clippy::print_stdout)] // a test says what it skips

use std::mem::MaybeUninit;
use std::process::Command;

use libbpf_rs::ProgramType;
use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};
use rustix::thread::{CapabilitySet, capabilities};

use super::*;

/// True if the kernel may refuse the programs for what they are only.
fn may_trace() -> bool {
    let needed = CapabilitySet::BPF | CapabilitySet::PERFMON;
    capabilities(None).is_ok_and(|held| held.effective.contains(needed))
}

/// A trace with these programs spoiled; `None` where the machine cannot trace.
fn spoiled(programs: &[&str]) -> Option<Result<BpfSource, SourceError>> {
    let config = Config { record_all: true, ..Config::default() };
    let loaded = load::load_programs(&config, |open| {
        for mut prog in open.open_object_mut().progs_mut() {
            if programs.contains(&prog.name().to_string_lossy().as_ref()) {
                prog.set_prog_type(ProgramType::SocketFilter);
            }
        }
    });
    match loaded.and_then(|loaded| BpfSource::start(&config, loaded)) {
        Err(error) if !may_trace() || matches!(error, SourceError::NoBtf(_)) => {
            println!("skipped: {error}");
            None
        }
        other => Some(other),
    }
}

/// How many paths processes that sleep a little leave; the tracer's own threads leave none.
fn nr_paths(source: &mut BpfSource) -> usize {
    for _ in 0..20 {
        assert!(Command::new("sleep").arg("0.005").status().unwrap().success());
    }
    let (events, _) = source.finish().unwrap();
    events.iter().filter(|e| matches!(e, Event::Path(_))).count()
}

fn missing(source: &BpfSource) -> Vec<&str> {
    source.missing.iter().map(|m| m.what.split(" (").next().unwrap_or_default()).collect()
}

#[test]
fn refused_programs_are_named_and_the_others_trace() {
    let Some(source) = spoiled(&["ip_napi_poll", "ip_hrtimer_expire_exit"]) else { return };
    let mut source = source.unwrap();
    assert_eq!(missing(&source), ["program of hrtimer_expire_exit", "program of napi_poll"]);
    let [attach, verifier] = &source.missing[..] else { unreachable!() };
    assert!(attach.what.contains("Operation not supported"), "{}", attach.what);
    assert!(verifier.what.contains("invalid"), "{}", verifier.what);
    for one in &source.missing {
        assert!(one.what.contains("(refused: ") && !one.what.contains('\n'), "{}", one.what);
    }
    assert!(nr_paths(&mut source) > 0, "nothing was joined");
}

#[test]
fn with_refused_softirqs_hardirqs_are_still_joined() {
    let Some(source) = spoiled(&["ip_softirq_raise"]) else { return };
    let mut source = source.unwrap();
    assert_eq!(missing(&source), ["program of softirq_raise"]);
    assert!(nr_paths(&mut source) > 0, "nothing was joined");
}

#[test]
fn a_refused_wakeup_or_too_many_refusals_are_an_error_that_says_why() {
    let many = [
        "ip_napi_poll",
        "ip_sys_exit",
        "ip_cpuhp_enter",
        "ip_nmi_handler",
        "ip_hrtimer_expire_entry",
        "ip_timer_expire_entry",
        "ip_workqueue_queue_work",
        "ip_workqueue_execute_start",
        "ip_sched_process_exit",
    ];
    for programs in [&["ip_sched_waking"][..], &many] {
        let Some(source) = spoiled(programs) else { return };
        let error = source.err().expect("it must not trace").to_string();
        assert!(
            error.contains("refused the tracing programs") && error.contains("prog 'ip_"),
            "{error}"
        );
    }
}

#[test]
fn every_program_is_named_after_its_tracepoint_and_what_it_is_for_is_known() {
    let mut storage = MaybeUninit::uninit();
    let open = skel::IrqpathSkelBuilder::default().open(&mut storage).unwrap();
    let unknown = features::explain_absence("of no program");
    for prog in open.open_object().progs() {
        let section = prog.section().to_string_lossy().into_owned();
        let Some(tracepoint) = section.strip_prefix("tp_btf/") else { continue };
        assert_eq!(prog.name().to_string_lossy(), format!("ip_{tracepoint}"));
        let known = features::explain_absence(tracepoint) != unknown;
        assert!(known || features::is_essential(tracepoint), "features.rs lacks {tracepoint}");
    }
}
