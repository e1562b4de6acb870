// SPDX-License-Identifier: GPL-2.0-or-later
//! What takes long to make is made once: kernels, headers, modules, packages, initramfs.
//!
//! A product is a directory whose name ends in the hash of its [`Inputs`]. It is made under
//! another name and renamed when complete, so whatever has the name is whole, also after a
//! kill or a power cut. Who makes a product holds its lock (`lock`); who comes later waits and
//! then finds it. All of it lies outside the checkout and may be removed at any time. Making a
//! product removes those of its kind and label that nobody has used for a month.
//!
//! Rule: what is found here is run, so nobody else may be able to write here.

mod error;
mod inputs;
mod lock;
#[cfg(test)]
mod tests;

pub use error::CacheError;
pub(crate) use error::io_at;
pub use inputs::{Inputs, hash_file, list_files};

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use irqpath_files::output::Directory;
use irqpath_files::tree;
use rustix::fs::syncfs;

use crate::Progress;

/// Digits of the key in a directory's name: enough to never meet, short enough to read.
pub(crate) const KEY_DIGITS: usize = 16;
/// What the directory of a product that is being made ends with.
const PARTIAL: &str = ".partial";
/// How long a product stays that nobody uses.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// The file in a product that lists what it was made from.
const INPUTS: &str = "inputs";

/// The directory with everything that was made.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
    /// False if nothing may be made.
    may_make: bool,
}

/// What to make: where it belongs, and from what it is made.
#[derive(Debug, Clone)]
pub struct Product {
    /// Directory of its kind below the cache: `kernels`, `modules`.
    pub kind: &'static str,
    /// What people recognise it by: `stock-rt-x86_64`.
    pub label: String,
    /// What it is made from.
    pub inputs: Inputs,
    /// True if a new attempt can go on with what a killed one left; one that failed leaves nothing.
    pub resumable: bool,
}

/// A product in the making.
#[derive(Debug)]
pub struct Staging {
    /// Directory to fill; it gets the product's name afterwards.
    pub directory: PathBuf,
    /// Where it will be when it is complete, for files that contain their own place.
    pub destination: PathBuf,
    lock: File,
}

impl Staging {
    /// Standard input for programs that write into the staging directory. It is the lock: if
    /// irqpath is killed and they live on, nobody else starts before they have ended.
    pub fn stdin(&self) -> Stdio {
        self.lock.try_clone().map_or_else(|_| Stdio::null(), Stdio::from)
    }
}

impl Cache {
    /// The cache of this user: `$IRQPATH_CACHE`, else `$XDG_CACHE_HOME/irqpath`, else
    /// `~/.cache/irqpath`.
    ///
    /// # Errors
    /// If none of them is set to an absolute path, or if others can write there.
    pub fn locate() -> Result<Self, CacheError> {
        let cache = Self::at(choose_root(|name| env::var_os(name))?);
        // One that is missing is made, and checked then, with its first product.
        if fs::symlink_metadata(&cache.root).is_ok() { cache.check_tree() } else { Ok(()) }?;
        Ok(cache)
    }

    fn check_tree(&self) -> Result<(), CacheError> {
        tree::check_tree(&self.root, &[]).map_err(|source| CacheError::Unsafe { source })
    }

