// SPDX-License-Identifier: GPL-2.0-or-later
//! Experiments, as `lab run` reads them from a tree that its caller named. They are called `fuzz`
//! and have a job `job.sh`.

use irqpath_lab::experiment::Definition;

use crate::scratch::Scratch;

/// Read one and ask what it measures.
pub fn run(data: &[u8]) -> bool {
    let scratch = Scratch::new();
    scratch.put("jobs/job.sh", b"true\n");
    let Ok(definition) = Definition::read(&scratch.put("fuzz.toml", data)) else {
        return false;
    };
    for variant in &definition.variants {
        for series in definition.series_on(variant) {
            definition.merge_parameters(variant, series);
        }
        definition.watched_on(variant).for_each(drop);
    }
    true
}
