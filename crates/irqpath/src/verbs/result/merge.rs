// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath report A B --perfetto FILE`: captures of several hosts in one trace, each host a process.
//!
//! Every host has its own monotonic clock. Times are moved by the difference of the hosts' wall
//! clocks, as each read its own beside the monotonic one when it made the capture. They are as far
//! apart as the wall clocks were; one that was set in between is told.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use irqpath_files::output::describe_failed_write;
use irqpath_model::record::Clocks;
use irqpath_model::{Event, Meta};
use irqpath_report::perfetto::PerfettoWriter;
use irqpath_report::text::Page;
use irqpath_source::Source as _;
use irqpath_source::replay::Replay;
use serde::Serialize;

use super::directory;
use crate::output::files::write_file;

/// More would not fit on a screen, nor their names into a trace.
const MAX_HOSTS: usize = 256;
const RECORDING: &str = "trace.rec";

/// A trace that was written.
#[derive(Debug, Serialize)]
pub struct Merged {
    trace: PathBuf,
    hosts: Vec<Host>,
}

/// One host in it.
#[derive(Debug, Serialize)]
struct Host {
    directory: PathBuf,
    name: String,
    /// Added to its times, ns.
    shift_ns: i64,
    /// How far its wall clock was set while it recorded, ns.
    clock_jump_ns: Option<i64>,
    /// Its two clocks were read within so much, ns.
    within_ns: u64,
}

/// Write the trace of the recordings in these directories.
pub fn write_trace(directories: &[PathBuf], file: &Path) -> anyhow::Result<Merged> {
    let n = directories.len();
    ensure!(n <= MAX_HOSTS, "{n} directories are too many for one trace; at most {MAX_HOSTS}");
    let mut inputs = Vec::new();
    for directory in directories {
        let meta = directory::read_meta(directory)?;
        let clocks = meta.clocks.ok_or_else(|| {
            let shown = directory.display();
            anyhow!("{shown} does not tell the wall clock; give captures of irqpath record")
        })?;
        inputs.push((directory, meta, clocks));
    }
    let first = inputs.first().context("no directory was given")?.2;
    let mut hosts = Vec::new();
    for (directory, meta, clocks) in &inputs {
        hosts.push(Host {
            directory: (*directory).clone(),
            name: meta.host.clone(),
            shift_ns: shift_to(&first, clocks),
            clock_jump_ns: clocks.jump_ns(),
            within_ns: clocks.end.within_ns,
        });
    }
    // Opened before the file is made: each is checked as a whole.
    let mut recordings = Vec::new();
    for (directory, ..) in &inputs {
        recordings.push(Replay::open(&directory.join(RECORDING))?.without_paths());
    }
    write_file(file, |out| {
        let mut writer = PerfettoWriter::new(out);
        for ((host, recording), (_, meta, _)) in hosts.iter().zip(&mut recordings).zip(&inputs) {
            writer.begin_machine(&describe(host, meta), host.shift_ns)?;
            write_events(&mut writer, recording, meta)?;
        }
        writer.finish().map(drop)
    })
    .with_context(|| describe_failed_write(file))?;
    Ok(Merged { trace: file.to_owned(), hosts })
}

fn write_events<W: std::io::Write>(
    writer: &mut PerfettoWriter<W>,
    recording: &mut Replay,
    meta: &Meta,
) -> std::io::Result<()> {
    while !recording.is_exhausted() {
        let events = recording.poll_events(Duration::ZERO).map_err(std::io::Error::other)?;
        for event in events {
            match event {
                Event::Path(record) => writer.write_path(&record, &meta.names)?,
                Event::Occupancy(block) => writer.write_occupancy(&block, &meta.names)?,
            }
        }
    }
    Ok(())
}

/// The name of its process; two captures of one host are told apart.
fn describe(host: &Host, meta: &Meta) -> String {
    match &meta.capture {
        Some(capture) => format!("{} {:04}-{}", host.name, capture.nr, capture.trigger),
        None => host.name.clone(),
    }
}

/// From a host's monotonic clock to that of the first one.
fn shift_to(first: &Clocks, other: &Clocks) -> i64 {
    let shift = other.end.offset_ns() - first.end.offset_ns();
    i64::try_from(shift).unwrap_or(if shift < 0 { i64::MIN } else { i64::MAX })
}

/// For people.
pub fn render_merged(merged: &Merged) -> Page {
    let mut page = Page::default();
    for host in &merged.hosts {
        let shift = host.shift_ns as f64 / 1e9;
        page.add_line(format_args!(
            "{}: {}, moved by {shift:+.6} s",
            host.directory.display(),
            host.name
        ));
        if let Some(ns) = host.clock_jump_ns {
            page.add_line(format_args!(
                "  its wall clock was set by {:+.3} s while it recorded; its place is uncertain",
                ns as f64 / 1e9
            ));
        }
    }
    page.add_line(format_args!("wrote {}", merged.trace.display()));
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::record::ClockReading;

    fn clocks(monotonic_ns: u64, realtime_ns: u64) -> Clocks {
        let end = ClockReading { monotonic_ns, realtime_ns, within_ns: 0 };
        Clocks { start: end, end }
    }

    #[test]
    fn the_same_moment_of_two_hosts_has_the_same_time() {
        let (a, b) = (clocks(1_000, 9_000_000), clocks(500_000, 9_000_100));
        assert_eq!(shift_to(&a, &a), 0);
        // At a's 1 000 it was 9 000 000; b showed 499 900 then.
        assert_eq!(499_900 + shift_to(&a, &b), 1_000);
        assert_eq!(shift_to(&clocks(u64::MAX, 0), &clocks(0, u64::MAX)), i64::MAX);
    }
}
