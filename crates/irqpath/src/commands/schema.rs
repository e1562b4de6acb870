// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath schema`: the JSON schema of what is printed and stored.

use std::process::ExitCode;

use irqpath_report::schema::{Kind, write_schema};

use crate::cli::{Schema, SchemaOf};
use crate::out;

/// Run it.
pub fn run(arguments: &Schema) -> anyhow::Result<ExitCode> {
    let kind = match arguments.of {
        SchemaOf::Document => Kind::Document,
        SchemaOf::Meta => Kind::Meta,
        SchemaOf::Summary => Kind::Summary,
        SchemaOf::Shield => {
            let schema = serde_json::to_string_pretty(&irqpath_system::shield::schema())?;
            out::print(&format!("{schema}\n"))?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    out::write(|w| write_schema(w, kind))?;
    Ok(ExitCode::SUCCESS)
}
