// SPDX-License-Identifier: GPL-2.0-or-later
//! An experiment on the newest kernels: `ID@7.x` is the experiment ID, with each kernel of Linux 6.12
//! replaced by the one of the same kind from the newest source.
//!
//! It has no file of its own, so that both can only differ in the kernel.

use super::Definition;
use crate::kernel::{Arch, Flavour};

/// What the id of such an experiment ends in.
const ON_NEWEST: &str = "@7.x";

/// Before the reasons of a file: they were found there, and may not be those here.
const FOUND_ON_6_12: &str = "Found on 6.12, not examined here:";

impl Definition {
    /// The same experiment on the newest kernels, without variants that have none. `None` if it
    /// compares kernels already, or no variant has one.
    pub fn on_newest(&self) -> Option<Self> {
        if self.variants.iter().any(|variant| variant.flavour.is_other_than_6_12()) {
            return None;
        }
        let mut moved = self.clone();
        moved.variants.retain_mut(|variant| match variant.flavour.on_newest(variant.arch) {
            Some(flavour) => {
                variant.flavour = flavour;
                true
            }
            None => false,
        });
        if moved.variants.is_empty() {
            return None;
        }
        for series in &mut moved.series {
            for flavour in &mut series.only {
                *flavour = flavour.on_newest(Arch::X86_64).unwrap_or(*flavour);
            }
        }
        moved.checks.retain_mut(|check| {
            for reason in [&mut check.differs, &mut check.note].into_iter().flatten() {
                *reason = format!("{FOUND_ON_6_12} {}", reason.trim_start());
            }
            check.variants.is_empty()
                || check.variants.iter().any(|name| moved.variants.iter().any(|v| v.name == *name))
        });
        moved.id.push_str(ON_NEWEST);
        moved.title.push_str(", on Linux 7.x");
        moved.recipe.push_str(ON_NEWEST);
        Some(moved)
    }

    /// True if [`Self::on_newest`] made it.
    pub fn is_on_newest(&self) -> bool {
        self.id.ends_with(ON_NEWEST)
    }
}

impl Flavour {
    /// The kernel of the same kind from the newest source; `None` if there is none.
    const fn on_newest(self, arch: Arch) -> Option<Self> {
        Some(match (self, arch) {
            (Self::StockRt, _) => Self::StockSidRt,
            (Self::Stock, Arch::X86_64) => Self::StockSid,
            (Self::Irqpath, Arch::X86_64) => Self::Irqpath7x,
            (Self::Debug, Arch::X86_64) => Self::Debug7x,
            (Self::Unpatched, Arch::X86_64) => Self::Unpatched7x,
            _ => return None,
        })
    }

    const fn is_other_than_6_12(self) -> bool {
        let is_stock =
            matches!(self, Self::StockSidRt | Self::StockSid | Self::Stock61Rt | Self::Stock61);
        is_stock || self.is_newest_own()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::kernel::Pins;
    use crate::project::Project;

    fn read(name: &str) -> Definition {
        let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments"));
        Definition::read(&directory.join(name)).unwrap()
    }

    #[test]
    fn only_kernels_and_what_names_them_are_others() {
        let one = read("selective-throughput.toml");
        let other = one.on_newest().unwrap();
        assert_eq!(other.id, "selective-throughput@7.x");
        assert!(other.is_on_newest() && !one.is_on_newest());
        assert_ne!(one.recipe, other.recipe);
        let flavours: Vec<_> = other.variants.iter().map(|v| v.flavour.name()).collect();
        let ours = "irqpath-7.x";
        assert_eq!(flavours, ["stock-sid", "stock-sid-rt", ours, ours, ours]);
        assert_eq!((one.series.len(), one.checks.len()), (other.series.len(), other.checks.len()));
        let mut notes = other.checks.iter().filter_map(|check| check.note.as_ref());
        assert!(notes.next().is_some_and(|note| note.starts_with("Found on 6.12, ")));
        let parameters = |d: &Definition| -> Vec<_> {
            d.variants.iter().map(|variant| d.merge_parameters(variant, &d.series[0])).collect()
        };
        assert_eq!(parameters(&one), parameters(&other));
    }

    #[test]
    fn a_series_of_some_kernels_is_one_of_their_newest() {
        let mut one = read("selective-throughput.toml");
        one.series[0].only = vec![Flavour::StockRt, Flavour::Irqpath];
        let other = one.on_newest().unwrap();
        let on = |variant: usize| other.series_on(&other.variants[variant]).count();
        let all = other.series.len();
        assert_eq!((on(0), on(1), on(2)), (all - 1, all, all));
    }

    #[test]
    fn what_compares_kernels_has_no_other() {
        for name in ["kernels-policies", "net-polling", "trace-truth", "trace-truth-smp"] {
            assert_eq!(read(&format!("{name}.toml")).on_newest(), None, "{name}");
        }
    }

    #[test]
    fn each_kernel_of_them_is_pinned() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let pins = Pins::read(&Project::at(root).unwrap()).unwrap();
        let all = crate::experiment::read_all(&root.join("experiments")).unwrap();
        let newest = || all.iter().filter(|definition| definition.is_on_newest());
        assert!(newest().any(|definition| definition.id == "intspect-platforms@7.x"));
        for variant in newest().flat_map(|definition| &definition.variants) {
            let (flavour, arch) = (variant.flavour, variant.arch);
            if flavour.is_stock() {
                pins.find_image(flavour, arch).unwrap();
            } else {
                pins.find_source(flavour).unwrap();
            }
        }
    }
}
