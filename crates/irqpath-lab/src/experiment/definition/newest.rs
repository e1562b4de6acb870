// SPDX-License-Identifier: GPL-2.0-or-later
//! An experiment on the newest kernels: `ID@7.x` is the experiment ID, with each kernel of Linux 6.12
//! replaced by the one of the same kind from the newest source.
//!
//! It has no file of its own, so that both can only differ in the kernel.

use super::{Definition, Variant};
use crate::kernel::Flavour;

/// What the id of such an experiment ends in.
pub const ON_NEWEST: &str = "@7.x";

impl Definition {
    /// The same experiment on the newest kernels, without variants that have none. `None` if it
    /// compares kernels already, or nothing of it would change.
    pub fn on_newest(&self) -> Option<Self> {
        let compares = |variant: &Variant| {
            variant.flavour.is_newest_own() || variant.flavour.is_newest_stock()
        };
        if self.variants.iter().any(compares) {
            return None;
        }
        let mut moved = self.clone();
        moved.variants.retain_mut(|variant| match variant.flavour.on_newest() {
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
                *flavour = flavour.on_newest().unwrap_or(*flavour);
            }
        }
        moved.checks.retain_mut(|check| {
            // They were found on 6.12, and may not be the reasons here.
            (check.differs, check.note) = (None, None);
            check.variants.is_empty()
                || check.variants.iter().any(|name| moved.variants.iter().any(|v| v.name == *name))
        });
        moved.id.push_str(ON_NEWEST);
        moved.title.push_str(", on Linux 7.x");
        moved.recipe.push_str(ON_NEWEST);
        Some(moved)
    }

    /// True if it is another experiment on the newest kernels.
    pub fn is_on_newest(&self) -> bool {
        self.id.ends_with(ON_NEWEST)
    }
}

impl Flavour {
    /// The kernel of the same kind from the newest source; `None` if there is none.
    const fn on_newest(self) -> Option<Self> {
        Some(match self {
            Self::StockRt => Self::StockSidRt,
            Self::Stock => Self::StockSid,
            Self::Irqpath => Self::Irqpath7x,
            Self::Debug => Self::Debug7x,
            Self::Unpatched => Self::Unpatched7x,
            _ => return None,
        })
    }

    /// True if it is Debian's newest.
    const fn is_newest_stock(self) -> bool {
        matches!(self, Self::StockSidRt | Self::StockSid)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

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
        assert!(other.checks.iter().all(|check| check.differs.is_none() && check.note.is_none()));
        let parameters = |d: &Definition| -> Vec<_> {
            d.variants.iter().map(|variant| d.merge_parameters(variant, &d.series[0])).collect()
        };
        assert_eq!(parameters(&one), parameters(&other));
    }

    #[test]
    fn what_compares_kernels_has_no_other() {
        for name in ["kernels-policies.toml", "net-polling.toml", "trace-truth.toml"] {
            assert_eq!(read(name).on_newest(), None, "{name}");
        }
    }
}
