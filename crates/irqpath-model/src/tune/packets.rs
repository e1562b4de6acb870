// SPDX-License-Identifier: GPL-2.0-or-later
//! What `irqpath tune --packets` does to network devices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Network devices whose packets are served by threads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Packets {
    /// The devices that were asked for.
    pub devices: Vec<PacketDevice>,
    /// What else this kernel offers, for people; irqpath does not set it.
    pub offers: Vec<String>,
}

/// A network device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacketDevice {
    /// Its name.
    pub name: String,
    /// What became of it.
    pub state: PacketState,
}

/// Whether threads poll a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacketState {
    /// They did before.
    Already,
    /// They would, with `--apply`.
    WouldSwitch,
    /// They do since now.
    Switched,
    /// It has no NAPI.
    NoNapi,
    /// The kernel has no threaded NAPI.
    Unsupported,
    /// irqpath switched it, and somebody else switched it back.
    ChangedMeanwhile,
    /// There is no such device.
    Missing,
    /// The kernel refused, and said this.
    Refused(String),
}
