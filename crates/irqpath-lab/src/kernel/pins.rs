// SPDX-License-Identifier: GPL-2.0-or-later
//! Which exact kernels the lab uses: `lab/kernels.toml`.
//!
//! Exact figures hold for one image only. So another version is never taken instead: where the
//! archive has dropped the listed one, [`repin_all`](super::repin_all) changes the list.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::io_at;
use super::packages::compare_versions;
use super::{Arch, Flavour, KernelError};
use crate::Project;
use crate::own;

/// The content of `lab/kernels.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// Compiler of our own kernels, without a cross prefix: `gcc-12`.
    pub compiler: String,
    /// What it comes from and works with: by the machine that it runs on, and the one that it is for.
    #[serde(default)]
    pub toolchain: BTreeMap<Arch, BTreeMap<Arch, ToolchainPin>>,
    /// Version of the package with the shell of guests, by their machine.
    #[serde(default)]
    pub busybox: BTreeMap<Arch, String>,
    /// The source of our own kernels.
    pub source: SourcePin,
    /// That of those of our own whose names end in `7.x`.
    #[serde(rename = "source-7x")]
    pub source_7x: Option<SourcePin>,
    pub image: BTreeMap<Flavour, BTreeMap<Arch, ImagePin>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImagePin {
    /// What `uname -r` prints in it; part of its package's name. `*-rt-amd64` is the newest of
    /// that kind.
    pub release: String,
    /// Version of its packages.
    pub version: String,
    /// The suite of Debian that has them.
    #[serde(default = "oldest_suite")]
    pub suite: String,
}

/// The packages of a toolchain: their names and exact versions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolchainPin {
    /// Programs for the host, and what a cross compiler keeps beside itself.
    pub tools: BTreeMap<String, String>,
    /// What programs are linked with; empty for a cross compiler.
    #[serde(default)]
    pub sysroot: BTreeMap<String, String>,
}

/// The package with the source of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourcePin {
    pub package: String,
    pub version: String,
    /// The suite of Debian that has it.
    #[serde(default = "oldest_suite")]
    pub suite: String,
}

impl SourcePin {
    /// The series that it is of, as `kernel/hooks` names its directories: `6.12`, `7.x`.
    pub fn series(&self) -> String {
        let version = self.package.trim_start_matches("linux-source-");
        let major = version.split('.').next().unwrap_or_default();
        if major.parse().is_ok_and(|major: u32| major >= 7) {
            return format!("{major}.x");
        }
        version.to_owned()
    }
}

/// The suite of most packages.
fn oldest_suite() -> String {
    "bookworm".to_owned()
}

impl Pins {
    /// Read the list of a project.
    pub fn read(project: &Project) -> Result<Self, KernelError> {
        let path = project.kernels_toml();
        let text = own::read_text(&path).map_err(io_at(&path, "read"))?;
        toml::from_str(&text).map_err(|e| KernelError::Pins {
            path,
            reason: e.to_string().trim().replace('\n', " "),
        })
    }

    /// The source of a flavour of ours.
    ///
    /// # Errors
    /// [`KernelError::NotOffered`] if the list has none for it.
    pub fn find_source(&self, flavour: Flavour) -> Result<&SourcePin, KernelError> {
        if !flavour.is_newest_own() {
            return Ok(&self.source);
        }
        let arch = Arch::X86_64;
        self.source_7x.as_ref().ok_or(KernelError::NotOffered { flavour, arch })
    }

    /// The image of a flavour.
    pub fn find_image(&self, flavour: Flavour, arch: Arch) -> Result<&ImagePin, KernelError> {
        let image = self.image.get(&flavour).and_then(|of| of.get(&arch));
        image.ok_or(KernelError::NotOffered { flavour, arch })
    }
}

impl ImagePin {
    /// Name of the package with the image.
    pub fn image_package(&self) -> String {
        format!("linux-image-{}", self.release)
    }

    /// Name of the package with the headers.
    pub fn headers_package(&self) -> String {
        format!("linux-headers-{}", self.release)
    }

    /// True if it stands for whatever is the newest in its suite, as `*-rt-amd64` does.
    pub fn is_newest(&self) -> bool {
        self.release.starts_with('*')
    }

    /// `linux-image-6.12.`: how the names of all images of the same series begin.
    pub fn series_prefix(&self) -> String {
        if self.is_newest() {
            return "linux-image-".to_owned();
        }
        let mut parts = self.release.splitn(3, '.');
        let (major, minor) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        format!("linux-image-{major}.{minor}.")
    }

