// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether the causes of a stage are what had the CPUs that the stage waited for.

use std::collections::HashMap;

use irqpath_model::{PathRecord, Point, StageCauses, StageSpan, Stamp};

use crate::difference::{Difference, Kind};
use crate::join::Wakeup;
use crate::named::Named;
use crate::occupied::{Occupied, Shares, Who, Window};
use crate::tolerance::{BOUNDARY_NS, SLACK_NS, TOLERANCE_NS};

/// Time by name, ns.
type Causes = HashMap<Named, u64>;

/// How the causes of one stage differ, if they do. `slack_ns`: how far boundaries may be off, unless
/// irqpath's readings of the clock are known.
pub(crate) fn judge_causes(
    occupied: &Occupied,
    record: &PathRecord,
    wakeup: &Wakeup,
    (span, stage): (&StageSpan, &StageCauses),
    slack_ns: Option<u64>,
) -> Option<Difference> {
    let windows = stage_windows(occupied, record, wakeup, span);
    let truth = occupied.share_out(&windows);
    let mut causes = Causes::new();
    for cause in &stage.causes {
        *causes.entry(Named::parse_cause(cause)).or_default() += cause.ns;
    }
    let allowed_ns = TOLERANCE_NS + BOUNDARY_NS * truth.nr_pieces as u64;
    let (excess_ns, (worst, worst_ns)) = find_excess(&causes, &truth);
    if excess_ns > allowed_ns + truth.ns_of(Who::Unseen) + truth.unsure_ns {
        let is_boundary = |windows: &[Window]| {
            let truth = occupied.share_out(windows);
            let boundary_ns = slack_ns.unwrap_or(BOUNDARY_NS);
            is_boundary(occupied, &truth, windows, &causes, boundary_ns)
        };
        let is_small = slack_ns.is_none_or(|slack_ns| excess_ns <= 2 * slack_ns);
        let as_read = as_read(occupied, record, &windows);
        let kind =
            if is_small && (is_boundary(&windows) || as_read.is_some_and(|w| is_boundary(&w))) {
                Kind::Boundary
            } else {
                blame_difference(occupied, &truth, &windows, (&causes, excess_ns, worst))
            };
        let text = format!(
            "{} {excess_ns} of {} ns: {worst:?} has {worst_ns} ns too much of {:?}; waited for {windows:?}: {:?}",
            stage.to, stage.ns, stage.causes, truth.ns
        );
        return Some(Difference::new(kind, record, excess_ns, &text));
    }
    // What is unseen here ends for irqpath when it looks at the current task again, which is later.
    if truth.ns_of(Who::Unseen) > 0 {
        return None;
    }
    let unknown_ns = causes.get(&Named::Unknown).copied().unwrap_or(0);
    (unknown_ns > allowed_ns).then(|| {
        let text = format!("{} {unknown_ns} of {} ns: {:?}", stage.to, stage.ns, truth.ns);
        Difference::new(Kind::Unexplained, record, unknown_ns, &text)
    })
}

/// True if every cause would be right were the switches some time earlier or later: a hypervisor or
/// an interrupt may come in between the two readings of the clock at one event.
fn is_boundary(
    occupied: &Occupied,
    truth: &Shares,
    windows: &[Window],
    causes: &Causes,
    slack_ns: u64,
) -> bool {
    let stolen_ns = truth.ns_of(Who::Steal) + truth.unsure_ns + slack_ns;
    causes.iter().all(|(who, ns)| match who {
        Named::Known(Who::Steal) => *ns <= stolen_ns,
        Named::Known(who) => *ns <= occupied.at_most(windows, *who, slack_ns),
        Named::Nmi | Named::Unknown => true,
        Named::Nonsense => false,
    })
}

/// What the stage waited for: a task's run queue, or the CPU where it ended.
fn stage_windows(
    occupied: &Occupied,
    record: &PathRecord,
    wakeup: &Wakeup,
    span: &StageSpan,
) -> Vec<Window> {
    let (start_ns, end_ns) = (span.start.ns, span.end.ns);
    let places = match span.to {
        Point::SwitchIn | Point::User => occupied.windows_of(record.target.tid, start_ns, end_ns),
        Point::IrqThread => carrier_windows(occupied, &wakeup.chain.carriers, span),
        _ => Vec::new(),
    };
    if places.is_empty() { vec![Window { cpu: span.end.cpu, start_ns, end_ns }] } else { places }
}

