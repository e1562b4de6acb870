// SPDX-License-Identifier: GPL-2.0-or-later
//! One folder per verb: `args` is its command line, `run` what it does, and the other files only
//! that verb needs. A verb takes its arguments and returns the exit code.

pub mod agent;
pub mod bench;
pub mod check;
pub mod generate;
pub mod lab;
pub mod merge;
pub mod policy;
pub mod record;
pub mod result;
pub mod shield;
pub mod timing;
pub mod trace;
pub mod tune;
