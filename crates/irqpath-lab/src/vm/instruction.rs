// SPDX-License-Identifier: GPL-2.0-or-later
//! How much virtual time an instruction takes, where a guest's clock counts them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Nanoseconds of virtual time for each instruction: 1, 2, 4, 8 or 16. Papers measured on machines on
/// which a path took up to 31 times as many nanoseconds as instructions, beside the same wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct InstructionTime {
    /// QEMU takes the logarithm.
    shift: u8,
}

impl InstructionTime {
    /// As numbers, the shortest first.
    pub const ALL_NS: [u32; 5] = [1, 2, 4, 8, 16];

    pub const fn ns(self) -> u32 {
        1 << self.shift
    }

    /// Its logarithm to base 2.
    pub const fn shift(self) -> u8 {
        self.shift
    }

    /// True if lengths in nanoseconds are instructions.
    pub const fn is_one(self) -> bool {
        self.shift == 0
    }
}

impl TryFrom<u32> for InstructionTime {
    type Error = String;

    fn try_from(ns: u32) -> Result<Self, String> {
        let shift = Self::ALL_NS.iter().position(|known| *known == ns);
        let shift = shift.and_then(|shift| u8::try_from(shift).ok());
        let none = || format!("an instruction takes 1, 2, 4, 8 or 16 ns, not {ns}");
        Ok(Self { shift: shift.ok_or_else(none)? })
    }
}

impl From<InstructionTime> for u32 {
    fn from(time: InstructionTime) -> Self {
        time.ns()
    }
}

impl FromStr for InstructionTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ns: u32 = text.parse().map_err(|_| format!("{text} is no number of nanoseconds"))?;
        Self::try_from(ns)
    }
}

impl fmt::Display for InstructionTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ns().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_power_of_two_up_to_16() {
        for (text, shift) in [("1", 0), ("2", 1), ("4", 2), ("8", 3), ("16", 4)] {
            let time: InstructionTime = text.parse().unwrap();
            assert_eq!((time.shift(), time.to_string().as_str()), (shift, text));
        }
        for text in ["0", "3", "32", "-1", "1.5", ""] {
            assert!(text.parse::<InstructionTime>().is_err(), "{text}");
        }
        assert!(InstructionTime::default().is_one());
    }
}
