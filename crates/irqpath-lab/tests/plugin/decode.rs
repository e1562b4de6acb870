// SPDX-License-Identifier: GPL-2.0-or-later
//! What the decoder says about instructions of the kernel.

use super::answers;

/// `enum flow_kind`, in its order.
const FLOWS: [&str; 11] = [
    "next", "branch", "jump", "jump any", "call", "call any", "return", "repeat", "trap",
    "syscall", "leave",
];
/// `enum stack_use`, in its order.
const STACKS: [&str; 6] = ["", "push", "pop", "load", "record", "unrecord"];

/// Flow, stack use, then what applies of: may stop, divides, mark.
fn told(answer: &str) -> String {
    let words: Vec<&str> = answer.split(' ').collect();
    let number = |at: usize| words[at].parse::<i64>().unwrap();
    let mut parts = vec![FLOWS[number(0) as usize].to_owned()];
    if words[1] != "0" {
        parts[0] = format!("{} to {}", parts[0], words[1]);
    }
    if number(2) != 0 {
        parts.push(STACKS[number(2) as usize].to_owned());
    }
    if number(3) != 0 {
        parts.push("stops".to_owned());
    }
    if number(4) != 0 {
        parts.push("divides".to_owned());
    }
    if number(5) >= 0 {
        parts.push(format!("mark {}", number(5)));
    }
    parts.join(", ")
}

#[test]
fn x86_instructions_are_what_they_are() {
    let cases = [
        ("90", "next"),
        ("f30f1efa", "next"),               // endbr64
        ("4889e5", "next"),                 // mov %rsp,%rbp
        ("4801d8", "next"),                 // add %rbx,%rax
        ("488d4710", "next"),               // lea 0x10(%rdi),%rax
        ("0f44c1", "next"),                 // cmove %ecx,%eax
        ("488b4710", "next, stops"),        // mov 0x10(%rdi),%rax
        ("f0480fc107", "next, stops"),      // lock xadd %rax,(%rdi)
        ("f0480fc1c7", "next, stops"),      // the same with a register: undefined
        ("48f7f1", "next, stops, divides"), // div %rcx
        ("f4", "next, stops"),              // hlt
        ("0f30", "next, stops"),            // wrmsr
        ("eb12", "jump to 1014, stops"),
        ("e900010000", "jump to 1105, stops"),
        ("7405", "branch to 1007, stops"),
        ("0f8400010000", "branch to 1106, stops"),
        ("e800010000", "call to 1105, stops"),
        ("e801000000", "jump to 1006, stops"), // retpoline: over a trap
        ("ffd0", "call any, stops"),
        ("ff1500000000", "call any, stops"),
        ("ffe0", "jump any, stops"),
        ("41ffe3", "jump any, stops"),
        ("c3", "return, stops"),
        ("f3c3", "return, stops"),
        ("48cf", "leave, stops"),   // iretq
        ("480f07", "leave, stops"), // sysretq
        ("0f05", "syscall, stops"),
        ("0f0b", "trap, stops"), // ud2
        ("cc", "trap, stops"),
        ("f348ab", "repeat, stops"), // rep stosq
        ("48ab", "next, stops"),
        ("55", "next, push, stops"),
        ("4157", "next, push, stops"),
        ("6aff", "next, push, stops"),
        ("5d", "next, pop, stops"),
        ("5c", "next, load, stops"),               // pop %rsp
        ("415c", "next, pop, stops"),              // pop %r12
        ("4889c4", "next, load"),                  // mov %rax,%rsp
        ("488ba618150000", "next, load, stops"),   // mov 0x1518(%rsi),%rsp
        ("65488b256d5d237e", "next, load, stops"), // mov %gs:...,%rsp
        ("4c8ba618150000", "next, stops"),         // mov 0x1518(%rsi),%r12
        ("0f1f400d", "next"),                      // nopl
        ("0f1f800200a751", "next, mark 2"),
        ("0f1f80ff00a751", "next, mark 255"),
        ("0f1f800001a751", "next"), // no mark: 256
        ("0f1f840000000000", "next"),
    ];
    let commands: Vec<String> =
        cases.iter().map(|(bytes, _)| format!("decode 1000 {bytes}")).collect();
    let Some(found) = answers(&commands) else { return };
    for ((bytes, expected), answer) in cases.iter().zip(found) {
        assert_eq!(told(&answer), *expected, "{bytes}");
    }
}

#[test]
fn the_kernels_entries_are_recognised() {
    let cases = [
        ("f30f1efa6a20e905130000", 1), // a device's vector
        ("6a80eb1090909090", 1),
        ("f30f1efa0f01cafc6affe851060000", 1), // clac; cld; push $-1; call error_entry
        ("f30f1efa909090fc6affe851060000", 1), // without SMAP
        ("0f01cafce8c3090000", 2),             // page fault: an error code was pushed
        ("f30f1efa909090fce8c3090000", 2),
        ("f30f1efa0f01f86548892585", 0), // entry_SYSCALL_64
        ("554889e5", 0),
        ("f30f1efa", 0),
        ("", 0),
    ];
    let commands: Vec<String> = cases.iter().map(|(bytes, _)| format!("entry {bytes}")).collect();
    let Some(found) = answers(&commands) else { return };
    for ((bytes, expected), answer) in cases.iter().zip(found) {
        assert_eq!(answer, expected.to_string(), "{bytes}");
    }
}
