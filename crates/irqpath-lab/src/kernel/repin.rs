// SPDX-License-Identifier: GPL-2.0-or-later
//! Moves the pins in `lab/kernels.toml` to the newest versions that the archive has.
//!
//! Only on request: exact figures belong to the version that was pinned when they were measured.
//! Comments and the order of the file stay.

use toml_edit::{DocumentMut, Item, value};

use super::KernelError;
use super::apt::Apt;
use super::error::io_at;
use super::pins::Pins;
use super::source::source_arch;
use super::stock::newest_image;
use crate::Lab;
use crate::own;

/// A pin that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Its table in the file: `image.stock-rt.x86_64`.
    pub pin: String,
    /// The version that was listed.
    pub from: String,
    /// The version that is listed now.
    pub to: String,
}

/// Move every pin to the newest version of its series; returns those that changed.
///
/// # Errors
/// If the archive cannot be asked, has nothing of a series, or the list cannot be written. Then
/// the list is as it was.
pub fn repin(lab: &Lab) -> Result<Vec<Moved>, KernelError> {
    let pins = Pins::read(&lab.project)?;
    let path = lab.project.kernels_toml();
    let text = own::read_text(&path).map_err(io_at(&path, "read"))?;
    let mut list: DocumentMut = text.parse().map_err(|e: toml_edit::TomlError| {
        KernelError::Pins { path: path.clone(), reason: e.to_string() }
    })?;
    let mut moved = Vec::new();
    let source = &pins.source;
    let apt = Apt::open(lab, &source.suite)?;
    apt.refresh()?;
    let newest = apt.find(&source.package, source_arch()?, None)?;
    set(&mut list["source"], "source", &source.version, None, &newest.version, &mut moved);
    for (flavour, of) in &pins.image {
        for (arch, pin) in of.iter().filter(|(_, pin)| !pin.is_newest()) {
            let newest = newest_image(lab, pin, *arch)?;
            let table = &mut list["image"][flavour.name()][arch.name()];
            let name = format!("image.{flavour}.{arch}");
            set(table, &name, &pin.version, Some(&newest.release), &newest.version, &mut moved);
        }
    }
    own::write(&path, list.to_string()).map_err(io_at(&path, "written"))?;
    Ok(moved)
}

fn set(
    table: &mut Item,
    name: &str,
    from: &str,
    release: Option<&str>,
    to: &str,
    moved: &mut Vec<Moved>,
) {
    if from == to {
        return;
    }
    if let Some(release) = release {
        table["release"] = value(release);
    }
    table["version"] = value(to);
    moved.push(Moved { pin: name.to_owned(), from: from.to_owned(), to: to.to_owned() });
}
