// SPDX-License-Identifier: GPL-2.0-or-later
//! Rows of paths that no longer occur, given back.
//!
//! A row is retired in two steps, as programs may be about to count in it. First its path is taken
//! out of the table, so that no further program finds the row. When all programs have ended that ran
//! then, its counts are final: they are handed over, the row and its pages are emptied, and their
//! numbers go back to the pool (`bpf/rows.bpf.h`). Until then it belongs to every snapshot.
#![allow(unsafe_code)] // the pool is memory that is shared with the programs

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use irqpath_model::PathStats;
use libbpf_rs::{MapCore as _, MapFlags, Result};

use super::skel::{IrqpathSkel, OpenIrqpathSkel, bytes_of, types};
use super::stats::{self, Leaving};

/// Rows of others: `IP_MAX_OTHERS` of `bpf/irqpath.h`.
const MAX_OTHERS: u32 = 320;
/// `IP_MAX_PATHS` of `bpf/irqpath.h`.
pub const MAX_PATHS: u32 = 1024;
/// Pages for each path and for all others: as many as `IP_MAX_PAGES` for all paths.
const PAGES_A_PATH: u32 = 10;
const PAGES_OF_OTHERS: u32 = 2048;
/// `IP_KEPT_PAGES` of `bpf/irqpath.h`.
const KEPT_PAGES: u32 = 3;
/// A program runs for microseconds. Waited for where the kernel does not tell when all have ended.
const PROGRAMS_END: Duration = Duration::from_secs(30);

/// Gives the tables their sizes, and all numbers to the pool; before loading.
pub fn size_tables(
    open: &mut OpenIrqpathSkel<'static>,
    max_paths: u32,
    nr_cpus: u32,
) -> Result<()> {
    let pool = &mut open.maps.bss_data.as_deref_mut().expect("the object has variables").ip_pool;
    // A CPU may have one that it does not need yet.
    let nr_rows = (max_paths + MAX_OTHERS + nr_cpus).min(pool.row.len() as u32 - 1);
    let nr_pages = (PAGES_OF_OTHERS + PAGES_A_PATH * max_paths).min(pool.page.len() as u32 - 1);
    // The first is none.
    for (slot, nr) in pool.row.iter_mut().zip(1..=nr_rows) {
        *slot = nr;
    }
    for (slot, nr) in pool.page.iter_mut().zip(1..nr_pages) {
        *slot = nr;
    }
    (pool.rows_put, pool.pages_put) = (nr_rows, nr_pages - 1);
    open.maps.ip_rows.set_max_entries(nr_rows + 1)?;
    open.maps.ip_hist_pages.set_max_entries(nr_pages)?;
    let rodata = open.maps.rodata_data.as_deref_mut().expect("the object has constants");
    rodata.ip_config.keep_pages = nr_pages / KEPT_PAGES;
    Ok(())
}

/// Which rows are idle, and which are on their way out.
#[derive(Debug, Default)]
pub struct Retirement {
    /// How many paths each row had counted when that last changed.
    seen: BTreeMap<u32, (u64, Instant)>,
    leaving: Vec<Leaving>,
}

impl Retirement {
    /// The rows that are out of the table and still count.
    pub fn leaving(&self) -> &[Leaving] {
        &self.leaving
    }

    /// Takes the rows out that had no path for `idle`, and returns the final counts of those that
    /// were taken out before.
    pub fn retire_idle(
        &mut self,
        skel: &mut IrqpathSkel<'_>,
        idle: Duration,
        by_cgroup: bool,
    ) -> Result<Vec<PathStats>> {
        let retired = self.collect(skel, by_cgroup)?;
        let rows = stats::read_rows(skel)?;
        let now = Instant::now();
        self.seen.retain(|nr, _| rows.iter().any(|(_, at, _)| at == nr));
        for (key, nr, row) in &rows {
            let nr_paths = row.hist[0].nr;
            let seen = self.seen.entry(*nr).or_insert((nr_paths, now));
            if seen.0 != nr_paths {
                *seen = (nr_paths, now);
            }
            if key.others == 0 && now.duration_since(seen.1) >= idle {
                skel.maps.ip_paths.delete(bytes_of(key))?;
                self.seen.remove(nr);
                self.leaving.push(Leaving { key: *key, nr: *nr, since: now });
            }
        }
        self.recount_shares(skel, &rows)?;
        Ok(retired)
    }

