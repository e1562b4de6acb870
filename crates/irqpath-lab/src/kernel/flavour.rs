// SPDX-License-Identifier: GPL-2.0-or-later
//! Which kernel for which machine: names as typed, and as Debian and Kbuild write them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A kind of kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flavour {
    /// Debian's 6.12 with PREEMPT_RT.
    StockRt,
    /// Debian's 6.12 without PREEMPT_RT.
    Stock,
    /// Debian's 6.1 with PREEMPT_RT.
    #[serde(rename = "stock-6.1-rt")]
    Stock61Rt,
    /// Debian's 6.1 without PREEMPT_RT.
    #[serde(rename = "stock-6.1")]
    Stock61,
    /// The newest kernel of Debian with PREEMPT_RT, from sid.
    StockSidRt,
    /// The newest kernel of Debian, from sid.
    StockSid,
    /// Small PREEMPT_RT kernel from Debian's source of 6.12, with what `kernel/` adds.
    Irqpath,
    /// The same with the kernel's own checks: lockdep, KASAN, object debugging.
    Debug,
    /// That of `Irqpath` with `CONFIG_IRQPATH=n`: the patches, and nothing that they call.
    Unconfigured,
    /// The same without the patches.
    Unpatched,
}

impl Flavour {
    pub const ALL: [Self; 10] = [
        Self::StockRt,
        Self::Stock,
        Self::Stock61Rt,
        Self::Stock61,
        Self::StockSidRt,
        Self::StockSid,
        Self::Irqpath,
        Self::Debug,
        Self::Unconfigured,
        Self::Unpatched,
    ];

    /// As typed and printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StockRt => "stock-rt",
            Self::Stock => "stock",
            Self::Stock61Rt => "stock-6.1-rt",
            Self::Stock61 => "stock-6.1",
            Self::StockSidRt => "stock-sid-rt",
            Self::StockSid => "stock-sid",
            Self::Irqpath => "irqpath",
            Self::Debug => "debug",
            Self::Unconfigured => "unconfigured",
            Self::Unpatched => "unpatched",
        }
    }

    /// True if Debian built it.
    pub const fn is_stock(self) -> bool {
        !matches!(self, Self::Irqpath | Self::Debug | Self::Unconfigured | Self::Unpatched)
    }
}

/// A kind of machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Arch {
    #[serde(rename = "x86_64")]
    X86_64,
    #[serde(rename = "arm64")]
    Arm64,
}

impl Arch {
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Arm64];

    /// Of the machine this runs on; `None` where the lab does not run.
    pub fn host() -> Option<Self> {
        std::env::consts::ARCH.parse().ok()
    }

    /// As typed and printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Arm64 => "arm64",
        }
    }

    /// As Debian writes it.
    pub const fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// Debian's name of the directory for its libraries.
    pub const fn multiarch(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-linux-gnu",
            Self::Arm64 => "aarch64-linux-gnu",
        }
    }

    /// As Kbuild's `ARCH` and the directory below `arch/`.
    pub const fn kbuild(self) -> &'static str {
        match self {
            Self::X86_64 => "x86",
            Self::Arm64 => "arm64",
        }
    }

    /// Prefix of the tools that build for it on another machine; empty on the same.
    pub fn cross_prefix(self) -> &'static str {
        match (Self::host(), self) {
            (host, arch) if host == Some(arch) => "",
            (_, Self::X86_64) => "x86_64-linux-gnu-",
            (_, Self::Arm64) => "aarch64-linux-gnu-",
        }
    }
}

/// A name that is none of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} '{name}'; choose one of: {known}")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: String,
}

impl FromStr for Flavour {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Self::ALL.into_iter().find(|f| f.name() == name).ok_or_else(|| UnknownName {
            what: "flavour",
            name: name.to_owned(),
            known: Self::ALL.map(Self::name).join(", "),
        })
    }
}

impl FromStr for Arch {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        match name {
            "x86_64" | "amd64" => Ok(Self::X86_64),
            "arm64" | "aarch64" => Ok(Self::Arm64),
            _ => Err(UnknownName {
                what: "architecture",
                name: name.to_owned(),
                known: Self::ALL.map(Self::name).join(", "),
            }),
        }
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_printed_and_stored() {
        for flavour in Flavour::ALL {
            assert_eq!(flavour.to_string().parse(), Ok(flavour));
            assert_eq!(serde_json::to_value(flavour).unwrap(), flavour.name());
        }
        for arch in Arch::ALL {
            assert_eq!(arch.to_string().parse(), Ok(arch));
            assert_eq!(arch.debian().parse(), Ok(arch));
            assert_eq!(serde_json::to_value(arch).unwrap(), arch.name());
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "stok".parse::<Flavour>().unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no flavour 'stok'; choose one of: stock-rt, stock, stock-6.1-rt, stock-6.1, stock-sid-rt, stock-sid, irqpath, debug, unconfigured, unpatched"
        );
        assert!("riscv".parse::<Arch>().unwrap_err().to_string().contains("x86_64, arm64"));
    }
}
