// SPDX-License-Identifier: GPL-2.0-or-later
//! Units for tests; nothing runs them.

use std::collections::BTreeSet;

use super::unit::{Batch, Unit};
use crate::experiment::{Identity, Replaced};

pub fn make_batch(number: u32, nr_units: usize) -> Batch {
    let unit = |nr: usize| Unit {
        experiment: format!("e{nr}"),
        variant: "rt".to_owned(),
        draw: 0,
        limit_s: 60,
        memory_mib: 16,
        identity: Identity::new([("nr", nr.to_string())]),
    };
    Batch {
        number,
        exclude: BTreeSet::new(),
        replaced: Replaced::default(),
        units: (0..nr_units).map(unit).collect(),
    }
}
