// SPDX-License-Identifier: GPL-2.0-or-later
//! What a checkpoint between the halves stands for, in words that fit a table.

use irqpath_model::bench::TOP_HALF;

/// Entry tracepoints of interrupts, and the words for them. `top_half` is that of the next run.
const INTERRUPTS: [(&str, &str); 13] = [
    (TOP_HALF, "next run"),
    ("irq_handler_entry", "irq"),
    ("local_timer_entry", "timer irq"),
    ("reschedule_entry", "IPI"),
    ("call_function_entry", "IPI"),
    ("call_function_single_entry", "IPI"),
    ("ipi_entry", "IPI"),
    ("irq_work_entry", "irq_work irq"),
    ("x86_platform_ipi_entry", "IPI"),
    ("error_apic_entry", "APIC irq"),
    ("spurious_apic_entry", "APIC irq"),
    ("thermal_apic_entry", "thermal irq"),
    ("nmi_handler", "NMI"),
];

/// Parts of a tracepoint's name, and the word for what it stands for; the first match counts.
const WORK: [(&str, &str); 16] = [
    ("random", "Entr."),
    ("entropy", "Entr."),
    ("mix_", "Entr."),
    ("sched_stat_", "Sched."),
    ("sched_switch", "switch"),
    ("sched_migrate", "migration"),
    ("sched_wak", "wakeup"),
    ("sched_pi_", "PI"),
    ("softirq_", "softirq"),
    ("tasklet_", "softirq"),
    ("hrtimer_", "hrtimer"),
    ("timer_", "timer"),
    ("tick_", "timer"),
    ("workqueue_", "work"),
    ("rcu_", "RCU"),
    ("cpu_idle", "idle"),
];

/// True for the entry of an interrupt.
pub fn is_interrupt(tracepoint: &str) -> bool {
    INTERRUPTS.iter().any(|(name, _)| *name == tracepoint)
}

/// True for what begins no work of its own: the end of something, or the raise of the run.
pub fn is_nothing(tracepoint: &str) -> bool {
    tracepoint.ends_with("_exit") || tracepoint.ends_with("_end") || tracepoint == "trigger"
}

/// The word for a tracepoint; its own name if there is none.
pub fn event_label(tracepoint: &str) -> &str {
    let interrupt = INTERRUPTS.iter().find(|(name, _)| *name == tracepoint);
    let work = || WORK.iter().find(|(part, _)| tracepoint.contains(part));
    interrupt.or_else(work).map_or(tracepoint, |(_, word)| word)
}

/// Where a word stands in a combination: interrupts, then work in the order of its table.
fn word_position(label: &str) -> usize {
    let words = INTERRUPTS.iter().chain(&WORK).map(|(_, word)| *word);
    words.into_iter().position(|word| word == label).unwrap_or(usize::MAX)
}

/// Words in their order: `Entr.+Sched.`.
pub fn combine_words<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut words: Vec<&str> = words.into_iter().collect();
    words.sort_by_key(|word| (word_position(word), *word));
    words.dedup();
    words.join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracepoints_become_words() {
        let of = |names: &[&'static str]| combine_words(names.iter().map(|n| event_label(n)));
        for (tracepoint, word) in [
            ("mix_pool_bytes", "Entr."),
            ("mix_interrupt_randomness", "Entr."),
            ("sched_stat_runtime", "Sched."),
            ("local_timer_entry", "timer irq"),
            ("hrtimer_expire_entry", "hrtimer"),
            ("timer_expire_entry", "timer"),
            ("softirq_entry", "softirq"),
            ("cpu_frequency", "cpu_frequency"),
        ] {
            assert_eq!(event_label(tracepoint), word);
        }
        let three = ["sched_stat_runtime", "mix_pool_bytes", "sched_stat_wait"];
        assert_eq!(of(&three), "Entr.+Sched.");
        let four = ["zebra", "softirq_entry", "local_timer_entry", "ant"];
        assert_eq!(of(&four), "timer irq+softirq+ant+zebra");
    }

    #[test]
    fn an_expiring_timer_is_work_and_not_an_interrupt() {
        assert!(is_interrupt("local_timer_entry") && !is_interrupt("hrtimer_expire_entry"));
        assert!(is_nothing("softirq_exit") && !is_nothing("softirq_entry"));
    }
}
