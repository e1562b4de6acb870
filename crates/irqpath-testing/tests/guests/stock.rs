// SPDX-License-Identifier: GPL-2.0-or-later
//! Debian's kernels from the archive, and a module built for them. Uses the cache of this user,
//! so that only the first run downloads; skipped where there is no apt, network or compiler.

use std::fs;
use std::path::Path;

use irqpath_lab::kernel::{
    Arch, Flavour, Kernel, KernelError, Pins, compare_versions, module, propose_pins, repin_all,
};
use irqpath_lab::{Cache, Lab, Project};

use irqpath_testing::guests::{open_lab, or_skip};

/// A project with the lists of this one, changed.
fn changed_pins(lab: Lab, change: impl Fn(&str) -> String) -> (tempfile::TempDir, Lab) {
    let project = tempfile::tempdir().unwrap();
    let list = fs::read_to_string(lab.project.kernels_toml()).unwrap();
    let archive = project.path().join("lab/archive");
    fs::create_dir_all(&archive).unwrap();
    for entry in fs::read_dir(lab.project.lab().join("archive")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), archive.join(entry.file_name())).unwrap();
    }
    fs::write(project.path().join("lab/kernels.toml"), change(&list)).unwrap();
    let other = Lab { project: Project::at(project.path()).unwrap(), ..lab };
    (project, other)
}

#[test]
fn a_version_that_the_archive_has_dropped_is_an_error_and_repinned_on_request() {
    let lab = open_lab();
    let what = "a dropped version";
    let listed = Kernel::provide(&lab, Flavour::StockRt, Arch::X86_64);
    let Some(listed) = or_skip(what, listed) else { return };
    let pins = Pins::read(&lab.project).unwrap();
    let (_project, other) = changed_pins(lab, |list| {
        list.replace(&listed.release, "6.12.1+deb12-rt-amd64")
            .replace(&listed.package_version, "6.12.1-1~deb12u1")
    });
    let gone = Kernel::provide(&other, Flavour::StockRt, Arch::X86_64);
    if let Err(KernelError::NoPackage { .. }) = &gone {
        let text = gone.unwrap_err().to_string();
        assert!(text.contains("6.12.1") && text.contains("lab build --repin"), "{text}");
    } else if or_skip(what, gone).is_some() {
        panic!("the archive has no 6.12.1");
    } else {
        return;
    }
    let before = fs::read_to_string(other.project.kernels_toml()).unwrap();
    let Some(proposed) = or_skip(what, propose_pins(&other)) else { return };
    assert_eq!(fs::read_to_string(other.project.kernels_toml()).unwrap(), before);
    let Some(moved) = or_skip(what, repin_all(&other)) else { return };
    assert_eq!(moved, proposed);
    assert!(moved.iter().any(|m| m.pin == "image.stock-rt.x86_64"), "{moved:?}");
    let now = Pins::read(&other.project).unwrap();
    let image = |pins: &Pins| pins.find_image(Flavour::StockRt, Arch::X86_64).unwrap().clone();
    assert!(compare_versions(&image(&now).version, &image(&pins).version).is_ge(), "{now:?}");
    let text = fs::read_to_string(other.project.kernels_toml()).unwrap();
    assert!(text.contains("# The kernels of the lab"), "comments are gone: {text}");
    assert_eq!(repin_all(&other).unwrap(), []);
}

#[test]
fn the_newest_kernel_of_a_suite_is_found_by_its_kind() {
    let (_project, other) = changed_pins(open_lab(), |list| {
        let pin = "[image.stock-rt.x86_64]\n";
        let (before, after) = list.split_once(pin).unwrap();
        let rest = after.split_once("\n\n").unwrap().1;
        format!(
            "{before}{pin}release = \"*-rt-amd64\"\nversion = \"*\"\nsuite = \"bookworm\"\n\n{rest}"
        )
    });
    let newest = Kernel::provide(&other, Flavour::StockRt, Arch::X86_64);
    let Some(newest) = or_skip("the newest kernel", newest) else { return };
    assert!(newest.release.ends_with("-rt-amd64"), "{}", newest.release);
    assert!(compare_versions(&newest.release, "6.12.100").is_ge(), "{}", newest.release);
}

fn stock_rt(arch: Arch) {
    let lab = open_lab();
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
    assert!(kernel.build.as_ref().unwrap().join("Module.symvers").is_file());
    assert!(kernel.modules.iter().all(|m| m.is_file()) && kernel.modules.len() == 12);
    tiny_module(&lab, &kernel);
}

fn tiny_module(lab: &Lab, kernel: &Kernel) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tiny");
    let what = format!("a module for {}", kernel.arch);
    let Some(built) = or_skip(&what, module::build_module(lab, kernel, &source, &[])) else {
        return;
    };
    let bytes = fs::read(&built).unwrap();
    let machine = u16::from_le_bytes([bytes[18], bytes[19]]);
    let expected = if kernel.arch == Arch::X86_64 { 62 } else { 183 };
    assert_eq!((&bytes[..4], machine), (&b"\x7fELF"[..], expected));
    let has = |text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(has(&format!("vermagic={} SMP ", kernel.release)));
    // Built in another place it is the same, byte for byte.
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Lab { cache: Cache::at(elsewhere.path()), ..lab.clone() };
    let again = module::build_module(&other, kernel, &source, &[]).unwrap();
    assert_ne!(again, built);
    assert!(fs::read(again).unwrap() == bytes, "two builds of one module differ");
    // What the compiler said reaches the one who asked.
    let broken = module::build_module(&other, kernel, &source, &[("TINY_BREAK", "y")]).unwrap_err();
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
