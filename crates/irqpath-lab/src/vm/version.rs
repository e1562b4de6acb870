// SPDX-License-Identifier: GPL-2.0-or-later
//! Which QEMU this host has, and what depends on that.

use std::process::Command;

use super::Accelerator;
use crate::kernel::Arch;

/// Major and minor version of a QEMU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct QemuVersion {
    major: u32,
    minor: u32,
}

impl QemuVersion {
    /// Of the program for this kind of machine; `None` if it is not there.
    pub fn query(arch: Arch) -> Option<Self> {
        Self::parse(&query_text(arch))
    }

    /// From what `--version` prints.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once("version ")?;
        let mut numbers = rest.split(['.', ' ']).map_while(|word| word.parse().ok());
        Some(Self { major: numbers.next()?, minor: numbers.next()? })
    }

    /// Version of the plugin interface to compile for: one that this QEMU accepts and that
    /// `lab/plugin/qemu_api.h` knows.
    pub const fn plugin_interface(self) -> u32 {
        match self.major {
            ..=8 => 1,
            9 | 10 => 3,
            _ => 7,
        }
    }

    /// Whether it may execute the breakpoint of a patched jump after that was taken out: with
    /// several threads, before 8.1 ("accel/tcg: Always lock pages before translation").
    pub fn keeps_stale_breakpoints(self) -> bool {
        self < Self { major: 8, minor: 1 }
    }
}

impl std::fmt::Display for QemuVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What QEMU says about itself; empty if it is not there.
pub fn query_text(arch: Arch) -> String {
    let output = Command::new(program_name(arch)).arg("--version").output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// The program for this kind of machine.
pub fn program_name(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "qemu-system-x86_64",
        Arch::Arm64 => "qemu-system-aarch64",
    }
}

/// The package that has [`program_name`].
pub fn package_name(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "qemu-system-x86",
        Arch::Arm64 => "qemu-system-arm",
    }
}

/// Whether a guest may hang on a breakpoint that was taken out, see
/// [`QemuVersion::keeps_stale_breakpoints`].
pub fn keeps_stale_breakpoints(arch: Arch, accelerator: Accelerator) -> bool {
    accelerator == Accelerator::TcgMulti
        && QemuVersion::query(arch).is_some_and(QemuVersion::keeps_stale_breakpoints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_every_distribution_prints_them() {
        let version = |text: &str| QemuVersion::parse(text).unwrap();
        let debian12 = version("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)");
        let ubuntu = version("QEMU emulator version 8.2.2 (Debian 1:8.2.2+ds-0ubuntu1)\nCopyright");
        let debian13 = version("QEMU emulator version 10.0.13 (Debian 1:10.0.13+ds-0+deb13u1)");
        let sid = version("QEMU emulator version 11.1.3\n");
        assert_eq!(debian13.to_string(), "10.0");
        assert!(debian12 < ubuntu && ubuntu < debian13 && debian13 < sid);
        let interfaces = [debian12, ubuntu, debian13, sid].map(QemuVersion::plugin_interface);
        assert_eq!(interfaces, [1, 1, 3, 7]);
        assert!(debian12.keeps_stale_breakpoints());
        assert!(version("QEMU emulator version 8.0.4").keeps_stale_breakpoints());
        assert!(!version("QEMU emulator version 8.1.0").keeps_stale_breakpoints());
        assert!(!debian13.keeps_stale_breakpoints());
        assert_eq!(QemuVersion::parse(""), None);
        assert_eq!(QemuVersion::parse("QEMU emulator version x"), None);
    }
}
