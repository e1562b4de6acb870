// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a path comes from: a device line, a CPU vector, or a task that raised a softirq itself.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::printable;

/// A CPU vector that has no `irq_desc` and therefore no `irq_handler_entry`
/// (`include/asm/trace/irq_vectors.h` on x86, `include/trace/events/ipi.h` elsewhere).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Vector {
    /// Local APIC timer; `LOC` in `/proc/interrupts`.
    LocalTimer,
    /// Reschedule IPI; `RES`.
    Reschedule,
    /// Call-function IPI to many CPUs; counted in `CAL`.
    CallFunction,
    /// Call-function IPI to one CPU; counted in `CAL`.
    CallFunctionSingle,
    /// `irq_work` self-interrupt; `IWI`.
    IrqWork,
    /// Platform IPI; `PLT`.
    #[strum(serialize = "x86_platform_ipi")]
    PlatformIpi,
    /// APIC error; `ERR`.
    ErrorApic,
    /// Spurious APIC interrupt; `SPU`.
    SpuriousApic,
    /// Thermal event; `TRM`.
    ThermalApic,
    /// Machine check threshold; `THR`.
    ThresholdApic,
    /// Deferred machine check error; `DFR`.
    DeferredErrorApic,
    /// An IPI of an architecture with the generic `ipi_entry` tracepoint (arm, arm64).
    #[strum(serialize = "ipi")]
    GenericIpi,
}

impl Vector {
    /// Every vector, in the order of its number.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The label of its row in `/proc/interrupts`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::LocalTimer => "LOC",
            Self::Reschedule => "RES",
            Self::CallFunction | Self::CallFunctionSingle => "CAL",
            Self::IrqWork => "IWI",
            Self::PlatformIpi => "PLT",
            Self::ErrorApic => "ERR",
            Self::SpuriousApic => "SPU",
            Self::ThermalApic => "TRM",
            Self::ThresholdApic => "THR",
            Self::DeferredErrorApic => "DFR",
            Self::GenericIpi => "IPI",
        }
    }

    /// The tracepoint stem (`local_timer` for `local_timer_entry`).
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A softirq vector (`include/linux/interrupt.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
#[allow(missing_docs)] // the kernel's own names
pub enum SoftirqVec {
    Hi,
    Timer,
    NetTx,
    NetRx,
    Block,
    IrqPoll,
    Tasklet,
    Sched,
    Hrtimer,
    Rcu,
}

impl SoftirqVec {
    /// Every vector, in the order of its number.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name, in the glossary's spelling.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The vector with that number, if there is one.
    pub fn from_nr(nr: u32) -> Option<Self> {
        Self::ALL.get(nr as usize).copied()
    }
}

/// What started a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "nr", rename_all = "snake_case")]
pub enum Origin {
    /// A device line: the Linux irq number.
    Irq(u32),
    /// A vector of the CPU itself, without an interrupt line.
    Vector(Vector),
    /// No interrupt: a task raised this softirq itself (loopback traffic, `local_bh_enable`).
    Softirq(SoftirqVec),
}

impl Origin {
    /// The row label of `/proc/interrupts` or `/proc/softirqs`: `36`, `LOC`, `NET_RX`.
    pub fn label(self) -> String {
        match self {
            Self::Irq(nr) => nr.to_string(),
            Self::Vector(v) => v.label().to_owned(),
            Self::Softirq(v) => v.name().to_uppercase(),
        }
    }
}

/// Names of device lines as `/proc/interrupts` prints them (the `irqaction` names).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Names {
    /// Linux irq number to action names, joined by `,` where a line is shared.
    #[serde(deserialize_with = "read_names")]
    pub irqs: BTreeMap<u32, String>,
    /// Kernel function address to symbol, for timer callbacks.
    #[serde(deserialize_with = "read_names")]
    pub symbols: BTreeMap<u64, String>,
}

/// Most names of either kind that are read. A name of no letters is a few bytes of a file and ten
/// times as many in memory, and a measurement keeps several copies.
const MAX_NAMES: usize = 1 << 16;

fn read_names<'de, K, D>(deserializer: D) -> Result<BTreeMap<K, String>, D::Error>
where
    K: Deserialize<'de> + Ord,
    D: Deserializer<'de>,
{
    struct Bounded<K>(PhantomData<K>);
    impl<'de, K: Deserialize<'de> + Ord> Visitor<'de> for Bounded<K> {
        type Value = BTreeMap<K, String>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("names by number")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut names = BTreeMap::new();
            while let Some((nr, name)) = map.next_entry()? {
                names.insert(nr, name);
                if names.len() > MAX_NAMES {
                    return Err(A::Error::custom("more names than a machine has"));
                }
            }
            Ok(names)
        }
    }
    deserializer.deserialize_map(Bounded(PhantomData))
}

impl Names {
    /// A name a person can recognise: `36:virtio1-req.0`, `LOC:local_timer`, `NET_RX:task`.
    /// Printable, as drivers and virtual machines choose the names of lines.
    pub fn origin(&self, origin: Origin) -> String {
        match origin {
            Origin::Irq(nr) => match self.irqs.get(&nr) {
                Some(name) => format!("{nr}:{}", printable(name)),
                None => nr.to_string(),
            },
            Origin::Vector(v) => format!("{}:{}", v.label(), v.name()),
            Origin::Softirq(v) => format!("{}:task", v.name().to_uppercase()),
        }
    }

    /// The symbol of a kernel function, or its address; printable.
    pub fn symbol(&self, address: u64) -> String {
        match self.symbols.get(&address) {
            Some(name) => printable(name).into_owned(),
            None => format!("{address:#x}"),
        }
    }
}
