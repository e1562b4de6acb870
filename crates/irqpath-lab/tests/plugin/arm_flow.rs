// SPDX-License-Identifier: GPL-2.0-or-later
//! Counting on arm64, as `flow` has it for x86-64: every instruction that completes counts once,
//! and calls and returns, which touch no memory, are seen when their block is left.

use super::answers_on;

/// Kernel addresses: short ones would be user space.
const K: &str = "ffff80008100";

const NOP: u32 = 0xd503_201f;
const LOAD: u32 = 0xf940_0400;
const RECORD: u32 = 0xa9bf_7bfd; // stp x29, x30, [sp, #-16]!
const UNRECORD: u32 = 0xa8c1_7bfd; // ldp x29, x30, [sp], #16
const RET: u32 = 0xd65f_03c0;

/// Blocks that the cases use: two marks, a function that calls another, exception entries.
fn define_blocks() -> Vec<String> {
    let blocks: [(&str, &str, u32, &[u32]); 11] = [
        // ID PC ENTRY INSTRUCTIONS...
        ("0", "0000", 0, &[0xd28b_405f]),                 // mark 2
        ("1", "0004", 0, &[NOP, LOAD, NOP, 0x9400_003c]), // bl 0100
        ("2", "0014", 0, &[NOP, 0x1400_0003]),            // b 0024
        ("9", "0024", 0, &[0xd28b_409f, 0x17ff_fff6]),    // mark 4, b 0000
        ("3", "0100", 0, &[RECORD, NOP, 0x9400_003e]),    // bl 0200
        ("4", "010c", 0, &[UNRECORD, RET]),
        ("5", "0200", 0, &[NOP, RET]),
        ("6", "0008", 0, &[LOAD, NOP, 0x9400_003c]), // what is left of block 1
        // Vectors, of 2 instructions, and the end of their code.
        ("a", "1280", 1, &[NOP, 0x1400_075f]),
        ("b", "1200", 2, &[NOP, 0x1400_077f]),
        ("c", "3000", 0, &[0xd69f_03e0]),
    ];
    let block = |(id, pc, entry, words): &(&str, &str, u32, &[u32])| {
        let bytes = |word: &u32| word.to_le_bytes().map(|b| format!("{b:02x}")).concat();
        let words: Vec<String> = words.iter().map(bytes).collect();
        format!("block {id} {K}{pc} {entry} {}", words.join(" "))
    };
    blocks.iter().map(block).collect()
}

/// The chains after these commands.
fn run_chains(commands: &[&str]) -> Option<Vec<String>> {
    let mut all = define_blocks();
    let made = all.len();
    all.extend(commands.iter().map(|line| (*line).to_owned()));
    Some(answers_on("arm64", &all)?.split_off(made))
}

#[test]
fn instructions_count_once() {
    let stored = "access 3 ffff800080003f00 1 0";
    let loaded = "access 4 ffff800080003f00 0 0";
    for (what, between, expected) in [
        (
            "calls",
            &["run 1 4", "run 3 3", stored, "run 5 2", "run 4 2", loaded, "run 2 2"][..],
            "4+3+2+2+2",
        ),
        (
            "an abort, and the load again",
            &[
                "run 1 2", "run b 2", "run c 1", "run 6 3", "run 3 3", "run 5 2", "run 4 2",
                "run 2 2",
            ],
            "1+2+1+3+3+2+2+2",
        ),
        (
            "an interrupt behind a load from a device",
            &["run 1 2", "run a 2", "run c 1", "run 2 2"],
            "2+2+1+2",
        ),
        (
            "an abort when the called function is fetched",
            &["run 1 4", "run b 2", "run c 1", "run 3 3", "run 5 2", "run 4 2", "run 2 2"],
            "4+2+1+3+2+2+2",
        ),
    ] {
        let mut commands = vec!["path 2-4", "run 0 1", "mark 0 2"];
        commands.extend(between);
        commands.extend(["run 9 2", "mark 0 4", "lengths"]);
        let Some(found) = run_chains(&commands) else { return };
        let sum: u32 = expected.split('+').map(|n| n.parse::<u32>().unwrap()).sum();
        // The mark that begins the path belongs to it.
        assert_eq!(found.last().unwrap(), &format!("{}/0", 1 + sum), "{what}");
    }
}

#[test]
fn calls_and_returns_are_seen_when_their_block_is_left() {
    let commands = [
        "run 1 4",
        "run 3 1",
        "access 3 ffff800080003f00 1 0",
        "access 3 ffff800080003f08 1 0", // the other half of the pair
        "run a 2",                       // behind the store
        "run c 1",
    ];
    let Some(found) = run_chains(&commands) else { return };
    let (call, interrupt) = (format!("? c{K}0014"), format!("? c{K}0014 i{K}0104"));
    assert_eq!(found, ["?", &call, &call, &call, &interrupt, &interrupt]);
    let commands = ["run 1 4", "run 3 3", "run a 2", "run c 1", "run 5 2", "run a 2"];
    let Some(found) = run_chains(&commands) else { return };
    let inner = format!("{call} c{K}010c");
    let before = format!("{inner} i{K}0200");
    // The return was made: the interrupt comes where it goes.
    let after = format!("{call} i{K}010c");
    assert_eq!(found[2..], [before.clone(), before, inner, after]);
}
