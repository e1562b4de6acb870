// SPDX-License-Identifier: GPL-2.0-or-later
//! What `irqpath shield --json` prints, and its schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Measured, Reset, Set, Status};

/// One document for all verbs; each fills its part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Version of the schema.
    pub schema_version: u32,
    /// Of `set`, and of a repair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<Set>,
    /// Of `status` and `verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Of `verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    /// Of `reset`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<Reset>,
}

/// The JSON schema of [`Document`].
pub fn schema() -> serde_json::Value {
    irqpath_model::schema::<Document>("shield").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_reads_back_and_the_schema_names_its_parts() {
        let document =
            Document { schema_version: 1, reset: Some(Reset::default()), ..Document::default() };
        let text = serde_json::to_string(&document).unwrap();
        assert!(!text.contains("status"), "{text}");
        assert_eq!(serde_json::from_str::<Document>(&text).unwrap(), document);
        let schema = schema();
        for part in ["set", "status", "measured", "reset"] {
            assert!(schema["properties"][part].is_object(), "{part}");
        }
    }
}
