// SPDX-License-Identifier: GPL-2.0-or-later
//! Moves the pins in `lab/kernels.toml` to the newest versions that the archive has.
//!
//! Only on request: exact figures belong to the version that was pinned when they were measured.
//! Comments and the order of the file stay.

use toml_edit::{DocumentMut, Item, value};

use super::apt::Apt;
use super::error::io_at;
use super::pins::Pins;
use super::source::source_arch;
use super::stock::newest_image;
use super::toolchain::SUITE as TOOLCHAIN_SUITE;
use super::{Arch, BUSYBOX, KernelError};
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
pub fn repin_all(lab: &Lab) -> Result<Vec<Moved>, KernelError> {
    let (moved, list) = compare_all(lab)?;
    let path = lab.project.kernels_toml();
    own::write(&path, list.to_string()).map_err(io_at(&path, "write"))?;
    Ok(moved)
}

/// Find out what [`repin_all`] would change, and change nothing.
///
/// # Errors
/// If the archive cannot be asked or has nothing of a series.
pub fn propose_pins(lab: &Lab) -> Result<Vec<Moved>, KernelError> {
    compare_all(lab).map(|(moved, _)| moved)
}

/// The pins that move, and the list as it is then.
fn compare_all(lab: &Lab) -> Result<(Vec<Moved>, DocumentMut), KernelError> {
    let pins = Pins::read(&lab.project)?;
    let path = lab.project.kernels_toml();
    let text = own::read_text(&path).map_err(io_at(&path, "read"))?;
    let mut list: DocumentMut = text.parse().map_err(|e: toml_edit::TomlError| {
        KernelError::Pins { path: path.clone(), reason: e.to_string() }
    })?;
    let mut moved = Vec::new();
    let newest = pins.source_7x.as_ref().map(|source| ("source-7x", source));
    for (name, source) in [("source", &pins.source)].into_iter().chain(newest) {
        let apt = Apt::open(lab, &source.suite)?;
        apt.refresh_lists()?;
        let newest = apt.find_package(&source.package, source_arch()?, None)?;
        set_pin(&mut list[name], name, &source.version, None, &newest.version, &mut moved);
    }
    for (flavour, of) in &pins.image {
        for (arch, pin) in of.iter().filter(|(_, pin)| !pin.is_newest()) {
            let newest = newest_image(lab, pin, *arch)?;
            let table = &mut list["image"][flavour.name()][arch.name()];
            let name = format!("image.{flavour}.{arch}");
            set_pin(table, &name, &pin.version, Some(&newest.release), &newest.version, &mut moved);
        }
    }
    repin_toolchains(lab, &pins, &mut list, &mut moved)?;
    Ok((moved, list))
}

/// What compiles for guests, and their shell.
fn repin_toolchains(
    lab: &Lab,
    pins: &Pins,
    list: &mut DocumentMut,
    moved: &mut Vec<Moved>,
) -> Result<(), KernelError> {
    let apt = Apt::open(lab, TOOLCHAIN_SUITE)?;
    apt.refresh_lists()?;
    for (host, of) in &pins.toolchain {
        for (arch, pin) in of {
            for (part, packages) in [("tools", &pin.tools), ("sysroot", &pin.sysroot)] {
                for (package, version) in packages {
                    let newest = newest_of_suite(&apt, package, *host)?;
                    let place = ["toolchain", host.name(), arch.name(), part, package];
                    set_version(list, &place, version, &newest, moved);
                }
            }
        }
    }
    for (arch, version) in &pins.busybox {
        let newest = newest_of_suite(&apt, BUSYBOX, *arch)?;
        set_version(list, &["busybox", arch.name()], version, &newest, moved);
    }
    Ok(())
}

/// Not a backport: packages of a toolchain fit each other within a suite.
fn newest_of_suite(apt: &Apt<'_>, package: &str, arch: Arch) -> Result<String, KernelError> {
    let mut versions = apt.list_versions(package, arch)?.into_iter().map(|package| package.version);
    let newest = versions.find(|version| !version.contains("~bpo"));
    newest.ok_or_else(|| KernelError::NoPackage {
        package: format!("{package} ({arch})"),
        suite: TOOLCHAIN_SUITE.to_owned(),
    })
}

fn set_version(
    list: &mut DocumentMut,
    place: &[&str],
    from: &str,
    to: &str,
    moved: &mut Vec<Moved>,
) {
    if from == to {
        return;
    }
    let item = place.iter().fold(list.as_item_mut(), |item, name| &mut item[*name]);
    *item = value(to);
    moved.push(Moved { pin: place.join("."), from: from.to_owned(), to: to.to_owned() });
}

fn set_pin(
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
