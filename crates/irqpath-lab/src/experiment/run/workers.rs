// SPDX-License-Identifier: GPL-2.0-or-later
//! Who runs which guest: exact ones side by side, one per CPU; the others after them, alone.
//!
//! An exact guest stays on one CPU. QEMU hands virtual time from one of its threads to another
//! at every timer, and across CPUs that costs more than it gains: a third of the guest's
//! processor time (26.3 interrupts a second, 5 000 runs: 22.7 s free, 16.8 s on one CPU). Guests
//! with several virtual CPUs are disturbed by their neighbours, so they have none.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::cpus;

/// Runs every item and returns what came of it in the order of the items. `run` is given the item
/// and what counts the finished ones, itself included.
pub fn run_all<T: Send, R: Send>(
    items: Vec<T>,
    is_exact: impl Fn(&T) -> bool,
    run: impl Fn(&dyn Fn() -> u64, T) -> R + Sync,
) -> Vec<R> {
    let nr_done = AtomicU64::new(0);
    let count = || nr_done.fetch_add(1, Ordering::Relaxed) + 1;
    let run = |item| run(&count, item);
    let (exact, other): (Vec<_>, Vec<_>) =
        items.into_iter().enumerate().partition(|(_, item)| is_exact(item));
    let mut done = side_by_side(exact, &run);
    done.extend(other.into_iter().map(|(at, item)| (at, run(item))));
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A worker on every CPU that this process may use, each with one item at a time.
fn side_by_side<T: Send, R: Send>(
    items: Vec<(usize, T)>,
    run: &(impl Fn(T) -> R + Sync),
) -> Vec<(usize, R)> {
    let total = items.len();
    let queue = Mutex::new(VecDeque::from(items));
    let done = Mutex::new(Vec::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    std::thread::scope(|scope| {
        for cpu in cpus::list_own().into_iter().take(total) {
            let (next, done) = (&next, &done);
            scope.spawn(move || {
                cpus::stay_on(cpu);
                while let Some((at, item)) = next() {
                    let result = run(item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_items_and_exact_ones_are_first() {
        let started = Mutex::new(Vec::new());
        let results = run_all(
            (0..20).collect(),
            |item| item % 2 == 0,
            |nr_done, item: u64| {
                started.lock().unwrap().push(item);
                (item, nr_done())
            },
        );
        assert!(results.iter().map(|(item, _)| *item).eq(0..20));
        let mut counts: Vec<_> = results.iter().map(|(_, nr)| *nr).collect();
        counts.sort_unstable();
        assert!(counts.into_iter().eq(1..=20));
        let started = started.into_inner().unwrap();
        assert!(started[..10].iter().all(|item| item % 2 == 0));
        assert!(started[10..].iter().copied().eq((0..10).map(|i| 2 * i + 1)));
    }

    #[test]
    fn this_thread_keeps_its_cpus() {
        let before = cpus::list_own();
        run_all(vec![1, 2, 3], |_| true, |_, _| assert_eq!(cpus::list_own().len(), 1));
        assert_eq!(cpus::list_own(), before);
    }
}
