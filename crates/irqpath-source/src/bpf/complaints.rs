// SPDX-License-Identifier: GPL-2.0-or-later
//! What libbpf says when it fails: its return value is a number, the text is in its log.
//!
//! It logs on the thread that called it, so each thread hears its own complaints.

use std::cell::RefCell;

use libbpf_rs::PrintLevel;

use super::selection::Refusal;
use crate::SourceError;

#[derive(Default)]
struct Heard {
    /// The first complaint; later ones mostly repeat it.
    first: String,
    /// The program that the last complaint about one names, and why the kernel refuses it.
    program: String,
    reason: String,
}

thread_local! {
    static HEARD: RefCell<Heard> = RefCell::default();
}

/// Forget what was said, and listen.
pub fn start_listening() {
    HEARD.take();
    libbpf_rs::set_print(Some((PrintLevel::Warn, hear_libbpf)));
}

/// Put on record that a program could not be attached, of which libbpf does not always speak.
pub fn note_failure(program: &str, error: &libbpf_rs::Error) {
    HEARD.with_borrow_mut(|heard| heard.add_line(&format!("prog '{program}': {error:#}")));
}

/// The program that libbpf failed at since [`start_listening`], if it named one.
pub fn last_refusal() -> Option<Refusal> {
    HEARD.with_borrow(|heard| {
        let tracepoint = heard.program.strip_prefix("ip_")?.to_owned();
        Some(Refusal { tracepoint, reason: heard.reason.clone() })
    })
}

/// An error of libbpf with its first complaint.
#[allow(clippy::needless_pass_by_value)] // the signature that map_err wants
pub fn load_error(error: libbpf_rs::Error) -> SourceError {
    let said = HEARD.with_borrow(|heard| heard.first.clone());
    let text = if said.is_empty() { format!("{error:#}") } else { format!("{error:#} ({said})") };
    SourceError::Load(text.replace('\n', "; "))
}

#[allow(clippy::needless_pass_by_value)] // libbpf-rs's callback type
fn hear_libbpf(level: PrintLevel, text: String) {
    if level == PrintLevel::Warn {
        HEARD.with_borrow_mut(|heard| heard.add_line(&text));
    }
}

impl Heard {
    fn add_line(&mut self, text: &str) {
        let text = text.trim().trim_start_matches("libbpf: ");
        if self.first.is_empty() {
            text.lines().next().unwrap_or_default().clone_into(&mut self.first);
        }
        // "prog 'ip_softirq_raise': BPF program load failed: Invalid argument"
        let Some((name, said)) = text.strip_prefix("prog '").and_then(|t| t.split_once("': "))
        else {
            return;
        };
        if self.program != name {
            name.clone_into(&mut self.program);
            self.reason.clear();
        }
        if let Some(reason) = find_verdict(said) {
            reason.clone_into(&mut self.reason);
        } else if self.reason.is_empty() {
            said.lines().next().unwrap_or_default().clone_into(&mut self.reason);
        }
    }
}

/// The last line of the verifier's log before its statistics, which says what it did not like.
fn find_verdict(said: &str) -> Option<&str> {
    let log = said.strip_prefix("-- BEGIN PROG LOAD LOG --")?;
    let mut lines = log.lines().map(str::trim).rev();
    lines.find(|l| !(l.is_empty() || l.starts_with("processed ") || l.starts_with("-- END")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(lines: &[&str]) -> Heard {
        let mut heard = Heard::default();
        for line in lines {
            heard.add_line(line);
        }
        heard
    }

    #[test]
    fn the_last_program_that_is_named_is_the_one_that_failed() {
        let heard = heard(&[
            "libbpf: prog 'ip_a': relo #4: accesses field incorrectly. Make sure ...\n",
            "libbpf: prog 'ip_b': BPF program load failed: Invalid argument\n",
            "libbpf: prog 'ip_b': -- BEGIN PROG LOAD LOG --\n0: R1=ctx()\n; c->x = 1;\n\
             invalid mem access 'scalar'\nprocessed 3 insns (limit 1000000)\n\
             -- END PROG LOAD LOG --\n",
            "libbpf: prog 'ip_b': failed to load: -EINVAL\n",
            "libbpf: failed to load object 'irqpath_bpf'\n",
        ]);
        assert_eq!(
            (heard.program.as_str(), heard.reason.as_str()),
            ("ip_b", "invalid mem access 'scalar'")
        );
        assert!(heard.first.starts_with("prog 'ip_a': relo #4"), "{}", heard.first);
    }

    #[test]
    fn without_a_log_the_first_complaint_about_it_is_the_reason() {
        let heard = heard(&[
            "libbpf: prog 'ip_c': failed to find kernel BTF type ID of 'x': -ESRCH\n",
            "libbpf: prog 'ip_c': failed to prepare load attributes: -ESRCH\n",
        ]);
        assert_eq!(heard.reason, "failed to find kernel BTF type ID of 'x': -ESRCH");
    }

    #[test]
    fn a_failure_that_names_no_program_is_no_refusal() {
        start_listening();
        hear_libbpf(
            PrintLevel::Warn,
            "libbpf: map 'ip_cpus': failed to create: -ENOMEM\n".to_owned(),
        );
        assert!(last_refusal().is_none());
    }
}
