// SPDX-License-Identifier: GPL-2.0-or-later
//! The source of our own kernels: Debian's, without what no guest of the lab has, and on top of
//! it `kernel/overlay` (new files) and `kernel/hooks/BASE` (patches in the order of `series`).
//!
//! Both trees are products. The patched one shares its files with the other by hard links, so
//! it costs a second and no room. Rule: neither tree is ever written after it is complete.
//! What the overlay has for readers and for tests is in neither, see [`is_for_image`].

use std::io;
use std::path::{Path, PathBuf};

use super::apt::{Apt, unpack_package};
use super::error::io_at;
use super::pins::SourcePin;
use super::run::{run_for_output, run_watched, tool_command};
use super::{Arch, KernelError};
use crate::cache::{Inputs, Product, Staging, list_files, remove_directory};
use crate::own;
use crate::{Lab, Project, Unit};

/// Version of the recipe that unpacks the source.
const UNPACK: u32 = 1;
/// Version of the recipe that applies overlay and hooks.
const APPLY: u32 = 1;
/// What sources with our additions are called, before the key.
pub(super) const PATCHED: &str = "linux-irqpath";
/// Never compiled for a guest of the lab, and more than half of the source. What Kconfig and
/// make read stays. A distribution's kernel needs the rest, see [`Extent`].
const LEFT_OUT: [&str; 12] = [
    "*/drivers/gpu/*.[ch]",
    "*/drivers/media/*.[ch]",
    "*/drivers/staging/*.[ch]",
    "*/drivers/accel/*.[ch]",
    "*/drivers/infiniband/*.[ch]",
    "*/drivers/net/wireless/*.[ch]",
    "*/drivers/net/ethernet/*.[ch]",
    "*/sound/*.[ch]",
    "*.dts",
    "*.dtsi",
    "*/Documentation/devicetree/*.yaml",
    "*/tools/perf/pmu-events",
];

/// Directories of the overlay that no image is made from. Not all of `tools`: objtool and what it
/// includes are.
const NOT_FOR_IMAGE: [&str; 2] = ["Documentation", "tools/testing"];

/// Whether a file of the overlay, by its path in the kernel, matters to the image. One that does
/// not is no input either: a page that is written leaves kernels and their figures as they are.
fn is_for_image(file: &Path) -> bool {
    !NOT_FOR_IMAGE.iter().any(|directory| file.starts_with(directory))
}

/// Our additions to the kernel: their place, and whether there are any.
#[derive(Debug, Clone)]
pub(super) struct Additions {
    overlay: Option<PathBuf>,
    hooks: Option<PathBuf>,
}

impl Additions {
    /// Of a project, for a source: the patches of `linux-source-6.12` are in `kernel/hooks/6.12`.
    pub(super) fn find(project: &Project, source: &SourcePin) -> Self {
        let there = |path: PathBuf| Some(project.kernel().join(path)).filter(|path| path.is_dir());
        let hooks = Path::new("hooks").join(source.series());
        Self { overlay: there("overlay".into()), hooks: there(hooks) }
    }

    /// For a kernel that is Debian's source as it is.
    pub(super) const fn none() -> Self {
        Self { overlay: None, hooks: None }
    }

    /// Add them to the inputs of what is made with them.
    pub(super) fn add_to(&self, mut inputs: Inputs) -> Result<Inputs, KernelError> {
        if let Some(overlay) = &self.overlay {
            inputs = inputs.tree_of("overlay", overlay, is_for_image)?;
        }
        if let Some(hooks) = &self.hooks {
            inputs = inputs.tree("hooks", hooks)?;
        }
        Ok(inputs)
    }

    fn is_empty(&self) -> bool {
        self.overlay.is_none() && self.hooks.is_none()
    }
}

/// How much of a source is unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// What the lab's flavours are compiled from.
    Flavours,
    /// Every file.
    Whole,
}

/// The source as Debian has it.
pub(super) fn unpack_pristine(
    lab: &Lab,
    listed: &SourcePin,
    extent: Extent,
) -> Result<PathBuf, KernelError> {
    let mut inputs = Inputs::new("kernel source", UNPACK)
        .value("package", &listed.package)
        .value("version", &listed.version);
    let mut label = listed.package.clone();
    if extent == Extent::Whole {
        inputs = inputs.value("extent", "whole");
        label.insert_str(0, "whole-");
    }
    let product = Product { kind: "sources", label, inputs, resumable: false };
    lab.cache.provide_product(&product, &lab.progress, |staging| {
        let debs = staging.directory.join("debs");
        let apt = Apt::open(lab, &listed.suite)?;
        let package = apt.find_package(&listed.package, source_arch()?, Some(&listed.version))?;
        let deb = apt.download_packages(std::slice::from_ref(&package), &debs, staging)?;
        lab.progress.begin_step(&format!("unpacking {}", package.name), None, Unit::Steps);
        for deb in &deb {
            unpack_package(deb, &debs)?;
        }
        untar_source(&find_archive(&debs)?, staging, extent)?;
        remove_directory(&debs)?;
        Ok(())
    })
}

