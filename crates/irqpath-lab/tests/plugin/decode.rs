// SPDX-License-Identifier: GPL-2.0-or-later
//! What the decoder says about instructions of the kernel.

use super::{answers, answers_on};

/// `enum flow_kind`, in its order.
const FLOWS: [&str; 11] = [
    "next", "branch", "jump", "jump any", "call", "call any", "return", "repeat", "trap",
    "syscall", "leave",
];
/// `enum stack_use`, in its order.
const STACKS: [&str; 8] = ["", "push", "pop", "load", "record", "unrecord", "suspend", "continue"];

/// Flow, stack use, then what applies of: may stop, divides, mark.
fn describe_answer(answer: &str) -> String {
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
        assert_eq!(describe_answer(&answer), *expected, "{bytes}");
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
    let commands: Vec<String> =
        cases.iter().map(|(bytes, _)| format!("entry ffffffff81000000 {bytes}")).collect();
    let Some(found) = answers(&commands) else { return };
    for ((bytes, expected), answer) in cases.iter().zip(found) {
        assert_eq!(answer, expected.to_string(), "{bytes}");
    }
}

/// Instructions are words here; the script wants their bytes.
fn format_bytes(words: &[u32]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    bytes.map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

#[test]
fn a64_instructions_are_what_they_are() {
    let cases = [
        (0xd503_201f, "next"),        // nop
        (0xd503_245f, "next"),        // bti c
        (0xd503_233f, "next"),        // paciasp
        (0x9100_03fd, "next"),        // mov x29, sp
        (0x9100_013f, "next"),        // mov sp, x9
        (0xaa00_03e1, "next"),        // mov x1, x0
        (0x9ac3_0841, "next"),        // udiv x1, x2, x3
        (0x9b02_7c20, "next"),        // mul x0, x1, x2
        (0xf000_f746, "next"),        // adrp
        (0xf940_0400, "next, stops"), // ldr x0, [x0, #8]
        (0xc85f_7c00, "next, stops"), // ldxr x0, [x0]
        (0x1e62_2820, "next, stops"), // fadd d0, d1, d2
        (0xd538_4240, "next, stops"), // mrs x0, currentel
        (0xd503_4fdf, "next, stops"), // msr daifset, #15
        (0xd503_207f, "next"),        // wfi: ends its block
        (0xd503_3fdf, "next, stops"), // isb
        (0x1400_0003, "jump to 100c"),
        (0x17ff_efd3, "jump to ffffffffffffcf4c"),
        (0x9400_0002, "call to 1008"),
        (0x5400_0080, "branch to 1010"), // b.eq
        (0x54ff_ffc1, "branch to ff8"),  // b.ne
        (0xb400_0073, "branch to 100c"), // cbz x19
        (0x3500_00c4, "branch to 1018"), // cbnz w4
        (0x3770_0080, "branch to 1010"), // tbnz w0, #14
        (0xb607_fff5, "branch to ffc"),  // tbz x21, #32
        (0xd61f_0220, "jump any"),       // br x17
        (0xd71f_0a11, "jump any"),       // braa x16, x17
        (0xd63f_0020, "call any"),       // blr x1
        (0xd63f_081f, "call any"),       // blraaz x0
        (0xd65f_03c0, "return"),
        (0xd65f_0120, "return"),                // ret x9
        (0xd65f_0bff, "return"),                // retaa
        (0xd69f_03e0, "leave"),                 // eret
        (0xd69f_0bff, "leave"),                 // eretaa
        (0xd400_0001, "syscall"),               // svc #0
        (0xd400_0002, "next, stops"),           // hvc #0
        (0xd421_0000, "trap"),                  // brk #0x800
        (0x0000_0000, "trap"),                  // udf #0
        (0xa9bf_7bfd, "next, record, stops"),   // stp x29, x30, [sp, #-16]!
        (0xa902_7bfd, "next, record, stops"),   // stp x29, x30, [sp, #32]
        (0xa8c2_7bfd, "next, unrecord, stops"), // ldp x29, x30, [sp], #32
        (0xa942_7bfd, "next, unrecord, stops"), // ldp x29, x30, [sp, #32]
        (0xa90f_57fe, "next, stops"),           // stp x30, x21, [sp, #240]: the kernel's entry
        (0xa913_5bfd, "next, stops"),           // stp x29, x22, [sp, #304]: as well
        (0xa881_251d, "next, suspend, stops"),  // stp x29, x9, [x8], #16: cpu_switch_to
        (0xa8c1_251d, "next, continue, stops"), // ldp x29, x9, [x8], #16
        (0xa905_781d, "next, stops"),           // stp x29, x30, [x0, #80]: setjmp
        (0x6dbf_27e8, "next, stops"),           // stp d8, d9, [sp, #-16]!
        (0xd28b_405f, "next, mark 2"),          // movz xzr, #0x5a02
        (0xd28b_5fff, "next, mark 255"),
        (0xd28b_6000 | 31, "next"), // no mark: 256
        (0xd28b_4040, "next"),      // of another register
    ];
    let commands: Vec<String> =
        cases.iter().map(|(word, _)| format!("decode 1000 {}", format_bytes(&[*word]))).collect();
    let Some(found) = answers_on("arm64", &commands) else { return };
    for ((word, expected), answer) in cases.iter().zip(found) {
        assert_eq!(describe_answer(&answer), *expected, "{word:08x}");
    }
}

#[test]
fn arm64_vectors_are_recognised() {
    let kernel = [0xd105_43ff, 0x8b20_63ff, 0xcb20_63e0];
    let user = [0x1400_0003, 0xd53b_d07e];
    let trampoline = [0xd51b_d07e, 0xd280_041e];
    let cases = [
        (0x200, &kernel[..], 2), // synchronous: an instruction did not complete
        (0x280, &kernel, 1),
        (0x300, &kernel, 1),
        (0x380, &kernel, 1),
        (0x284, &kernel, 0),
        (0x280, &user, 0),
        (0x280, &[0xd105_43ff, 0x1400_01fc], 1), // without VMAP_STACK
        (0x280, &[0xd105_43ff, 0xa900_07e0], 0), // a function
        (0x400, &user, 2),
        (0x480, &user, 1),
        (0x400, &trampoline, 2),
        (0x480, &trampoline, 1),
        (0x480, &[0x9400_0002, 0x1400_0000], 1),
        (0x480, &kernel, 0),
        (0x280, &kernel[..1], 0),
    ];
    let command = |(at, words, _): &(u64, &[u32], u8)| {
        format!("entry {:x} {}", 0xffff_8000_8001_0800_u64 + at, format_bytes(words))
    };
    let commands: Vec<String> = cases.iter().map(command).collect();
    let Some(found) = answers_on("arm64", &commands) else { return };
    for ((at, words, expected), answer) in cases.iter().zip(found) {
        assert_eq!(answer, expected.to_string(), "{at:x} {words:x?}");
    }
}
