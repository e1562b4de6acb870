// SPDX-License-Identifier: GPL-2.0-or-later
//! `--irq N|NAME`: from what a user writes to origins, by what this machine has.
//!
//! In this order: an irq number; a row label (`LOC`, `IPI0`, `NET_RX`, any case); a vector's
//! tracepoint name (`local_timer`); a part of a device's name, which may match many lines.

use std::collections::{BTreeMap, BTreeSet};

use irqpath_model::{Origin, SoftirqVec, Vector};

use crate::{Host, SystemError};

/// Candidates listed in an error.
const MAX_CANDIDATES: usize = 12;

/// The rows of this machine.
struct Lines {
    names: BTreeMap<u32, String>,
    irqs: BTreeSet<u32>,
    labels: Vec<String>,
}

impl Host {
    /// The origins that each of `wanted` names; sorted, without repetition.
    pub fn resolve_irqs<S: AsRef<str>>(&self, wanted: &[S]) -> Result<Vec<Origin>, SystemError> {
        let lines = self.read_lines()?;
        let mut origins = BTreeSet::new();
        for text in wanted.iter().map(|t| t.as_ref().trim()) {
            let found = lines.find_origins(text);
            if found.is_empty() {
                return Err(SystemError::UnknownInterrupt {
                    wanted: text.to_owned(),
                    candidates: lines.list_candidates(text),
                });
            }
            origins.extend(found);
        }
        Ok(origins.into_iter().collect())
    }

    fn read_lines(&self) -> Result<Lines, SystemError> {
        let counts = self.interrupt_counts()?;
        let names = self.irq_names()?;
        let (numbers, mut labels): (Vec<_>, Vec<_>) =
            counts.interrupts.into_keys().partition(|l| l.parse::<u32>().is_ok());
        if numbers.is_empty() && labels.is_empty() {
            // Masked: which vectors this machine has is not known.
            let vectors = Vector::ALL.iter().map(|&vector| Origin::Vector(vector));
            labels.extend(vectors.map(Origin::label));
        }
        labels.extend(counts.softirqs.into_keys());
        let listed = numbers.iter().filter_map(|n| n.parse().ok());
        // A line without an action has no row, but can be waited for.
        let known = self.names_in("sys/kernel/irq");
        let irqs = listed.chain(known.iter().filter_map(|n| n.parse().ok())).collect();
        Ok(Lines { names, irqs, labels })
    }
}

impl Lines {
    fn find_origins(&self, text: &str) -> Vec<Origin> {
        if let Ok(irq) = text.parse() {
            return if self.irqs.contains(&irq) { vec![Origin::Irq(irq)] } else { Vec::new() };
        }
        if text.is_empty() {
            return Vec::new();
        }
        if let Some(label) = self.labels.iter().find(|l| l.eq_ignore_ascii_case(text)) {
            let origins = by_label(label);
            if !origins.is_empty() {
                return origins;
            }
        }
        if let Some(&vector) = Vector::ALL.iter().find(|v| v.name().eq_ignore_ascii_case(text))
            && self.labels.iter().any(|l| by_label(l).contains(&Origin::Vector(vector)))
        {
            return vec![Origin::Vector(vector)];
        }
        let text = text.to_lowercase();
        let matching = self.names.iter().filter(|(_, name)| name.to_lowercase().contains(&text));
        matching.map(|(&irq, _)| Origin::Irq(irq)).collect()
    }

    /// What resembles `text`: names that share its first letters or all its letters but the
    /// digits; if nothing does, everything. Shortened.
    fn list_candidates(&self, text: &str) -> String {
        let all: Vec<String> = self
            .irqs
            .iter()
            .map(|irq| match self.names.get(irq) {
                Some(name) => format!("{irq}:{name}"),
                None => irq.to_string(),
            })
            .chain(self.labels.iter().filter(|l| !by_label(l).is_empty()).cloned())
            .collect();
        let stem = text.trim_end_matches(|c: char| !c.is_alphabetic()).to_lowercase();
        let stem: String = stem.chars().take(4).collect();
        let near: Vec<&String> = all
            .iter()
            .filter(|c| stem.chars().count() >= 2 && c.to_lowercase().contains(&stem))
            .collect();
        let shown = if near.is_empty() { all.iter().collect() } else { near };
        let mut words: Vec<&str> = shown.iter().take(MAX_CANDIDATES).map(|c| c.as_str()).collect();
        let more =
            format!("and {} more in /proc/interrupts", shown.len().saturating_sub(words.len()));
        if shown.len() > words.len() {
            words.push(&more);
        }
        words.join(", ")
    }
}