fn find_archive(debs: &Path) -> Result<PathBuf, KernelError> {
    let found = list_files(&debs.join("usr/src"))?.into_iter();
    let mut archives = found.filter(|path| path.to_string_lossy().ends_with(".tar.xz"));
    archives.next().ok_or_else(|| KernelError::Incomplete {
        place: debs.to_owned(),
        missing: "usr/src/*.tar.xz".to_owned(),
        advice: "Debian has changed its source package; please report it with its version",
    })
}

fn untar_source(archive: &Path, staging: &Staging, extent: Extent) -> Result<(), KernelError> {
    let mut tar = tool_command("tar");
    tar.arg("-x").arg("-I").arg("xz -T0").arg("-f").arg(archive).arg("-C").arg(&staging.directory);
    tar.arg("--strip-components=1");
    if extent == Extent::Flavours {
        tar.args(LEFT_OUT.map(|pattern| format!("--exclude={pattern}")));
    }
    let log = staging.directory.join("debs/tar.log");
    run_watched(tar.stdin(staging.stdin()), "unpacking the kernel's source", &log, || {})
}

/// The source with our additions; the pristine one if there are none.
pub(super) fn with_additions(
    lab: &Lab,
    pristine: &Path,
    additions: &Additions,
) -> Result<PathBuf, KernelError> {
    if additions.is_empty() {
        return Ok(pristine.to_owned());
    }
    let base = pristine.file_name().unwrap_or_default().to_string_lossy();
    let inputs = additions.add_to(Inputs::new("patched source", APPLY).value("base", &base))?;
    let product = Product { kind: "sources", label: PATCHED.to_owned(), inputs, resumable: false };
    lab.cache.provide_product(&product, &lab.progress, |staging| {
        lab.progress.begin_step("applying overlay and hooks", None, Unit::Steps);
        let from = pristine.join(".");
        let copy = ["-a", "--link", "--"];
        run_for_output(
            tool_command("cp").args(copy).arg(from).arg(&staging.directory),
            "linking the source",
        )?;
        if let Some(overlay) = &additions.overlay {
            lay_over(overlay, &staging.directory)?;
        }
        if let Some(hooks) = &additions.hooks {
            apply_series(hooks, &staging.directory)?;
        }
        Ok(())
    })
}

/// Copy every file that matters to its place. New files only: a change of a file that exists is a hook.
fn lay_over(overlay: &Path, source: &Path) -> Result<(), KernelError> {
    for path in list_files(overlay)? {
        let relative = path.strip_prefix(overlay).unwrap_or(&path);
        if !is_for_image(relative) {
            continue;
        }
        let to = source.join(relative);
        if to.exists() {
            return Err(KernelError::Incomplete {
                place: overlay.to_owned(),
                missing: format!("right to replace {}", relative.display()),
                advice: "the source has that file; change it by a patch in kernel/hooks",
            });
        }
        let parent = to.parent().unwrap_or(source);
        own::make_directory(parent).map_err(io_at(parent, "write"))?;
        own::copy(&path, &to).map_err(io_at(&path, "copy"))?;
    }
    Ok(())
}

/// Apply the patches that `series` lists. `patch` writes a new file and renames it, so what
/// shares its old content with the pristine tree is safe.
fn apply_series(hooks: &Path, source: &Path) -> Result<(), KernelError> {
    let series = hooks.join("series");
    let text = own::read_text(&series).map_err(io_at(&series, "read"))?;
    for name in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let patch = hooks.join(name);
        let file = own::open(&patch).map_err(io_at(&patch, "read"))?;
        let mut run = tool_command("patch");
        run.args(["-p1", "-N", "-s", "-F0", "--no-backup-if-mismatch", "-d"]).arg(source);
        run_for_output(run.stdin(file), &format!("applying {name}"))?;
    }
    Ok(())
}

