// SPDX-License-Identifier: GPL-2.0-or-later
//! JSON: the files of a result directory, and one document with everything.
//!
//! All of them are described by `schema` and carry `schema_version`. Reading checks the version
//! before anything else, so that a newer file is named as such and not as damaged.
//!
//! A file may be a stranger's. What is written has no character that a terminal or an editor would
//! obey; what is read has only printable strings, whichever output they reach.

use std::io::{self, Write};

use irqpath_model::{Meta, SCHEMA_VERSION, Summary};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::ser::{CompactFormatter, PrettyFormatter, Serializer};

use printable::Printable;

mod printable;

/// The output of `--json`: one measurement in one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The content of `meta.json`: who, when, and on what.
    pub meta: Meta,
    /// The content of `summary.json`: what was measured.
    pub summary: Summary,
}

/// Why a stored document could not be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the message says what each field is
pub enum JsonError {
    /// Not JSON, or not of our form.
    #[error("not a valid {what} ({reason}); measure again, or restore the file")]
    Corrupt {
        what: &'static str,
        /// What is wrong, and where.
        reason: String,
    },
    /// Made by a newer irqpath.
    #[error("{what} has format {found}, this irqpath reads up to {supported}; use a newer irqpath")]
    Newer {
        what: &'static str,
        /// Version in the file.
        found: u32,
        /// Newest version understood here.
        supported: u32,
    },
}

/// Writes any document, indented, with a final newline.
pub fn write_pretty(mut out: impl Write, value: &impl Serialize) -> io::Result<()> {
    let formatter = Printable(PrettyFormatter::new());
    value.serialize(&mut Serializer::with_formatter(&mut out, formatter))?;
    out.write_all(b"\n")
}

/// Writes any document on one line.
pub fn write_line(mut out: impl Write, value: &impl Serialize) -> io::Result<()> {
    write_part(&mut out, value)?;
    out.write_all(b"\n")
}

/// Writes any value as [`write_line`] does, as a part of a line.
pub fn write_part(out: impl Write, value: &impl Serialize) -> io::Result<()> {
    let formatter = Printable(CompactFormatter);
    value.serialize(&mut Serializer::with_formatter(out, formatter)).map_err(io::Error::from)
}

/// Write `meta.json`, indented, with a final newline.
pub fn write_meta(out: impl Write, meta: &Meta) -> io::Result<()> {
    write_pretty(out, meta)
}

/// Write `summary.json`, indented, with a final newline.
pub fn write_summary(out: impl Write, summary: &Summary) -> io::Result<()> {
    write_pretty(out, summary)
}

/// Write both as one document.
pub fn write_document(out: impl Write, meta: &Meta, summary: &Summary) -> io::Result<()> {
    #[derive(Serialize)]
    struct Borrowed<'a> {
        schema_version: u32,
        meta: &'a Meta,
        summary: &'a Summary,
    }
    write_pretty(out, &Borrowed { schema_version: SCHEMA_VERSION, meta, summary })
}

/// Reads `meta.json`; an unknown schema version is an error.
pub fn read_meta(bytes: &[u8]) -> Result<Meta, JsonError> {
    read("meta.json", bytes)
}

/// What was stored elsewhere than in `meta.json`, with printable strings as if it had been.
pub fn printable_meta(meta: &Meta) -> Result<Meta, JsonError> {
    let corrupt = |e: serde_json::Error| JsonError::Corrupt { what: "meta", reason: e.to_string() };
    read("meta", &serde_json::to_vec(meta).map_err(corrupt)?)
}

/// Reads `summary.json`; an unknown schema version is an error.
pub fn read_summary(bytes: &[u8]) -> Result<Summary, JsonError> {
    read("summary.json", bytes)
}

/// Read what [`write_document`] wrote.
pub fn read_document(bytes: &[u8]) -> Result<Document, JsonError> {
    read("JSON document of irqpath", bytes)
}

fn read<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T, JsonError> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let corrupt = |e: serde_json::Error| JsonError::Corrupt { what, reason: e.to_string() };
    let bytes = &*printable::escape_strings(bytes);
    let Version { schema_version: found } = serde_json::from_slice(bytes).map_err(corrupt)?;
    if found > SCHEMA_VERSION {
        return Err(JsonError::Newer { what, found, supported: SCHEMA_VERSION });
    }
    serde_json::from_slice(bytes).map_err(corrupt)
}
/// True for the `meta.json` of any irqpath, older and newer ones too.
pub fn is_meta(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Mark {
        #[expect(dead_code, reason = "it must be there")]
        schema_version: u32,
        #[expect(dead_code, reason = "it must be there")]
        irqpath_version: String,
    }
    serde_json::from_slice::<Mark>(bytes).is_ok()
}
