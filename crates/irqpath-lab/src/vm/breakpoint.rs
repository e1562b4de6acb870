// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds a guest that can do nothing but execute a breakpoint which is not in its memory.
//!
//! Before 8.1, a QEMU with several threads may keep code that it translated while the kernel
//! patched a jump ([`QemuVersion::keeps_stale_breakpoints`]). The kernel's handler finds no
//! breakpoint there and returns to it, for ever. The guest is not wrong, and a new boot goes on.
//!
//! [`QemuVersion::keeps_stale_breakpoints`]: super::version::QemuVersion::keeps_stale_breakpoints

use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::Duration;

use super::control::Monitor;

/// A breakpoint is executed and gone in microseconds; one that is seen so often is not.
const NR_SEEN: usize = 3;
const NR_LOOKS: usize = 40;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// The handler of breakpoints in the table of x86-64, whose entries have 16 bytes.
const BREAKPOINT_ENTRY: u64 = 3 * 16;
const INT3: u64 = 0xcc;

/// What a processor's registers say of its next instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Registers {
    instruction: u64,
    stack: u64,
    /// Where its table of handlers is.
    handlers: u64,
}

/// True if a processor of this guest comes from the same breakpoint again and again, and there is
/// none. The guest is stopped for each look.
pub fn is_stale(monitor: &mut Monitor<'_>) -> io::Result<bool> {
    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    for _ in 0..NR_LOOKS {
        monitor.run_command("stop", 0)?;
        let found = find_gone(monitor);
        monitor.run_command("cont", 0)?;
        for address in found? {
            let nr = seen.entry(address).or_default();
            *nr += 1;
            if *nr == NR_SEEN {
                return Ok(true);
            }
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    Ok(false)
}

/// Where processors come from whose breakpoint is gone.
fn find_gone(monitor: &mut Monitor<'_>) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    for (cpu, registers) in
        parse_registers(&monitor.run_command("info registers -a", 0)?).iter().enumerate()
    {
        let mut memory = |form: &str, address: u64| {
            let text = monitor.run_command(&format!("x/{form} {address:#x}"), cpu)?;
            Ok::<_, io::Error>(parse_numbers(&text))
        };
        let entry = memory("2gx", registers.handlers.wrapping_add(BREAKPOINT_ENTRY))?;
        if handler_address(&entry) != Some(registers.instruction) {
            continue;
        }
        let Some(&next) = memory("1gx", registers.stack)?.first() else { continue };
        let at = next.wrapping_sub(1);
        if memory("1bx", at)?.first().is_some_and(|&byte| byte != INT3) {
            found.push(at);
        }
    }
    Ok(found)
}

/// The address in an entry of the table of handlers.
fn handler_address(entry: &[u64]) -> Option<u64> {
    let &[low, high, ..] = entry else { return None };
    Some(low & 0xffff | (low >> 32) & 0xffff_0000 | high << 32)
}

fn parse_registers(registers: &str) -> Vec<Registers> {
    let mut cpus: Vec<Registers> = Vec::new();
    let mut words = registers.split_whitespace();
    let hex = |text: &str| u64::from_str_radix(text, 16).unwrap_or_default();
    while let Some(word) = words.next() {
        if word.starts_with("CPU#") {
            cpus.push(Registers::default());
        }
        let Some(cpu) = cpus.last_mut() else { continue };
        if let Some(value) = word.strip_prefix("RIP=") {
            cpu.instruction = hex(value);
        } else if let Some(value) = word.strip_prefix("RSP=") {
            cpu.stack = hex(value);
        } else if word == "IDT=" {
            cpu.handlers = words.next().map_or(0, hex);
        }
    }
    cpus
}

/// The numbers of a memory dump: `ffffffff81c00000: 0x90 0x90`.
fn parse_numbers(dump: &str) -> Vec<u64> {
    let words = dump.split_whitespace().filter_map(|word| word.strip_prefix("0x"));
    words.filter_map(|word| u64::from_str_radix(word, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_and_handlers_are_read_as_qemu_prints_them() {
        let text = "\r\nCPU#0\r\nRAX=01 RSP=fffffe0000001f50\r\nRIP=ffffffff81c00ba0 RFL=00000046\r\n\
            GDT=     fffffe0000001000 0000007f\r\nIDT=     fffffe0000000000 00000fff\r\n\
            CPU#1\r\nRSP=10 RIP=20\r\nIDT= 30 40\r\n";
        let first = Registers {
            instruction: 0xffff_ffff_81c0_0ba0,
            stack: 0xffff_fe00_0000_1f50,
            handlers: 0xffff_fe00_0000_0000,
        };
        let second = Registers { instruction: 0x20, stack: 0x10, handlers: 0x30 };
        assert_eq!(parse_registers(text), [first, second]);
        let entry = parse_numbers("fffffe0000000030: 0x81c08e0300100ba0 0x00000000ffffffff\r\n");
        assert_eq!(handler_address(&entry), Some(first.instruction));
        assert_eq!(handler_address(&[]), None);
        assert!(parse_numbers("Cannot access memory").is_empty());
    }
}
