// SPDX-License-Identifier: GPL-2.0-or-later
//! Compiles the objects in `bpf/` and generates their skeletons, contract types included.

use std::env;
use std::path::{Path, PathBuf};

use libbpf_cargo::SkeletonBuilder;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    // The object has the names of its sources in it. Cargo starts this in the crate's directory, and
    // relative names are the same wherever the checkout is.
    let bpf = Path::new("../../bpf");
    println!("cargo:rerun-if-changed={}", bpf.display());
    let (arch, other) = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("aarch64") => ("-D__TARGET_ARCH_arm64", "-D__TARGET_ARCH_x86"),
        _ => ("-D__TARGET_ARCH_x86", "-D__TARGET_ARCH_arm64"),
    };
    let include = bpf.to_str().expect("it is written above");
    // v3 has the atomics that the histograms need; every supported kernel (6.1) takes it.
    let arguments = ["-mcpu=v3", "-Wall", "-Werror", "-I", include, "-fdebug-compilation-dir", "."];
    for object in ["irqpath", "trigger", "learn"] {
        let source = bpf.join(format!("{object}.bpf.c"));
        let result = SkeletonBuilder::new()
            .source(&source)
            .obj(out.join(format!("{object}.bpf.o")))
            .clang_args([arch].iter().chain(&arguments))
            .build_and_generate(out.join(format!("{object}.skel.rs")));
        // The other architecture must at least compile; nothing of it is kept.
        let result = result.and_then(|()| {
            SkeletonBuilder::new()
                .source(&source)
                .obj(out.join(format!("other-{object}.bpf.o")))
                .clang_args([other].iter().chain(&arguments))
                .build()
                .map(drop)
        });
        if let Err(error) = result {
            let source = source.display();
            panic!("cannot compile {source} (clang 12 or newer is needed): {error:?}");
        }
    }
}
