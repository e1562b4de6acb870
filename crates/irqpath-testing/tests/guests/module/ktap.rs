// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the Kernel Test Anything Protocol, as far as our scripts use it: one plan, no subtests.

/// How one test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    Skipped,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    pub name: String,
    pub verdict: Verdict,
    /// What it said before its result.
    pub notes: Vec<String>,
}

/// All tests of a log. An error says why the log cannot be trusted: without a version or a plan,
/// with other tests than planned, ended in the middle.
pub fn parse(log: &str) -> Result<Vec<Test>, String> {
    let mut planned: Option<usize> = None;
    let mut notes = Vec::new();
    let mut tests: Vec<Test> = Vec::new();
    let mut lines = log.lines().skip_while(|line| *line != "KTAP version 1");
    lines.next().ok_or("there is no KTAP version")?;
    for line in lines {
        if let Some(number) = line.strip_prefix("1..") {
            planned = Some(number.parse().map_err(|_| format!("not a plan: {line}"))?);
        } else if let Some((passed, rest)) = result(line) {
            let (number, name) = rest.split_once(' ').unwrap_or((rest, ""));
            if number.parse() != Ok(tests.len() + 1) {
                return Err(format!("after {} tests came: {line}", tests.len()));
            }
            let (name, skip) = match name.split_once(" # SKIP") {
                Some((name, _)) => (name, true),
                None => (name, false),
            };
            let verdict = match (passed, skip) {
                (false, _) => Verdict::Failed,
                (true, true) => Verdict::Skipped,
                (true, false) => Verdict::Passed,
            };
            let notes = std::mem::take(&mut notes);
            tests.push(Test { name: name.trim().to_owned(), verdict, notes });
        } else {
            notes.push(line.to_owned());
        }
    }
    match planned {
        Some(planned) if planned == tests.len() => Ok(tests),
        Some(planned) => Err(format!("{} of {planned} tests have a result", tests.len())),
        None => Err("there is no plan".to_owned()),
    }
}

fn result(line: &str) -> Option<(bool, &str)> {
    let passed = line.strip_prefix("ok ").map(|rest| (true, rest));
    passed.or_else(|| line.strip_prefix("not ok ").map(|rest| (false, rest)))
}

#[test]
fn a_log_with_every_kind_of_test_is_read() {
    let log =
        "noise\nKTAP version 1\n1..3\nok 1 a\n# why\nnot ok 2 b\n# no device\nok 3 c # SKIP\n";
    let tests = parse(log).unwrap();
    let verdicts: Vec<_> = tests.iter().map(|t| (t.name.as_str(), t.verdict.clone())).collect();
    assert_eq!(verdicts, [("a", Verdict::Passed), ("b", Verdict::Failed), ("c", Verdict::Skipped)]);
    assert_eq!((&tests[0].notes[..], &tests[1].notes[..]), (&[][..], &["# why".to_owned()][..]));
}

#[test]
fn a_log_that_proves_nothing_is_an_error() {
    for (log, why) in [
        ("", "there is no KTAP version"),
        ("1..1\nok 1 a\n", "there is no KTAP version"),
        ("KTAP version 1\nok 1 a\n", "there is no plan"),
        ("KTAP version 1\n1..2\nok 1 a\n", "1 of 2 tests have a result"),
        ("KTAP version 1\n1..x\nok 1 a\n", "not a plan: 1..x"),
        ("KTAP version 1\n1..2\nok 1 a\nok 3 b\n", "after 1 tests came: ok 3 b"),
    ] {
        assert_eq!(parse(log), Err(why.to_owned()), "{log:?}");
    }
}
