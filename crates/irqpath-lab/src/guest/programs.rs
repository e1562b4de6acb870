// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds a program of a machine (this one, or one unpacked from packages) and the shared
//! libraries it starts with, as the dynamic loader would.
//!
//! In the guest all libraries lie in the loader's default directory, so neither `ld.so.cache`
//! nor its configuration is needed there. What a program loads later by `dlopen` is not seen.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};

use super::GuestError;
use super::elf::{self, Program};
use crate::kernel::Arch;
use crate::own;

/// Where programs of a Debian system are.
const PROGRAM_DIRECTORIES: [&str; 5] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/// The root directory of a system whose programs go into a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct System {
    root: PathBuf,
    arch: Arch,
}

/// A file and where it belongs in the guest.
pub type Files = BTreeMap<String, PathBuf>;

impl System {
    /// The system in `root`: `/` for this one, else a directory with unpacked packages.
    pub fn at(root: &Path, arch: Arch) -> Self {
        Self { root: root.to_owned(), arch }
    }

    /// Debian's name of the directory for libraries of this machine.
    pub fn library_directory(&self) -> &'static str {
        match self.arch {
            Arch::X86_64 => "/lib/x86_64-linux-gnu",
            Arch::Arm64 => "/lib/aarch64-linux-gnu",
        }
    }

    /// The program of this name, or at this path below the root.
    ///
    /// # Errors
    /// [`GuestError::NoProgram`].
    pub fn find_program(&self, name: &str) -> Result<PathBuf, GuestError> {
        let candidates: Vec<PathBuf> = if name.contains('/') {
            vec![self.below_root(name)]
        } else {
            PROGRAM_DIRECTORIES.iter().map(|dir| self.below_root(dir).join(name)).collect()
        };
        candidates
            .into_iter()
            .find(|path| path.is_file())
            .ok_or_else(|| GuestError::NoProgram { name: name.to_owned(), root: self.root.clone() })
    }

    /// The loader and the libraries that `program` needs, also indirectly.
    ///
    /// # Errors
    /// If one is not there, or the program is of another machine.
    pub fn find_libraries(&self, program: &Path) -> Result<Files, GuestError> {
        let mut files = Files::new();
        let mut pending = vec![program.to_owned()];
        while let Some(path) = pending.pop() {
            let Some(object) = self.read_program(&path)? else { continue };
            if let Some(loader) = &object.interpreter {
                files.insert(
                    loader.clone(),
                    self.require_file(self.below_root(loader), loader, &path)?,
                );
            }
            for name in &object.needed {
                let place = format!("{}/{name}", self.library_directory());
                if let Entry::Vacant(entry) = files.entry(place) {
                    let found = self.find_library(name, &object, &path)?;
                    pending.push(entry.insert(found).clone());
                }
            }
        }
        Ok(files)
    }

    fn read_program(&self, path: &Path) -> Result<Option<Program>, GuestError> {
        let data = own::read(path).map_err(GuestError::at(path, "read"))?;
        if !elf::is_elf(&data) {
            return Ok(None); // a script: its interpreter is up to who asked for it
        }
        let program = elf::parse_program(&data).filter(|program| program.arch == Some(self.arch));
        let foreign = || GuestError::Foreign { path: path.to_owned(), arch: self.arch };
        program.map(Some).ok_or_else(foreign)
    }

    fn find_library(&self, name: &str, by: &Program, path: &Path) -> Result<PathBuf, GuestError> {
        let own = by.search.iter().map(|dir| self.resolve_origin(dir, path));
        let multiarch = self.library_directory();
        let usual = [multiarch, &format!("/usr{multiarch}"), "/lib64", "/lib", "/usr/lib"]
            .map(|dir| self.below_root(dir));
        let configured = self.configured_directories();
        own.chain(usual)
            .chain(configured)
            .map(|dir| dir.join(name))
            .find(|path| path.is_file())
            .ok_or_else(|| GuestError::NoLibrary {
                name: name.to_owned(),
                program: path.to_owned(),
            })
    }

    /// A directory from a program's own search path.
    fn resolve_origin(&self, dir: &str, program: &Path) -> PathBuf {
        let own = program.parent().unwrap_or(Path::new("/"));
        match dir.strip_prefix("$ORIGIN").or_else(|| dir.strip_prefix("${ORIGIN}")) {
            Some(rest) => own.join(rest.trim_start_matches('/')),
            None => self.below_root(dir),
        }
    }

    /// Directories that the administrator added, from `/etc/ld.so.conf.d`.
    fn configured_directories(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.below_root("/etc/ld.so.conf.d")) else {
            return Vec::new();
        };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        let texts = files.iter().filter_map(|file| own::read_text(file).ok());
        let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
        lines
            .filter(|line| line.starts_with('/'))
            .map(|line| self.below_root(line.trim()))
            .collect()
    }

    fn require_file(&self, path: PathBuf, name: &str, by: &Path) -> Result<PathBuf, GuestError> {
        if path.is_file() {
            return Ok(path);
        }
        // Unpacked packages have no /lib64 and the like; the loader is among the libraries.
        let name = name.rsplit('/').next().unwrap_or(name);
        let none = Program { arch: None, interpreter: None, needed: vec![], search: vec![] };
        self.find_library(name, &none, by)
    }

    fn below_root(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host_system() -> Option<System> {
        Arch::host().map(|arch| System::at(Path::new("/"), arch))
    }

    #[test]
    fn a_program_brings_loader_and_libraries() {
        let Some(system) = host_system() else { return };
        let own = std::env::current_exe().unwrap();
        let files = system.find_libraries(&own).unwrap();
        let libc = format!("{}/libc.so.6", system.library_directory());
        assert!(files.contains_key(&libc), "{files:?}");
        assert!(files.keys().any(|place| place.contains("ld-linux")), "{files:?}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let Some(arch) = Arch::host() else { return };
        let system = System::at(dir.path(), arch);
        let error = system.find_program("cyclictest").unwrap_err().to_string();
        assert!(error.contains("cyclictest"), "{error}");
        let error =
            system.find_libraries(&std::env::current_exe().unwrap()).unwrap_err().to_string();
        assert!(error.contains(".so"), "{error}");
    }

    #[test]
    fn a_script_needs_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        let Some(system) = host_system() else { return };
        assert_eq!(system.find_libraries(&script).unwrap(), Files::new());
    }

    #[test]
    fn a_program_of_another_machine_is_refused() {
        let other = match Arch::host() {
            Some(Arch::X86_64) => Arch::Arm64,
            _ => Arch::X86_64,
        };
        let system = System::at(Path::new("/"), other);
        let error =
            system.find_libraries(&std::env::current_exe().unwrap()).unwrap_err().to_string();
        assert!(error.contains(other.name()), "{error}");
    }
}
