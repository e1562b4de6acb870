// SPDX-License-Identifier: GPL-2.0-or-later
//! Debian's kernels: image, configuration, a few modules and the headers, out of packages.
//!
//! Headers are made for `/usr/src`: the only absolute path in them that counts is one `include`
//! line, which is made relative, so that the directory works wherever it lies.

use std::path::{Path, PathBuf};

use super::apt::{Apt, unpack_package};
use super::error::io_at;
use super::image::version_string;
use super::packages::Package;
use super::pins::{ImagePin, Pins};
use super::run::{run_for_output, tool_command};
use super::{Arch, Flavour, Kernel, KernelError};
use crate::cache::{Inputs, Product, Staging, hash_file, list_files, remove_directory};
use crate::own;
use crate::{Lab, Unit};

/// Version of the recipe below.
const RECIPE: u32 = 2;
/// Modules that guests may need and Debian does not build in; what one depends on stands before it.
const MODULES: [&str; 12] = [
    "veth",
    "dummy",
    "failover",
    "net_failover",
    "virtio_net",
    "tun",
    "virtio_blk",
    "crc32c_generic",
    "crc16",
    "mbcache",
    "jbd2",
    "ext4",
];

/// Provide a stock kernel.
pub(super) fn provide_stock(
    lab: &Lab,
    flavour: Flavour,
    arch: Arch,
) -> Result<Kernel, KernelError> {
    let pins = Pins::read(&lab.project)?;
    let listed = pins.find_image(flavour, arch)?;
    let newest = if listed.is_newest() { Some(newest_image(lab, listed, arch)?) } else { None };
    let pin = newest.as_ref().unwrap_or(listed);
    if let Some(path) = lab.cache.find_product(&describe_product(flavour, arch, pin)) {
        return Kernel::load(&path);
    }
    lab.cache.require_making(&describe_product(flavour, arch, pin))?;
    let apt = Apt::open(lab, &pin.suite)?;
    let path = lab.cache.provide_product(
        &describe_product(flavour, arch, pin),
        &lab.progress,
        |staging| make_kernel(lab, &apt, staging, flavour, arch, pin),
    )?;
    Kernel::load(&path)
}

/// The newest image of the same series and kind in the suite of a pin.
///
/// # Errors
/// [`KernelError::NoPackage`] if the suite has none.
pub(super) fn newest_image(lab: &Lab, pin: &ImagePin, arch: Arch) -> Result<ImagePin, KernelError> {
    let apt = Apt::open(lab, &pin.suite)?;
    apt.refresh_lists()?;
    for release in pin.filter_relatives(&apt.list_names(&pin.series_prefix())?) {
        let candidate = ImagePin { release, ..pin.clone() };
        if let Some(newest) =
            apt.list_versions(&candidate.image_package(), arch)?.into_iter().next()
        {
            return Ok(ImagePin { version: newest.version, ..candidate });
        }
    }
    let package = format!("{}*{}", pin.series_prefix(), pin.kind());
    Err(KernelError::NoPackage { package, suite: pin.suite.clone() })
}

fn describe_product(flavour: Flavour, arch: Arch, pin: &ImagePin) -> Product {
    let inputs = Inputs::new("stock kernel", RECIPE)
        .value("flavour", flavour.name())
        .value("arch", arch.name())
        .value("host", Arch::host().map_or("", Arch::name))
        .value("release", &pin.release)
        .value("version", &pin.version);
    Product { kind: "kernels", label: format!("{flavour}-{arch}"), inputs, resumable: false }
}

