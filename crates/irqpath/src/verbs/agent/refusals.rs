// SPDX-License-Identifier: GPL-2.0-or-later
//! Answers by the class of their status, and requests that got no numbers by reason.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a request was refused.
#[derive(Debug, Clone, Copy)]
pub enum Refused {
    /// No TLS, another version of it, or no certificate that is trusted.
    Tls,
    /// No password, or a wrong one.
    Password,
    /// Too many others, or passwords that are tried.
    Busy,
    /// It names another host.
    Host,
    /// The measurement did not answer.
    NoAnswer,
    /// It is no HTTP, or too long.
    Malformed,
    /// It did not come, or its answer was not taken, in time.
    Slow,
}

const WORDS: [&str; 7] = ["tls", "password", "busy", "host", "no_answer", "malformed", "slow"];
const CLASSES: [&str; 3] = ["2xx", "4xx", "5xx"];

/// Counts that the server's thread makes and the measurement shows.
#[derive(Debug, Clone, Default)]
pub struct Refusals(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    refused: [AtomicU64; WORDS.len()],
    answered: [AtomicU64; CLASSES.len()],
}

impl Refusals {
    /// One more.
    pub fn count(&self, why: Refused) {
        self.0.refused[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// One more answer with this status; the agent has none below 200 and redirects nobody.
    pub fn count_answer(&self, status: u16) {
        let class = match status {
            ..400 => 0,
            400..500 => 1,
            500.. => 2,
        };
        self.0.answered[class].fetch_add(1, Ordering::Relaxed);
    }

    /// All reasons, and how often each was met.
    pub fn list(&self) -> Vec<(&'static str, u64)> {
        list(&WORDS, &self.0.refused)
    }

    /// All classes of a status, and how many answers had each.
    pub fn list_answers(&self) -> Vec<(&'static str, u64)> {
        list(&CLASSES, &self.0.answered)
    }
}

fn list(words: &[&'static str], counts: &[AtomicU64]) -> Vec<(&'static str, u64)> {
    let counts = counts.iter().map(|count| count.load(Ordering::Relaxed));
    words.iter().copied().zip(counts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_counts_in_its_class() {
        let refusals = Refusals::default();
        for status in [200, 204, 400, 404, 431, 503] {
            refusals.count_answer(status);
        }
        assert_eq!(refusals.list_answers(), [("2xx", 2), ("4xx", 3), ("5xx", 1)]);
        refusals.count(Refused::Slow);
        assert_eq!(refusals.list().last(), Some(&("slow", 1)));
    }
}
