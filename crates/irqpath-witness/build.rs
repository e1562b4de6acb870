// SPDX-License-Identifier: GPL-2.0-or-later
//! Compiles `bpf/witness.bpf.c`, for the kernels of this architecture.

use std::env;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let bpf = manifest.join("bpf");
    println!("cargo:rerun-if-changed={}", bpf.display());
    let arch = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("aarch64") => "-D__TARGET_ARCH_arm64",
        _ => "-D__TARGET_ARCH_x86",
    };
    // Only the object: a skeleton would bring `unsafe` into this crate.
    let result = SkeletonBuilder::new()
        .source(bpf.join("witness.bpf.c"))
        .obj(out.join("witness.bpf.o"))
        .clang_args([arch, "-mcpu=v3", "-Wall", "-Werror", "-I", text(&bpf)])
        .build();
    if let Err(error) = result {
        panic!("cannot compile witness.bpf.c (clang 12 or newer is needed): {error:?}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the checkout's path is UTF-8")
}
