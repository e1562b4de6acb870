// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel tables as statistics.

use std::collections::BTreeMap;

use irqpath_model::{
    Histogram, LineStats, LossReason, NapiStats, Origin, PathStats, Point, Snapshot, SoftirqStats,
    SoftirqVec, Vector,
};
use libbpf_rs::{MapCore, MapFlags, Result};

use super::decode;
use super::skel::{IrqpathSkel, read, types};
use crate::realtime::now_ns;

/// Everything but overhead and missing features.
pub fn snapshot(skel: &IrqpathSkel<'_>) -> Result<Snapshot> {
    let paths = paths(skel)?;
    let mut out = Snapshot { paths, ..counts(skel)? };
    let zero = 0u32.to_ne_bytes();
    let folded = skel.maps.ip_folded.lookup(&zero, MapFlags::ANY)?;
    if let Some(folded) = folded.as_deref().and_then(read::<types::ip_folded>) {
        out.folded = decode::folded(&folded);
    }
    Ok(out)
}

/// What the programs count for each line, softirq and CPU.
pub fn counts(skel: &IrqpathSkel<'_>) -> Result<Snapshot> {
    let mut out = Snapshot { ns: now_ns(), ..Snapshot::default() };
    lines(skel, &mut out)?;
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
    for (vector, line) in Vector::ALL.into_iter().zip(&state.vectors) {
        push_line(Origin::Vector(vector), cpu, line, &mut out.lines);
    }
    for (vec, s) in SoftirqVec::ALL.into_iter().zip(&state.softirqs) {
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
    for (reason, &n) in LossReason::ALL.into_iter().zip(&state.loss) {
        out.loss.add(reason, n);
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

fn lines(skel: &IrqpathSkel<'_>, out: &mut Snapshot) -> Result<()> {
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

fn paths(skel: &IrqpathSkel<'_>) -> Result<Vec<PathStats>> {
    let mut out = Vec::new();
    for key in skel.maps.ip_paths.keys() {
        let Some(bytes) = skel.maps.ip_paths.lookup(&key, MapFlags::ANY)? else { continue };
        let (Some(key), Some(stat)) =
            (read::<types::ip_path_key>(&key), read::<types::ip_path_stat>(&bytes))
        else {
            continue;
        };
        let Some(key) = decode::path_key(&key) else { continue };
        let mut stats = PathStats::new(key);
        stats.tid = (stat.several_tids == 0).then_some(stat.tid);
        stats.slowest_ns = stat.slowest_ns;
        stats.stages = stages(skel, &stat)?;
        if let Some(total) = stats.stages.remove(&Point::Raise) {
            stats.total = total; // slot 0: no stage ends at the raise
        }
        if !stats.total.is_empty() {
            out.push(stats);
        }
    }
    Ok(out)
}

fn stages(
    skel: &IrqpathSkel<'_>,
    stat: &types::ip_path_stat,
) -> Result<BTreeMap<Point, Histogram>> {
    let page = |nr: u32| -> Result<types::ip_hist_page> {
        let bytes = skel.maps.ip_hist_pages.lookup(&nr.to_ne_bytes(), MapFlags::ANY)?;
        Ok(bytes.as_deref().and_then(read::<types::ip_hist_page>).unwrap_or_default())
    };
    let mut stages = BTreeMap::new();
    for (point, h) in Point::ALL.into_iter().zip(&stat.hist).filter(|(_, h)| h.nr > 0) {
        stages.insert(point, decode::histogram(h, page)?);
    }
    Ok(stages)
}