    /// A cache in this directory, which need not exist yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), may_make: true }
    }

    /// The same cache for somebody who only takes: what is missing is an error that names it.
    #[must_use]
    pub fn sealed(self) -> Self {
        Self { may_make: false, ..self }
    }

    /// Refuses to make a product in a sealed cache. For those who prepare before they ask for it.
    pub(crate) fn require_making(&self, product: &Product) -> Result<(), CacheError> {
        if self.may_make {
            return Ok(());
        }
        let path = self.product_path(product);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let product = format!("{}/{name}", product.kind);
        Err(CacheError::Missing { root: self.root.clone(), product })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a product is or will be.
    pub fn product_path(&self, product: &Product) -> PathBuf {
        let key = product.inputs.key();
        self.root.join(product.kind).join(format!("{}-{}", product.label, &key[..KEY_DIGITS]))
    }

    /// The product, if it is there.
    pub fn find_product(&self, product: &Product) -> Option<PathBuf> {
        // Somebody else may have made the cache since it was missing. The lock says so then.
        self.check_tree().ok()?;
        let path = self.product_path(product);
        // The time of a product is when it was used last. In a cache that cannot be written
        // nothing is removed either.
        let used = |directory: File| drop(directory.set_modified(SystemTime::now()));
        File::open(&path).map(used).is_ok().then_some(path)
    }

    /// All products of this kind and label, whatever they were made from.
    pub fn list_labelled(&self, kind: &str, label: &str) -> Vec<PathBuf> {
        let all =
            self.check_tree().is_ok().then(|| self.of_label(kind, label)).into_iter().flatten();
        let mut whole: Vec<_> =
            all.filter_map(|(path, is_whole)| is_whole.then_some(path)).collect();
        whole.sort();
        whole
    }

    /// The same, and those that are being made; with whether they are whole.
    fn of_label(&self, kind: &str, label: &str) -> impl Iterator<Item = (PathBuf, bool)> {
        let entries = fs::read_dir(self.root.join(kind)).into_iter().flatten().flatten();
        entries.filter_map(move |entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let key = name.strip_prefix(label)?.strip_prefix('-')?;
            let whole = key.strip_suffix(PARTIAL).unwrap_or(key);
            (whole.len() == KEY_DIGITS).then(|| (entry.path(), whole == key))
        })
    }

    /// The product; made by `make` if it is not there. Waits for another process or thread
    /// that makes the same, and says so.
    ///
    /// # Errors
    /// What `make` returns; [`CacheError`] if the cache cannot be written.
    pub fn provide_product<E: From<CacheError>>(
        &self,
        product: &Product,
        progress: &Progress,
        make: impl FnOnce(&Staging) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        if let Some(path) = self.find_product(product) {
            return Ok(path);
        }
        self.require_making(product)?;
        let destination = self.product_path(product);
        let lock = self.take_lock(&lock_name(product), &product.label, progress)?;
        if destination.is_dir() {
            return Ok(destination); // made by the one that was waited for
        }
        let directory = with_suffix(&destination, PARTIAL);
        prepare_directory(&directory, product.resumable)?;
        let staging = Staging { directory, destination, lock };
        let made = make(&staging);
        if made.is_err() {
            remove_directory(&staging.directory)?;
        }
        made?;
        complete_product(&staging, &product.inputs)?;
        self.remove_unused(product);
        Ok(staging.destination)
    }

    /// Remove what has the same kind and label, another key, and was not used for long. What
    /// cannot be removed stays: it only takes room.
    fn remove_unused(&self, product: &Product) {
        // Who makes a half-made one now has just begun, or works in it.
        for (path, _) in self.of_label(product.kind, &product.label) {
            let age =
                fs::symlink_metadata(&path).and_then(|m| m.modified()).map(|time| time.elapsed());
            if age.is_ok_and(|age| age.is_ok_and(|age| age > KEPT)) {
                let _ = fs::remove_dir_all(&path);
            }
        }
    }

    /// Hold the lock of this name until the file is dropped; `what` is named when waiting.
    pub(crate) fn take_lock(
        &self,
        name: &str,
        what: &str,
        progress: &Progress,
    ) -> Result<File, CacheError> {
        let made = Directory::open(&self.root, true);
        made.map_err(|source| CacheError::Place { path: self.root.clone(), source })?;
        self.check_tree()?;
        let wait =
            || progress.print_note(&format!("waiting for another irqpath that makes {what}"));
        lock::take_lock(&self.root.join("locks"), name, wait)
    }
}

/// The root of the cache by these environment variables.
fn choose_root(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, CacheError> {
    let choices: [(&str, &[&str]); 3] = [
        ("IRQPATH_CACHE", &[]),
        ("XDG_CACHE_HOME", &["irqpath"]),
        ("HOME", &[".cache", "irqpath"]),
    ];
    for (name, below) in choices {
        let Some(value) = variable(name).filter(|v| !v.is_empty()) else { continue };
        let path = PathBuf::from(value);
        if !path.is_absolute() {
            return Err(CacheError::Relative { variable: name, path });
        }
        return Ok(below.iter().fold(path, |path, name| path.join(name)));
    }
    Err(CacheError::NoPlace)
}

fn lock_name(product: &Product) -> String {
    format!("{}-{}-{}", product.kind, product.label, &product.inputs.key()[..KEY_DIGITS])
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn prepare_directory(directory: &Path, keep: bool) -> Result<(), CacheError> {
    if !keep {
        remove_directory(directory)?;
    }
    fs::create_dir_all(directory).map_err(io_at(directory, "write"))
}

/// Remove a directory that need not exist.
pub(crate) fn remove_directory(directory: &Path) -> Result<(), CacheError> {
    match fs::remove_dir_all(directory) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(io_at(directory, "remove")(e)),
        _ => Ok(()),
    }
}

/// Write the list of inputs, let everything reach the disk, and give the product its name.
fn complete_product(staging: &Staging, inputs: &Inputs) -> Result<(), CacheError> {
    let directory = &staging.directory;
    let list = directory.join(INPUTS);
    // It may be a link to that of a product which this one was made from.
    match fs::remove_file(&list) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(io_at(&list, "remove")(e)),
        _ => {}
    }
    fs::write(&list, inputs.text()).map_err(io_at(&list, "write"))?;
    let handle = File::open(directory).map_err(io_at(directory, "read"))?;
    syncfs(&handle).map_err(|e| io_at(directory, "write")(e.into()))?;
    fs::rename(directory, &staging.destination).map_err(io_at(&staging.destination, "write"))
}
