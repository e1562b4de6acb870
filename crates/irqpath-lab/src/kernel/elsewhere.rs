// SPDX-License-Identifier: GPL-2.0-or-later
//! Where modules are built for kernels whose build tools need a newer C library than the hosts of
//! the lab have: in a root of the suite that the kernel is from, with that suite's compiler.
//!
//! debootstrap makes the root once for each version of the headers. Such kernels are whatever is the
//! newest in their suite, so nothing exact of other hosts depends on what is in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::debian::install_packages;
use super::pins::{ImagePin, Pins};
use super::run::tool_command;
use super::{Arch, Kernel, KernelError};
use crate::Lab;
use crate::cache::{Inputs, Product, remove_directory};

/// Version of the recipe below.
const RECIPE: u32 = 1;
/// Where a build finds its sources in the root.
const SOURCES: &str = "/mnt";
/// In namespaces of its own: nothing stays mounted, no process stays, and nothing of the host is seen
/// or reached. objtool reads its limits from /proc.
const NAMESPACES: [&str; 6] =
    ["--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--net"];
const ENTER: &str = r#"mount --bind "$1" "$2/mnt" && mount -t proc proc "$2/proc" &&
root=$2 && shift 2 && exec chroot "$root" "$@""#;

/// A root of a newer suite with the headers of one kernel and what compiles for it.
#[derive(Debug)]
pub(super) struct BuildRoot {
    directory: PathBuf,
    headers: String,
}

impl BuildRoot {
    /// The root for this kernel; made if the cache does not have it. Only root can make or enter it.
    ///
    /// # Errors
    /// [`KernelError::NoHeaders`] for another user or another machine's kernel;
    /// [`KernelError::NoBuildRoot`] with what keeps debootstrap from making it.
    pub(super) fn provide(lab: &Lab, kernel: &Kernel) -> Result<Self, KernelError> {
        let (flavour, arch) = (kernel.flavour, kernel.arch);
        if Arch::host() != Some(arch) || !rustix::process::geteuid().is_root() {
            return Err(KernelError::NoHeaders { flavour, arch });
        }
        let pins = Pins::read(&lab.project)?;
        let listed = pins.find_image(flavour, arch)?;
        let pin = ImagePin { release: kernel.release.clone(), ..listed.clone() };
        let packages = format!("gcc,make,{}", pin.headers_package());
        let inputs = Inputs::new("build root", RECIPE)
            .value("suite", &pin.suite)
            .value("packages", &packages)
            .value("version", &kernel.package_version);
        let label = format!("root-{}-{arch}", pin.suite);
        let product = Product { kind: "packages", label, inputs, resumable: false };
        let made = lab.cache.provide_product(
            &product,
            &lab.progress,
            |staging| -> Result<_, KernelError> {
                let root = staging.directory.join("root");
                install_packages(lab, &pin.suite, &packages, &root, staging).map_err(|error| {
                    KernelError::NoBuildRoot { suite: pin.suite.clone(), reason: error.to_string() }
                })?;
                for gone in ["usr/share", "var/cache/apt", "var/lib/apt/lists"] {
                    remove_directory(&root.join(gone))?;
                }
                Ok(())
            },
        )?;
        let headers = format!("/usr/src/{}", pin.headers_package());
        Ok(Self { directory: made.join("root"), headers })
    }

    /// `make` for the module whose sources are in `sources`, to be given variables and targets.
    pub(super) fn make_command(&self, sources: &Path) -> Command {
        let mut command = tool_command("unshare");
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C");
        command.args(NAMESPACES).args(["sh", "-c", ENTER, "sh"]);
        command.arg(sources).arg(&self.directory);
        command.args(["make", "-C", &self.headers]).arg(format!("M={SOURCES}"));
        command
    }
}
