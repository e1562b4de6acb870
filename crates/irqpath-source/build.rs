// SPDX-License-Identifier: GPL-2.0-or-later
//! Compiles `bpf/irqpath.bpf.c` and generates its skeleton, contract types included.

use std::env;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let bpf = manifest.join("../../bpf");
    println!("cargo:rerun-if-changed={}", bpf.display());
    let arch = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("aarch64") => "arm64",
        _ => "x86",
    };
    let define = format!("-D__TARGET_ARCH_{arch}");
    let result = SkeletonBuilder::new()
        .source(bpf.join("irqpath.bpf.c"))
        // v3 has the atomics that the histograms need; every supported kernel (6.1) takes it.
        .clang_args([define.as_str(), "-mcpu=v3", "-Wall", "-Werror", "-I", text(&bpf)])
        .build_and_generate(out.join("irqpath.skel.rs"));
    // The other architecture must at least compile; nothing of it is kept.
    let other = if arch == "x86" { "-D__TARGET_ARCH_arm64" } else { "-D__TARGET_ARCH_x86" };
    let result = result.and_then(|()| {
        SkeletonBuilder::new()
            .source(bpf.join("irqpath.bpf.c"))
            .obj(out.join("other.bpf.o"))
            .clang_args([other, "-mcpu=v3", "-Wall", "-Werror", "-I", text(&bpf)])
            .build()
            .map(drop)
    });
    if let Err(error) = result {
        panic!("cannot compile bpf/irqpath.bpf.c (clang 12 or newer is needed): {error:?}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the checkout's path is UTF-8")
}
