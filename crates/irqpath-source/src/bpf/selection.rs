// SPDX-License-Identifier: GPL-2.0-or-later
//! Which programs are loaded, which are left out and why, and what follows for the others. Pure:
//! [`super::load`] asks the kernel and applies it.

use std::collections::BTreeMap;

use irqpath_model::Missing;

use super::features;

/// A program that the kernel did not take.
pub struct Refusal {
    pub tracepoint: String,
    pub reason: String,
}

#[derive(PartialEq, Eq)]
enum Why {
    /// Nobody asked for what it reports.
    Unwanted,
    /// The kernel lacks the tracepoint.
    Absent,
    /// The kernel does not take the program, for this reason.
    Refused(String),
    /// It is of no use without the other end of its interval.
    Partner,
}

/// The tracepoints whose programs are not loaded.
pub struct Selection {
    left_out: BTreeMap<String, Why>,
}

impl Selection {
    /// Choose among the tracepoints of all programs.
    pub fn new(
        all: &[String],
        has: impl Fn(&str) -> bool,
        refused: &[Refusal],
        no_user: bool,
    ) -> Self {
        let mut left_out = BTreeMap::new();
        for tracepoint in all {
            let refusal = refused.iter().find(|r| r.tracepoint == *tracepoint);
            let why = match refusal {
                _ if no_user && tracepoint == "sys_exit" => Why::Unwanted,
                _ if !has(tracepoint) => Why::Absent,
                Some(refusal) => Why::Refused(refusal.reason.clone()),
                None => continue,
            };
            left_out.insert(tracepoint.clone(), why);
        }
        let partners: Vec<String> =
            left_out.keys().filter_map(|t| features::find_partner(t)).collect();
        for partner in partners.into_iter().filter(|p| all.contains(p)) {
            left_out.entry(partner).or_insert(Why::Partner);
        }
        Self { left_out }
    }

    /// True if the program of this tracepoint is not loaded.
    pub fn leaves_out(&self, tracepoint: &str) -> bool {
        self.left_out.contains_key(tracepoint)
    }

    /// True if a context that may interrupt softirqs and threads is not followed. Only a hardirq,
    /// which nothing interrupts, can then be believed to be what wakes a task.
    pub fn hardirqs_only(&self) -> bool {
        self.left_out.iter().any(|(t, why)| features::is_context(t) && !is_normal(t, why))
    }

    /// What a trace lacks: one line for each interval or event that is not followed.
    pub fn missing(&self) -> Vec<Missing> {
        let mut missing = Vec::new();
        for (tracepoint, why) in &self.left_out {
            let other_end_absent = || {
                let partner = features::find_partner(tracepoint);
                partner.is_some_and(|p| self.left_out.get(&p) == Some(&Why::Absent))
            };
            let what = match why {
                Why::Unwanted | Why::Partner => continue,
                Why::Absent if is_normal(tracepoint, why) => continue,
                Why::Absent if features::is_closing(tracepoint) && other_end_absent() => continue,
                Why::Absent => format!("tracepoint {tracepoint}"),
                Why::Refused(reason) => format!("program of {tracepoint} (refused: {reason})"),
            };
            let consequence = features::explain_absence(tracepoint).to_owned();
            missing.push(Missing { what, consequence });
        }
        missing
    }
}

/// A tracepoint that this kernel need not have costs nothing.
fn is_normal(tracepoint: &str, why: &Why) -> bool {
    let whole = matches!(why, Why::Absent | Why::Unwanted);
    whole && (*why == Why::Unwanted || features::may_be_absent(tracepoint))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VECTOR: &str = if cfg!(target_arch = "x86_64") { "reschedule" } else { "ipi" };

    fn all() -> Vec<String> {
        let mut all: Vec<String> = [
            "irq_handler_entry",
            "irq_handler_exit",
            "softirq_raise",
            "softirq_entry",
            "softirq_exit",
            "hrtimer_expire_entry",
            "hrtimer_expire_exit",
            "napi_poll",
            "sys_exit",
            "irqpath_offer",
            "thermal_apic_entry",
            "thermal_apic_exit",
        ]
        .map(str::to_owned)
        .to_vec();
        all.extend([format!("{VECTOR}_entry"), format!("{VECTOR}_exit")]);
        all
    }

    fn refused(tracepoint: &str) -> Selection {
        let one = Refusal { tracepoint: tracepoint.to_owned(), reason: "why".to_owned() };
        Selection::new(&all(), |_| true, &[one], false)
    }

    fn absent(names: &[&str]) -> Selection {
        Selection::new(&all(), |t| !names.contains(&t), &[], false)
    }

    fn whats(selection: &Selection) -> Vec<String> {
        selection.missing().into_iter().map(|m| m.what).collect()
    }

    #[test]
    fn a_refused_program_is_named_once_and_takes_its_other_end_along() {
        let selection = refused("hrtimer_expire_exit");
        assert!(selection.leaves_out("hrtimer_expire_entry"));
        assert!(!selection.leaves_out("napi_poll") && !selection.hardirqs_only());
        assert_eq!(whats(&selection), ["program of hrtimer_expire_exit (refused: why)"]);
    }

    #[test]
    fn an_absent_interval_is_named_once() {
        let both = absent(&["hrtimer_expire_entry", "hrtimer_expire_exit"]);
        assert_eq!(whats(&both), ["tracepoint hrtimer_expire_entry"]);
        let end = absent(&["hrtimer_expire_exit"]);
        assert!(end.leaves_out("hrtimer_expire_entry"));
        assert_eq!(whats(&end), ["tracepoint hrtimer_expire_exit"]);
    }

    #[test]
    fn what_a_kernel_need_not_have_is_no_loss() {
        let selection = absent(&["irqpath_offer", "thermal_apic_entry", "thermal_apic_exit"]);
        assert!(selection.leaves_out("thermal_apic_exit"));
        assert!(whats(&selection).is_empty() && !selection.hardirqs_only());
        // Refused, it does cost something.
        assert_eq!(whats(&refused("irqpath_offer")).len(), 1);
        assert!(refused("thermal_apic_entry").hardirqs_only());
    }

    #[test]
    fn without_a_context_only_hardirqs_wake() {
        for tracepoint in ["softirq_raise", "softirq_exit", "irq_handler_entry"] {
            assert!(refused(tracepoint).hardirqs_only(), "{tracepoint}");
            assert!(absent(&[tracepoint]).hardirqs_only(), "{tracepoint}");
        }
        assert!(absent(&[&format!("{VECTOR}_entry")]).hardirqs_only());
        assert!(!refused("napi_poll").hardirqs_only());
    }

    #[test]
    fn the_return_to_user_space_is_left_out_in_silence_if_nobody_wants_it() {
        let selection = Selection::new(&all(), |_| true, &[], true);
        assert!(selection.leaves_out("sys_exit") && selection.missing().is_empty());
        assert_eq!(whats(&absent(&["sys_exit"])), ["tracepoint sys_exit"]);
    }
}
