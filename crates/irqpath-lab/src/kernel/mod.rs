// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernels for guests: Debian's as they are, and ours built from Debian's source, each with
//! what is needed to build a module for it.
//!
//! `pins` says which exact versions, `apt` fetches packages, `stock` takes them apart, `build`
//! compiles ours from `source` and `config`. `module` builds against a kernel, where the host cannot
//! in a root that `elsewhere` makes. `debian` makes a system for guests. Everything is a product of the
//! cache: [`Kernel::provide`] returns at once what was made before.

mod apt;
mod archive;
mod build;
mod config;
mod debian;
mod elsewhere;
mod error;
mod flavour;
mod image;
mod links;
pub mod module;
mod packages;
mod pins;
mod repin;
mod run;
mod same;
mod source;
mod stock;
mod toolchain;

pub use apt::Apt;
pub use build::{provide_source, provide_whole_source};
pub use debian::provide_debian;
pub use error::KernelError;
pub use flavour::{Arch, Flavour, UnknownName};
pub use packages::{Package, compare_versions};
pub use pins::ToolchainPin;
pub use pins::{ImagePin, Pins, SourcePin};
pub use repin::{Moved, propose_pins, repin_all};
pub use toolchain::{SUITE as TOOLCHAIN_SUITE, Toolchain};

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Lab;
use crate::own;
use error::io_at;

/// The package with the shell of guests.
pub const BUSYBOX: &str = "busybox-static";
/// The description of a kernel in its product.
const DESCRIPTION: &str = "kernel.json";

/// A kernel that can be booted and built against. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// What kind it is.
    pub flavour: Flavour,
    pub arch: Arch,
    /// What `uname -r` prints.
    pub release: String,
    /// Version of the Debian package that it is, or is built from.
    pub package_version: String,
    /// Release, builder, `#1 SMP PREEMPT_RT` and date, as in the image.
    pub version_string: String,
    /// SHA-256 of the image.
    pub sha256: String,
    /// Of one of ours: digest of what the project says about it, see [`OwnKernel`].
    #[serde(skip_deserializing, default)]
    pub digest: String,
    /// What QEMU boots: bzImage or arm64's Image.
    pub image: PathBuf,
    pub config: PathBuf,
    /// Compiler that modules for it are built with, without a cross prefix; empty without `build`.
    pub compiler: String,
    /// ELF file with its types (BTF); no symbols in a stock kernel's.
    pub vmlinux: Option<PathBuf>,
    /// Directory for `make -C` to build modules; `None` where Debian's tools for it may not run on
    /// the host.
    pub build: Option<PathBuf>,
    /// Addresses of its symbols; a stock kernel's are only in the guest's `/proc/kallsyms`.
    pub system_map: Option<PathBuf>,
    /// A few modules that guests may need, in the order in which to load them; empty if all of
    /// them are built in.
    pub modules: Vec<PathBuf>,
    /// Its product in the cache.
    #[serde(skip_deserializing, default)]
    pub directory: PathBuf,
}

/// A kernel of ours as the project has it now. A figure is of this kernel if it was measured on
/// one of the same digest, or on one that is the same in memory: what the compiler does not see,
/// such as what only another flavour has, changes the one and not the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnKernel {
    /// Of what the project says about it: configuration, overlay, hooks, and the source they are
    /// for.
    pub digest: String,
    /// SHA-256 of the images in the cache that are this kernel, see [`same`].
    pub images: BTreeSet<String>,
}

/// For each flavour that is ours the kernel as it is now; none is built.
///
/// # Errors
/// [`KernelError`] if a file of the project cannot be read.
pub fn list_own_kernels(lab: &Lab) -> Result<BTreeMap<Flavour, OwnKernel>, KernelError> {
    let digests = build::digest_flavours(&lab.project)?.into_iter();
    let kernel = |(flavour, digest)| {
        let images = build::find_cached(lab, flavour).map(|kernel| images_of(lab, &kernel));
        (flavour, OwnKernel { digest, images: images.unwrap_or_default() })
    };
    Ok(digests.map(kernel).collect())
}

/// The images in the cache that are this kernel, its own among them.
fn images_of(lab: &Lab, kernel: &Kernel) -> BTreeSet<String> {
    let loaded = |kernel: &Kernel| same::hash_loaded(&own::read(kernel.vmlinux.as_ref()?).ok()?);
    let this = loaded(kernel);
    let all = lab.cache.list_labelled("kernels", &format!("{}-{}", kernel.flavour, kernel.arch));
    let all = all.iter().filter_map(|directory| Kernel::load(directory).ok());
    let is_same =
        |other: &Kernel| other.sha256 == kernel.sha256 || (this.is_some() && loaded(other) == this);
    all.filter(is_same).map(|same| same.sha256).collect()
}

impl Kernel {
    /// The kernel of this flavour; made if the cache does not have it.
    ///
    /// # Errors
    /// [`KernelError`], one line that says what to do.
    pub fn provide(lab: &Lab, flavour: Flavour, arch: Arch) -> Result<Self, KernelError> {
        let kernel = if flavour.is_stock() {
            stock::provide_stock(lab, flavour, arch)
        } else {
            build::provide_own(lab, flavour, arch)
        };
        lab.progress.clear_line();
        kernel
    }

    /// Read the description in a product.
    fn load(directory: &Path) -> Result<Self, KernelError> {
        let path = directory.join(DESCRIPTION);
        let text = own::read_text(&path).map_err(io_at(&path, "read"))?;
        let stored: Self = serde_json::from_str(&text).map_err(|e| KernelError::Incomplete {
            place: path,
            missing: format!("description of a kernel ({e})"),
            advice: "remove its directory to have it made again",
        })?;
        let absolute = |path: PathBuf| directory.join(path);
        Ok(Self {
            image: absolute(stored.image),
            config: absolute(stored.config),
            build: stored.build.map(absolute),
            vmlinux: stored.vmlinux.map(absolute),
            system_map: stored.system_map.map(absolute),
            modules: stored.modules.into_iter().map(absolute).collect(),
            directory: directory.to_owned(),
            ..stored
        })
    }

    /// Write the description, whose paths are still relative, into a product.
    fn save(&self, directory: &Path) -> Result<(), KernelError> {
        let path = directory.join(DESCRIPTION);
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        own::write(&path, text).map_err(io_at(&path, "write"))
    }

    /// The compiler with its cross prefix.
    pub fn compiler_program(&self) -> String {
        format!("{}{}", self.arch.cross_prefix(), self.compiler)
    }
}
