// SPDX-License-Identifier: GPL-2.0-or-later
//! Counting: every instruction that completes counts once, however QEMU cuts and repeats blocks.
//!
//! Block 0 has mark 2 and begins path 2-4, block 9 has mark 4 and ends it; what runs between them
//! is the case. Of the marks the first one counts.

use super::answers;

/// Kernel addresses: short ones would be user space.
const K: &str = "ffffffff810";

/// Blocks that the cases use.
fn define_blocks() -> Vec<String> {
    [
        // ID PC ENTRY INSTRUCTIONS...
        ("0", "00000", "0", "0f1f800200a751"),
        ("1", "00007", "0", "90 90 488b07 90 488907"), // nop nop load nop store
        ("2", "00010", "0", "90 eb01"),
        ("9", "00014", "0", "0f1f800400a751 e9e0ffffff"), // and back to block 0
        // What is left of block 1 behind its load, and the load alone.
        ("3", "0000c", "0", "90 488907"),
        ("4", "00009", "0", "488b07 90 488907"),
        ("5", "0000d", "0", "488907"),
        // Exception entries, of 2 instructions, and the end of their code.
        ("a", "01000", "1", "fc e9fa1f0000"),
        ("b", "02000", "2", "fc e9fa0f0000"),
        ("c", "03000", "0", "48cf"),
        ("e", "00007", "0", "f3aa"),       // rep stosb, behind block 0
        ("f", "00009", "0", "e906000000"), // and on to block 9
    ]
    .iter()
    .map(|(id, pc, entry, insns)| format!("block {id} {K}{pc} {entry} {insns}"))
    .collect()
}

/// Length of the path when these commands run between the marks.
fn path_length(between: &[&str]) -> Option<String> {
    let mut commands = define_blocks();
    commands.push("path 2-4".to_owned());
    commands.extend(["run 0 1", "mark 0 2"].map(String::from));
    commands.extend(between.iter().map(|line| (*line).to_owned()));
    commands.extend(["run 9 2", "mark 0 4", "lengths"].map(String::from));
    answers(&commands)?.pop()
}

#[test]
fn instructions_count_once() {
    for (what, between, expected) in [
        ("nothing special", &["run 1 5", "run 2 2"][..], "1+5+2"),
        ("QEMU goes on behind a load from a device", &["run 1 3", "run 3 2", "run 2 2"], "1+3+2+2"),
        ("QEMU repeats a load", &["run 1 3", "run 4 3", "run 2 2"], "1+2+3+2"),
        (
            "a page fault, and the load again",
            &["run 1 3", "run b 2", "run c 1", "run 4 3", "run 2 2"],
            "1+2+2+1+3+2",
        ),
        (
            "an interrupt behind a store to a device",
            &["run 1 3", "run a 2", "run c 1", "run 3 2", "run 2 2"],
            "1+3+2+1+2+2",
        ),
        (
            "an interrupt between two blocks",
            &["run 1 5", "run a 2", "run c 1", "run 2 2"],
            "1+5+2+1+2",
        ),
        (
            "a page fault of the last instruction",
            &["run 1 5", "run b 2", "run c 1", "run 5 1", "run 2 2"],
            "1+4+2+1+1+2",
        ),
        ("a string instruction", &["run e 1", "run e 1", "run e 1", "run f 1"], "1+3+1"),
    ] {
        let Some(found) = path_length(between) else { return };
        let sum: u32 = expected.split('+').map(|n| n.parse::<u32>().unwrap()).sum();
        assert_eq!(found, format!("{sum}/0"), "{what}");
    }
}

#[test]
fn routes_do_not_depend_on_how_qemu_cuts_blocks() {
    let mut commands = define_blocks();
    // The same code as block 1, in two blocks.
    commands.push(format!("block 11 {K}00007 0 90 90 488b07"));
    commands.push("path 2-4".to_owned());
    for between in [&["run 1 5", "run 2 2"][..], &["run 11 3", "run 3 2", "run 2 2"], &["run 2 2"]]
    {
        commands.extend(["run 0 1", "mark 0 2"].map(String::from));
        commands.extend(between.iter().map(|line| (*line).to_owned()));
        commands.extend(["run 9 2", "mark 0 4"].map(String::from));
    }
    commands.push("lengths".to_owned());
    let Some(found) = answers(&commands) else { return };
    assert_eq!(found.last().unwrap(), "8/0 8/0 3/1");
}

#[test]
fn interrupts_push_what_they_interrupted_and_pop_it() {
    let mut commands = define_blocks();
    commands.extend(["run 1 5", "run a 2", "run c 1", "run 2 2"].map(String::from));
    let Some(found) = answers(&commands) else { return };
    let chains = &found[found.len() - 4..];
    assert_eq!(chains, ["?", "? iffffffff81000010", "? iffffffff81000010", "?"]);
}

#[test]
fn what_belongs_to_another_instruction_is_ignored() {
    // A call; then QEMU calls back for it once more, and while another block runs.
    let mut commands = define_blocks();
    commands.push(format!("block 20 {K}00100 0 90 e8f0000000"));
    commands.push(format!("block 21 {K}001f6 0 90 90"));
    commands.extend(
        [
            "run 20 2",
            "pushed 20 ffa0000000003f00",
            "pushed 20 ffa0000000003e00",
            "run 21 2",
            "pushed 20 ffa0000000003e00",
        ]
        .map(String::from),
    );
    let Some(found) = answers(&commands) else { return };
    let chains = &found[found.len() - 4..];
    assert_eq!(chains, ["? cffffffff81000106"; 4]);
}
