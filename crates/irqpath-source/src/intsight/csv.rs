// SPDX-License-Identifier: GPL-2.0-or-later
//! The files in `csv_results`: a line per run, fields separated by commas, no header.
//!
//! Read line by line, so that a result of any length takes the memory of its columns only. An
//! empty line is a run without checkpoints.

use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use irqpath_files::input;
use irqpath_model::bench::{Clock, Runs};

use super::IntsightError;

/// No run has that many bytes in one file; a longer line is another kind of file.
const MAX_LINE: u64 = 1 << 20;

/// How much of a capture is read: checkpoints of all runs and their stamps by every clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room(usize);

impl Room {
    /// For one that others may have made: 96 MB of stamps.
    pub const OTHERS: Self = Self(12_000_000);
    /// For one that was measured just now, as long as its user asked for.
    pub const OWN: Self = Self(usize::MAX);

    pub(super) fn take_stamps(&mut self, nr: usize) -> Result<(), String> {
        self.0 =
            self.0.checked_sub(nr).ok_or("the capture has more stamps than fit into memory")?;
        Ok(())
    }
}

/// Longest checkpoint name; the kernel's longest tracepoint has half of it.
const MAX_NAME: usize = 128;

/// Calls `each` with every line, without its end, and its number from 1.
fn for_each_line(
    path: &Path,
    mut each: impl FnMut(usize, &str) -> Result<(), String>,
) -> Result<(), IntsightError> {
    let unreadable = |source: io::Error| IntsightError::Read { path: path.to_owned(), source };
    let malformed = |line, reason| IntsightError::Malformed { path: path.to_owned(), line, reason };
    let mut file = BufReader::with_capacity(1 << 16, input::open(path).map_err(unreadable)?);
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = (&mut file).take(MAX_LINE).read_until(b'\n', &mut bytes).map_err(unreadable)?;
        if read == 0 {
            break;
        }
        if bytes.pop_if(|last| *last == b'\n').is_none() && read as u64 == MAX_LINE {
            return Err(malformed(line, format!("the line has more than {MAX_LINE} bytes")));
        }
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| malformed(line, "the line is not text".to_owned()))?;
        each(line, text).map_err(|reason| malformed(line, reason))?;
    }
    Ok(())
}

/// The names of the checkpoints: the runs, without their clocks.
pub(super) fn read_names(path: &Path, room: &mut Room) -> Result<Runs, IntsightError> {
    let mut runs = Runs::default();
    for_each_line(path, |_, line| {
        if let Some(bad) = split_fields(line).find(|f| !is_name(f)) {
            return Err(format!("'{}' is not the name of a checkpoint", shorten_text(bad)));
        }
        room.take_stamps(1 + split_fields(line).count())?;
        runs.push(split_fields(line)).map_err(|e| e.to_string())
    })?;
    Ok(runs)
}

/// One clock's stamps; each line must have as many as the run has checkpoints.
pub(super) fn read_clock(
    path: &Path,
    clock: Clock,
    runs: &mut Runs,
    room: &mut Room,
) -> Result<(), IntsightError> {
    let mut ticks = Vec::new();
    let mut nr_lines = 0;
    for_each_line(path, |line, text| {
        nr_lines = line;
        if line > runs.len() {
            return Err(format!("there are {} runs only", runs.len()));
        }
        let before = ticks.len();
        let want = runs.nr_checkpoints(line - 1);
        room.take_stamps(want)?;
        for field in split_fields(text) {
            ticks.push(parse_stamp(field)?);
        }
        let got = ticks.len() - before;
        if got == want { Ok(()) } else { Err(format!("{got} stamps for {want} checkpoints")) }
    })?;
    if nr_lines < runs.len() {
        let reason = format!("the file ends after {nr_lines} of {} runs", runs.len());
        return Err(IntsightError::Malformed { path: path.to_owned(), line: nr_lines + 1, reason });
    }
    runs.set_clock(clock, ticks)
        .map_err(|source| IntsightError::Mismatch { path: path.to_owned(), source })
}

/// No field at all in an empty line.
fn split_fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').filter(|_| !line.is_empty())
}

fn is_name(field: &str) -> bool {
    !field.is_empty()
        && field.len() <= MAX_NAME
        && field.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.:+/".contains(&b))
}

fn parse_stamp(field: &str) -> Result<u64, String> {
    // parse() would also take a plus sign.
    let is_number = !field.is_empty() && field.bytes().all(|b| b.is_ascii_digit());
    let number = if is_number { field.parse().ok() } else { None };
    number.ok_or_else(|| format!("'{}' is not a stamp", shorten_text(field)))
}

/// Text for an error line.
fn shorten_text(text: &str) -> String {
    text.chars().take(40).map(|c| if c.is_control() { '?' } else { c }).collect()
}
