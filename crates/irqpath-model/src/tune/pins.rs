// SPDX-License-Identifier: GPL-2.0-or-later
//! Associations that a person wrote down: they stand before anything was learned.
//!
//! Numbers of lines and tasks differ from boot to boot, so a pin has names only. `irqpath-system`
//! finds what they mean on a host now, and keeps pins between boots. The rule to know: a pin may come
//! from a file that somebody sent, so [`PinFile::find_fault`] is asked before it is used.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Comm;

/// The only version of the file so far.
pub const PIN_VERSION: u32 = 1;
/// More than any host has use for.
pub const MAX_PINS: usize = 1000;
/// Longest name; the kernel's are shorter.
const MAX_NAME: usize = 256;

/// A file of pins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinFile {
    /// Version of the format.
    pub version: u32,
    /// What serves what.
    #[serde(default)]
    pub serve: Vec<Pin>,
}

impl Default for PinFile {
    fn default() -> Self {
        Self { version: PIN_VERSION, serve: Vec::new() }
    }
}

/// An interrupt and the real-time task that it serves, by names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Name of the interrupt's action, as in the last column of `/proc/interrupts`.
    pub irq: String,
    /// PCI address of the device, where several have actions of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Threads on the way beside the interrupt's own: `secondary`, `napi/eth0-`, `ksoftirqd/0`,
    /// `ktimers/0`. A name that ends with `-` or `/` is a beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub through: Vec<String>,
    /// Name of the thread that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comm: Option<Comm>,
    /// Unit of systemd whose real-time threads wait. With `comm`, both must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// What stands for the secondary thread of the line in [`Pin::through`].
pub const SECONDARY: &str = "secondary";

impl PinFile {
    /// The first thing that is wrong with it, in words that name the entry.
    pub fn find_fault(&self) -> Option<String> {
        if self.version != PIN_VERSION {
            return Some(format!("it has version {}, not {PIN_VERSION}", self.version));
        }
        if self.serve.len() > MAX_PINS {
            return Some(format!("it has more than {MAX_PINS} entries"));
        }
        let fault = |(nr, pin): (usize, &Pin)| Some(format!("entry {}: {}", nr + 1, pin.fault()?));
        self.serve.iter().enumerate().find_map(fault)
    }

    /// Add a pin that is not there yet. False if it was.
    pub fn add_pin(&mut self, pin: Pin) -> bool {
        let is_new = !self.serve.contains(&pin);
        if is_new {
            self.serve.push(pin);
        }
        is_new
    }
}

impl Pin {
    fn fault(&self) -> Option<&'static str> {
        let is_name = |name: &str| !name.trim().is_empty() && name.len() <= MAX_NAME;
        let carries = |name: &String| {
            let kinds = ["napi/", "ksoftirqd/", "ktimers/"];
            name == SECONDARY || kinds.iter().any(|kind| name.starts_with(kind))
        };
        let is_path = |unit: &String| unit.contains('/') || !is_name(unit);
        if !is_name(&self.irq) {
            Some("irq is empty or too long")
        } else if self.device.as_ref().is_some_and(|device| !is_name(device)) {
            Some("device is empty or too long")
        } else if !self.through.iter().all(|name| carries(name) && is_name(name)) {
            Some("through takes secondary, napi/..., ksoftirqd/... and ktimers/...")
        } else if self.unit.as_ref().is_some_and(is_path) {
            Some("unit is the name of a unit, without a path")
        } else if self.comm.as_ref().is_some_and(|comm| !is_name(comm.as_str())) {
            Some("comm is empty or too long")
        } else if self.comm.is_none() && self.unit.is_none() {
            Some("it needs comm or unit")
        } else {
            None
        }
    }
}

/// For people; names are made printable by who shows them.
impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.irq)?;
        if let Some(device) = &self.device {
            write!(f, " of {device}")?;
        }
        f.write_str(" serves ")?;
        match (&self.comm, &self.unit) {
            (Some(comm), Some(unit)) => write!(f, "{comm} of {unit}"),
            (Some(comm), None) => write!(f, "{comm}"),
            (None, unit) => f.write_str(unit.as_deref().unwrap_or("nothing")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin() -> Pin {
        Pin {
            irq: "eth0-rx-0".into(),
            device: None,
            through: vec!["napi/eth0-".into(), SECONDARY.into()],
            comm: Some("stop".into()),
            unit: Some("motion.service".into()),
        }
    }

    #[test]
    fn each_fault_is_named_with_its_entry() {
        let file = |change: fn(&mut Pin)| {
            let mut file = PinFile { serve: vec![pin(), pin()], ..PinFile::default() };
            change(&mut file.serve[1]);
            file.find_fault()
        };
        assert_eq!(file(|_| ()), None);
        for (change, part) in [
            ((|pin| pin.irq.clear()) as fn(&mut Pin), "irq"),
            (|pin| pin.irq = "x".repeat(300), "irq"),
            (|pin| pin.device = Some(" ".into()), "device"),
            (|pin| pin.through.push("migration/0".into()), "through"),
            (|pin| pin.unit = Some("../x.service".into()), "without a path"),
            (|pin| (pin.comm, pin.unit) = (None, None), "comm or unit"),
        ] {
            let fault = file(change).unwrap();
            assert!(fault.starts_with("entry 2: ") && fault.contains(part), "{fault}");
        }
        let newer = PinFile { version: 2, serve: vec![] };
        assert!(newer.find_fault().unwrap().contains("version 2"));
        let many = PinFile { serve: vec![pin(); MAX_PINS + 1], ..PinFile::default() };
        assert!(many.find_fault().unwrap().contains("1000"));
    }

    #[test]
    fn a_pin_is_added_once_and_reads_as_a_sentence() {
        let mut file = PinFile::default();
        assert!(file.add_pin(pin()) && !file.add_pin(pin()));
        assert_eq!(pin().to_string(), "eth0-rx-0 serves stop of motion.service");
    }
}
