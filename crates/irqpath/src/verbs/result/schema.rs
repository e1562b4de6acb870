// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath schema`: the JSON schema of what is printed and stored.

use std::process::ExitCode;

use irqpath_report::schema::{Kind, write_schema};

use super::args::{Schema, SchemaOf};
use crate::output::console;

pub fn run(arguments: &Schema) -> anyhow::Result<ExitCode> {
    let kind = match arguments.of {
        SchemaOf::Document => Kind::Document,
        SchemaOf::Meta => Kind::Meta,
        SchemaOf::Summary => Kind::Summary,
        SchemaOf::Shield => return show(&irqpath_system::shield::schema()),
        SchemaOf::Tune => return show(&irqpath_system::tune::schema()),
        SchemaOf::Policy => return show(&irqpath_system::policy::schema()),
    };
    console::write(|w| write_schema(w, kind))?;
    Ok(ExitCode::SUCCESS)
}

fn show(schema: &serde_json::Value) -> anyhow::Result<ExitCode> {
    console::json(schema, false)?;
    Ok(ExitCode::SUCCESS)
}
