// SPDX-License-Identifier: GPL-2.0-or-later
//! The text of `irqpath check`.

use irqpath_model::check::{Finding, Severity};

use super::Page;

const fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Ok => "ok",
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Problem => "problem",
    }
}

/// A paragraph for each finding that asks for attention, a line for each that does not.
pub fn render_findings(findings: &[Finding]) -> Page {
    let mut text = Page::default();
    for f in findings {
        text.add_line(format_args!("{:<8} {}: {}", severity_word(f.severity), f.id, f.what));
        if f.severity > Severity::Ok {
            text.add_line(format_args!("         why: {}", f.why));
        }
        if let Some(fix) = &f.fix {
            text.add_line(format_args!("         fix: {fix}"));
        }
    }
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    text.add_blank();
    text.add_line(format_args!(
        "problems: {}, warnings: {}, notes: {}, ok: {}",
        count(Severity::Problem),
        count(Severity::Warning),
        count(Severity::Note),
        count(Severity::Ok)
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_comes_with_its_reason_and_its_fix() {
        let finding = |severity, fix: Option<&str>| Finding {
            id: "governor".to_owned(),
            severity,
            what: "powersave on 2 CPUs".to_owned(),
            why: "frequencies ramp up late".to_owned(),
            fix: fix.map(str::to_owned),
        };
        let text = render_findings(&[
            finding(Severity::Warning, Some("cpupower frequency-set -g performance")),
            finding(Severity::Ok, None),
        ]);
        assert!(text.starts_with("warning  governor: powersave on 2 CPUs\n"), "{text}");
        assert!(text.contains("fix: cpupower"), "{text}");
        assert_eq!(text.matches("why:").count(), 1, "{text}");
        assert!(text.ends_with("\n\nproblems: 0, warnings: 1, notes: 0, ok: 1\n"), "{text}");
        assert!(!text.contains("\\n"), "a line break was printed as text: {text}");
    }
}