    /// `-rt-amd64`: what follows the number of the release.
    pub(super) fn kind(&self) -> &str {
        parse_kind(&self.release)
    }

    /// The releases of the same series and kind among the names of packages, newest first.
    pub fn filter_relatives(&self, names: &[String]) -> Vec<String> {
        let mut releases: Vec<String> = names
            .iter()
            .filter(|name| name.starts_with(&self.series_prefix()))
            .filter_map(|name| name.strip_prefix("linux-image-"))
            // Not a package that only depends on the newest: linux-image-rt-amd64.
            .filter(|release| release.starts_with(|c: char| c.is_ascii_digit()))
            .filter(|release| parse_kind(release) == self.kind())
            .map(str::to_owned)
            .collect();
        releases.sort_by(|a, b| compare_versions(b, a));
        releases
    }
}

/// From the first dash that a letter follows: `6.1.0-56-rt-amd64` is of the kind `-rt-amd64`.
fn parse_kind(release: &str) -> &str {
    let mut dashes = release.match_indices('-').map(|(at, _)| at);
    let start = dashes.find(|at| release[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic()));
    start.map_or("", |at| &release[at..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn pin_release(release: &str) -> ImagePin {
        ImagePin { release: release.to_owned(), version: "1".to_owned(), suite: oldest_suite() }
    }

    #[test]
    fn relatives_are_of_the_same_series_and_kind_and_the_newest_is_first() {
        let names = [
            "linux-image-6.12.9+deb12-rt-amd64",
            "linux-image-6.12.113+deb12-rt-amd64",
            "linux-image-6.12.113+deb12-rt-amd64-dbg",
            "linux-image-6.12.115+deb12-rt-amd64-unsigned",
            "linux-image-6.12.115+deb12-amd64",
            "linux-image-6.12.115+deb12-cloud-amd64",
            "linux-image-6.12-rt-amd64",
            "linux-image-6.1.0-56-rt-amd64",
            "linux-image-6.1.0-9-rt-amd64",
            "linux-image-6.1.0-56-amd64",
            "linux-image-rt-amd64",
            "linux-image-amd64",
        ]
        .map(str::to_owned);
        assert_eq!(
            pin_release("6.12.117+deb12-rt-amd64").filter_relatives(&names),
            ["6.12.113+deb12-rt-amd64", "6.12.9+deb12-rt-amd64"]
        );
        assert_eq!(
            pin_release("6.1.0-47-rt-amd64").filter_relatives(&names),
            ["6.1.0-56-rt-amd64", "6.1.0-9-rt-amd64"]
        );
        assert_eq!(pin_release("6.1.0-47-amd64").filter_relatives(&names), ["6.1.0-56-amd64"]);
        assert_eq!(pin_release("*-amd64").filter_relatives(&names)[0], "6.12.115+deb12-amd64");
        assert_eq!(
            pin_release("*-rt-amd64").filter_relatives(&names)[0],
            "6.12.113+deb12-rt-amd64"
        );
        assert_eq!(pin_release("6.6.1-amd64").filter_relatives(&names), [] as [&str; 0]);
    }

    #[test]
    fn the_list_of_this_project_has_every_stock_kernel() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let pins = Pins::read(&Project::at(&root).unwrap()).unwrap();
        for flavour in Flavour::ALL.iter().copied().filter(|f| f.is_stock()) {
            let image = pins.find_image(flavour, Arch::X86_64).unwrap();
            assert!(image.release.ends_with("-amd64"), "{}", image.release);
            assert_eq!(image.release.contains("-rt-"), flavour.name().ends_with("-rt"));
        }
        for flavour in [Flavour::StockRt, Flavour::Stock] {
            assert!(pins.find_image(flavour, Arch::Arm64).unwrap().release.ends_with("-arm64"));
        }
        assert!(pins.source.version.starts_with("6.12."));
        assert!(pins.find_image(Flavour::Debug, Arch::Arm64).is_err());
    }

    #[test]
    fn a_wrong_list_is_one_line_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("lab")).unwrap();
        fs::write(dir.path().join("lab/kernels.toml"), "compiler = 12\n").unwrap();
        let error = Pins::read(&Project::at(dir.path()).unwrap()).unwrap_err().to_string();
        assert!(error.contains("lab/kernels.toml") && !error.contains('\n'), "{error}");
    }
}
