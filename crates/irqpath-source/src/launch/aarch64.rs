// SPDX-License-Identifier: GPL-2.0-or-later
//! A system call in another program, arm64.

use libc::c_long;

/// Registers as `NT_PRSTATUS` has them.
pub(super) type Registers = libc::user_regs_struct;

/// Where the program will go on.
pub(super) const fn instruction_pointer(registers: &Registers) -> u64 {
    registers.pc
}

/// `svc #0; brk #0` in the place of the first two instructions.
pub(super) const fn call_code(_old: c_long) -> c_long {
    0xd420_0000_d400_0001_u64.cast_signed()
}

pub(super) const fn prepare_call(
    mut registers: Registers,
    number: u64,
    argument: u64,
) -> Registers {
    registers.regs[8] = number;
    registers.regs[0] = argument;
    registers
}

/// What the call returned.
pub(super) const fn call_result(registers: &Registers) -> i64 {
    registers.regs[0].cast_signed()
}

/// As it was at its start. At the end of a system call ptrace shows a mark of its own in x7.
pub(super) const fn restore_registers(mut registers: Registers) -> Registers {
    registers.regs[7] = 0;
    registers
}
