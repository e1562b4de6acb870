// SPDX-License-Identifier: GPL-2.0-or-later
//! What a measurement looks like outside: one exporter per module, each a pure function from the
//! types of `irqpath-model` into an `io::Write`. No files, no clock, no terminal detection: the
//! binary `irqpath` opens what is written to and decides on width and colour.
//!
//! - [`text`]: what every verb prints for people
//! - [`html`]: a self-contained page
//! - [`json`], [`schema`]: the stored documents and the schema that describes them
//! - [`parquet`]: tables of samples, which `irqpath merge` reads back and joins
//! - [`perfetto`]: a trace for the Perfetto UI
//! - [`compare`]: two results side by side
//! - [`causes`]: what a slow path waited for, in rows and words that all of them share
//! - [`reproduction`], [`markdown`]: the lab's table of documents against measurements
//! - [`target`]: how all of them name the task that a path wakes
//! - `conditions`: what terminal and page both say about tests of response and determinism
//! - [`openmetrics`]: counters and histograms for a metrics collector
//!
//! Names of tasks and interrupts come from outside and may hold any character. They are printable
//! before they get here (`irqpath_model::printable`); every exporter escapes what is left for its
//! own format, and [`Guard`] is behind those that write for a terminal.

pub mod causes;
pub mod compare;
mod conditions;
mod guard;
pub mod html;
pub mod json;
pub mod markdown;
pub mod openmetrics;
pub mod parquet;
pub mod perfetto;
pub mod reproduction;
pub mod schema;
pub mod stacks;
pub mod target;
pub mod text;

pub use guard::Guard;
