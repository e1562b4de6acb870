// SPDX-License-Identifier: GPL-2.0-or-later
//! `unit.json`: what a complete result consists of, with the digest of every file.
//!
//! A result directory gets its name when it is complete, but a disk, a copy or a person can damage
//! it later. Whoever counts a result checks it against this list first. The digests find accidents;
//! they do not keep out somebody who may write there, which the directory's mode must.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path};

use irqpath_files::input;
use serde::{Deserialize, Serialize};

use crate::cache::{Inputs, hash_file, list_files};

/// The list's name in the directory that it describes.
pub const MANIFEST: &str = "unit.json";
const SCHEMA: u32 = 1;
/// Of a list, bytes; that of an experiment with flame graphs has 10 kB.
const MAX_MANIFEST: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    schema: u32,
    /// [`super::Identity::key`] of what it is the result of.
    pub identity: String,
    /// Who made it.
    pub worker: String,
    /// How long that took, on the worker's clock.
    pub wall_ms: u64,
    /// By path below the directory.
    pub files: BTreeMap<String, FileDigest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    pub bytes: u64,
    pub sha256: String,
}

/// Why a directory is no result.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    #[error("its {MANIFEST} cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("its {MANIFEST} is damaged: {0}")]
    Malformed(serde_json::Error),
    #[error("its {MANIFEST} is of schema {0}, this irqpath reads {SCHEMA}")]
    Schema(u32),
    #[error("it is the result of something else")]
    Foreign,
    #[error("{name} in it is missing: {source}")]
    Missing { name: String, source: io::Error },
    #[error("{0} in it is not what was stored")]
    Changed(String),
}

impl Manifest {
    /// Of the files that are in a directory now.
    pub fn describe(
        directory: &Path,
        identity: &str,
        worker: &str,
        wall_ms: u64,
    ) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        for path in list_files(directory).map_err(io::Error::other)? {
            let name = path.strip_prefix(directory).unwrap_or(&path).display().to_string();
            if name != MANIFEST {
                let (bytes, sha256) = (path.metadata()?.len(), hash_file(&path)?);
                files.insert(name, FileDigest { bytes, sha256 });
            }
        }
        let (identity, worker) = (identity.to_owned(), worker.to_owned());
        Ok(Self { schema: SCHEMA, identity, worker, wall_ms, files })
    }

    /// Reads that of a directory, without a look at the files.
    pub fn read(directory: &Path) -> Result<Self, Damage> {
        let text = input::read(&directory.join(MANIFEST), MAX_MANIFEST);
        let manifest: Self = serde_json::from_slice(&text.map_err(Damage::Unreadable)?)
            .map_err(Damage::Malformed)?;
        if manifest.schema == SCHEMA { Ok(manifest) } else { Err(Damage::Schema(manifest.schema)) }
    }

    /// Reads that of a directory, which must be a whole result of this identity.
    pub fn check(directory: &Path, identity: &str) -> Result<Self, Damage> {
        let manifest = Self::read(directory)?;
        if manifest.identity != identity {
            return Err(Damage::Foreign);
        }
        for (name, stored) in &manifest.files {
            let mut parts = Path::new(name).components();
            if !parts.all(|part| matches!(part, Component::Normal(_))) {
                return Err(Damage::Changed(name.clone()));
            }
            let path = directory.join(name);
            let missing = |source| Damage::Missing { name: name.clone(), source };
            // A link would be the file of somebody else; another length need not be read.
            let found = fs::symlink_metadata(&path).map_err(missing)?;
            let is_same = found.is_file() && found.len() == stored.bytes;
            if !is_same || hash_file(&path).map_err(missing)? != stored.sha256 {
                return Err(Damage::Changed(name.clone()));
            }
        }
        Ok(manifest)
    }

    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// One digest of all files: equal for equal bytes, whoever made them, and when.
    pub fn digest(&self) -> String {
        let add = |inputs: Inputs, (name, file): (&String, &FileDigest)| {
            inputs.value(name, &format!("{} {}", file.bytes, file.sha256))
        };
        self.files.iter().fold(Inputs::new("result", SCHEMA), add).key()
    }

    pub fn sum_bytes(&self) -> u64 {
        self.files.values().map(|file| file.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn store_result(directory: &Path, worker: &str) -> Manifest {
        fs::create_dir_all(directory.join("result")).unwrap();
        fs::write(directory.join("row.json"), "{}").unwrap();
        fs::write(directory.join("result/console.log"), "it ran\n").unwrap();
        let manifest = Manifest::describe(directory, "id", worker, 5).unwrap();
        fs::write(directory.join(MANIFEST), manifest.to_json()).unwrap();
        manifest
    }

    #[test]
    fn the_digest_is_of_the_bytes_alone() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (a, b) = (store_result(one.path(), "a"), store_result(two.path(), "b"));
        assert_eq!(a.digest(), b.digest());
        assert_eq!(Manifest::check(one.path(), "id").unwrap(), a);
        assert_eq!((a.files.len(), a.sum_bytes()), (2, 9));
        fs::rename(two.path().join("row.json"), two.path().join("other.json")).unwrap();
        assert_ne!(a.digest(), Manifest::describe(two.path(), "id", "b", 5).unwrap().digest());
    }

    #[test]
    fn every_damage_is_found_and_named() {
        type Damaging = fn(&Path);
        let table: [(Damaging, &str); 9] = [
            (|at| fs::write(at.join("row.json"), "{]").unwrap(), "row.json in it is not what was"),
            (|at| fs::write(at.join("row.json"), "").unwrap(), "row.json in it is not what was"),
            (
                |at| fs::remove_file(at.join("result/console.log")).unwrap(),
                "console.log in it is m",
            ),
            (|at| fs::write(at.join(MANIFEST), "{\"sch").unwrap(), "unit.json is damaged"),
            (|at| fs::remove_file(at.join(MANIFEST)).unwrap(), "unit.json cannot be read"),
            (
                |at| {
                    let text = fs::read_to_string(at.join(MANIFEST)).unwrap();
                    let text = text.replace("\"schema\":1", "\"schema\":7");
                    fs::write(at.join(MANIFEST), text).unwrap();
                },
                "of schema 7",
            ),
            (
                |at| {
                    let text = fs::read_to_string(at.join(MANIFEST)).unwrap();
                    fs::write(at.join(MANIFEST), text.replace("\"id\"", "\"other\"")).unwrap();
                },
                "the result of something else",
            ),
            (
                |at| {
                    let text = fs::read_to_string(at.join(MANIFEST)).unwrap();
                    fs::write(at.join(MANIFEST), text.replace("row.json", "../row.json")).unwrap();
                },
                "../row.json in it is not what was",
            ),
            (
                |at| {
                    fs::rename(at.join("row.json"), at.join(".moved")).unwrap();
                    symlink(".moved", at.join("row.json")).unwrap();
                },
                "row.json in it is not what was",
            ),
        ];
        for (damage, expected) in table {
            let directory = tempfile::tempdir().unwrap();
            store_result(directory.path(), "a");
            damage(directory.path());
            let error = Manifest::check(directory.path(), "id").unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
    }
}