    /// The rows that no program can count in any more.
    fn collect(&mut self, skel: &mut IrqpathSkel<'_>, by_cgroup: bool) -> Result<Vec<PathStats>> {
        if self.leaving.is_empty() {
            return Ok(Vec::new());
        }
        let all_ended = wait_for_programs();
        let has_ended = |one: &Leaving| all_ended || one.since.elapsed() >= PROGRAMS_END;
        let (ended, leaving) = std::mem::take(&mut self.leaving).into_iter().partition(has_ended);
        self.leaving = leaving;
        let mut retired = Vec::new();
        for one in ended {
            let row = stats::read_row(skel, one.nr)?.unwrap_or_default();
            retired.extend(stats::read_path(skel, &one.key, &row, by_cgroup)?);
            free_row(skel, one.nr, &row)?;
        }
        Ok(retired)
    }

    /// Rows that a task, a name, a user and so on have, as they are now. A program that counts at the
    /// same time may be off by one until the next time.
    fn recount_shares(&self, skel: &IrqpathSkel<'_>, rows: &[stats::Row]) -> Result<()> {
        let mut right: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        let mut count = |row: &types::ip_path_stat| {
            for key in share_keys(row) {
                *right.entry(bytes_of(&key).to_vec()).or_default() += 1;
            }
        };
        // A row is in the table, or has left it since.
        let is_leaving = |nr: &u32| self.leaving.iter().any(|one| one.nr == *nr);
        rows.iter().filter(|(_, nr, _)| !is_leaving(nr)).for_each(|(_, _, row)| count(row));
        for one in &self.leaving {
            stats::read_row(skel, one.nr)?.iter().for_each(&mut count);
        }
        let shares = &skel.maps.ip_shares;
        for key in shares.keys().collect::<Vec<_>>() {
            let Some(now) = shares.lookup(&key, MapFlags::ANY)? else { continue };
            match right.get(&key) {
                None => shares.delete(&key)?,
                Some(nr) if nr.to_ne_bytes() != now[..] => {
                    shares.update(&key, &nr.to_ne_bytes(), MapFlags::EXIST)?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// The accounts that a row may be charged to; those of rows "others" are not.
fn share_keys(row: &types::ip_path_stat) -> Vec<types::ip_share_key> {
    use types::ip_share as s;
    if row.key.others != 0 {
        return Vec::new();
    }
    let key = |which: s, comm, id| types::ip_share_key { comm, which: which.0, id };
    let mut keys = vec![
        key(s::IP_SHARE_TABLE, [0; 2], 0),
        key(s::IP_SHARE_NAME, row.comm, row.uid),
        key(s::IP_SHARE_TASK, [0; 2], row.tid),
    ];
    if row.uid != 0 {
        keys.push(key(s::IP_SHARE_USERS, [0; 2], 0));
        keys.push(key(s::IP_SHARE_USER, [0; 2], row.uid));
    }
    keys
}

/// Empties a row and its pages, and puts their numbers back.
fn free_row(skel: &mut IrqpathSkel<'_>, nr: u32, row: &types::ip_path_stat) -> Result<()> {
    let pages = row.hist.iter().flat_map(|h| h.page).filter(|page| *page > 0);
    let empty = vec![0; size_of::<types::ip_hist_page>()];
    let mut freed = Vec::new();
    for page in pages {
        skel.maps.ip_hist_pages.update(&page.to_ne_bytes(), &empty, MapFlags::EXIST)?;
        freed.push(page);
    }
    let empty = vec![0; size_of::<types::ip_path_stat>()];
    skel.maps.ip_rows.update(&nr.to_ne_bytes(), &empty, MapFlags::EXIST)?;
    let pool = &mut skel.maps.bss_data.as_deref_mut().expect("the object has variables").ip_pool;
    put(&mut pool.row, &mut pool.rows_put, &[nr]);
    put(&mut pool.page, &mut pool.pages_put, &freed);
    Ok(())
}

/// Only this thread puts numbers; programs take them at the same time.
fn put(ring: &mut [u32], put: &mut u32, numbers: &[u32]) {
    // SAFETY: both are aligned words of the mapping that lives as long as the skeleton, which is
    // borrowed here, and the programs use atomics too.
    let (slots, put) = unsafe {
        let slots = std::slice::from_raw_parts(ring.as_mut_ptr().cast::<AtomicU32>(), ring.len());
        (slots, AtomicU32::from_ptr(put))
    };
    for &nr in numbers {
        let at = put.load(Ordering::Relaxed);
        slots[at as usize % slots.len()].store(nr, Ordering::Relaxed);
        // The number first: a program that sees the count sees the number.
        put.store(at.wrapping_add(1), Ordering::Release);
    }
}

/// True if every program has ended that ran when this was called. Kernels with CPUs that have no
/// tick (`nohz_full`) do not tell.
fn wait_for_programs() -> bool {
    const MEMBARRIER_CMD_GLOBAL: libc::c_int = 1;
    // SAFETY: takes three integers and touches no memory. It waits for a grace period of RCU, which
    // tracing programs run under.
    unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0 }
}
