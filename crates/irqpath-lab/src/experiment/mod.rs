// SPDX-License-Identifier: GPL-2.0-or-later
//! Experiments: from `experiments/*.toml` to guests, figures, verdicts and tables.
//!
//! Each part uses those before it: the claims of a file, its definition, the figures of a series,
//! the run of a guest, and the results, which alone read and write what is stored.

mod claims;
mod definition;
mod draw;
mod error;
mod estimate;
mod figures;
mod identity;
mod manifest;
mod request;
mod results;
mod run;

pub use claims::{Check, Figures, Range, Value, Verdict};
pub use definition::{
    Counted, CountedPath, Definition, FlamePath, Gate, GuestNeeds, Interval, Mode, Parameter,
    Series, Source, Variant, read_all,
};
pub use draw::Draw;
pub use error::ExperimentError;
pub use estimate::Estimate;
pub use figures::{Attributed, SeriesResult};
pub use identity::Identity;
pub use manifest::{Damage, MANIFEST, Manifest};
pub use request::check_request;
pub use results::{
    Results, ResultsError, TABLE, collect_results, copy_unit, read_row, read_table, store_remains,
    store_rows, store_unit, store_variant, tabulate_experiment, variant_directory, write_page,
    write_table,
};
pub use run::{
    Options, PreparedGuest, Remains, Replaced, Runs, VariantRun, find_complete, prepare_draws,
    prepare_variant, run_experiments,
};
