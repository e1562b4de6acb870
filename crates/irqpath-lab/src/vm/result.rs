// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads what the guest left in the shared memory: a head, and a tar archive of `/results`.
//!
//! `lab/guest/result.h` has the layout. Everything here comes from a guest that may have gone
//! wrong, so nothing is believed: length, checksum and every path are tested.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use crate::own;

const MAGIC: &[u8; 8] = b"IRQPATHR";
const VERSION: u32 = 1;
/// Bytes before the archive.
pub const HEAD_LEN: usize = 64;

/// How the job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEnd {
    /// With this exit status.
    Exited(u32),
    /// A signal of this number ended it.
    Signalled(u32),
    /// Killed after so many seconds of the guest's time, its limit.
    Limit(u32),
}

/// How complete the results are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The guest has written all results.
    Complete,
    /// They were longer than the room for them, and are not here.
    Overflow,
    /// The job was not run; the console says why.
    SetupFailed,
}

/// The head of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// How complete they are.
    pub state: State,
    /// How the job ended.
    pub job: JobEnd,
    /// Bytes of the archive.
    pub length: u64,
    /// CRC-32 of the archive.
    pub crc: u32,
    /// The kernel's taint flags after the job.
    pub taint: u64,
    /// When the job started, guest's monotonic clock.
    pub job_start_ns: u64,
    /// When it had ended.
    pub job_end_ns: u64,
}

/// Why results cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// The guest ended before it wrote the head.
    #[error("the guest left no results")]
    Missing,
    /// The head is of another version, or makes no sense.
    #[error("the head of the results is not understood ({what}); rebuild the guest")]
    Head { what: &'static str },
    /// Fewer bytes than announced, or other ones.
    #[error("the results are damaged ({what}); run it again")]
    Damaged {
        /// What does not fit.
        what: String,
    },
    /// A file in the archive would land outside the directory.
    #[error("the results have a file '{path}', which is outside of them; change the job", path = .path.display())]
    Outside { path: PathBuf },
    /// A file that was expected is not among the results.
    #[error("the job left no file '{name}'; see job.log")]
    NoFile { name: String },
    /// Results cannot be written to the host's disk.
    #[error("cannot write {path}: {source}", path = .path.display())]
    Io {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Head {
    /// Reads the first [`HEAD_LEN`] bytes.
    ///
    /// # Errors
    /// [`ResultError::Missing`] if the guest did not get so far.
    pub fn parse(data: &[u8]) -> Result<Self, ResultError> {
        let bad = |what| ResultError::Head { what };
        let Some(head) = data.first_chunk::<HEAD_LEN>() else { return Err(ResultError::Missing) };
        if head[..8] == [0; 8] {
            return Err(ResultError::Missing);
        }
        if head[..8] != *MAGIC {
            return Err(bad("magic"));
        }
        if read_u32(head, 8) != VERSION {
            return Err(bad("version"));
        }
        let state = match read_u32(head, 12) {
            1 => State::Complete,
            2 => State::Overflow,
            3 => State::SetupFailed,
            _ => return Err(bad("state")),
        };
        let code = read_u32(head, 20);
        let job = match read_u32(head, 16) {
            0 => JobEnd::Exited(code),
            1 => JobEnd::Signalled(code),
            2 => JobEnd::Limit(code),
            _ => return Err(bad("end of the job")),
        };
        Ok(Self {
            state,
            job,
            length: read_u64(head, 24),
            crc: read_u32(head, 32),
            taint: read_u64(head, 40),
            job_start_ns: read_u64(head, 48),
            job_end_ns: read_u64(head, 56),
        })
    }
}

fn read_u32(head: &[u8; HEAD_LEN], at: usize) -> u32 {
    let bytes = [head[at], head[at + 1], head[at + 2], head[at + 3]];
    u32::from_le_bytes(bytes)
}

fn read_u64(head: &[u8; HEAD_LEN], at: usize) -> u64 {
    u64::from(read_u32(head, at)) | u64::from(read_u32(head, at + 4)) << 32
}

/// The files of `/results`, by path relative to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Results {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Results {
    /// Reads the archive that follows `head`. Links and devices in it are left out.
    ///
    /// # Errors
    /// [`ResultError::Damaged`] or [`ResultError::Outside`].
    pub fn parse(head: &Head, archive: &[u8]) -> Result<Self, ResultError> {
        let damaged = |what: String| ResultError::Damaged { what };
        let length = usize::try_from(head.length).ok().filter(|&len| len <= archive.len());
        let Some(length) = length else {
            let (announced, there) = (head.length, archive.len());
            return Err(damaged(format!("{announced} bytes announced, {there} there")));
        };
        let archive = &archive[..length];
        if crc32fast::hash(archive) != head.crc {
            return Err(damaged("checksum".into()));
        }
        let mut files = BTreeMap::new();
        let mut reader = tar::Archive::new(archive);
        let broken = |e: io::Error| damaged(e.to_string());
        for entry in reader.entries().map_err(broken)? {
            let mut entry = entry.map_err(broken)?;
            let path = check_inside(&entry.path().map_err(broken)?)?;
            if entry.header().entry_type().is_file() {
                let mut data = Vec::new();
                entry.read_to_end(&mut data).map_err(broken)?;
                files.insert(path, data);
            }
        }
        Ok(Self { files })
    }

    /// All files, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        self.files.iter().map(|(path, data)| (path.as_path(), data.as_slice()))
    }

    /// One file.
    ///
    /// # Errors
    /// [`ResultError::NoFile`].
    pub fn file_bytes(&self, name: &str) -> Result<&[u8], ResultError> {
        let found = self.files.get(Path::new(name)).map(Vec::as_slice);
        found.ok_or_else(|| ResultError::NoFile { name: name.to_owned() })
    }

    /// One file as text; what is not UTF-8 is replaced.
    ///
    /// # Errors
    /// [`ResultError::NoFile`].
    pub fn file_text(&self, name: &str) -> Result<String, ResultError> {
        self.file_bytes(name).map(|data| String::from_utf8_lossy(data).into_owned())
    }

    /// What the job printed.
    pub fn job_log(&self) -> String {
        self.file_text("job.log").unwrap_or_default()
    }

    /// Writes all files below `directory`, which is made if need be.
    ///
    /// # Errors
    /// [`ResultError::Io`].
    pub fn extract_files(&self, directory: &Path) -> Result<(), ResultError> {
        for (path, data) in &self.files {
            // Paths were tested when the archive was read.
            let path = directory.join(path);
            let io = |source| ResultError::Io { path: path.clone(), source };
            path.parent().map_or(Ok(()), own::make_directory).map_err(io)?;
            own::write(&path, data).map_err(io)?;
        }
        Ok(())
    }
}

/// The path relative to `/results`; refuses what would lead out of it.
fn check_inside(path: &Path) -> Result<PathBuf, ResultError> {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => clean.push(name),
            _ => return Err(ResultError::Outside { path: path.to_owned() }),
        }
    }
    Ok(clean)
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