/// The machine whose lists have the source; it is the same for all.
pub(super) fn source_arch() -> Result<Arch, KernelError> {
    Arch::host().ok_or_else(|| {
        io_at(Path::new(std::env::consts::ARCH), "used as host")(io::Error::from(
            io::ErrorKind::Unsupported,
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Progress};
    use std::fs;

    const PATCH: &str = "\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
Subject: [PATCH] sched: Call the hook

--- a/kernel/sched.c
+++ b/kernel/sched.c
@@ -1,2 +1,3 @@
 one
+hook
 two
";

    fn pin_source(package: &str) -> SourcePin {
        SourcePin { package: package.into(), version: "1".into(), suite: "bookworm".into() }
    }

    #[test]
    fn patches_are_kept_by_series() {
        for (package, series) in [
            ("linux-source-6.12", "6.12"),
            ("linux-source-7.2", "7.x"),
            ("linux-source-8.0", "8.x"),
        ] {
            assert_eq!(pin_source(package).series(), series);
        }
    }

    struct Tree {
        _dir: tempfile::TempDir,
        lab: Lab,
        pristine: PathBuf,
    }

    fn make_tree() -> Tree {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("project/lab/kernels.toml", "");
        write("pristine/kernel/sched.c", "one\ntwo\n");
        write("pristine/.clang-format", "");
        let project = Project::at(&dir.path().join("project")).unwrap();
        let cache = Cache::at(dir.path().join("cache"));
        let pristine = dir.path().join("pristine");
        Tree { lab: Lab { project, cache, progress: Progress::hidden() }, pristine, _dir: dir }
    }

    impl Tree {
        fn add_file(&self, path: &str, text: &str) {
            let path = self.lab.project.kernel().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn patch_source(&self) -> Result<PathBuf, KernelError> {
            with_additions(
                &self.lab,
                &self.pristine,
                &Additions::find(&self.lab.project, &pin_source("linux-source-6.12")),
            )
        }
    }

    #[test]
    fn without_additions_the_source_is_debians() {
        let tree = make_tree();
        assert_eq!(tree.patch_source().unwrap(), tree.pristine);
    }

    #[test]
    fn overlay_and_hooks_change_a_copy_and_never_the_original() {
        let tree = make_tree();
        tree.add_file("overlay/kernel/irqpath/core.c", "new\n");
        tree.add_file("hooks/6.12/series", "# comment\n0001-hook.patch\n");
        tree.add_file("hooks/6.12/0001-hook.patch", PATCH);
        let patched = tree.patch_source().unwrap();
        let read = |root: &Path, name: &str| fs::read_to_string(root.join(name)).unwrap();
        assert_eq!(read(&patched, "kernel/sched.c"), "one\nhook\ntwo\n");
        assert_eq!(read(&patched, "kernel/irqpath/core.c"), "new\n");
        assert!(patched.join(".clang-format").exists());
        assert_eq!(read(&tree.pristine, "kernel/sched.c"), "one\ntwo\n");
        assert!(!tree.pristine.join("kernel/irqpath").exists());
        // Another content is another product.
        tree.add_file("overlay/kernel/irqpath/core.c", "newer\n");
        let other = tree.patch_source().unwrap();
        assert_ne!(other, patched);
        assert_eq!(read(&patched, "kernel/irqpath/core.c"), "new\n");
        assert_eq!(read(&other, "kernel/irqpath/core.c"), "newer\n");
    }

    #[test]
    fn what_no_image_is_made_from_is_no_input() {
        let tree = make_tree();
        tree.add_file("overlay/kernel/irqpath/core.c", "new\n");
        let before = tree.patch_source().unwrap();
        for path in ["Documentation/ABI/testing/sysfs", "tools/testing/selftests/irqpath/x.sh"] {
            tree.add_file(&format!("overlay/{path}"), "for readers\n");
            let after = tree.patch_source().unwrap();
            assert_eq!(after, before, "{path}");
            assert!(!after.join(path).exists(), "{path}");
        }
        for path in ["include/linux/irqpath.h", "tools/objtool/irqpath.c"] {
            tree.add_file(&format!("overlay/{path}"), "for the compiler\n");
            let after = tree.patch_source().unwrap();
            assert_ne!(after, before, "{path}");
            assert!(after.join(path).exists(), "{path}");
        }
    }

    #[test]
    fn a_patch_that_does_not_fit_is_named() {
        let tree = make_tree();
        tree.add_file("hooks/6.12/series", "0001-hook.patch\n");
        tree.add_file("hooks/6.12/0001-hook.patch", &PATCH.replace(" two", " three"));
        let error = tree.patch_source().unwrap_err();
        assert!(error.to_string().starts_with("applying 0001-hook.patch failed"), "{error}");
        assert!(error.log().contains("kernel/sched.c"), "{}", error.log());
    }

    #[test]
    fn the_overlay_only_adds() {
        let tree = make_tree();
        tree.add_file("overlay/kernel/sched.c", "mine\n");
        let error = tree.patch_source().unwrap_err().to_string();
        assert!(error.contains("kernel/sched.c") && error.contains("kernel/hooks"), "{error}");
    }
}
