// SPDX-License-Identifier: GPL-2.0-or-later
//! The tracepoints that the programs follow: which a kernel has, which belong together, and what a
//! trace lacks without one. Pure, but for the look into the kernel's BTF.

use libbpf_rs::Btf;
use libbpf_rs::btf::types::Typedef;

/// The wakeup and the switch: without them no path has an end.
const ESSENTIAL: [&str; 2] = ["sched_waking", "sched_switch"];

/// True if the kernel has the tracepoint (`btf_trace_<name>` is its prototype).
pub fn has_tracepoint(btf: &Btf<'_>, name: &str) -> bool {
    btf.type_by_name::<Typedef<'_>>(&format!("btf_trace_{name}")).is_some()
}

/// The first essential tracepoint that is absent.
pub fn missing_essential(btf: &Btf<'_>) -> Option<&'static str> {
    ESSENTIAL.into_iter().find(|name| !has_tracepoint(btf, name))
}

/// True if nothing can be traced without it.
pub fn is_essential(tracepoint: &str) -> bool {
    ESSENTIAL.contains(&tracepoint)
}

/// The tracepoint at the other end of the same interval. One program without the other would leave
/// a CPU inside an interrupt for ever.
pub fn find_partner(tracepoint: &str) -> Option<String> {
    const ENDS: [(&str, &str); 2] = [("_entry", "_exit"), ("_start", "_end")];
    ENDS.into_iter().find_map(|(opens, closes)| {
        let other = |from, to| tracepoint.strip_suffix(from).map(|stem| format!("{stem}{to}"));
        other(opens, closes).or_else(|| other(closes, opens))
    })
}

/// True if the program closes what another one opens.
pub fn is_closing(tracepoint: &str) -> bool {
    tracepoint.ends_with("_exit") || tracepoint.ends_with("_end")
}

/// The highest that [`attach_order`] gives.
pub const LAST_ATTACHED: u8 = 3;

/// In which order the programs are attached. What a wakeup needs comes first: of a switch or a move
/// that is not seen, neither the end of a wait nor who occupied the CPU is known. What closes
/// something comes before what opens it: an entry without its exit would keep a CPU inside an
/// interrupt. What begins a wait comes last: a raise whose softirq was not seen to run would be taken
/// for that of the next one, and a wakeup in an interrupt that is not followed yet for another's.
pub fn attach_order(program: &str) -> u8 {
    match program.trim_start_matches("ip_") {
        "sched_switch" | "sched_migrate_task" => 0,
        name if is_closing(name) => 1,
        "sched_waking"
        | "softirq_raise"
        | "workqueue_queue_work"
        | "hrtimer_start"
        | "ipi_send_cpu" => LAST_ATTACHED,
        _ => 2,
    }
}

/// True if it follows a context that may interrupt a softirq or a thread. A wakeup inside a context
/// that is not followed would be taken for one by what it interrupted.
pub fn is_context(tracepoint: &str) -> bool {
    tracepoint.starts_with("irq_handler_")
        || tracepoint.starts_with("softirq_")
        || is_vector(tracepoint)
}

/// The interrupts that have a vector and no line.
fn is_vector(tracepoint: &str) -> bool {
    const VECTORS: [&str; 12] = [
        "local_timer",
        "reschedule",
        "call_function",
        "call_function_single",
        "irq_work",
        "x86_platform_ipi",
        "error_apic",
        "spurious_apic",
        "thermal_apic",
        "threshold_apic",
        "deferred_error_apic",
        "ipi",
    ];
    let stem = tracepoint.strip_suffix("_entry").or_else(|| tracepoint.strip_suffix("_exit"));
    stem.is_some_and(|stem| VECTORS.contains(&stem))
}

/// True if kernels of this architecture may do without the tracepoint, and then lack what it would
/// report, too: a trace loses nothing.
pub fn may_be_absent(tracepoint: &str) -> bool {
    const ALWAYS_BUILT: [&str; 5] =
        ["local_timer", "reschedule", "call_function", "call_function_single", "irq_work"];
    if !is_vector(tracepoint) {
        let only_x86 = tracepoint == "nmi_handler" && !cfg!(target_arch = "x86_64");
        return tracepoint == "irqpath_offer" || only_x86;
    }
    let stem = tracepoint.trim_end_matches("_entry").trim_end_matches("_exit");
    if cfg!(target_arch = "x86_64") { !ALWAYS_BUILT.contains(&stem) } else { stem != "ipi" }
}

/// What a trace lacks without the tracepoint.
pub fn explain_absence(tracepoint: &str) -> &'static str {
    match tracepoint {
        "irq_handler_entry" | "irq_handler_exit" => {
            "interrupts of devices are not joined, nor what softirqs and threads wake"
        }
        "softirq_entry" | "softirq_exit" => {
            "softirqs are no causes, and what softirqs and threads wake is not joined"
        }
        "softirq_raise" => "what softirqs and threads wake is not joined",
        "ipi_send_cpu" => "IPIs have no raise stamp, their IRQ latency is not shown (Linux 6.4)",
        "nmi_handler" => "NMIs do not show up as causes",
        "hrtimer_expire_entry" | "hrtimer_expire_exit" => {
            "timer paths have no raise stamp, and hrtimers no function"
        }
        "hrtimer_start" => "a timer that was due when it was set looks like a late interrupt",
        "timer_expire_entry" | "timer_expire_exit" => "timers of the wheel have no function",
        "workqueue_queue_work" | "workqueue_execute_start" | "workqueue_execute_end" => {
            "paths through workqueues end at the softirq or handler that queued the work"
        }
        "sys_exit" => "the return to user space is not stamped (CONFIG_HAVE_SYSCALL_TRACEPOINTS)",
        "napi_poll" => "NAPI polls are not counted",
        "sched_process_exit" => "exited targets are counted late",
        "sched_migrate_task" => "waits of targets that moved between CPUs are unexplained",
        "cpuhp_enter" => "a CPU that comes back online may begin with a softirq of before",
        "irqpath_offer" => {
            "tasks that run their handler themselves (policy migrate) are not joined"
        }
        _ if is_vector(tracepoint) => {
            "interrupts of this vector are not joined, nor what softirqs and threads wake"
        }
        _ => "what its program follows is not in the trace",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_an_interval_know_each_other() {
        assert_eq!(find_partner("ipi_entry").as_deref(), Some("ipi_exit"));
        assert_eq!(find_partner("softirq_exit").as_deref(), Some("softirq_entry"));
        assert_eq!(
            find_partner("workqueue_execute_end").as_deref(),
            Some("workqueue_execute_start")
        );
        assert_eq!(find_partner("softirq_raise"), None);
    }

    #[test]
    fn a_wakeup_or_a_raise_is_seen_only_when_what_follows_it_will_be() {
        let mut programs = [
            "ip_sched_waking",
            "ip_softirq_raise",
            "ip_softirq_entry",
            "ip_softirq_exit",
            "ip_sched_switch",
        ];
        programs.sort_by_key(|program| attach_order(program));
        let in_order = [
            "ip_sched_switch",
            "ip_softirq_exit",
            "ip_softirq_entry",
            "ip_sched_waking",
            "ip_softirq_raise",
        ];
        assert_eq!(programs, in_order);
    }

    #[test]
    fn only_vectors_of_other_machines_and_kernels_may_be_absent() {
        assert!(may_be_absent("irqpath_offer") && may_be_absent("thermal_apic_entry"));
        assert!(!may_be_absent("softirq_entry") && !may_be_absent("napi_poll"));
        let here = if cfg!(target_arch = "x86_64") { "reschedule_entry" } else { "ipi_entry" };
        assert!(!may_be_absent(here) && is_context(here));
    }
}
