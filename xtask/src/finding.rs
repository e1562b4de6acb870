// SPDX-License-Identifier: GPL-2.0-or-later
//! What a rule has to say about one place in the tree.
//!
//! A [`Level::Fail`] makes `cargo xtask check` exit with 1; a [`Level::Note`] is only printed.

use std::fmt;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Worth a look, nothing is broken.
    Note,
    /// A rule is broken.
    Fail,
}

/// One remark: where, what, how serious.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub level: Level,
    /// `path` or `path:line`, relative to the root of the tree.
    pub place: String,
    pub text: String,
}

impl Finding {
    pub fn fail(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { level: Level::Fail, place: place.into(), text: text.into() }
    }

    pub fn note(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { level: Level::Note, place: place.into(), text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Note => "note",
            Level::Fail => "FAIL",
        };
        write!(f, "{level} {}: {}", self.place, self.text)
    }
}
