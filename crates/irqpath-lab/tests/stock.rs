// SPDX-License-Identifier: GPL-2.0-or-later
//! Debian's kernels from the archive, and a module built for them. Uses the cache of this user,
//! so that only the first run downloads; skipped where there is no apt, network or compiler.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic fails a test, which says what it skips

mod common;

use std::fs;
use std::path::Path;

use irqpath_lab::kernel::{Arch, Flavour, Kernel, compare_versions, module};
use irqpath_lab::{Cache, Lab, Project};

use crate::common::{lab, or_skip};

#[test]
fn a_version_that_the_archive_has_dropped_is_replaced_and_that_is_said() {
    let lab = lab();
    let what = "a dropped version";
    let listed = Kernel::provide(&lab, Flavour::StockRt, Arch::X86_64);
    let Some(listed) = or_skip(what, listed) else { return };
    if !listed.pinned {
        println!("skipped: {what}: the archive has dropped {} itself", listed.release);
        return;
    }
    let project = tempfile::tempdir().unwrap();
    let list = fs::read_to_string(lab.project.kernels_toml()).unwrap();
    let old = list
        .replace(&listed.release, "6.12.1+deb12-rt-amd64")
        .replace(&listed.package_version, "6.12.1-1~deb12u1");
    fs::create_dir(project.path().join("lab")).unwrap();
    fs::write(project.path().join("lab/kernels.toml"), old).unwrap();
    let other = Lab { project: Project::at(project.path()).unwrap(), ..lab };
    let replaced = Kernel::provide(&other, Flavour::StockRt, Arch::X86_64);
    let Some(replaced) = or_skip(what, replaced) else { return };
    assert!(!replaced.pinned);
    // Newer, or the listed one itself, which then is not made twice.
    assert!(compare_versions(&replaced.release, &listed.release).is_ge(), "{}", replaced.release);
    assert_eq!(replaced.directory == listed.directory, replaced.release == listed.release);
}

fn stock_rt(arch: Arch) {
    let lab = lab();
    let what = format!("stock-rt for {arch}");
    let Some(kernel) = or_skip(&what, Kernel::provide(&lab, Flavour::StockRt, arch)) else {
        return;
    };
    assert!(kernel.version_string.contains("PREEMPT_RT"), "{}", kernel.version_string);
    assert!(kernel.version_string.starts_with(&kernel.release), "{}", kernel.version_string);
    assert!(fs::metadata(&kernel.image).unwrap().len() > 5_000_000);
    let config = fs::read_to_string(&kernel.config).unwrap();
    for line in ["CONFIG_PREEMPT_RT=y", "CONFIG_DEBUG_INFO_BTF=y", "CONFIG_KPROBES=y"] {
        assert!(config.lines().any(|l| l == line), "{line}");
    }
    assert!(kernel.build.join("Module.symvers").is_file());
    assert!(kernel.modules.iter().all(|m| m.is_file()) && kernel.modules.len() == 6);
    tiny_module(&lab, &kernel);
}

fn tiny_module(lab: &Lab, kernel: &Kernel) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tiny");
    let what = format!("a module for {}", kernel.arch);
    let Some(built) = or_skip(&what, module::build(lab, kernel, &source, &[])) else { return };
    let bytes = fs::read(&built).unwrap();
    let machine = u16::from_le_bytes([bytes[18], bytes[19]]);
    let expected = if kernel.arch == Arch::X86_64 { 62 } else { 183 };
    assert_eq!((&bytes[..4], machine), (&b"\x7fELF"[..], expected));
    let has = |text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(has(&format!("vermagic={} SMP ", kernel.release)));
    // Built in another place it is the same, byte for byte.
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Lab { cache: Cache::at(elsewhere.path()), ..lab.clone() };
    let again = module::build(&other, kernel, &source, &[]).unwrap();
    assert_ne!(again, built);
    assert!(fs::read(again).unwrap() == bytes, "two builds of one module differ");
    // What the compiler said reaches the one who asked.
    let broken = module::build(&other, kernel, &source, &[("TINY_BREAK", "y")]).unwrap_err();
    assert!(broken.to_string().contains("broken on purpose"), "{broken}");
    assert!(broken.log().contains("tiny.c"), "{}", broken.log());
}

#[test]
fn stock_rt_for_x86_64_has_image_headers_and_builds_modules() {
    stock_rt(Arch::X86_64);
}

#[test]
fn stock_rt_for_arm64_has_image_headers_and_builds_modules() {
    stock_rt(Arch::Arm64);
}
