// SPDX-License-Identifier: GPL-2.0-or-later
//! The JSON Schema (draft 2020-12) of everything that is written as JSON; `irqpath schema` prints it.
//!
//! It is generated from the types, so it cannot disagree with them. `$id` carries the version.

use std::io::{self, Write};

use irqpath_model::record::Recorded;
use irqpath_model::{Meta, Summary, merge, policy, shield, tune};
use serde_json::Value;
use strum::{IntoStaticStr, VariantArray};

use crate::compare::{Comparison, History};
use crate::json::{self, Document};

/// What a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    /// `--json`: meta and summary in one document.
    Document,
    /// `meta.json`.
    Meta,
    /// `summary.json`.
    Summary,
    /// `irqpath shield --json`.
    Shield,
    /// `irqpath tune --json`.
    Tune,
    /// `irqpath policy --json`.
    Policy,
    /// `irqpath record --json`.
    Record,
    /// `merge.json`, and `irqpath merge --json`.
    Merge,
    /// `irqpath compare --json`.
    Compare,
    /// `irqpath compare --history --json`.
    History,
}

impl Kind {
    /// Every kind of document.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name on the command line and in `$id`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The schema, with `$id` `urn:irqpath:schema:<kind>:<version>`.
pub fn document_schema(kind: Kind) -> Value {
    let schema = match kind {
        Kind::Document => irqpath_model::versioned_schema::<Document>,
        Kind::Meta => irqpath_model::versioned_schema::<Meta>,
        Kind::Summary => irqpath_model::versioned_schema::<Summary>,
        Kind::Shield => irqpath_model::versioned_schema::<shield::Document>,
        Kind::Tune => irqpath_model::versioned_schema::<tune::Document>,
        Kind::Policy => irqpath_model::versioned_schema::<policy::Document>,
        Kind::Record => irqpath_model::versioned_schema::<Recorded>,
        Kind::Merge => irqpath_model::versioned_schema::<merge::Campaign>,
        Kind::Compare => irqpath_model::versioned_schema::<Comparison>,
        Kind::History => irqpath_model::versioned_schema::<History>,
    };
    schema(kind.name()).into()
}

/// Write it, indented, with a final newline.
pub fn write_schema(out: impl Write, kind: Kind) -> io::Result<()> {
    json::write_pretty(out, &document_schema(kind))
}
