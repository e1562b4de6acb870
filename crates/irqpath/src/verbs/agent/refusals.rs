// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests that got no numbers, by reason.

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
}

const WORDS: [&str; 5] = ["tls", "password", "busy", "host", "no_answer"];

/// Counts that the server's thread makes and the measurement shows.
#[derive(Debug, Clone, Default)]
pub struct Refusals(Arc<[AtomicU64; WORDS.len()]>);

impl Refusals {
    /// One more.
    pub fn count(&self, why: Refused) {
        self.0[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// All reasons, and how often each was met.
    pub fn list(&self) -> Vec<(&'static str, u64)> {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        WORDS.into_iter().zip(counts).collect()
    }
}
