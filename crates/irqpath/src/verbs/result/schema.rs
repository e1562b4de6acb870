// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath schema`: the JSON schema of what is printed and stored.

use std::process::ExitCode;

use irqpath_report::parquet::tables::describe_tables;
use irqpath_report::schema::{Kind, write_schema};

use super::args::{Schema, SchemaOf};
use crate::output::console;

pub fn run(arguments: &Schema) -> anyhow::Result<ExitCode> {
    let kind = match arguments.of {
        SchemaOf::Document => Kind::Document,
        SchemaOf::Meta => Kind::Meta,
        SchemaOf::Summary => Kind::Summary,
        SchemaOf::Shield => Kind::Shield,
        SchemaOf::Tune => Kind::Tune,
        SchemaOf::Policy => Kind::Policy,
        SchemaOf::Merge => Kind::Merge,
        SchemaOf::Compare => Kind::Compare,
        SchemaOf::History => Kind::History,
        SchemaOf::Tables => {
            console::print_json(&describe_tables(), false)?;
            return Ok(ExitCode::SUCCESS);
        }
        SchemaOf::Record => Kind::Record,
    };
    console::write_stdout(|w| write_schema(w, kind))?;
    Ok(ExitCode::SUCCESS)
}
