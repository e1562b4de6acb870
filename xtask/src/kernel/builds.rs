// SPDX-License-Identifier: GPL-2.0-or-later
//! What only a compiler can say of the series: that every patch builds alone, that sparse has
//! nothing to say of it, and that without `CONFIG_IRQPATH` no object is another one.
//!
//! Only the objects of files that the series touches are compiled, and `kernel/irqpath` from
//! where Kconfig knows it. Line numbers are in objects (the tables of `WARN()`, names of
//! initcalls), and patches move lines: so objects that are compared are compiled with `__LINE__`
//! held constant, before and after. What is compared is the contents of all sections, with their
//! relocations.

use super::Place;
use super::copies::Copies;
use super::kbuild::{Kbuild, object_of};
use super::said::{complaints, first_difference, new_ones};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// One line number for all, in objects that are compared.
const NO_LINES: &str = "-D__LINE__=1 -Wno-builtin-macro-redefined";
/// Our directory, once the configuration has it.
const OURS: &str = "kernel/irqpath/";

/// A way to compile the tree, and the fragments of its configuration.
struct Build<'a> {
    kbuild: Kbuild<'a>,
    fragments: Vec<PathBuf>,
}

/// All of it; returns what is broken.
pub fn run(place: &Place, source: &Path, texts: &[(PathBuf, String)]) -> Result<Vec<String>> {
    let scratch = tempfile::tempdir()?;
    let tree = scratch.path().join("linux");
    let copies = Copies { source, dir: &tree };
    copies.link_all()?;
    let objects = touched(&tree, texts)?;
    let compiler = compiler(&place.kernel)?;
    let build = |name: &str, flags, fragments: &[&str]| Build {
        kbuild: Kbuild {
            tree: &tree,
            objects: scratch.path().join(name),
            compiler: &compiler,
            flags,
        },
        fragments: fragments
            .iter()
            .copied()
            .chain(place.own_fragment())
            .map(|name| place.kernel.join("config").join(format!("{name}.config")))
            .collect(),
    };
    let on = build("on", "", &["base"]);
    let off = build("off", NO_LINES, &["base", "unconfigured"]);
    let sparse = has_sparse();

    let nr = objects.len();
    let dumps = step(&format!("{nr} objects of the source"), || off.dumps(&objects))?;
    let before = step("the same with sparse", || on.complaints(&objects, sparse))?;
    copies.lay_over(&place.overlay())?;
    let mut broken = Vec::new();
    for (path, text) in texts {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(wrong) = copies.apply(path, text)? {
            return Ok(vec![wrong]);
        }
        let said = step(&name, || on.patched(&objects))?;
        broken.extend(said.iter().map(|line| format!("{name} does not build alone: {line}")));
    }
    if sparse {
        let after = step("sparse", || on.complaints(&objects, true))?;
        broken.extend(new_ones(&before, &after).into_iter().cloned());
        broken.extend(step("sparse, kernel/irqpath", || on.complaints(&[OURS.into()], true))?);
    }
    let patched = step("the objects without CONFIG_IRQPATH", || off.dumps(&objects))?;
    for ((object, before), after) in objects.iter().zip(&dumps).zip(&patched) {
        if let Some(section) = first_difference(before, after) {
            let object = object.display();
            broken.push(format!("{object} differs without CONFIG_IRQPATH, first in {section}"));
        }
    }
    Ok(broken)
}

impl Build<'_> {
    /// What is wrong after a patch; a warning is.
    fn patched(&self, objects: &[PathBuf]) -> Result<Vec<String>> {
        self.kbuild.configure(&self.fragments)?;
        let mut targets = objects.to_vec();
        if self.kbuild.has("CONFIG_IRQPATH")? {
            targets.push(OURS.into());
        }
        let (said, good) = self.kbuild.compile(&targets, false)?;
        let mut found = complaints(&said, self.kbuild.tree);
        if !good && found.is_empty() {
            found.push(said);
        }
        Ok(found)
    }

    /// What compiler and sparse say of targets that build.
    fn complaints(&self, targets: &[PathBuf], sparse: bool) -> Result<Vec<String>> {
        self.kbuild.configure(&self.fragments)?;
        let (said, good) = self.kbuild.compile(targets, sparse)?;
        ensure!(good, "compiling failed: {said}");
        Ok(complaints(&said, self.kbuild.tree))
    }

    /// The contents of objects.
    fn dumps(&self, objects: &[PathBuf]) -> Result<Vec<String>> {
        self.complaints(objects, false)?;
        objects.iter().map(|object| dump(&self.kbuild.objects.join(object))).collect()
    }
}

fn dump(object: &Path) -> Result<String> {
    let output = Command::new("objdump").args(["-s", "-r"]).arg(object).output();
    let output = output.context("cannot run objdump")?;
    ensure!(output.status.success(), "objdump cannot read {}", object.display());
    let text = String::from_utf8_lossy(&output.stdout);
    // Its first lines name the file.
    Ok(text.lines().skip(3).flat_map(|line| [line, "\n"]).collect())
}

/// Objects of the C files that patches touch.
pub fn touched(tree: &Path, texts: &[(PathBuf, String)]) -> Result<Vec<PathBuf>> {
    let mut objects = BTreeSet::new();
    let files: BTreeSet<PathBuf> =
        texts.iter().flat_map(|(_, text)| super::budget::measure(text).files).collect();
    for file in files.iter().filter(|file| is_c(file)) {
        let dir = file.parent().context("a patch names no file")?;
        let mut beside = Vec::new();
        for entry in fs::read_dir(tree.join(dir))? {
            let path = dir.join(entry?.file_name());
            if is_c(&path) {
                beside.push((path.clone(), fs::read_to_string(tree.join(&path))?));
            }
        }
        objects.insert(object_of(file, &beside));
    }
    Ok(objects.into_iter().collect())
}

fn is_c(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "c")
}

/// The compiler of our kernels, as the lab's list has it.
pub fn compiler(kernel: &Path) -> Result<String> {
    let path = kernel.with_file_name("lab").join("kernels.toml");
    let text = fs::read_to_string(&path)?;
    let value = text.lines().find_map(|line| line.strip_prefix("compiler = \"")?.split('"').next());
    let Some(name) = value else { bail!("{} names no compiler", path.display()) };
    Ok(name.to_owned())
}

fn has_sparse() -> bool {
    let mut command = Command::new("sparse");
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    let there = command.status().is_ok_and(|status| status.success());
    if !there {
        eprintln!("skipped: sparse is not installed; `scripts/setup.sh --with lab` does that");
    }
    there
}

/// Does something that takes long, and says how long.
fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let started = Instant::now();
    let result = work().with_context(|| what.to_owned());
    eprintln!("{:>5} s  {what}", started.elapsed().as_secs());
    result
}
