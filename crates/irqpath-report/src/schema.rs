// SPDX-License-Identifier: GPL-2.0-or-later
//! The JSON Schema (draft 2020-12) of everything that `json` writes; `irqpath schema` prints it.
//!
//! It is generated from the types, so it cannot disagree with them. `$id` carries the version.

use std::io::{self, Write};

use irqpath_model::{Meta, Summary};
use serde_json::Value;

use crate::json::{self, Document, SlowLine};

/// What a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `--json`: meta and summary in one document.
    Document,
    /// `meta.json`.
    Meta,
    /// `summary.json`.
    Summary,
    /// A line of the NDJSON stream of slow paths.
    SlowLine,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Document, Self::Meta, Self::Summary, Self::SlowLine];

    /// Its name on the command line and in `$id`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Meta => "meta",
            Self::Summary => "summary",
            Self::SlowLine => "slow-line",
        }
    }
}

/// The schema, with `$id` `urn:irqpath:schema:<kind>:<version>`.
pub fn schema(kind: Kind) -> Value {
    let schema = match kind {
        Kind::Document => irqpath_model::schema::<Document>,
        Kind::Meta => irqpath_model::schema::<Meta>,
        Kind::Summary => irqpath_model::schema::<Summary>,
        Kind::SlowLine => irqpath_model::schema::<SlowLine>,
    };
    schema(kind.name()).into()
}

/// Write it, indented, with a final newline.
pub fn write_schema(out: impl Write, kind: Kind) -> io::Result<()> {
    json::write_pretty(out, &schema(kind))
}
