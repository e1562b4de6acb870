// SPDX-License-Identifier: GPL-2.0-or-later
//! The shadow stacks of arm64 against the machine of `arm_model`: right at every step, and never
//! wrong when they begin to watch in the middle.

use super::answers_on;
use super::arm_model::{Machine, Step};
use super::stacks::{few_cases, never_wrong};
use proptest::prelude::*;

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => any::<u64>().prop_map(Step::Call),
        3 => any::<u64>().prop_map(Step::Store),
        2 => Just(Step::Load),
        8 => Just(Step::Return),
        2 => any::<u64>().prop_map(Step::Interrupt),
        2 => Just(Step::InterruptStack),
        3 => Just(Step::Resume),
        3 => any::<usize>().prop_map(Step::Switch),
        1 => any::<bool>().prop_map(Step::Fork),
        1 => any::<usize>().prop_map(Step::Exit),
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

proptest! {
    #![proptest_config(few_cases())]

    #[test]
    fn chains_are_true(steps in any_steps()) {
        let machine = run_steps(&steps);
        let Some(found) = answers_on("arm64", &machine.commands) else { return Ok(()) };
        for (at, (found, truth)) in found.iter().zip(&machine.truth).enumerate() {
            prop_assert_eq!(found, truth, "after {:#?}", &machine.commands[..=at]);
        }
    }

    #[test]
    fn chains_are_never_wrong_from_the_middle_on(steps in any_steps(), skipped in 0usize..200) {
        let machine = run_steps(&steps);
        let skipped = skipped.min(machine.commands.len() - 1);
        let seen = &machine.commands[skipped..];
        let Some(found) = answers_on("arm64", seen) else { return Ok(()) };
        for (at, (found, truth)) in found.iter().zip(&machine.truth[skipped..]).enumerate() {
            prop_assert!(
                never_wrong(found, truth),
                "{found} is not {truth} after {:#?}",
                &seen[..=at]
            );
        }
    }
}

#[test]
fn a_long_run_reaches_every_kind_of_step() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    for _ in 0..50 {
        let tree = any_steps().new_tree(&mut runner).unwrap();
        for command in run_steps(&proptest::strategy::ValueTree::current(&tree)).commands {
            *seen.entry(command.split(' ').next().unwrap().to_owned()).or_default() += 1;
        }
    }
    for kind in ["link", "ret", "store", "load", "interrupt", "resume", "suspend", "enter", "user"]
    {
        assert!(seen.get(kind).is_some_and(|&n| n > 50), "{kind}: {seen:?}");
    }
}

#[test]
fn a_traced_function_keeps_its_caller() {
    // The tracer's return address is kept in its registers' save area and used from another
    // register; the caller's is in none of them that the plugin watches.
    let top = 0xffff_8000_8000_3f00_u64;
    let commands: Vec<String> = [
        "user 401000".to_owned(),
        "enter 4 401010".to_owned(),
        "link 1000".to_owned(), // the function
        "link 2000".to_owned(), // its call of the tracer
        format!("store {top:x}"),
        "link 3000".to_owned(), // which calls
        format!("store {:x}", top - 32),
        format!("load {:x}", top - 32),
        "ret 3000".to_owned(),
        "ret 2000".to_owned(),           // by x9
        format!("store {:x}", top + 16), // now the function stores its record
        "link 4000".to_owned(),
        "ret 4000".to_owned(),
        format!("load {:x}", top + 16),
        "ret 1000".to_owned(),
    ]
    .into();
    let Some(found) = answers_on("arm64", &commands) else { return };
    let expected = [
        "u",
        "u",
        "u c1000",
        "u c1000 c2000",
        "u c1000 c2000",
        "u c1000 c2000 c3000",
        "u c1000 c2000 c3000",
        "u c1000 c2000 c3000",
        "u c1000 c2000",
        "u c1000",
        "u c1000",
        "u c1000 c4000",
        "u c1000",
        "u c1000",
        "u",
    ];
    assert_eq!(found, expected);
}
