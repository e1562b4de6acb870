// SPDX-License-Identifier: GPL-2.0-or-later
//! A Debian system as a disk for guests: its own systemd is their first process.
//!
//! debootstrap installs the packages as on a real machine, so users, links and enabled units are
//! Debian's. The image has no package lists and no documentation, which no guest reads.
//!
//! The product is identified by the version of systemd that the archive has when its lists are
//! read. Other packages are of that day, too.

use std::path::{Path, PathBuf};

use super::apt::Apt;
use super::archive::{KEYRING, Mirror};
use super::error::io_at;
use super::run::{run_for_output, run_watched, tool_command};
use super::{Arch, KernelError};
use crate::cache::{Inputs, Product, Staging, remove_directory};
use crate::own;
use crate::{Lab, Unit};

/// Version of the recipe below.
const RECIPE: u32 = 1;
const PACKAGES: &str = "systemd-sysv,dbus,procps,zlib1g,runc";
/// What takes room and serves people only.
const LEFT_OUT: [&str; 6] = [
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/zoneinfo",
    "var/cache/apt",
    "var/lib/apt/lists",
];
const IMAGE: &str = "root.ext4";
/// Room for the system and for what guests write.
const IMAGE_SIZE: &str = "384M";
/// The same with other packages.
const IMAGE_SIZE_OTHERS: &str = "2G";

/// An image of an ext4 file system with a Debian of this suite, and with these other packages. Only
/// root can make one.
///
/// # Errors
/// If there is no debootstrap or archive, or it cannot install the packages.
pub fn provide_debian(lab: &Lab, suite: &str, others: &[&str]) -> Result<PathBuf, KernelError> {
    let arch = Arch::X86_64;
    let systemd = Apt::open(lab, suite)?.find_package("systemd", arch, None)?;
    // Debian renamed it with the change to 64-bit times.
    let libelf = if suite == "bookworm" { "libelf1" } else { "libelf1t64" };
    let packages = format!("{PACKAGES},{libelf}");
    let inputs = Inputs::new("debian", RECIPE)
        .value("suite", suite)
        .value("packages", &packages)
        .value("others", &others.join(","))
        .value("systemd", &systemd.version);
    let (kind, size) =
        if others.is_empty() { ("", IMAGE_SIZE) } else { ("-others", IMAGE_SIZE_OTHERS) };
    let label = format!("debian-{suite}{kind}-{arch}");
    let product = Product { kind: "guest", label, inputs, resumable: false };
    let made = lab.cache.provide_product(&product, &lab.progress, |staging| {
        make_image(lab, suite, (&packages, others, size), staging)
    })?;
    Ok(made.join(IMAGE))
}

fn make_image(
    lab: &Lab,
    suite: &str,
    (packages, others, size): (&str, &[&str], &str),
    staging: &Staging,
) -> Result<(), KernelError> {
    let root = staging.directory.join("root");
    install_packages(lab, suite, packages, &root, staging)?;
    if !others.is_empty() {
        add_packages(lab, others, &root, staging)?;
    }
    for directory in LEFT_OUT {
        let path = root.join(directory);
        remove_directory(&path)?;
        // dpkg and apt expect theirs.
        own::make_directory(&path).map_err(io_at(&path, "write"))?;
    }
    let mut command = tool_command("mke2fs");
    command.args(["-q", "-t", "ext4", "-m", "0", "-J", "size=16"]);
    command.args(["-E", "lazy_itable_init=0,lazy_journal_init=0"]);
    command.arg("-d").arg(&root).arg(staging.directory.join(IMAGE)).arg(size);
    run_for_output(&mut command, "making a disk with mke2fs")?;
    Ok(remove_directory(&root)?)
}

/// Install these packages of a suite, separated by commas, and what they need, into `root`. In a
/// mount namespace of its own nothing stays mounted, however this ends.
pub(super) fn install_packages(
    lab: &Lab,
    suite: &str,
    packages: &str,
    root: &Path,
    staging: &Staging,
) -> Result<(), KernelError> {
    let what = format!("downloading and installing Debian's {suite}");
    lab.progress.begin_step(&what, None, Unit::Steps);
    let mut keyring = std::ffi::OsString::from("--keyring=");
    keyring.push(lab.project.lab().join("archive").join(KEYRING));
    let mut command = tool_command("unshare");
    command.args(["--mount", "--propagation", "private", "debootstrap", "--variant=minbase"]);
    command.arg(format!("--include={packages}")).arg(keyring).arg("--force-check-gpg");
    command.arg(suite).arg(root).arg(Mirror::find()?.main()).stdin(staging.stdin());
    let log = staging.directory.join("debootstrap.log");
    run_watched(&mut command, &what, &log, || {})
}

/// Install more packages into the root that debootstrap made, by its own apt, which knows the order
/// that some of them need.
fn add_packages(
    lab: &Lab,
    packages: &[&str],
    root: &Path,
    staging: &Staging,
) -> Result<(), KernelError> {
    let what = format!("installing {}", packages.join(", "));
    lab.progress.begin_step(&what, None, Unit::Steps);
    let mut command = tool_command("unshare");
    command.args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]);
    command.arg("chroot").arg(root).args(["apt-get", "-o", "APT::Sandbox::User=root"]);
    command.args(["install", "--yes", "--no-install-recommends"]).args(packages);
    command.env("DEBIAN_FRONTEND", "noninteractive").env("LC_ALL", "C").stdin(staging.stdin());
    run_watched(&mut command, &what, &staging.directory.join("apt.log"), || {})
}