fn make_kernel(
    lab: &Lab,
    apt: &Apt<'_>,
    staging: &Staging,
    flavour: Flavour,
    arch: Arch,
    pin: &ImagePin,
) -> Result<(), KernelError> {
    let Wanted { image, headers } = find_wanted(apt, arch, pin)?;
    let (nr_image, has_headers) = (image.len(), !headers.is_empty());
    let packages = [image, headers].concat();
    let debs = staging.directory.join("debs");
    let files = apt.download_packages(&packages, &debs, staging)?;
    lab.progress.begin_step(&format!("unpacking {}", pin.release), None, Unit::Steps);
    let (root, kept) = (staging.directory.join("root"), staging.directory.join("headers"));
    for (nr, deb) in files.iter().enumerate() {
        unpack_package(deb, if nr < nr_image { &root } else { &kept })?;
    }
    keep_image(&root, &staging.directory, &pin.release)?;
    keep_modules(&root, &staging.directory.join("modules"))?;
    if has_headers {
        relocate_makefile(&staging.directory.join(headers_of(pin)))?;
    }
    for gone in [&debs, &root, &kept.join("usr/share"), &kept.join("lib")] {
        remove_directory(gone)?;
    }
    describe_kernel(&staging.directory, flavour, arch, pin)?.save(&staging.directory)
}

/// The packages of a kernel: its image, and what building a module takes.
struct Wanted {
    image: Vec<Package>,
    headers: Vec<Package>,
}

fn find_wanted(apt: &Apt<'_>, arch: Arch, pin: &ImagePin) -> Result<Wanted, KernelError> {
    let version = Some(pin.version.as_str());
    let image = apt.find_package(&pin.image_package(), arch, version)?;
    // Since 7.x the image is a package without files. The build tools beside it then need a newer C
    // library than hosts of the lab have, and modules a newer compiler: they are left out.
    if image.depends.iter().any(|name| name.starts_with("linux-binary-")) {
        let parts =
            ["binary", "base", "modules"].map(|part| format!("linux-{part}-{}", pin.release));
        let image = parts
            .iter()
            .map(|name| apt.find_package(name, arch, version))
            .collect::<Result<_, _>>()?;
        return Ok(Wanted { image, headers: Vec::new() });
    }
    let own = apt.find_package(&pin.headers_package(), arch, version)?;
    let mut headers = vec![own.clone()];
    for name in own.depends {
        // Both are for the machine that builds; common headers are the same on all.
        if name.starts_with("linux-kbuild-") || name.starts_with("linux-headers-") {
            headers.push(apt.find_package(&name, Arch::host().unwrap_or(arch), version)?);
        }
    }
    Ok(Wanted { image: vec![image], headers })
}

/// The headers in a product.
fn headers_of(pin: &ImagePin) -> PathBuf {
    PathBuf::from("headers/usr/src").join(format!("linux-headers-{}", pin.release))
}

/// Image and configuration are in /boot, or since 7.x beside the modules.
fn keep_image(root: &Path, directory: &Path, release: &str) -> Result<(), KernelError> {
    for name in ["vmlinuz", "config"] {
        let beside = root.join("usr/lib/modules").join(release).join(name);
        let boot = root.join("boot").join(format!("{name}-{release}"));
        let from = if beside.is_file() { beside } else { boot };
        own::rename(&from, directory.join(name)).map_err(io_at(&from, "take"))?;
    }
    Ok(())
}

fn keep_modules(root: &Path, directory: &Path) -> Result<(), KernelError> {
    own::make_directory(directory).map_err(io_at(directory, "write"))?;
    for path in list_files(root)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((stem, packed)) = name.split_once(".ko") else { continue };
        if !MODULES.contains(&stem) {
            continue;
        }
        let kept = directory.join(&name);
        own::rename(&path, &kept).map_err(io_at(&path, "take"))?;
        if packed == ".xz" {
            run_for_output(tool_command("xz").arg("-d").arg(&kept), "unpacking a module with xz")?;
        }
    }
    Ok(())
}

/// Make the `include` line of a header package's Makefile relative to the directory that make
/// runs in, which is the Makefile's own.
fn relocate_makefile(build: &Path) -> Result<(), KernelError> {
    let path = build.join("Makefile");
    let text = own::read_text(&path).map_err(io_at(&path, "read"))?;
    let relative = text.replacen("include /usr/src/", "include ../", 1);
    if relative == text {
        return Err(incomplete_error(&path, "line `include /usr/src/...`"));
    }
    own::write(&path, relative).map_err(io_at(&path, "write"))
}

