// SPDX-License-Identifier: GPL-2.0-or-later
//! What this kernel has: tracepoints are looked up in its BTF, and what is lacking is named.

use libbpf_rs::Btf;
use libbpf_rs::btf::types::Typedef;

use irqpath_model::Missing;

/// Tracepoints without which no path can be joined at all.
const REQUIRED: [&str; 7] = [
    "irq_handler_entry",
    "irq_handler_exit",
    "softirq_raise",
    "softirq_entry",
    "softirq_exit",
    "sched_waking",
    "sched_switch",
];

/// True if the kernel has the tracepoint (`btf_trace_<name>` is its prototype).
pub fn has_tracepoint(btf: &Btf<'_>, name: &str) -> bool {
    btf.type_by_name::<Typedef<'_>>(&format!("btf_trace_{name}")).is_some()
}

/// The first required tracepoint that is absent.
pub fn missing_required(btf: &Btf<'_>) -> Option<&'static str> {
    REQUIRED.into_iter().find(|name| !has_tracepoint(btf, name))
}

/// What a user loses with an absent optional tracepoint; `None` where that is nothing, because
/// the hardware of this architecture has no such vector.
pub fn consequence(tracepoint: &str) -> Option<Missing> {
    let text = match tracepoint {
        "ipi_send_cpu" => "IPIs have no raise stamp, their IRQ latency is not shown (Linux 6.4)",
        "local_timer_entry"
        | "reschedule_entry"
        | "call_function_entry"
        | "call_function_single_entry"
        | "irq_work_entry"
            if cfg!(target_arch = "x86_64") =>
        {
            "interrupts of this vector are not joined (CONFIG_X86_LOCAL_APIC)"
        }
        "ipi_entry" if cfg!(not(target_arch = "x86_64")) => {
            "inter-processor interrupts are not joined"
        }
        "nmi_handler" if cfg!(target_arch = "x86_64") => "NMIs do not show up as causes",
        "hrtimer_expire_entry" => "timer paths have no raise stamp",
        "workqueue_queue_work" | "workqueue_execute_start" => {
            "paths through workqueues end at the softirq or handler that queued the work"
        }
        "sys_exit" => "the return to user space is not stamped (CONFIG_HAVE_SYSCALL_TRACEPOINTS)",
        "napi_poll" => "NAPI polls are not counted",
        "sched_process_exit" => "exited targets are counted late",
        _ => return None,
    };
    Some(Missing { what: format!("tracepoint {tracepoint}"), consequence: text.to_owned() })
}
