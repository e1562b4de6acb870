// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernel modules by name, with those that they need before them.
//!
//! There is no `modules.dep`, which only an installed system has; each module says itself what
//! it needs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::GuestError;
use super::elf;

use crate::own;

/// The modules that a kernel comes with, by name.
pub struct Modules {
    files: BTreeMap<String, PathBuf>,
}

/// A module: its name and its content, not compressed.
pub type Module = (String, Vec<u8>);

impl Modules {
    /// Those in these files.
    pub fn from_files(paths: &[PathBuf]) -> Self {
        let named = |path: &PathBuf| Some((module_name(path)?, path.clone()));
        Self { files: paths.iter().filter_map(named).collect() }
    }

    /// The module and what it needs, in the order in which they are loaded.
    ///
    /// # Errors
    /// [`GuestError::NoModule`] if one of them is not there.
    pub fn with_dependencies(&self, name: &str) -> Result<Vec<Module>, GuestError> {
        let mut modules = Vec::new();
        self.add_with_needs(&canonicalize_name(name), &mut modules, 0)?;
        Ok(modules)
    }

    fn add_with_needs(
        &self,
        name: &str,
        modules: &mut Vec<Module>,
        depth: usize,
    ) -> Result<(), GuestError> {
        /// Deeper than any chain of Debian's; a circle would be.
        const DEPTH_MAX: usize = 32;
        if modules.iter().any(|(known, _)| known == name) {
            return Ok(());
        }
        let none = || GuestError::NoModule { name: name.to_owned() };
        let path = self.files.get(name).filter(|_| depth < DEPTH_MAX).ok_or_else(none)?;
        let data = read_module(path)?;
        for needed in elf::module_depends(&data).ok_or_else(none)? {
            self.add_with_needs(&canonicalize_name(&needed), modules, depth + 1)?;
        }
        modules.push((name.to_owned(), data));
        Ok(())
    }
}

/// The name by which the kernel knows the module in this file, if it is one.
pub fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (name, ending) = name.split_once(".ko")?;
    matches!(ending, "" | ".xz" | ".zst" | ".gz").then(|| canonicalize_name(name))
}

fn canonicalize_name(name: &str) -> String {
    name.replace('-', "_")
}

/// A module's content; what is compressed is unpacked here, so that the guest need not.
pub fn read_module(path: &Path) -> Result<Vec<u8>, GuestError> {
    let data = own::read(path).map_err(GuestError::at(path, "read"))?;
    match path.extension().and_then(OsStr::to_str) {
        Some("xz") => decompress_with("xz", "xz-utils", data),
        Some("zst") => zstd::decode_all(&*data).map_err(GuestError::at(path, "unpack")),
        Some("gz") => decompress_with("gzip", "gzip", data),
        _ => Ok(data),
    }
}

/// Runs `program -dc` over data.
pub(crate) fn decompress_with(
    program: &'static str,
    package: &'static str,
    data: Vec<u8>,
) -> Result<Vec<u8>, GuestError> {
    let child = Command::new(program)
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let no_tool = |source| GuestError::NoTool { program: program.into(), package, source };
    let mut child = child.map_err(no_tool)?;
    let stdin = child.stdin.take();
    // A thread feeds it: both pipes are shorter than a module.
    let feeder = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&data)));
    let output = child.wait_with_output().map_err(no_tool)?;
    // What it could not write shows in the exit status.
    drop(feeder.join());
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(GuestError::Tool { what: format!("{program} -dc"), log });
    }
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn names_come_from_files() {
        for (file, name) in [
            ("/m/virtio-net.ko", Some("virtio_net")),
            ("/m/ext4.ko.xz", Some("ext4")),
            ("/m/ext4.ko.zst", Some("ext4")),
            ("/m/modules.order", None),
            ("/m/a.kona", None),
        ] {
            assert_eq!(module_name(Path::new(file)).as_deref(), name, "{file}");
        }
    }

    #[test]
    fn what_is_not_there_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error =
            Modules::from_files(&[]).with_dependencies("virtio-net").err().unwrap().to_string();
        assert!(error.contains("virtio_net"), "{error}");
        // A file that is no module is not taken for one.
        let path = dir.path().join("false.ko");
        fs::write(&path, "text").unwrap();
        assert!(Modules::from_files(&[path]).with_dependencies("false").is_err());
    }

    #[test]
    fn damaged_compression_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.ko.xz", "a.ko.zst"] {
            let path = dir.path().join(name);
            fs::write(&path, "not compressed").unwrap();
            assert!(read_module(&path).is_err(), "{name}");
        }
    }
}
