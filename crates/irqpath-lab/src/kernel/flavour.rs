// SPDX-License-Identifier: GPL-2.0-or-later
//! Which kernel for which machine: names as typed, and as Debian and Kbuild write them.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// A kind of kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", parse_err_ty = UnknownName, parse_err_fn = unknown_flavour)]
#[serde(rename_all = "kebab-case")]
pub enum Flavour {
    /// Debian's 6.12 with PREEMPT_RT.
    StockRt,
    /// Debian's 6.12 without PREEMPT_RT.
    Stock,
    /// Debian's 6.1 with PREEMPT_RT.
    #[strum(serialize = "stock-6.1-rt")]
    #[serde(rename = "stock-6.1-rt")]
    Stock61Rt,
    /// Debian's 6.1 without PREEMPT_RT.
    #[strum(serialize = "stock-6.1")]
    #[serde(rename = "stock-6.1")]
    Stock61,
    /// The newest kernel of Debian with PREEMPT_RT, from sid.
    #[strum(to_string = "stock-sid-rt", serialize = "stock-7.x-rt")]
    StockSidRt,
    /// The newest kernel of Debian, from sid.
    #[strum(to_string = "stock-sid", serialize = "stock-7.x")]
    StockSid,
    /// Small PREEMPT_RT kernel from Debian's source of 6.12, with what `kernel/` adds.
    Irqpath,
    /// The same with the kernel's own checks: lockdep, KASAN, object debugging.
    Debug,
    /// That of `Irqpath` with `CONFIG_IRQPATH=n`: the patches, and nothing that they call.
    Unconfigured,
    /// The same without the patches.
    Unpatched,
    /// That of `Irqpath` from Debian's newest pinned source instead of 6.12.
    #[strum(serialize = "irqpath-7.x")]
    #[serde(rename = "irqpath-7.x")]
    Irqpath7x,
    /// The same with the checks of `Debug`.
    #[strum(serialize = "debug-7.x")]
    #[serde(rename = "debug-7.x")]
    Debug7x,
    /// That of `Irqpath7x` without the patches.
    #[strum(serialize = "unpatched-7.x")]
    #[serde(rename = "unpatched-7.x")]
    Unpatched7x,
}

impl Flavour {
    pub const ALL: &[Self] = Self::VARIANTS;

    /// As typed and printed.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True if Debian built it.
    pub const fn is_stock(self) -> bool {
        !self.is_newest_own()
            && !matches!(self, Self::Irqpath | Self::Debug | Self::Unconfigured | Self::Unpatched)
    }

    /// True if it is one of ours from the newest pinned source.
    pub const fn is_newest_own(self) -> bool {
        matches!(self, Self::Irqpath7x | Self::Debug7x | Self::Unpatched7x)
    }

    /// True if it has the patches and they do something.
    pub const fn has_policies(self) -> bool {
        matches!(self, Self::Irqpath | Self::Debug | Self::Irqpath7x | Self::Debug7x)
    }

    /// True if it has the kernel's own checks.
    pub const fn checks_itself(self) -> bool {
        matches!(self, Self::Debug | Self::Debug7x)
    }
}

/// A kind of machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", parse_err_ty = UnknownName, parse_err_fn = unknown_arch)]
pub enum Arch {
    #[strum(to_string = "x86_64", serialize = "amd64")]
    #[serde(rename = "x86_64")]
    X86_64,
    #[strum(to_string = "arm64", serialize = "aarch64")]
    #[serde(rename = "arm64")]
    Arm64,
}

impl Arch {
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Of the machine this runs on; `None` where the lab does not run.
    pub fn host() -> Option<Self> {
        std::env::consts::ARCH.parse().ok()
    }

    /// As typed and printed.
    pub fn name(self) -> &'static str {
        self.into()
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

fn unknown_flavour(name: &str) -> UnknownName {
    unknown_name::<Flavour>("flavour", name)
}

fn unknown_arch(name: &str) -> UnknownName {
    unknown_name::<Arch>("architecture", name)
}

fn unknown_name<T: VariantArray + Into<&'static str> + Copy>(
    what: &'static str,
    name: &str,
) -> UnknownName {
    let known: Vec<&str> = T::VARIANTS.iter().map(|&known| known.into()).collect();
    UnknownName { what, name: name.to_owned(), known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_printed_and_stored() {
        for &flavour in Flavour::ALL {
            assert_eq!(flavour.to_string().parse(), Ok(flavour));
            assert_eq!(serde_json::to_value(flavour).unwrap(), flavour.name());
        }
        for (name, flavour) in
            [("stock-7.x-rt", Flavour::StockSidRt), ("stock-7.x", Flavour::StockSid)]
        {
            assert_eq!(name.parse(), Ok(flavour));
        }
        for &arch in Arch::ALL {
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
            "there is no flavour 'stok'; choose one of: stock-rt, stock, stock-6.1-rt, stock-6.1, stock-sid-rt, stock-sid, irqpath, debug, unconfigured, unpatched, irqpath-7.x, debug-7.x, unpatched-7.x"
        );
        assert!("riscv".parse::<Arch>().unwrap_err().to_string().contains("x86_64, arm64"));
    }
}