/// Where each of the threads waited and ran until it woke the next one.
fn carrier_windows(
    occupied: &Occupied,
    carriers: &[(u32, Stamp)],
    span: &StageSpan,
) -> Vec<Window> {
    let mut windows = Vec::new();
    let mut start_ns = span.start.ns;
    let ends = carriers.iter().skip(1).map(|(_, woken)| woken.ns).chain([span.end.ns]);
    for (&(tid, woken), end_ns) in carriers.iter().zip(ends) {
        if start_ns < woken.ns {
            windows.push(Window { cpu: woken.cpu, start_ns, end_ns: woken.ns });
            start_ns = woken.ns;
        }
        windows.extend(occupied.windows_of(tid, start_ns, end_ns));
        start_ns = end_ns;
    }
    windows
}

/// The same run queues, each from the moment on at which irqpath read the clock at the move to it.
fn as_read(occupied: &Occupied, record: &PathRecord, windows: &[Window]) -> Option<Vec<Window>> {
    let mut windows = windows.to_vec();
    for at in 1..windows.len() {
        let Window { cpu, start_ns, .. } = windows[at];
        let tid = record.target.tid;
        let slack_ns = match occupied.move_read_by_ns(tid, start_ns) {
            Some(by_ns) => by_ns - start_ns + BOUNDARY_NS,
            None => SLACK_NS,
        };
        let read = record.queues.iter().map(|queue| (queue.cpu, queue.since_ns));
        let since_ns = read
            .filter(|&(to, since_ns)| to == Some(cpu) && since_ns.abs_diff(start_ns) <= slack_ns)
            .map(|(_, since_ns)| since_ns)
            .min_by_key(|since_ns| since_ns.abs_diff(start_ns))?;
        windows[at - 1].end_ns = since_ns;
        windows[at].start_ns = since_ns;
    }
    (windows.len() > 1).then_some(windows)
}

/// By how much the causes say more than the truth, in all and for the worst of them.
fn find_excess(causes: &Causes, truth: &Shares) -> (u64, (Named, u64)) {
    let mut all_ns = 0;
    let mut worst = (Named::Unknown, 0);
    for (&who, &ns) in causes {
        let true_ns = match who {
            Named::Known(who) => truth.ns_of(who),
            Named::Nmi | Named::Unknown => ns,
            Named::Nonsense => 0,
        };
        let too_much_ns = ns.saturating_sub(true_ns);
        all_ns += too_much_ns;
        if too_much_ns > worst.1 {
            worst = (who, too_much_ns);
        }
    }
    (all_ns, worst)
}

/// Why a cause was named that was not there.
fn blame_difference(
    occupied: &Occupied,
    truth: &Shares,
    windows: &[Window],
    (causes, excess_ns, worst): (&Causes, u64, Named),
) -> Kind {
    if matches!(worst, Named::Known(Who::Task(tid)) if occupied.is_hidden(tid)) {
        return Kind::UnseenCause;
    }
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else { return Kind::Cause };
    let (start_ns, end_ns) = (first.start_ns, last.end_ns);
    // Do they fit better to a CPU that was not waited for all the time? The idle task of another one
    // has the same number.
    let is_idle = worst == Named::Known(Who::Task(0));
    let fits_elsewhere = !is_idle
        && occupied.cpus().into_iter().any(|cpu| {
            let elsewhere = [Window { cpu, start_ns, end_ns }];
            elsewhere != windows
                && find_excess(causes, &occupied.share_out(&elsewhere)).0 <= excess_ns / 2
        });
    if fits_elsewhere {
        Kind::WrongCpu
    } else if truth.ns_of(Who::Steal) + truth.unsure_ns >= excess_ns / 2 {
        Kind::Steal
    } else {
        Kind::Cause
    }
}
