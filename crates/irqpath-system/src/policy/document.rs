// SPDX-License-Identifier: GPL-2.0-or-later
//! What `irqpath policy --json` prints, and its schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Associations, KernelPolicy};

/// One document for all verbs; each fills its part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Version of the schema.
    pub schema_version: u32,
    /// Of `status`: all; of `enable` and `disable`: those that were named, as they are now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<Vec<KernelPolicy>>,
    /// Of `assoc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub associations: Option<Associations>,
}

/// The JSON schema of [`Document`].
pub fn schema() -> serde_json::Value {
    irqpath_model::schema::<Document>("policy").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_reads_back_and_the_schema_names_its_parts() {
        let document = Document { policies: Some(Vec::new()), ..Document::default() };
        let text = serde_json::to_string(&document).unwrap();
        assert!(!text.contains("associations"), "{text}");
        assert_eq!(serde_json::from_str::<Document>(&text).unwrap(), document);
        let schema = schema();
        for part in ["policies", "associations"] {
            assert!(schema["properties"][part].is_object(), "{part}");
        }
    }
}
