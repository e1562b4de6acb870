// SPDX-License-Identifier: GPL-2.0-or-later
//! The gate: path lengths compared with the committed budgets, to the instruction.
//!
//! `lab/budgets.toml` has, per experiment and variant, the metrics of the last blessing and how
//! many instructions each function took of the median path. A metric that grew by more than the
//! experiment allows fails and the functions that grew are named; one that shrank by more is
//! told, so that the budget is lowered. Budgets hold for one kernel image: with another one they
//! are compared all the same, and the report says so.

mod budgets;
mod compare;

pub use budgets::{Budgets, GateError, Measured, VariantBudget};
pub use compare::compare_budgets;
