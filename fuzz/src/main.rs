// SPDX-License-Identifier: GPL-2.0-or-later
//! The fuzzer: `IRQPATH_FUZZ_TARGET=recording fuzz CORPUS...`. `scripts/fuzz.sh` builds it with
//! coverage and runs it.

#![no_main]
#![allow(unsafe_code, missing_docs)] // what libFuzzer calls is an extern "C" function

use std::sync::OnceLock;

use irqpath_fuzz::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<Target> = OnceLock::new();

fn chosen() -> Target {
    let name = std::env::var("IRQPATH_FUZZ_TARGET").unwrap_or_default();
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    let found = TARGETS.iter().find(|target| target.name == name);
    *found.unwrap_or_else(|| panic!("IRQPATH_FUZZ_TARGET is one of: {}", names.join(" ")))
}

fuzz_target!(|data: &[u8]| {
    (TARGET.get_or_init(chosen).run)(data);
});
