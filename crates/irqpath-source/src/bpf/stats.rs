// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel tables as statistics.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Instant;

use irqpath_model::{
    Histogram, LineStats, LossReason, NapiStats, Origin, PathKey, PathStats, Point, Snapshot,
    SoftirqStats, SoftirqVec, Vector,
};
use libbpf_rs::{MapCore, MapFlags, Result};

use super::decode;
use super::skel::{IrqpathSkel, bytes_of, read, types};
use crate::realtime::now_ns;

/// Everything but overhead and missing features.
pub fn read_snapshot(
    skel: &IrqpathSkel<'_>,
    leaving: &[Leaving],
    by_cgroup: bool,
) -> Result<Snapshot> {
    let paths = read_paths(skel, leaving, by_cgroup)?;
    let mut out = Snapshot { paths, ..read_counts(skel)? };
    let zero = 0u32.to_ne_bytes();
    let folded = skel.maps.ip_folded.lookup(&zero, MapFlags::ANY)?;
    if let Some(folded) = folded.as_deref().and_then(read::<types::ip_folded>) {
        out.folded = decode::decode_folded(&folded);
    }
    Ok(out)
}

/// What the programs count for each line, softirq and CPU.
pub fn read_counts(skel: &IrqpathSkel<'_>) -> Result<Snapshot> {
    let mut out = Snapshot { ns: now_ns(), ..Snapshot::default() };
    read_lines(skel, &mut out)?;
    let zero = 0u32.to_ne_bytes();
    let cpus = skel.maps.ip_cpus.lookup_percpu(&zero, MapFlags::ANY)?.unwrap_or_default();
    for (cpu, bytes) in cpus.iter().enumerate() {
        if let Some(state) = read::<types::ip_cpu>(bytes) {
            cpu_state(cpu as u16, &state, &mut out);
        }
    }
    Ok(out)
}

fn cpu_state(cpu: u16, state: &types::ip_cpu, out: &mut Snapshot) {
    out.overhead.nr_events += state.nr_events;
    for (vector, line) in Vector::ALL.iter().copied().zip(&state.vectors) {
        push_line(Origin::Vector(vector), cpu, line, &mut out.lines);
    }
    for (vec, s) in SoftirqVec::ALL.iter().copied().zip(&state.softirqs) {
        if s.nr > 0 {
            out.softirqs.push(SoftirqStats {
                vec,
                cpu,
                nr: s.nr,
                run_ns: s.run_ns,
                max_run_ns: s.max_run_ns,
                delay_ns: s.delay_ns,
                max_delay_ns: s.max_delay_ns,
            });
        }
    }
    if state.napi.nr > 0 {
        let types::ip_napi { nr, nr_packets, nr_exhausted } = state.napi;
        out.napi.push(NapiStats { cpu, nr, nr_packets, nr_exhausted });
    }
    for (reason, &n) in LossReason::ALL.iter().copied().zip(&state.loss) {
        out.loss.add_loss(reason, n);
    }
}

fn push_line(origin: Origin, cpu: u16, line: &types::ip_line, out: &mut Vec<LineStats>) {
    if line.nr > 0 {
        out.push(LineStats {
            origin,
            cpu,
            nr: line.nr,
            run_ns: line.run_ns,
            max_run_ns: line.max_run_ns,
        });
    }
}

fn read_lines(skel: &IrqpathSkel<'_>, out: &mut Snapshot) -> Result<()> {
    // Only numbers that exist: a lookup per possible number would be 4096 system calls.
    for nr in irq_numbers() {
        let values = skel.maps.ip_lines.lookup_percpu(&nr.to_ne_bytes(), MapFlags::ANY)?;
        for (cpu, bytes) in values.unwrap_or_default().iter().enumerate() {
            if let Some(line) = read::<types::ip_line>(bytes) {
                push_line(Origin::Irq(nr), cpu as u16, &line, &mut out.lines);
            }
        }
    }
    Ok(())
}

