// SPDX-License-Identifier: GPL-2.0-or-later
//! The shadow stacks against the machine of `model`: right at every step, and never wrong when
//! they begin to watch in the middle.

use super::answers;
use super::model::{Machine, Step};
use proptest::prelude::*;

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => any::<u64>().prop_map(Step::Call),
        8 => Just(Step::Return),
        2 => any::<u64>().prop_map(Step::Interrupt),
        2 => Just(Step::InterruptStack),
        3 => Just(Step::Resume),
        3 => any::<usize>().prop_map(Step::Switch),
        1 => any::<bool>().prop_map(Step::Fork),
        1 => any::<usize>().prop_map(Step::Exit),
        1 => any::<usize>().prop_map(Step::Unwind),
        4 => Just(Step::Syscall),
        2 => Just(Step::Tick),
        4 => Just(Step::ToUser),
    ];
    proptest::collection::vec(step, 1..300)
}

fn run_steps(steps: &[Step]) -> Machine {
    let mut machine = Machine::new();
    for step in steps {
        machine.apply_step(*step);
    }
    machine
}

/// Each case starts a program; PROPTEST_CASES asks for more than 50.
pub fn few_cases() -> ProptestConfig {
    let few = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() {
        few
    } else {
        ProptestConfig { cases: 50, ..few }
    }
}

/// True if the chain is the truth, or says that its beginning was not seen and ends like it.
pub fn never_wrong(found: &str, truth: &str) -> bool {
    found == truth
        || found.strip_prefix('?').is_some_and(|rest| {
            rest.is_empty() || truth.strip_prefix(['?', 'u']).is_some_and(|t| t.ends_with(rest))
        })
}

proptest! {
    #![proptest_config(few_cases())]

    #[test]
    fn chains_are_true(steps in any_steps()) {
        let machine = run_steps(&steps);
        let Some(found) = answers(&machine.commands) else { return Ok(()) };
        for (at, (found, truth)) in found.iter().zip(&machine.truth).enumerate() {
            if let Some(truth) = truth {
                prop_assert_eq!(found, truth, "after {:#?}", &machine.commands[..=at]);
            }
        }
    }

    #[test]
    fn chains_are_never_wrong_from_the_middle_on(steps in any_steps(), skipped in 0usize..200) {
        let machine = run_steps(&steps);
        let skipped = skipped.min(machine.commands.len() - 1);
        let seen = &machine.commands[skipped..];
        let Some(found) = answers(seen) else { return Ok(()) };
        for (at, (found, truth)) in found.iter().zip(&machine.truth[skipped..]).enumerate() {
            if let Some(truth) = truth {
                prop_assert!(
                    never_wrong(found, truth),
                    "{found} is not {truth} after {:#?}",
                    &seen[..=at]
                );
            }
        }
    }
}

#[test]
fn a_long_run_reaches_every_kind_of_step() {
    // What the strategy makes is only worth something if its steps are mostly possible.
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    for _ in 0..50 {
        let tree = any_steps().new_tree(&mut runner).unwrap();
        for command in run_steps(&proptest::strategy::ValueTree::current(&tree)).commands {
            *seen.entry(command.split(' ').next().unwrap().to_owned()).or_default() += 1;
        }
    }
    for kind in ["call", "return", "interrupt", "resume", "touch", "enter", "user"] {
        assert!(seen.get(kind).is_some_and(|&n| n > 50), "{kind}: {seen:?}");
    }
}
