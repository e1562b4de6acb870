// SPDX-License-Identifier: GPL-2.0-or-later
//! Stacks of who blocked paths, folded: one line for each different stack, with the time in us that
//! it blocked, as flame graph tools read it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use irqpath_model::record::KernelStack;

use crate::Guard;

/// Writes them, in order of their names.
pub fn write_folded(
    out: impl Write,
    stacks: &[KernelStack],
    functions: &BTreeMap<u64, String>,
) -> io::Result<()> {
    let mut times: BTreeMap<String, u64> = BTreeMap::new();
    for stack in stacks {
        let ns = stack.until_ns.saturating_sub(stack.from_ns);
        *times.entry(stack.fold(functions)).or_default() += ns;
    }
    let mut out = Guard::new(out, false);
    for (stack, ns) in times {
        writeln!(out, "{stack} {}", ns.div_ceil(1000))?;
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::record::Blocked;

    #[test]
    fn equal_stacks_are_one_line() {
        let stack = |from_ns, frames: &[u64]| KernelStack {
            cpu: 0,
            from_ns,
            until_ns: 10_000,
            why: Blocked::Irqs,
            tid: 1,
            comm: "dd\u{9b}".into(),
            waiter: 0,
            frames: frames.to_vec(),
        };
        let functions = BTreeMap::from([(1, "outer".to_owned()), (2, "inner".to_owned())]);
        let stacks = [stack(0, &[2, 1]), stack(5_000, &[2, 1]), stack(9_999, &[1])];
        let mut out = Vec::new();
        write_folded(&mut out, &stacks, &functions).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.chars().all(|c| c == '\n' || irqpath_model::is_printable(c)), "{text}");
        let ends: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_once(";[irqs];"))
            .map(|(_, end)| end)
            .collect();
        assert_eq!(ends, ["outer 1", "outer;inner 15"]);
    }
}
