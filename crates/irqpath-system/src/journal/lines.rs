// SPDX-License-Identifier: GPL-2.0-or-later
//! Lines of a journal: CRC-32 in hexadecimal, a space, a [`Record`] in JSON.
//!
//! A kill or a power cut leaves at most a last line without its end: nothing was changed on the
//! strength of it, so it is cut off. A damaged line before it is a broken disk or an editor; the
//! others are used all the same, because undo looks at each value before it writes.

use std::fs::File;
use std::io;
use std::path::Path;

use super::{JournalError, Record, VERSION, store};
use crate::change::Allowed;

/// What is known of a journal's lines, apart from what they say.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub nr_records: usize,
    pub damaged: Vec<usize>,
    exists: bool,
    /// Length without a torn last line, and with it.
    pub good: u64,
    length: u64,
}

/// A record as a line.
pub(super) fn format_line(record: &Record) -> io::Result<String> {
    let json = serde_json::to_string(record)?;
    Ok(format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes())))
}

fn parse_record(line: &[u8]) -> Option<Record> {
    let (crc, json) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let crc = u32::from_str_radix(crc, 16).ok()?;
    (crc == crc32fast::hash(json.as_bytes())).then(|| serde_json::from_str(json).ok())?
}

impl Lines {
    /// Gives each record to `take`; a journal that is not there has none. One that asks for a
    /// change that irqpath does not make is refused whole. Keeps one line at a time, so that the
    /// memory does not grow with the journal.
    pub fn read(
        path: &Path,
        allowed: &Allowed,
        mut take: impl FnMut(Record),
    ) -> Result<Self, JournalError> {
        let Some(mut file) = store::open(path)? else { return Ok(Self::default()) };
        let mut lines = Self { exists: true, ..Self::default() };
        let (mut line, mut nr_lines) = (Vec::new(), 0);
        while store::next_line(path, &mut file, &mut line)? {
            lines.length += line.len() as u64;
            let Some(whole) = line.strip_suffix(b"\n") else { break };
            lines.good = lines.length;
            nr_lines += 1;
            match parse_record(whole) {
                Some(Record::Begin { version, .. }) if version > VERSION => {
                    let (path, found) = (path.to_owned(), version);
                    return Err(JournalError::Newer { path, found, supported: VERSION });
                }
                Some(Record::Intend(intent)) if !allowed.is_permitted(&intent) => {
                    return Err(JournalError::foreign_target(path, &intent.target));
                }
                Some(record) => {
                    lines.nr_records += 1;
                    take(record);
                }
                None => lines.damaged.push(nr_lines),
            }
        }
        Ok(lines)
    }

    /// Cut off a torn last line, and open the journal for more; `None` if there is none.
    pub fn repair_file(&self, path: &Path) -> Result<Option<File>, JournalError> {
        if !self.exists {
            return Ok(None);
        }
        let file = store::open_append(path)?;
        if self.good < self.length {
            let cut = file.set_len(self.good).and_then(|()| file.sync_all());
            cut.map_err(JournalError::write(path))?;
        }
        Ok(Some(file))
    }
}
