// SPDX-License-Identifier: GPL-2.0-or-later
//! Fuzz targets: each takes the bytes of a file that a stranger may have made, and does with them
//! what the commands do. A target fails by a panic, by taking more than [`MAX_MEMORY`], or by
//! letting a control character through to an output.
//!
//! `main.rs` is the fuzzer (`make fuzz`), `tests/corpus.rs` replays every file below `corpus/`. A
//! file there is a seed, made from a real one, or an input that once made a target fail.
//!
//! The rule to know: checksums keep a fuzzer out. A target therefore also takes its file without
//! them, in a form that survives mutation (see [`sections`]), and seals it.

mod capture;
mod experiment;
mod flame;
mod guest;
mod journal;
mod output;
mod recording;
mod result;
mod scratch;
mod table;

use std::alloc::System;

use cap::Cap;

/// What all that lives on the heap may take at any time, bytes.
pub const MAX_MEMORY: usize = 256 << 20;

/// An allocation beyond the limit ends the process.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, MAX_MEMORY);

/// Something that reads files.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its directory below `corpus/`.
    pub name: &'static str,
    /// Takes one input; false if it is refused.
    pub run: fn(&[u8]) -> bool,
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "recording", run: recording::run },
    Target { name: "result", run: result::run },
    Target { name: "journal", run: journal::run },
    Target { name: "experiment", run: experiment::run },
    Target { name: "capture", run: capture::run },
    Target { name: "flame", run: flame::run },
    Target { name: "guest", run: guest::run },
    Target { name: "table", run: table::run },
];

/// Between the parts of an input.
const SEPARATOR: &[u8] = b"\n== ";

/// The parts of an input that stands for several files or frames. The first one begins at the
/// start of the input, every other one behind a [`SEPARATOR`].
fn sections(data: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = data;
    while let Some(at) = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR) {
        parts.push(&rest[..at]);
        rest = &rest[at + SEPARATOR.len()..];
    }
    parts.push(rest);
    parts
}
