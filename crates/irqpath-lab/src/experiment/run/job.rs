// SPDX-License-Identifier: GPL-2.0-or-later
//! The job of a variant: one shell script that makes every series in turn.
//!
//! The script of the experiment gets a series' parameters and `SERIES` in its environment and
//! writes to `/results/$SERIES*`. A series that fails ends the job: half a result is no result.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::experiment::definition::{Definition, Parameter, Variant};
use crate::experiment::draw::Draw;

/// Files that describe a machine; the host reads their copies below `/results/host`.
const FACTS: &[&str] = &[
    "proc/cmdline",
    "proc/cpuinfo",
    "proc/interrupts",
    "proc/softirqs",
    "proc/sys/kernel/hostname",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/version",
    "sys/kernel/realtime",
    "sys/kernel/debug/sched/preempt",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/system/cpu/online",
    "sys/class/dmi/id/sys_vendor",
    "sys/class/dmi/id/product_name",
];

/// Counts that are copied again after the last series, below `/results/after`.
const COUNTS: &[&str] = &["proc/interrupts", "proc/softirqs"];

/// The script for one variant; busybox runs it in the guest. `quick` are parameters that replace
/// those of the definition. It is the same for each of the `draws`. With `symbols` the guest
/// leaves the addresses of its kernel's functions, for who attributes instructions to them.
pub fn format_script(
    definition: &Definition,
    variant: &Variant,
    quick: &BTreeMap<String, Parameter>,
    draws: u32,
    symbols: bool,
) -> String {
    let mut text = String::from("set -e\n");
    append_copies(&mut text, FACTS, "host");
    text.push_str(&Draw::script(draws));
    for series in definition.series_on(variant) {
        let mut parameters = definition.merge_parameters(variant, series);
        parameters.extend(quick.clone());
        text.push_str("env");
        for (name, value) in parameters {
            let _ = write!(text, " {name}={}", quote_shell(&value.to_string()));
        }
        let _ = writeln!(
            text,
            " SERIES={} sh -e /jobs/{}",
            quote_shell(&series.name),
            quote_shell(&definition.guest.job)
        );
    }
    if symbols {
        // A script that unloads its module keeps the addresses in /tmp/symbols.
        text.push_str("touch /tmp/symbols\n");
        text.push_str("sort -u /tmp/symbols | cat /proc/kallsyms - > /results/kallsyms\n");
    }
    append_copies(&mut text, COUNTS, "after");
    text
}

/// Copies those of the files that exist on this kernel.
fn append_copies(text: &mut String, files: &[&str], directory: &str) {
    for file in files {
        let parent = file.rsplit_once('/').map_or("", |(parent, _)| parent);
        let place = format!("/results/{directory}");
        let _ = writeln!(
            text,
            "if [ -r /{file} ]; then mkdir -p {place}/{parent}; cat /{file} > {place}/{file}; fi"
        );
    }
}

/// In single quotes, as every shell reads it.
fn quote_shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_arrives_as_it_was() {
        assert_eq!(quote_shell("softirq"), "'softirq'");
        assert_eq!(quote_shell("it's $HOME"), r"'it'\''s $HOME'");
    }
}