fn incomplete_error(place: &Path, missing: &str) -> KernelError {
    KernelError::Incomplete {
        place: place.to_owned(),
        missing: missing.to_owned(),
        advice: "Debian has changed its packages; please report it with their version",
    }
}

fn describe_kernel(
    directory: &Path,
    flavour: Flavour,
    arch: Arch,
    pin: &ImagePin,
) -> Result<Kernel, KernelError> {
    let build = Some(headers_of(pin)).filter(|path| directory.join(path).is_dir());
    let image = directory.join("vmlinuz");
    let vmlinux = build.as_ref().map(|build| build.join("vmlinux"));
    let modules = MODULES.map(|name| PathBuf::from("modules").join(format!("{name}.ko")));
    let there = |path: &PathBuf| directory.join(path).is_file();
    Ok(Kernel {
        flavour,
        arch,
        release: pin.release.clone(),
        package_version: pin.version.clone(),
        version_string: version_string(&image, arch)?,
        sha256: hash_file(&image).map_err(io_at(&image, "read"))?,
        digest: String::new(),
        image: "vmlinuz".into(),
        config: "config".into(),
        compiler: match &build {
            Some(build) => read_compiler(&directory.join(build))?,
            None => String::new(),
        },
        vmlinux: vmlinux.filter(there),
        build,
        system_map: None, // Debian's is a note that the real one is in the -dbg package
        modules: modules.into_iter().filter(there).collect(),
        directory: PathBuf::new(),
    })
}

/// The compiler that the headers ask for: `gcc-12`.
fn read_compiler(build: &Path) -> Result<String, KernelError> {
    let path = build.join(".kernelvariables");
    let text = own::read_text(&path).map_err(io_at(&path, "read"))?;
    let line = text.lines().find(|line| line.starts_with("CC ="));
    let name = line.and_then(|line| line.rsplit("$(CROSS_COMPILE)").next()).unwrap_or_default();
    if name.is_empty() || name.contains(['=', ' ']) {
        return Err(incomplete_error(&path, "line `CC = ...$(CROSS_COMPILE)gcc-N`"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_the_include_line_of_the_headers_changes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("Makefile");
        fs::write(&path, "include /usr/src/linux-headers-1-common-rt/Makefile\n").unwrap();
        relocate_makefile(dir.path()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "include ../linux-headers-1-common-rt/Makefile\n");
        let error = relocate_makefile(dir.path()).unwrap_err().to_string();
        assert!(error.contains("include /usr/src"), "{error}");
    }

    #[test]
    fn the_compiler_is_the_one_the_headers_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".kernelvariables");
        let line = "CC = $(if $(USE_CCACHE),$(CCACHE)) $(CROSS_COMPILE)gcc-12\n";
        fs::write(&path, format!("override ARCH = arm64\n{line}")).unwrap();
        assert_eq!(read_compiler(dir.path()).unwrap(), "gcc-12");
        fs::write(&path, "override ARCH = arm64\n").unwrap();
        assert!(read_compiler(dir.path()).is_err());
    }

    #[test]
    fn another_version_is_another_product() {
        let pin = |release: &str, version: &str| ImagePin {
            release: release.to_owned(),
            version: version.to_owned(),
            suite: "bookworm".to_owned(),
        };
        let key = |f, a, p: &ImagePin| describe_product(f, a, p).inputs.key();
        let base = key(Flavour::StockRt, Arch::X86_64, &pin("6.12.1-rt-amd64", "1"));
        for other in [
            key(Flavour::Stock, Arch::X86_64, &pin("6.12.1-rt-amd64", "1")),
            key(Flavour::StockRt, Arch::Arm64, &pin("6.12.1-rt-amd64", "1")),
            key(Flavour::StockRt, Arch::X86_64, &pin("6.12.2-rt-amd64", "1")),
            key(Flavour::StockRt, Arch::X86_64, &pin("6.12.1-rt-amd64", "2")),
        ] {
            assert_ne!(base, other);
        }
    }
}
