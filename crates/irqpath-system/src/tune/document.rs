// SPDX-License-Identifier: GPL-2.0-or-later
//! What `irqpath tune --json` prints, and its schema.

use irqpath_model::{Association, Loss, TunePlan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Applied, Reset, Status};

/// What was learned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Learned {
    /// For how long, ns.
    pub duration_ns: u64,
    /// Interrupts and the real-time tasks that they wake.
    pub associations: Vec<Association>,
    /// What was lost meanwhile: wakeups that are missing in the counts.
    pub loss: Loss,
}

/// One document for all verbs; each fills its part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Version of the schema.
    pub schema_version: u32,
    /// Of a run that learns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
    /// The same: what should be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<TunePlan>,
    /// With `--apply`: what was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Applied>,
    /// Of `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Of `reset`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<Reset>,
}

/// The JSON schema of [`Document`].
pub fn schema() -> serde_json::Value {
    irqpath_model::schema::<Document>("tune").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_reads_back_and_the_schema_names_its_parts() {
        let document = Document { reset: Some(Reset::default()), ..Document::default() };
        let text = serde_json::to_string(&document).unwrap();
        assert!(!text.contains("status"), "{text}");
        assert_eq!(serde_json::from_str::<Document>(&text).unwrap(), document);
        let schema = schema();
        for part in ["learned", "plan", "applied", "status", "reset"] {
            assert!(schema["properties"][part].is_object(), "{part}");
        }
    }
}
