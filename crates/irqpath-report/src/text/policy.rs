// SPDX-License-Identifier: GPL-2.0-or-later
//! What `irqpath policy` prints for people.

use std::collections::BTreeMap;
use std::fmt::Display;

use irqpath_model::policy::{Association, Associations, KernelPolicy};

use super::Page;
use super::table::{Column, Table};

/// A paragraph for each; settings as `--set` takes them.
pub fn render_policies(policies: &[KernelPolicy]) -> Page {
    let mut text = Page::default();
    for policy in policies {
        text.add_line(format_args!(
            "{}: {}",
            policy.name,
            if policy.enabled { "on" } else { "off" }
        ));
        list_values(&mut text, "settings", &policy.settings);
        list_values(&mut text, "counters", &policy.counters);
    }
    text
}

fn list_values(text: &mut Page, title: &str, values: &BTreeMap<String, impl Display>) {
    if !values.is_empty() {
        let pairs: Vec<String> = values.iter().map(|(n, value)| format!("{n}={value}")).collect();
        text.add_line(format_args!("  {title}: {}", pairs.join(" ")));
    }
}

/// The table, and what is missing in it.
pub fn render_associations(associations: &Associations) -> Page {
    let mut text = if associations.list.is_empty() {
        Page::from_line(
            "The kernel has learned of no interrupt that wakes a real-time task; irqpath policy \
             enable learn switches learning on.",
        )
    } else {
        let names = ["interrupt", "task"].map(|title| Column::text(title, usize::MAX));
        let numbers = [
            "prio",
            "wakeups",
            "handlers run",
            "mispredicted",
            "success",
            "last seen",
            "trust",
            "mm switches",
        ];
        let columns: Vec<Column> = names.into_iter().chain(numbers.map(Column::number)).collect();
        let mut table = Table::new(&columns);
        for one in &associations.list {
            table.add_row(association_row(one).to_vec());
        }
        let mut page = Page::default();
        page.add_table(table);
        page
    };
    if !associations.complete {
        text.add_line("There are more; the kernel shows one page.");
    }
    if associations.nr_unreadable > 0 {
        text.add_line(format_args!("Unreadable lines: {}.", associations.nr_unreadable));
    }
    text
}

fn association_row(a: &Association) -> [String; 10] {
    [
        format!("{}:{}", a.irq, a.name),
        format!("{} ({})", a.comm, a.tid),
        a.priority.to_string(),
        a.nr_wakeups.to_string(),
        a.nr_runs.to_string(),
        a.nr_mispredicted.to_string(),
        a.success.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0)),
        format!("{:.1} s", a.age_ns as f64 / 1e9),
        if a.pinned { "pinned".to_owned() } else { a.trust.to_string() },
        a.nr_mm_switched.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_with_and_without_settings() {
        let learn = KernelPolicy {
            name: "learn".into(),
            counters: [("learned".into(), 3)].into(),
            ..KernelPolicy::default()
        };
        let selective = KernelPolicy {
            name: "selective".into(),
            enabled: true,
            settings: [("allow".into(), String::new()), ("quiet".into(), "1000".into())].into(),
            ..KernelPolicy::default()
        };
        assert_eq!(
            render_policies(&[learn, selective]),
            "learn: off\n  counters: learned=3\nselective: on\n  settings: allow= quiet=1000\n"
        );
    }

    #[test]
    fn a_table_and_what_is_missing_in_it() {
        let one = Association {
            irq: 24,
            name: "snd".into(),
            tid: 70,
            comm: "jackd".into(),
            priority: 80,
            nr_wakeups: 4000,
            nr_runs: 1000,
            nr_mispredicted: 1,
            success: Some(0.999),
            age_ns: 1_500_000_000,
            trust: 16,
            pinned: false,
            nr_mm_switched: 1000,
        };
        let other = Association {
            tid: 7,
            nr_runs: 0,
            success: None,
            pinned: true,
            nr_mm_switched: 0,
            ..one.clone()
        };
        let list = vec![one, other];
        assert_eq!(
            render_associations(&Associations { list, complete: false, nr_unreadable: 2 }),
            "  interrupt  task        prio  wakeups  handlers run  mispredicted  success  last seen   trust  mm switches\n\
             \x20 24:snd     jackd (70)    80     4000          1000             1   99.9 %      1.5 s      16         1000\n\
             \x20 24:snd     jackd (7)     80     4000             0             1    -          1.5 s  pinned            0\n\
             There are more; the kernel shows one page.\n\
             Unreadable lines: 2.\n"
        );
    }

    #[test]
    fn nothing_learned_is_said_to_be_nothing() {
        let empty = Associations { complete: true, ..Associations::default() };
        assert!(render_associations(&empty).starts_with("The kernel has learned of no"));
    }
}
