// SPDX-License-Identifier: GPL-2.0-or-later
//! The memory of the recorder: how it is shared out, and what it has come to.

use std::path::Path;

use anyhow::{Context as _, ensure};
use irqpath_files::input;
use irqpath_model::record::RecorderMemory;
use irqpath_source::bpf::flight::Recording;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Of the process, besides its code and the copy of the rings: the analysis of a capture, its writers.
const PROCESS: u64 = 40 << 20;
/// Of libraries, and of the program's pages that the kernel reads ahead.
const LIBRARIES: u64 = 8 << 20;
/// Of the kernel's tables besides the rings, on a machine with few CPUs.
const TABLES: u64 = 16 << 20;
/// Of the same for each CPU.
const TABLES_OF_CPU: u64 = 128 << 10;
/// Stacks of the threads, of which little is ever used.
const STACKS: u64 = 8 << 20;
/// Fewer would hold nothing.
const LEAST_RINGS: u64 = 2 << 20;
/// Of `/proc/self/status`, which has two kilobytes.
const MAX_STATUS: u64 = 1 << 20;

/// What the rings may take of a limit in MiB: half of what is left, as a capture copies them.
///
/// # Errors
/// If nothing is left, or if a limit of this session allows less.
pub fn share_out(limit_mib: u32, nr_cpus: usize, user: User) -> anyhow::Result<usize> {
    let code = bound_code(read_resident("RssFile:"), program_bytes());
    let left = share_rest(limit_mib, nr_cpus, code, user)?;
    let needed = left + PROCESS + user.besides;
    if let Some(session) = getrlimit(Resource::Data).current {
        ensure!(
            session >= needed,
            "this session allows a process {} MiB of data (ulimit -d), which {} {limit_mib} exceeds \
             by {}; raise the one or lower the other",
            session >> 20,
            user.name,
            (needed - session).div_ceil(1 << 20)
        );
    }
    usize::try_from(left).context("--memory is more than this machine can address")
}

/// Whose memory it is.
#[derive(Debug, Clone, Copy)]
pub struct User {
    /// How its limit is set.
    pub name: &'static str,
    /// What it needs besides a recorder.
    pub besides: u64,
}

/// A recorder and nothing else.
pub const ALONE: User = User { name: "--memory", besides: 0 };

/// What of the program's code will be in memory at most: all of it, or, of a debug build, twice what
/// is there before the tracing programs are loaded.
fn bound_code(resident: u64, program: u64) -> u64 {
    program.min(2 * resident) + LIBRARIES
}

fn program_bytes() -> u64 {
    Path::new("/proc/self/exe").metadata().map_or(u64::MAX, |file| file.len())
}

fn share_rest(limit_mib: u32, nr_cpus: usize, code: u64, user: User) -> anyhow::Result<u64> {
    let fixed = code + PROCESS + TABLES + user.besides + nr_cpus as u64 * TABLES_OF_CPU;
    let left = (u64::from(limit_mib) << 20).saturating_sub(fixed) / 2;
    let least = (fixed + 2 * LEAST_RINGS).div_ceil(1 << 20);
    ensure!(
        left >= LEAST_RINGS,
        "{} {limit_mib} is too little; on {nr_cpus} CPUs give at least {least}",
        user.name
    );
    Ok(left)
}

/// Begin to watch over a recorder whose rings and tables are there: the process may take the rest of
/// the limit in MiB.
///
/// # Errors
/// If less is left than the process has already.
pub fn watch_within(limit_mib: u32, flight: &impl Recording) -> anyhow::Result<Watch> {
    let tables = flight.take_counts()?.overhead.map_bytes;
    let limit = (u64::from(limit_mib) << 20).saturating_sub(tables);
    let watch = Watch::start(flight.mapped_bytes(), limit);
    watch.check()?;
    Ok(watch)
}

