// SPDX-License-Identifier: GPL-2.0-or-later
//! Strings that occur in many packets are written once and referred to by number (interned).
//!
//! Perfetto's rules: numbers start at 1, an index belongs to one field of `InternedData`, entries
//! come in or before the packet that first uses them, and a number never gets a second meaning,
//! not even after the incremental state was cleared. So the counters only grow.

use std::collections::HashMap;

use super::proto::{InternedData, InternedString};

/// Entries of all indexes after which the state is cleared, so that neither our memory nor the
/// reader's grows with the number of tasks ever seen.
const MAX_ENTRIES: usize = 1 << 16;

/// One index: strings to numbers.
#[derive(Debug, Default)]
struct Index {
    numbers: HashMap<String, u64>,
    last: u64,
}

impl Index {
    fn intern_text(&mut self, text: &str, new: &mut Vec<InternedString>) -> u64 {
        if let Some(&iid) = self.numbers.get(text) {
            return iid;
        }
        self.last += 1;
        self.numbers.insert(text.to_owned(), self.last);
        new.push(InternedString { iid: Some(self.last), str: Some(text.to_owned()) });
        self.last
    }
}

/// The indexes of our sequence, and what the next packet must add to them.
#[derive(Debug, Default)]
pub(super) struct Interned {
    categories: Index,
    names: Index,
    keys: Index,
    values: Index,
    pending: InternedData,
}

impl Interned {
    /// Number of a category.
    pub fn intern_category(&mut self, text: &str) -> u64 {
        self.categories.intern_text(text, &mut self.pending.event_categories)
    }

    /// Number of an event's name.
    pub fn intern_name(&mut self, text: &str) -> u64 {
        self.names.intern_text(text, &mut self.pending.event_names)
    }

    /// Number of an annotation's name.
    pub fn intern_key(&mut self, text: &str) -> u64 {
        self.keys.intern_text(text, &mut self.pending.debug_annotation_names)
    }

    /// Number of an annotation's value.
    pub fn intern_value(&mut self, text: &str) -> u64 {
        self.values.intern_text(text, &mut self.pending.debug_annotation_string_values)
    }

    /// What the packet that is being made must carry.
    pub fn take_pending(&mut self) -> Option<InternedData> {
        let new = &self.pending;
        let is_empty = new.event_names.is_empty()
            && new.event_categories.is_empty()
            && new.debug_annotation_names.is_empty()
            && new.debug_annotation_string_values.is_empty();
        (!is_empty).then(|| std::mem::take(&mut self.pending))
    }

    /// True if it is time to clear the state.
    pub fn is_full(&self) -> bool {
        let indexes = [&self.categories, &self.names, &self.keys, &self.values];
        indexes.iter().map(|index| index.numbers.len()).sum::<usize>() >= MAX_ENTRIES
    }

    /// Forget the strings; the numbers stay used.
    pub fn clear(&mut self) {
        for index in [&mut self.categories, &mut self.names, &mut self.keys, &mut self.values] {
            index.numbers.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_written_once_and_its_number_is_never_used_again() {
        let mut interned = Interned::default();
        assert_eq!(
            [interned.intern_name("a"), interned.intern_name("b"), interned.intern_name("a")],
            [1, 2, 1]
        );
        assert_eq!(interned.intern_value("a"), 1, "every index counts by itself");
        let pending = interned.take_pending().unwrap();
        assert_eq!(
            (pending.event_names.len(), pending.debug_annotation_string_values.len()),
            (2, 1)
        );
        assert_eq!(interned.intern_name("b"), 2);
        assert_eq!(interned.take_pending(), None);
        interned.clear();
        assert_eq!(interned.intern_name("b"), 3);
        assert_eq!(interned.take_pending().unwrap().event_names.len(), 1);
    }
}
