// SPDX-License-Identifier: GPL-2.0-or-later
//! A system call in another program, x86-64.

use libc::c_long;

/// Registers as `NT_PRSTATUS` has them.
pub(super) type Registers = libc::user_regs_struct;

/// Where the program will go on.
pub(super) const fn instruction_pointer(registers: &Registers) -> u64 {
    registers.rip
}

/// `syscall; int3` in the place of the first three bytes.
pub(super) const fn call_code(old: c_long) -> c_long {
    old & !0xff_ffff | 0xcc_050f
}

/// Ready to call. It is in no system call, so the kernel has nothing to restart.
pub(super) const fn prepare_call(
    mut registers: Registers,
    number: u64,
    argument: u64,
) -> Registers {
    registers.rax = number;
    registers.rdi = argument;
    registers.orig_rax = u64::MAX;
    registers
}

/// What the call returned.
pub(super) const fn call_result(registers: &Registers) -> i64 {
    registers.rax.cast_signed()
}

/// As it was at its start.
pub(super) const fn restore_registers(mut registers: Registers) -> Registers {
    registers.orig_rax = u64::MAX;
    registers
}