/// Watches what the process takes.
#[derive(Debug, Default, Clone, Copy)]
pub struct Watch {
    /// Code and data of files, without the rings, which are mapped and would count.
    of_files: u64,
    /// As of the last look, and the most of all looks.
    now: u64,
    most: u64,
    limit: u64,
}

impl Watch {
    /// Start, with so many bytes of rings mapped.
    fn start(mapped: u64, limit: u64) -> Self {
        let of_files = read_resident("RssFile:").saturating_sub(mapped);
        let mut watch = Self { of_files, now: 0, most: 0, limit };
        watch.look();
        watch
    }

    /// Is it within its limit?
    ///
    /// # Errors
    /// In one line, that it is not.
    pub fn check(&self) -> anyhow::Result<()> {
        ensure!(
            self.now <= self.limit,
            "the process takes {} MiB, the memory of the recorder allows {}; raise it, or keep less",
            self.now >> 20,
            self.limit >> 20
        );
        Ok(())
    }

    /// Let the kernel refuse what goes beyond the limit between two looks. It counts what is mapped,
    /// the stacks of threads included, so it gets as much more.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn limit_data(&self) -> anyhow::Result<()> {
        let before = getrlimit(Resource::Data);
        let wanted = self.limit.saturating_sub(self.of_files) + STACKS;
        let current = before.current.map_or(wanted, |session| session.min(wanted));
        let limit = Rlimit { current: Some(current), ..before };
        setrlimit(Resource::Data, limit).context("the memory of the process cannot be limited")
    }

    /// Note how much it is now.
    pub fn look(&mut self) {
        self.now = self.of_files + read_resident("RssAnon:");
        self.most = self.most.max(self.now);
    }

    /// The most that was noted, bytes.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The larger of both.
    pub fn join(&mut self, other: Self) {
        self.most = self.most.max(other.most);
    }
}

/// With what is in the kernel.
pub fn add_up(limit_mib: u32, rings: u64, maps: u64, process: u64) -> RecorderMemory {
    let limit = u64::from(limit_mib) << 20;
    RecorderMemory { limit, rings, tables: maps.saturating_sub(rings), process }
}

fn read_resident(field: &str) -> u64 {
    let status = input::read_text("/proc/self/status".as_ref(), MAX_STATUS).unwrap_or_default();
    parse_kib(&status, field).unwrap_or(0) << 10
}

fn parse_kib(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_fits_into_the_limit() {
        let code = 14 << 20;
        for (mib, cpus) in [(112, 2), (192, 2), (192, 64), (1024, 256), (65_536, 8)] {
            let rings = share_rest(mib, cpus, code, ALONE).unwrap();
            let total = 2 * rings + code + PROCESS + TABLES + cpus as u64 * TABLES_OF_CPU;
            assert!(total <= u64::from(mib) << 20, "{mib} MiB, {cpus} CPUs: {total}");
        }
        let error = share_rest(64, 256, code, ALONE).unwrap_err().to_string();
        assert_eq!(error, "--memory 64 is too little; on 256 CPUs give at least 106");
    }

    #[test]
    fn code_is_no_more_than_the_program_has() {
        assert_eq!(bound_code(9 << 20, 14 << 20), (14 << 20) + LIBRARIES);
        assert_eq!(bound_code(50 << 20, 300 << 20), (100 << 20) + LIBRARIES);
        assert!(program_bytes() > 1 << 20);
    }

    #[test]
    fn the_process_is_watched() {
        assert_eq!(parse_kib("RssAnon:\t  12 kB\nRssFile:\t 7 kB\n", "RssFile:"), Some(7));
        let mut watch = Watch::start(0, 1 << 40);
        assert!(watch.most() > 1 << 20, "{watch:?}");
        watch.check().unwrap();
        watch.limit = 1 << 20;
        let error = watch.check().unwrap_err().to_string();
        assert!(error.ends_with("the memory of the recorder allows 1; raise it, or keep less"));
    }
}