/// What a row that is not a device's stands for; nothing where no tracepoint tells of it.
fn by_label(label: &str) -> Vec<Origin> {
    let is_ipi = label.strip_prefix("IPI").is_some_and(|n| n.parse::<u32>().is_ok());
    if is_ipi {
        return vec![Origin::Vector(Vector::GenericIpi)];
    }
    let vectors = Vector::ALL.iter().copied().map(Origin::Vector);
    let softirqs = SoftirqVec::ALL.iter().copied().map(Origin::Softirq);
    vectors.chain(softirqs).filter(|o| o.label() == label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    fn x86() -> Fake {
        Fake::new()
            .with_file(
                "proc/interrupts",
                "     CPU0 CPU2\n 26: 1 2 IO-APIC 4-edge ttyS0\n\
                 36: 1 2 PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0\n\
                 38: 1 2 PCI-MSIX-0000:00:03.0 1-edge virtio2-input.0\n\
                 NMI: 0 0 Non-maskable interrupts\nLOC: 3 4 Local timer interrupts\n\
                 CAL: 3 4 Function call interrupts\nERR: 0\n",
            )
            .with_file("proc/softirqs", "  CPU0 CPU1 CPU2\n NET_RX: 0 0 0\n")
            .with_file("sys/kernel/irq/40/actions", "")
    }

    #[test]
    fn numbers_labels_and_names() {
        use Origin::{Irq, Softirq, Vector as V};
        for (text, want) in [
            ("36", vec![Irq(36)]),
            ("40", vec![Irq(40)]),
            (" loc ", vec![V(Vector::LocalTimer)]),
            ("local_timer", vec![V(Vector::LocalTimer)]),
            ("CAL", vec![V(Vector::CallFunction), V(Vector::CallFunctionSingle)]),
            ("net_rx", vec![Softirq(SoftirqVec::NetRx)]),
            ("virtio", vec![Irq(36), Irq(38)]),
            ("VIRTIO1", vec![Irq(36)]),
            ("ttys", vec![Irq(26)]),
        ] {
            assert_eq!(x86().host().resolve_irqs(&[text]).unwrap(), want, "{text}");
        }
        let both = x86().host().resolve_irqs(&["virtio", "36", "LOC"]).unwrap();
        assert_eq!(both, [Irq(36), Irq(38), V(Vector::LocalTimer)]);
        assert!(x86().host().resolve_irqs::<&str>(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_masked_table_hides_no_interrupt() {
        use Origin::{Irq, Vector as V};
        let fake = Fake::new()
            .with_file("proc/interrupts", "")
            .with_file("proc/softirqs", "  CPU0\n TIMER: 0\n")
            .with_file("sys/kernel/irq/36/actions", "eth0\n");
        let found = fake.host().resolve_irqs(&["eth", "loc"]).unwrap();
        assert_eq!(found, [Irq(36), V(Vector::LocalTimer)]);
    }

    #[test]
    fn ipis_of_arm64_are_one_vector() {
        let fake = Fake::new()
            .with_file(
                "proc/interrupts",
                "  CPU0\n 11: 1 GICv3 27 Level arch_timer\nIPI0: 4 Rescheduling interrupts\n",
            )
            .with_file("proc/softirqs", "  CPU0\n TIMER: 0\n");
        let host = fake.host();
        assert_eq!(host.resolve_irqs(&["IPI0"]).unwrap(), [Origin::Vector(Vector::GenericIpi)]);
        assert_eq!(host.resolve_irqs(&["ipi"]).unwrap(), [Origin::Vector(Vector::GenericIpi)]);
        assert_eq!(host.resolve_irqs(&["arch_timer"]).unwrap(), [Origin::Irq(11)]);
        assert!(host.resolve_irqs(&["LOC"]).is_err(), "this machine has no such row");
    }

    #[test]
    fn an_unknown_interrupt_lists_what_is_near() {
        for (text, want) in [
            (
                "virtio7-req",
                "no interrupt 'virtio7-req'; this machine has: 36:virtio1-req.0, 38:virtio2-input.0",
            ),
            (
                "eth0",
                "no interrupt 'eth0'; this machine has: 26:ttyS0, 36:virtio1-req.0, 38:virtio2-input.0, 40, CAL, ERR, LOC, NET_RX",
            ),
            (
                "99",
                "no interrupt '99'; this machine has: 26:ttyS0, 36:virtio1-req.0, 38:virtio2-input.0, 40, CAL, ERR, LOC, NET_RX",
            ),
            (
                "NMI",
                "no interrupt 'NMI'; this machine has: 26:ttyS0, 36:virtio1-req.0, 38:virtio2-input.0, 40, CAL, ERR, LOC, NET_RX",
            ),
            (
                "",
                "no interrupt ''; this machine has: 26:ttyS0, 36:virtio1-req.0, 38:virtio2-input.0, 40, CAL, ERR, LOC, NET_RX",
            ),
        ] {
            let error = x86().host().resolve_irqs(&["36", text]).unwrap_err();
            assert_eq!(error.to_string(), want);
        }
    }

    #[test]
    fn a_long_list_is_shortened() {
        let mut fake = x86();
        for irq in 100..200 {
            fake = fake.with_file(&format!("sys/kernel/irq/{irq}/actions"), "nvme0q1\n");
        }
        let error = fake.host().resolve_irqs(&["nvme9"]).unwrap_err().to_string();
        assert!(error.ends_with("111:nvme0q1, and 88 more in /proc/interrupts"), "{error}");
    }
}
