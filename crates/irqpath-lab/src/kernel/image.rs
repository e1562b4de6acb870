// SPDX-License-Identifier: GPL-2.0-or-later
//! What a kernel image says about itself.

use std::path::Path;

use super::error::io_at;
use super::{Arch, KernelError};

use crate::own;

/// Where a bzImage keeps the offset of its version string (x86 boot protocol, `kernel_version`),
/// counted from the end of its first sector.
const VERSION_FIELD: usize = 0x20e;
const SECTOR: usize = 0x200;
/// With this the arm64 image has it as the kernel prints it when it boots.
const BANNER: &[u8] = b"Linux version ";

/// The version of an image: release, builder and `#1 SMP PREEMPT_RT` with the date.
pub(super) fn version_string(image: &Path, arch: Arch) -> Result<String, KernelError> {
    let bytes = own::read(image).map_err(io_at(image, "read"))?;
    let found = match arch {
        Arch::X86_64 => in_bzimage(&bytes),
        Arch::Arm64 => in_raw_image(&bytes),
    };
    found.ok_or_else(|| KernelError::Incomplete {
        place: image.to_owned(),
        missing: format!("version string of a kernel for {arch}"),
        advice: "remove its directory to have it made again",
    })
}

fn in_bzimage(bytes: &[u8]) -> Option<String> {
    let field = bytes.get(VERSION_FIELD..VERSION_FIELD + 2)?;
    let offset = usize::from(u16::from_le_bytes([field[0], field[1]])) + SECTOR;
    leading_text(bytes.get(offset..)?)
}

/// The first one may be the format that the other is made by; that one has no `#1`.
fn in_raw_image(bytes: &[u8]) -> Option<String> {
    let starts = bytes.windows(BANNER.len()).enumerate().filter(|(_, w)| *w == BANNER);
    let mut all = starts.filter_map(|(at, _)| leading_text(&bytes[at + BANNER.len()..]));
    all.find(|text| text.contains(" #1 "))
}

fn leading_text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().take(512).position(|b| *b == 0 || *b == b'\n')?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_both_kinds_of_images() {
        let mut bytes = vec![0_u8; 0x400];
        bytes[VERSION_FIELD] = 0x10;
        bytes[VERSION_FIELD + 1] = 0x01;
        bytes[0x310..0x31a].copy_from_slice(b"6.12.1 #1 ");
        assert_eq!(in_bzimage(&bytes).as_deref(), Some("6.12.1 #1 "));
        assert_eq!(in_bzimage(&bytes[..0x100]), None);
        let raw = b"\0\0Linux version %s (x) # SMP\n\0Linux version 6.1 (x) #1 SMP\n\0";
        assert_eq!(in_raw_image(raw).as_deref(), Some("6.1 (x) #1 SMP"));
        assert_eq!(in_raw_image(b"Linux"), None);
    }
}
