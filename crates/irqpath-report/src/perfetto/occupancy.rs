// SPDX-License-Identifier: GPL-2.0-or-later
//! What a CPU did, as slices on its own rows: stolen time, NMIs, hardirqs (nested), softirqs and
//! tasks.
//!
//! Transitions come in the order of their sequence number per CPU, may come twice, and may have
//! gaps. Nothing is drawn over a gap: whatever was open ends with the last transition before it.
//! The idle task is drawn as an empty row.

use std::collections::HashMap;
use std::io::{self, Write};

use irqpath_model::{Names, Occupancy, Task, Transition};

use super::sink::{Row, Sink, Slice, Track, Value};

/// Interrupts nest a few levels at most; deeper means that their exits were lost.
const MAX_NESTED: usize = 8;

#[derive(Debug, Default)]
struct Cpu {
    last_seq: Option<u64>,
    last_ns: u64,
    /// End of what was drawn last on the rows that have no nesting.
    nmi_end_ns: u64,
    stolen_end_ns: u64,
    hardirqs: usize,
    softirqs: usize,
    tasks: usize,
}

impl Cpu {
    fn open(&mut self, row: Row) -> &mut usize {
        match row {
            Row::Hardirq => &mut self.hardirqs,
            Row::Softirq => &mut self.softirqs,
            Row::Stolen | Row::Nmi | Row::Task | Row::Blocked | Row::Stage(..) => &mut self.tasks,
        }
    }
}

/// The state of every CPU's rows.
#[derive(Debug, Default)]
pub(super) struct Timelines(HashMap<u16, Cpu>);

impl Timelines {
    pub fn add_transition<W: Write>(
        &mut self,
        sink: &mut Sink<W>,
        o: &Occupancy,
        names: &Names,
    ) -> io::Result<()> {
        let cpu = self.0.entry(o.cpu).or_default();
        if let Transition::NmiEnd { duration_ns } = o.what {
            return draw_span(&mut cpu.nmi_end_ns, sink, o, duration_ns, Row::Nmi);
        }
        let gap = match cpu.last_seq {
            Some(last) if o.seq <= last => return Ok(()),
            Some(last) => o.seq != last + 1,
            None => false,
        };
        if gap {
            close_all(cpu, sink, o.cpu)?;
        }
        cpu.last_seq = Some(o.seq);
        cpu.last_ns = cpu.last_ns.max(o.ns);
        match &o.what {
            Transition::HardirqEntry(origin) => {
                begin_slice(cpu, sink, o.cpu, Row::Hardirq, &named_slice(&names.origin(*origin)))
            }
            Transition::HardirqExit => end_slice(cpu, sink, o.cpu, Row::Hardirq),
            Transition::SoftirqEntry(vec) => {
                begin_slice(cpu, sink, o.cpu, Row::Softirq, &named_slice(vec.name()))
            }
            Transition::SoftirqExit => end_slice(cpu, sink, o.cpu, Row::Softirq),
            Transition::SwitchIn(task) | Transition::Unseen(task) => {
                switch_task(cpu, sink, o.cpu, task)
            }
            Transition::Stolen { duration_ns } => {
                draw_span(&mut cpu.stolen_end_ns, sink, o, *duration_ns, Row::Stolen)
            }
            Transition::NmiEnd { .. } => Ok(()),
        }
    }

    /// End everything that is still open.
    pub fn finish<W: Write>(&mut self, sink: &mut Sink<W>) -> io::Result<()> {
        let mut cpus: Vec<u16> = self.0.keys().copied().collect();
        cpus.sort_unstable();
        for nr in cpus {
            let cpu = self.0.entry(nr).or_default();
            close_all(cpu, sink, nr)?;
        }
        Ok(())
    }
}

fn named_slice(name: &str) -> Slice<'_> {
    Slice { name, ..Slice::default() }
}

fn begin_slice<W: Write>(
    cpu: &mut Cpu,
    sink: &mut Sink<W>,
    nr: u16,
    row: Row,
    slice: &Slice<'_>,
) -> io::Result<()> {
    if *cpu.open(row) >= MAX_NESTED {
        close_row(cpu, sink, nr, row)?;
    }
    *cpu.open(row) += 1;
    sink.begin_slice(Track { cpu: nr, row }, cpu.last_ns, slice)
}

/// An exit whose entry was not seen is nothing.
fn end_slice<W: Write>(cpu: &mut Cpu, sink: &mut Sink<W>, nr: u16, row: Row) -> io::Result<()> {
    if *cpu.open(row) == 0 {
        return Ok(());
    }
    *cpu.open(row) -= 1;
    sink.end_slice(Track { cpu: nr, row }, cpu.last_ns)
}

fn close_row<W: Write>(cpu: &mut Cpu, sink: &mut Sink<W>, nr: u16, row: Row) -> io::Result<()> {
    while *cpu.open(row) > 0 {
        end_slice(cpu, sink, nr, row)?;
    }
    Ok(())
}

fn close_all<W: Write>(cpu: &mut Cpu, sink: &mut Sink<W>, nr: u16) -> io::Result<()> {
    for row in [Row::Hardirq, Row::Softirq, Row::Task] {
        close_row(cpu, sink, nr, row)?;
    }
    Ok(())
}

fn switch_task<W: Write>(
    cpu: &mut Cpu,
    sink: &mut Sink<W>,
    nr: u16,
    task: &Task,
) -> io::Result<()> {
    // No switch happens inside a hardirq: one still open has lost its exit.
    close_row(cpu, sink, nr, Row::Hardirq)?;
    close_row(cpu, sink, nr, Row::Task)?;
    if task.is_idle() {
        return Ok(());
    }
    let (name, prio) =
        (format!("{}:{}", task.comm, task.tid), task.effective_scheduling().to_string());
    let annotations = [("prio", Value::Text(&prio))];
    let slice = Slice { name: &name, annotations: &annotations, ..Slice::default() };
    begin_slice(cpu, sink, nr, Row::Task, &slice)
}

/// What is told at its end and by its length. One that does not end after the last one was delivered
/// before.
fn draw_span<W: Write>(
    done_ns: &mut u64,
    sink: &mut Sink<W>,
    o: &Occupancy,
    duration_ns: u64,
    row: Row,
) -> io::Result<()> {
    if o.ns <= *done_ns {
        return Ok(());
    }
    let start = o.ns.saturating_sub(duration_ns).max(*done_ns);
    *done_ns = o.ns;
    let track = Track { cpu: o.cpu, row };
    sink.begin_slice(track, start, &named_slice(if row == Row::Nmi { "nmi" } else { "stolen" }))?;
    sink.end_slice(track, o.ns)
}
