// SPDX-License-Identifier: GPL-2.0-or-later
//! What a product is made from, and the key that follows from it.
//!
//! The rule to know: everything that can change a product is an input, also the version of the
//! recipe that makes it. The list is stored beside the product, so that `diff` of two `inputs`
//! files tells why something was built again.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::CacheError;

/// The inputs of one product, in the order in which they were named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    text: String,
}

impl Inputs {
    /// Inputs of what `recipe` makes; raise `version` when the recipe makes something else.
    pub fn new(recipe: &str, version: u32) -> Self {
        Self { text: format!("recipe {recipe} {version}\n") }
    }

    /// Add a value: a version, a name, a compiler's answer.
    pub fn value(mut self, name: &str, value: &str) -> Self {
        // The length keeps a value with a line break from looking like two inputs.
        let _ = writeln!(self.text, "value {name} {} {value}", value.len());
        self
    }

    /// Add content that is in memory.
    pub fn bytes(mut self, name: &str, bytes: &[u8]) -> Self {
        let digest = format_hex(Sha256::digest(bytes));
        let _ = writeln!(self.text, "bytes {name} {digest}");
        self
    }

    /// Add the content of a file.
    pub fn file(mut self, name: &str, path: &Path) -> Result<Self, CacheError> {
        let digest = hash_file(path).map_err(input_error(path))?;
        let _ = writeln!(self.text, "file {name} {digest}");
        Ok(self)
    }

    /// Add every file below a directory: names, contents, executable bits, targets of links.
    /// Names that start with a dot are left out: editors and version control put them there.
    pub fn tree(self, name: &str, directory: &Path) -> Result<Self, CacheError> {
        self.tree_of(name, directory, |_| true)
    }

    /// The same, of the files that are `wanted` by their paths below the directory.
    pub fn tree_of(
        mut self,
        name: &str,
        directory: &Path,
        wanted: impl Fn(&Path) -> bool,
    ) -> Result<Self, CacheError> {
        for path in list_files(directory)? {
            let relative = path.strip_prefix(directory).unwrap_or(&path);
            if !wanted(relative) {
                continue;
            }
            let relative = relative.display().to_string();
            let line = describe_path(&path).map_err(input_error(&path))?;
            let _ = writeln!(self.text, "tree {name} {} {relative} {line}", relative.len());
        }
        Ok(self)
    }

    /// SHA-256 over all of them, hexadecimal.
    pub fn key(&self) -> String {
        format_hex(Sha256::digest(&self.text))
    }

    /// The list, one input a line.
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn input_error(path: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_owned();
    move |source| CacheError::Input { path, source }
}

fn describe_path(path: &Path) -> io::Result<String> {
    let meta = path.symlink_metadata()?;
    if meta.is_symlink() {
        return Ok(format!("link {}", path.read_link()?.display()));
    }
    let kind = if meta.permissions().mode() & 0o100 == 0 { "file" } else { "program" };
    Ok(format!("{kind} {}", hash_file(path)?))
}

/// Every file and link below a directory, sorted by path; nothing that starts with a dot.
///
/// # Errors
/// [`CacheError::Input`] if a directory cannot be read.
pub fn list_files(directory: &Path) -> Result<Vec<PathBuf>, CacheError> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).map_err(input_error(&next))? {
            let entry = entry.map_err(input_error(&next))?;
            let kind = entry.file_type().map_err(input_error(&next))?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if kind.is_dir() { &mut pending } else { &mut found }.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// SHA-256 of a file, hexadecimal.
pub fn hash_file(path: &Path) -> io::Result<String> {
    let mut file = irqpath_files::input::open(path)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(format_hex(digest.finalize())),
            n => digest.update(&buffer[..n]),
        }
    }
}

fn format_hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
