// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath check`: what is wrong with this host and how to fix it, worst first. The rules are in
//! `irqpath-system`; this file prints.

use std::process::ExitCode;

use irqpath_system::Host;
use irqpath_system::check::{Finding, Severity};

use super::args::Check;
use crate::output::console;
use crate::output::page::Page;

pub fn run(arguments: &Check) -> anyhow::Result<ExitCode> {
    let findings = Host::real().check();
    if arguments.json {
        console::json(&findings, false)?;
    } else {
        console::print(&text(&findings))?;
    }
    Ok(ExitCode::SUCCESS)
}

const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Ok => "ok",
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Problem => "problem",
    }
}

/// A paragraph for each finding that asks for attention, a line for each that does not.
fn text(findings: &[Finding]) -> Page {
    let mut text = Page::default();
    for f in findings {
        text.line(format_args!("{:<8} {}: {}", word(f.severity), f.id, f.what));
        if f.severity > Severity::Ok {
            text.line(format_args!("         why: {}", f.why));
        }
        if let Some(fix) = &f.fix {
            text.line(format_args!("         fix: {fix}"));
        }
    }
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    text.blank();
    text.line(format_args!(
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
        let text = text(&[
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