/// Lines that have a descriptor now; the directory also lists those without an action.
fn irq_numbers() -> Vec<u32> {
    let Ok(dir) = std::fs::read_dir("/sys/kernel/irq") else { return (0..256).collect() };
    let mut numbers: Vec<u32> =
        dir.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// A path, the number of its row, and the row.
pub type Row = (types::ip_path_key, u32, types::ip_path_stat);

/// A path that is no longer in the table, and its row.
#[derive(Debug, Clone, Copy)]
pub struct Leaving {
    pub key: types::ip_path_key,
    pub nr: u32,
    pub since: Instant,
}

/// All rows that the table names, as far as it is still right about them.
pub fn read_rows(skel: &IrqpathSkel<'_>) -> Result<Vec<Row>> {
    let mut out = Vec::new();
    for key in skel.maps.ip_paths.keys() {
        let nr = skel.maps.ip_paths.lookup(&key, MapFlags::ANY)?;
        let Some(nr) = nr.and_then(|nr| Some(u32::from_ne_bytes(nr.try_into().ok()?))) else {
            continue;
        };
        let Some(key) = read::<types::ip_path_key>(&key) else { continue };
        let row = read_row(skel, nr)?.filter(|row| bytes_of(&row.key) == bytes_of(&key));
        out.extend(row.map(|row| (key, nr, row)));
    }
    Ok(out)
}

/// One row.
pub fn read_row(skel: &IrqpathSkel<'_>, nr: u32) -> Result<Option<types::ip_path_stat>> {
    let bytes = skel.maps.ip_rows.lookup(&nr.to_ne_bytes(), MapFlags::ANY)?;
    Ok(bytes.as_deref().and_then(read::<types::ip_path_stat>))
}

fn read_paths(
    skel: &IrqpathSkel<'_>,
    leaving: &[Leaving],
    by_cgroup: bool,
) -> Result<Vec<PathStats>> {
    let mut paths: BTreeMap<PathKey, PathStats> = BTreeMap::new();
    let mut rows = read_rows(skel)?;
    for one in leaving {
        rows.extend(read_row(skel, one.nr)?.map(|row| (one.key, one.nr, row)));
    }
    for (key, _, row) in &rows {
        let Some(stats) = read_path(skel, key, row, by_cgroup)? else { continue };
        // A path may have a new row while its old one leaves.
        match paths.entry(stats.key.clone()) {
            Entry::Vacant(vacant) => drop(vacant.insert(stats)),
            Entry::Occupied(mut there) => there.get_mut().merge_with(&stats),
        }
    }
    Ok(paths.into_values().collect())
}

/// The statistics of a row; `None` if it has no times yet.
pub fn read_path(
    skel: &IrqpathSkel<'_>,
    key: &types::ip_path_key,
    row: &types::ip_path_stat,
    by_cgroup: bool,
) -> Result<Option<PathStats>> {
    let Some(key) = decode::path_key(key, by_cgroup) else { return Ok(None) };
    let mut stats = PathStats::new(key);
    stats.tid = (row.several_tids == 0).then_some(row.tid);
    stats.slowest_ns = row.slowest_ns;
    stats.since_ns = row.born_ns;
    stats.stages = read_stages(skel, row)?;
    if let Some(total) = stats.stages.remove(&Point::Raise) {
        stats.total = total; // slot 0: no stage ends at the raise
    }
    Ok((!stats.total.is_empty()).then_some(stats))
}

fn read_stages(
    skel: &IrqpathSkel<'_>,
    stat: &types::ip_path_stat,
) -> Result<BTreeMap<Point, Histogram>> {
    let page = |nr: u32| -> Result<types::ip_hist_page> {
        let bytes = skel.maps.ip_hist_pages.lookup(&nr.to_ne_bytes(), MapFlags::ANY)?;
        Ok(bytes.as_deref().and_then(read::<types::ip_hist_page>).unwrap_or_default())
    };
    let mut stages = BTreeMap::new();
    for (point, h) in Point::ALL.iter().copied().zip(&stat.hist).filter(|(_, h)| h.nr > 0) {
        stages.insert(point, decode::decode_histogram(h, page)?);
    }
    Ok(stages)
}
