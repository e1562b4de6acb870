// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath agent`: traces all the time, and answers those who collect the numbers.
//!
//! `config` and `endpoint` are what can be set, `listen` the sockets, `serve` and `negotiate` the
//! answers over HTTP, `thread` where these run, `web` TLS and passwords, `refusals` who got no
//! numbers, `push` the way to a collector, `asking` how these get the numbers, `notify` the words to
//! systemd, `recording` the flight recorder in it, `day` the clock, `own` what it takes itself, and
//! `units` who the cgroups belong to.

pub mod args;
mod asking;
mod config;
mod day;
mod endpoint;
mod listen;
mod negotiate;
mod notify;
mod own;
mod push;
mod recording;
mod refusals;
mod run;
mod serve;
mod thread;
mod units;
mod web;

pub use run::run;
