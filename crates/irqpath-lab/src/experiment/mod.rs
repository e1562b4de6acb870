// SPDX-License-Identifier: GPL-2.0-or-later
//! Experiments: from `experiments/*.toml` to guests, figures, verdicts and tables.
//!
//! Each part uses those before it: the claims of a file, its definition, the figures of a series,
//! the run of a guest, and the results, which alone read and write what is stored.

mod claims;
mod definition;
mod error;
mod figures;
mod results;
mod run;

pub use claims::{Check, Figures, Range, Value, Verdict};
pub use definition::{
    CountedPath, Definition, FlamePath, Gate, GuestNeeds, Interval, Mode, Parameter, Series,
    Source, Variant, read_all,
};
pub use error::ExperimentError;
pub use figures::{Attributed, SeriesResult};
pub use results::{
    Results, ResultsError, TABLE, collect, read_table, reproduce, store_remains, store_variant,
    variant_directory, write_page, write_table,
};
pub use run::{Options, Remains, Runs, VariantRun, run};
