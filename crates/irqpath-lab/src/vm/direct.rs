// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel as QEMU loads it.
//!
//! A PC's kernel image unpacks itself, which the translator takes seconds for. So the kernel
//! proper is unpacked here, once, and started by its PVH entry, past firmware and boot loader.
//! What runs from there on is the same code. An image that cannot be started so is used as is.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use super::{Accelerator, Machine, VmError};
use crate::Lab;
use crate::cache::{Inputs, Product};
use crate::guest::modules::decompress_with;
use crate::kernel::Arch;
use crate::own;

/// Raise it when something else is made of the same image.
const RECIPE: u32 = 1;
/// "Xen" note with the address at which a machine without firmware starts the kernel.
const NOTE_PVH_ENTRY: u32 = 18;

/// The file to give to QEMU.
///
/// # Errors
/// If the image cannot be read.
pub fn choose_image(
    lab: &Lab,
    machine: &Machine,
    accelerator: Accelerator,
) -> Result<PathBuf, VmError> {
    // The processor itself unpacks in no time, and its first trial is better made with the
    // image that everybody boots.
    if machine.arch != Arch::X86_64 || accelerator == Accelerator::Kvm {
        return Ok(machine.image.clone());
    }
    let inputs = Inputs::new("unpacked kernel", RECIPE).file("image", &machine.image)?;
    let name = machine.image.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let product = Product { kind: "vmlinux", label: name, inputs, resumable: false };
    let made = lab.cache.provide_product(&product, &lab.progress, |staging| {
        let data = own::read(&machine.image).map_err(VmError::at(&machine.image, "read"))?;
        let kernel = unpack_image(&data).filter(|kernel| has_pvh_entry(kernel));
        // An empty file says that there is none, so that it is not tried again.
        let path = staging.directory.join("vmlinux");
        own::write(&path, kernel.unwrap_or_default()).map_err(VmError::at(&path, "write"))
    })?;
    let kernel = made.join("vmlinux");
    let usable = fs::metadata(&kernel).is_ok_and(|meta| meta.len() > 0);
    Ok(if usable { kernel } else { machine.image.clone() })
}

/// The kernel inside an image (`Documentation/arch/x86/boot.rst`), if it is packed in a way
/// that is known here.
fn unpack_image(image: &[u8]) -> Option<Vec<u8>> {
    const MAGIC: usize = 0x202;
    const SETUP_SECTORS: usize = 0x1f1;
    const PAYLOAD_OFFSET: usize = 0x248;
    const PAYLOAD_LENGTH: usize = 0x24c;
    if image.get(MAGIC..)?.first_chunk() != Some(b"HdrS") {
        return image.starts_with(b"\x7fELF").then(|| image.to_vec());
    }
    let sectors = match image[SETUP_SECTORS] {
        0 => 4,
        n => usize::from(n),
    };
    let start = (sectors + 1) * 512 + read_u32(image, PAYLOAD_OFFSET)?;
    let payload = image.get(start..)?.get(..read_u32(image, PAYLOAD_LENGTH)?)?;
    // The last four bytes are the unpacked size.
    let packed = payload.get(..payload.len().checked_sub(4)?)?;
    match packed {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => zstd::decode_all(packed).ok(),
        [0x1f, 0x8b, ..] => {
            let mut kernel = Vec::new();
            flate2::read::GzDecoder::new(packed).read_to_end(&mut kernel).ok()?;
            Some(kernel)
        }
        [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            decompress_with("xz", "xz-utils", packed.to_vec()).ok()
        }
        _ => None,
    }
}

fn read_u32(data: &[u8], at: usize) -> Option<usize> {
    let bytes = *data.get(at..)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(bytes)).ok()
}

fn has_pvh_entry(kernel: &[u8]) -> bool {
    find_pvh_note(kernel).is_some_and(|found| found)
}

fn find_pvh_note(kernel: &[u8]) -> Option<bool> {
    let header = FileHeader64::<LittleEndian>::parse(kernel).ok()?;
    for segment in header.program_headers(LittleEndian, kernel).ok()? {
        let Some(mut notes) = segment.notes(LittleEndian, kernel).ok()? else { continue };
        while let Some(note) = notes.next().ok()? {
            if note.name() == b"Xen" && note.n_type(LittleEndian) == NOTE_PVH_ENTRY {
                return Some(true);
            }
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write as _;

    fn pack_kernel(kernel: &[u8]) -> Vec<u8> {
        let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        zip.write_all(kernel).unwrap();
        let mut payload = zip.finish().unwrap();
        payload.extend_from_slice(&(kernel.len() as u32).to_le_bytes());
        let mut image = vec![0; 2 * 512];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend(payload);
        image
    }

    #[test]
    fn the_kernel_is_found_in_its_image() {
        assert_eq!(unpack_image(&pack_kernel(b"the kernel")).unwrap(), b"the kernel");
        assert_eq!(unpack_image(&zstd_image()).unwrap(), b"another");
        assert_eq!(unpack_image(b"short"), None);
        assert!(!has_pvh_entry(b"the kernel"));
    }

    fn zstd_image() -> Vec<u8> {
        let mut image = pack_kernel(b"");
        let mut payload = zstd::encode_all(&b"another"[..], 1).unwrap();
        payload.extend_from_slice(&7u32.to_le_bytes());
        image.truncate(1024);
        image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend(payload);
        image
    }

    proptest! {
        #[test]
        fn damage_is_refused(at: proptest::sample::Index, byte: u8, keep: proptest::sample::Index) {
            let mut image = pack_kernel(b"the kernel");
            let at = at.index(image.len());
            image[at] = byte;
            image.truncate(keep.index(image.len()));
            let _ = unpack_image(&image).map(|kernel| has_pvh_entry(&kernel));
        }
    }
}
