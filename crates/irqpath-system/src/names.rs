// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of device lines. `/sys/kernel/irq/N/actions` has them exactly; `/proc/interrupts`
//! is the fall-back, where chip, hwirq and trigger have to be peeled off first.

use std::collections::BTreeMap;

use crate::interrupts::parse_rows;
use crate::{Host, SystemError};

impl Host {
    /// Action names of every device line that has any, joined by `,` where a line is shared.
    pub fn irq_names(&self) -> Result<BTreeMap<u32, String>, SystemError> {
        let file = "proc/interrupts";
        let text = self.read(file)?;
        let (cpus, rows) = parse_rows(&self.path(file), &text)?;
        let mut names = BTreeMap::new();
        for row in rows.iter().filter(|row| row.counts.len() == cpus.len()) {
            if let (Ok(irq), name) = (row.label.parse(), action_names(row.rest))
                && !name.is_empty()
            {
                names.insert(irq, name);
            }
        }
        for directory in self.names_in("sys/kernel/irq") {
            let Ok(irq) = directory.parse() else { continue };
            let Some(name) = self.read_fact(&format!("sys/kernel/irq/{directory}/actions")) else {
                continue;
            };
            if !name.is_empty() {
                names.insert(irq, name);
            }
        }
        Ok(names)
    }
}

/// The action names at the end of a row: what follows the chip, the hwirq (`27`, `1-edge`,
/// absent for some chips) and the trigger (`Level`, `Edge`, `-fasteoi`).
fn action_names(rest: &str) -> String {
    let mut rest = after_word(rest);
    if next_word(rest).starts_with(|c: char| c.is_ascii_digit()) && after_word(rest).len() > 1 {
        rest = after_word(rest);
    }
    while matches!(next_word(rest), "Level" | "Edge") || next_word(rest).starts_with('-') {
        rest = after_word(rest);
    }
    rest.split(',').map(str::trim).filter(|n| !n.is_empty()).collect::<Vec<_>>().join(",")
}

fn next_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or("")
}

fn after_word(text: &str) -> &str {
    let text = text.trim_start();
    &text[next_word(text).len()..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    #[test]
    fn names_end_the_row() {
        for (rest, want) in [
            ("  IO-APIC   5-edge      ACPI:Ged", "ACPI:Ged"),
            (" PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0", "virtio1-req.0"),
            (" IR-PCI-MSI-0000:00:1f.2    0-edge      ahci[0000:00:1f.2]", "ahci[0000:00:1f.2]"),
            ("     GICv3  27 Level     arch_timer", "arch_timer"),
            ("  IO-APIC  16-fasteoi   i801_smbus, ehci_hcd:usb1", "i801_smbus,ehci_hcd:usb1"),
            ("     GICv2 162 Level    -fasteoi  mmc0", "mmc0"),
            ("  dummy  -edge      two words", "two words"),
            ("     GICv3  27 Level     ", ""),
            ("  IO-APIC   2-edge      ", ""),
            (" pinctrl-bcm2835  4 Edge  8250", "8250"),
            ("", ""),
        ] {
            assert_eq!(action_names(rest), want, "{rest:?}");
        }
    }

    #[test]
    fn the_kernels_own_list_is_enough_where_the_table_is_masked() {
        let fake = Fake::new()
            .with_file("proc/interrupts", "")
            .with_file("sys/kernel/irq/9/actions", "acpi\n");
        assert_eq!(fake.host().irq_names().unwrap(), [(9, "acpi".to_owned())].into());
    }

    #[test]
    fn the_kernels_own_list_wins_and_adds() {
        let fake = Fake::new()
            .with_bytes(
                "proc/interrupts",
                b" CPU0 CPU2\n 8: 1 2 IO-APIC 8-edge rtc\xff0\n 9: 0 0 IO-APIC 9-edge acpi\nLOC: 1 2 Local\n",
            )
            .with_file("sys/kernel/irq/9/actions", "acpi,i801 smbus\n")
            .with_file("sys/kernel/irq/77/actions", "late\n")
            .with_file("sys/kernel/irq/5/actions", "\n")
            .with_file("sys/kernel/irq/x/actions", "no number\n");
        let want = [(8, "rtc\u{fffd}0"), (9, "acpi,i801 smbus"), (77, "late")];
        let got = fake.host().irq_names().unwrap();
        assert_eq!(got, want.map(|(n, s)| (n, s.to_owned())).into());
    }
}
