// SPDX-License-Identifier: GPL-2.0-or-later
//! Flow rules of network devices (ethtool n-tuple), and what `irqpath tune --packets --steer` does
//! with them.
//!
//! The rule to know: a rule of ours has one condition, the destination port. A rule with any other
//! is somebody's, and is compared by its words only.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A protocol over IPv4 that has ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
}

/// Packets over IPv4 to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// UDP or TCP.
    pub transport: Transport,
    /// The destination.
    pub port: u16,
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = match self.transport {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
        };
        write!(f, "{transport} port {}", self.port)
    }
}

/// By which queue the packets of a flow come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowRule {
    /// The packets.
    pub flow: Flow,
    /// The receive queue.
    pub queue: u32,
}

impl fmt::Display for FlowRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to queue {}", self.flow, self.queue)
    }
}

/// A text that is no rule of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoFlowRule;

impl FromStr for FlowRule {
    type Err = NoFlowRule;

    /// Reads what `Display` writes, and nothing else.
    fn from_str(text: &str) -> Result<Self, NoFlowRule> {
        let words: Vec<&str> = text.split(' ').collect();
        let [transport, "port", port, "to", "queue", queue] = words[..] else {
            return Err(NoFlowRule);
        };
        let transport = match transport {
            "udp" => Transport::Udp,
            "tcp" => Transport::Tcp,
            _ => return Err(NoFlowRule),
        };
        let port = port.parse().map_err(|_| NoFlowRule)?;
        let queue = queue.parse().map_err(|_| NoFlowRule)?;
        let rule = Self { flow: Flow { transport, port }, queue };
        // Not "+5", and not "007".
        if rule.to_string() == text { Ok(rule) } else { Err(NoFlowRule) }
    }
}

/// A rule that a device has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundRule {
    /// One for all packets of a flow.
    Plain(FlowRule),
    /// One with further conditions, for other packets, or with another action.
    Other {
        /// The port that is among its conditions.
        flow: Option<Flow>,
        /// The queue that it leads to.
        queue: Option<u32>,
        /// Conditions and action, in a form that is only compared.
        words: String,
    },
}

impl FoundRule {
    /// The port that is among its conditions.
    pub const fn flow(&self) -> Option<Flow> {
        match self {
            Self::Plain(rule) => Some(rule.flow),
            Self::Other { flow, .. } => *flow,
        }
    }

    /// The queue that it leads to.
    pub const fn queue(&self) -> Option<u32> {
        match self {
            Self::Plain(rule) => Some(rule.queue),
            Self::Other { queue, .. } => *queue,
        }
    }
}

/// How the words of a rule that cannot be ours begin.
pub const OTHER_RULE: &str = "another rule: ";

impl fmt::Display for FoundRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(rule) => rule.fmt(f),
            Self::Other { words, .. } => write!(f, "{OTHER_RULE}{words}"),
        }
    }
}

/// What a device has for flow rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowTable {
    /// Whether its rules are switched on (`ntuple-filters` of `ethtool -k`).
    pub is_on: bool,
    /// Receive queues.
    pub nr_queues: u32,
    /// Rules that it can have.
    pub nr_places: u32,
    /// The rules, by location.
    pub rules: BTreeMap<u32, FoundRule>,
}

/// A real-time task that receives packets on a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receiver {
    /// The packets.
    #[serde(flatten)]
    pub flow: Flow,
    /// The highest real-time priority of a thread that has the socket open.
    pub priority: u8,
    /// That thread.
    pub tid: u32,
    /// Its name.
    pub comm: String,
}

/// What flow rules do for the receivers of each device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steering {
    /// The devices that were asked for.
    pub devices: Vec<SteeredDevice>,
}

impl Steering {
    /// True if a rule was refused.
    pub fn has_refused(&self) -> bool {
        let mut receivers = self.devices.iter().flat_map(|device| &device.receivers);
        receivers.any(|steered| matches!(steered.state, SteerState::Refused(_)))
    }
}

/// A network device and the receivers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SteeredDevice {
    /// Its name.
    pub name: String,
    /// Why nothing is steered there; `None` if it can be.
    pub cannot: Option<CannotSteer>,
    /// Each receiver and its queue.
    pub receivers: Vec<Steered>,
    /// Rules of irqpath whose reason is gone: taken back, or would be with `--apply`.
    pub taken_back: Vec<String>,
}

/// Why a device steers nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CannotSteer {
    /// There is no such device.
    Missing,
    /// It has one receive queue.
    OneQueue,
    /// Its rules are switched off.
    Off,
    /// The kernel or the driver has no flow rules for it, and says this.
    Refused(String),
}

/// A receiver and its queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steered {
    /// The receiver.
    #[serde(flatten)]
    pub receiver: Receiver,
    /// The queue that its packets come by, or would; `None` if a rule by hand says it.
    pub queue: Option<u32>,
    /// True if receivers of other priorities have the same queue.
    pub is_shared: bool,
    /// What became of its rule.
    pub state: SteerState,
}

/// What became of the rule of a receiver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteerState {
    /// It was there.
    Already,
    /// It would be made, with `--apply`.
    WouldSteer,
    /// It was made.
    Steered,
    /// A rule that irqpath did not make has this port; it is left alone.
    ByHand(String),
    /// irqpath made it, and somebody else removed it.
    ChangedMeanwhile,
    /// The device has no place for it.
    NoPlace,
    /// The kernel refused it, and said this.
    Refused(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_as_it_was_written_and_nothing_else_is() {
        for text in ["udp port 5000 to queue 1", "tcp port 0 to queue 4294967295"] {
            assert_eq!(text.parse::<FlowRule>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "udp port 5000 to queue",
            "udp port 70000 to queue 1",
            "udp port 05000 to queue 1",
            "udp port +5 to queue 1",
            "udp  port 5 to queue 1",
            "icmp port 5 to queue 1",
            "udp port 5 to queue 1\n",
            "another rule: 0x1",
        ] {
            assert_eq!(text.parse::<FlowRule>(), Err(NoFlowRule), "{text:?}");
        }
    }
}
