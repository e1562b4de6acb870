// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether a step of a series builds: the objects that our patches touch and our own, without a
//! warning, and with every function of ours that one of them calls.

use crate::kernel::builds::{compiler, touched};
use crate::kernel::kbuild::Kbuild;
use crate::kernel::said::complaints;
use crate::kernel::{Place, texts};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Our directory.
const OURS: &str = "kernel/irqpath/";
/// What a step may bring beside the lab's configuration.
const TESTED: &str = "CONFIG_DEBUG_KERNEL=y\nCONFIG_KUNIT=y\nCONFIG_IRQPATH_FAULTS=y\n\
                      CONFIG_IRQPATH_KUNIT_TEST=y\n";

/// Compiles a work tree, again and again.
pub struct Builder {
    tree: PathBuf,
    objects: PathBuf,
    compiler: String,
    fragments: Vec<PathBuf>,
    targets: Vec<PathBuf>,
}

impl Builder {
    /// For a work tree with the untouched source or a series; objects go below `scratch`.
    pub fn new(place: &Place, tree: &Path, scratch: &Path) -> Result<Self> {
        let tested = scratch.join("tested.config");
        std::fs::write(&tested, TESTED).context("cannot write a configuration")?;
        let config = |name: &str| place.kernel.join("config").join(format!("{name}.config"));
        let mut fragments: Vec<PathBuf> =
            std::iter::once("base").chain(place.own_fragment()).map(config).collect();
        fragments.push(tested);
        Ok(Self {
            tree: tree.to_owned(),
            objects: scratch.join("objects"),
            compiler: compiler(&place.kernel)?,
            fragments,
            targets: touched(tree, &texts(place)?)?,
        })
    }

    /// Compiles; returns what is wrong.
    pub fn step(&self, label: &str) -> Result<Vec<String>> {
        let began = Instant::now();
        let kbuild = Kbuild {
            tree: &self.tree,
            objects: self.objects.clone(),
            compiler: &self.compiler,
            flags: "",
        };
        kbuild.configure(&self.fragments)?;
        let mut targets = self.targets.clone();
        targets.push(OURS.into());
        let (said, good) = kbuild.compile(&targets, false)?;
        let mut found = complaints(&said, &self.tree);
        if !good && found.is_empty() {
            found.push(said);
        }
        if good {
            found.extend(self.undefined()?);
        }
        eprintln!("{label}: {:.0} s", began.elapsed().as_secs_f64());
        Ok(found)
    }

    /// Functions and data of ours that an object uses and none has.
    fn undefined(&self) -> Result<Vec<String>> {
        let output = Command::new("nm")
            .arg("--portability")
            .args(self.targets.iter().map(|object| self.objects.join(object)))
            .arg(self.objects.join(OURS).join("built-in.a"))
            .output()
            .context("cannot run nm")?;
        ensure!(output.status.success(), "nm: {}", String::from_utf8_lossy(&output.stderr));
        Ok(undefined(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// Our names in the output of `nm --portability` that are used and not defined.
pub fn undefined(listing: &str) -> Vec<String> {
    let (mut used, mut defined) = (BTreeSet::new(), BTreeSet::new());
    for line in listing.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(kind)) = (words.next(), words.next()) else { continue };
        if name.contains("irqpath") {
            if kind == "U" {
                used.insert(name)
            } else {
                defined.insert(name)
            };
        }
    }
    used.difference(&defined).map(|name| format!("nobody defines {name}")).collect()
}
