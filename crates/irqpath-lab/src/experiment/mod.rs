// SPDX-License-Identifier: GPL-2.0-or-later
//! Experiments: from `experiments/*.toml` to guests, figures, verdicts and tables.

mod attribute;
mod check;
mod collect;
mod count;
mod definition;
mod error;
mod figures;
mod intervals;
mod job;
mod matrix;
mod pictures;
mod run;
mod store;
mod table;
mod truth;
mod workers;

pub use attribute::Attributed;
pub use check::{Check, Figures, Range, Value, Verdict};
pub use collect::{collect, together};
pub use definition::{
    Column, CountedPath, Definition, FlamePath, Gate, GuestNeeds, Interval, Mode, Parameter,
    Series, Source, read_all,
};
pub use error::ExperimentError;
pub use figures::SeriesResult;
pub use run::{ColumnRun, Options, Remains, Runs, run};
pub use store::{store_column, store_remains};
pub use table::{directory, reproduced, store, write_page};
