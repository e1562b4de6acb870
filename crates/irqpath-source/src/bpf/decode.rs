// SPDX-License-Identifier: GPL-2.0-or-later
//! Contract records to model types. Pure: bytes in, events out; unknown bytes are refused.

use irqpath_model::record::{Blocked, KernelStack};
use irqpath_model::{
    Comm, Event, Folded, Histogram, Occupancy, Origin, PathEnd, PathKey, PathRecord, Point, Policy,
    RunQueue, Scheduling, SoftirqVec, Stamp, Task, Transition, Vector, Via,
};

use super::skel::{read, types};

const HIST_BITS: u32 = types::ip_scale::IP_HIST_BITS.0;
const PRIO_BIAS: i16 = types::ip_scale::IP_PRIO_BIAS.0 as i16;

/// Of a policy that no kernel up to 6.18 has nothing is known: it counts as the normal one.
fn decode_policy(number: u8) -> Policy {
    Policy::from_repr(number.into()).unwrap_or_default()
}

fn decode_comm(words: [u64; 2]) -> Comm {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&words[0].to_ne_bytes());
    bytes[8..].copy_from_slice(&words[1].to_ne_bytes());
    Comm::from_bytes(&bytes)
}

/// The kernel's words for a name to filter by: NUL-padded, as in `task_struct::comm`.
pub fn comm_words(name: &Comm) -> [u64; 2] {
    let mut bytes = [0u8; 16];
    let name = name.to_kernel_bytes();
    let len = name.len().min(15);
    bytes[..len].copy_from_slice(&name[..len]);
    let word = |i: usize| u64::from_ne_bytes(bytes[i..i + 8].try_into().expect("8 bytes"));
    [word(0), word(8)]
}

/// `ip_origin_kind` and number to an origin.
pub fn decode_origin(kind: u32, nr: u32) -> Option<Origin> {
    use types::ip_origin_kind as k;
    match k(kind) {
        k::IP_ORIGIN_IRQ => Some(Origin::Irq(nr)),
        k::IP_ORIGIN_VECTOR => Vector::ALL.get(nr as usize).copied().map(Origin::Vector),
        k::IP_ORIGIN_SOFTIRQ => SoftirqVec::from_nr(nr).map(Origin::Softirq),
        _ => None,
    }
}

/// The other way round.
pub fn origin_words(origin: Origin) -> (u16, u32) {
    use types::ip_origin_kind as k;
    match origin {
        Origin::Irq(nr) => (k::IP_ORIGIN_IRQ.0 as u16, nr),
        Origin::Vector(v) => (k::IP_ORIGIN_VECTOR.0 as u16, v as u32),
        Origin::Softirq(v) => (k::IP_ORIGIN_SOFTIRQ.0 as u16, v as u32),
    }
}

/// One ring buffer record.
pub fn decode_record(bytes: &[u8]) -> Option<Event> {
    use types::ip_record as r;
    let kind = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?);
    match r(kind) {
        r::IP_REC_PATH => {
            let path: types::ip_rec_path = read(bytes)?;
            let cgroup = (path.cgroup != 0).then_some(path.cgroup);
            decode_path(&path).map(|path| Event::Path(Box::new(PathRecord { cgroup, ..path })))
        }
        r::IP_REC_OCC => Some(Event::Occupancy(decode_chunk(&read(bytes)?, u64::MAX))),
        r::IP_REC_NMI => {
            let nmi: types::ip_rec_nmi = read(bytes)?;
            Some(Event::Occupancy(vec![Occupancy {
                ns: nmi.end_ns,
                cpu: nmi.cpu as u16,
                seq: 0,
                what: Transition::NmiEnd { duration_ns: nmi.duration_ns },
            }]))
        }
        _ => None,
    }
}

/// A record of a path, without its cgroup: a capture groups paths as its recording does. `None` if its
/// origin is of a kind that this irqpath does not know.
pub fn decode_path(r: &types::ip_rec_path) -> Option<PathRecord> {
    let mut stamps = [None; Point::COUNT];
    for (i, stamp) in stamps.iter_mut().enumerate() {
        if r.chain.ns[i] != 0 {
            *stamp = Some(Stamp { ns: r.chain.ns[i], cpu: r.chain.cpu[i] });
        }
    }
    Some(PathRecord {
        origin: decode_origin(u32::from(r.chain.origin_kind), r.chain.origin_nr)?,
        via: Via::from_bits_retain(r.chain.via),
        stamps,
        timer_fn: r.chain.timer_fn,
        target: Task {
            tid: r.tid,
            tgid: r.tgid,
            comm: decode_comm(r.comm),
            prio: r.prio,
            normal_prio: r.normal_prio,
            policy: decode_policy(r.policy as u8),
        },
        queues: queues_of_carrier(&r.chain).chain(queues_of_target(r)).collect(),
        cgroup: None,
        end: match r.end {
            0 => PathEnd::User,
            1 => PathEnd::SwitchIn,
            2 => PathEnd::SleptAgain,
            _ => PathEnd::AlreadyRunning,
        },
    })
}

const fn known_cpu(cpu: u16) -> Option<u16> {
    if cpu as u32 == types::ip_scale::IP_CPU_UNKNOWN.0 { None } else { Some(cpu) }
}

/// The run queues of the irq or NAPI thread, if it was moved while it waited.
fn queues_of_carrier(chain: &types::ip_chain) -> impl Iterator<Item = RunQueue> {
    let (hardirq, thread) = (Point::Hardirq.index(), Point::IrqThread.index());
    let is_moved = chain.carried_ns != 0 && chain.ns[thread] != 0;
    let first = RunQueue { since_ns: chain.ns[hardirq], cpu: known_cpu(chain.carried_from) };
    let last = RunQueue { since_ns: chain.carried_ns, cpu: Some(chain.cpu[thread]) };
    [first, last].into_iter().filter(move |_| is_moved)
}

/// The run queues of the target; nothing where it waited for the CPU that it ran on alone.
fn queues_of_target(r: &types::ip_rec_path) -> Vec<RunQueue> {
    let (waking, switch_in) = (Point::Waking.index(), Point::SwitchIn.index());
    let is_there = |point: usize| r.chain.ns[point] != 0;
    let q = &r.queues;
    let is_plain = q.nr_moves == 0 && q.cpu == r.chain.cpu[switch_in];
    if !is_there(waking) || !is_there(switch_in) || is_plain {
        return Vec::new();
    }
    let moves = q.move_ns.iter().zip(&q.move_cpu).take(usize::from(q.nr_moves));
    let first = RunQueue { since_ns: r.chain.ns[waking], cpu: known_cpu(q.cpu) };
    let later = moves.map(|(&since_ns, &cpu)| RunQueue { since_ns, cpu: known_cpu(cpu) });
    std::iter::once(first).chain(later).collect()
}

/// The valid transitions of a chunk that are not newer than `until_ns`.
pub fn decode_chunk(chunk: &types::ip_occ_chunk, until_ns: u64) -> Vec<Occupancy> {
    let mut out = Vec::with_capacity(chunk.e.len());
    for (i, e) in chunk.e.iter().enumerate() {
        // Older than the chunk: not written yet in this lap of the ring.
        if e.ns < chunk.begin_ns || e.ns > until_ns {
            break;
        }
        let Some(what) = decode_transition(e) else { break };
        out.push(Occupancy { ns: e.ns, cpu: chunk.cpu as u16, seq: chunk.seq + i as u64, what });
    }
    out
}

fn decode_transition(e: &types::ip_occ) -> Option<Transition> {
    use types::ip_occ_kind as k;
    match k(u32::from(e.kind)) {
        k::IP_OCC_HARDIRQ_ENTRY => {
            decode_origin(u32::from(e.flags), e.id).map(Transition::HardirqEntry)
        }
        k::IP_OCC_HARDIRQ_EXIT => Some(Transition::HardirqExit),
        k::IP_OCC_SOFTIRQ_ENTRY => SoftirqVec::from_nr(e.id).map(Transition::SoftirqEntry),
        k::IP_OCC_SOFTIRQ_EXIT => Some(Transition::SoftirqExit),
        k::IP_OCC_SWITCH_IN => Some(Transition::SwitchIn(decode_task(e))),
        k::IP_OCC_UNSEEN => Some(Transition::Unseen(decode_task(e))),
        k::IP_OCC_STOLEN => {
            let duration_ns = u64::from(e.flags) << 32 | u64::from(e.id);
            Some(Transition::Stolen { duration_ns })
        }
        _ => None,
    }
}

fn decode_task(e: &types::ip_occ) -> Task {
    Task {
        tid: e.id,
        comm: decode_comm(e.comm),
        prio: i16::from(e.prio) + PRIO_BIAS,
        normal_prio: i16::from(e.normal_prio) + PRIO_BIAS,
        ..Task::default()
    }
}

/// The stack of who blocked a path on `cpu`.
pub fn decode_stack(cpu: u16, stack: &types::ip_stack) -> KernelStack {
    let nr = (stack.nr_ips as usize).min(stack.ip.len());
    KernelStack {
        cpu,
        from_ns: stack.from_ns,
        until_ns: stack.until_ns,
        why: Blocked::from_repr(stack.why).unwrap_or(Blocked::Cpu),
        tid: stack.tid,
        comm: decode_comm(stack.comm),
        waiter: stack.waiter,
        frames: stack.ip[..nr].to_vec(),
    }
}

/// `None` if the origin is of a kind that this irqpath does not know.
pub fn path_key(key: &types::ip_path_key, by_cgroup: bool) -> Option<PathKey> {
    let origin = decode_origin(u32::from(key.origin_kind), key.origin_nr)?;
    if key.others != 0 {
        return Some(PathKey::others_of(origin));
    }
    let cgroup = by_cgroup.then_some(key.comm[0]);
    Some(PathKey {
        origin,
        via: Via::from_bits_retain(key.via),
        comm: if by_cgroup { Comm::default() } else { decode_comm(key.comm) },
        sched: Some(Scheduling::from_prio(decode_policy(key.policy), key.normal_prio)),
        folded: false,
        cgroup,
    })
}

/// What the rows of others hold.
pub fn decode_folded(folded: &types::ip_folded) -> Folded {
    Folded {
        nr_paths: folded.nr_paths,
        nr_names: estimate_distinct(&folded.names),
        nr_tasks: estimate_distinct(&folded.tasks),
    }
}

/// How many different values went into a sketch (HyperLogLog; Flajolet and others, 2007): each
/// register holds the most leading zeros, plus one, of the values that fell to it.
fn estimate_distinct(registers: &[u8]) -> u64 {
    let m = registers.len() as f64;
    let sum: f64 = registers.iter().map(|&rank| (-f64::from(rank)).exp2()).sum();
    let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
    let empty = m - registers.iter().map(|&rank| f64::from(rank.min(1))).sum::<f64>();
    // With few values, how many registers are empty says more.
    let best = if raw <= 2.5 * m && empty > 0.0 { m * (m / empty).ln() } else { raw };
    best.round() as u64
}

/// Middle of a kernel bucket, ns: the inverse of `ip_bucket` in `bpf/hist.bpf.h`.
fn bucket_middle_ns(index: u32) -> u64 {
    let sub = 1u64 << HIST_BITS;
    let index = u64::from(index);
    if index < sub {
        return index;
    }
    let exponent = (index >> HIST_BITS) - 1;
    ((sub | (index & (sub - 1))) << exponent) + ((1u64 << exponent) >> 1)
}

/// A kernel histogram that has times; extremes, sum and count stay exact. `page` fetches one of
/// its pages.
pub fn decode_histogram<E>(
    h: &types::ip_hist,
    mut page: impl FnMut(u32) -> Result<types::ip_hist_page, E>,
) -> Result<Histogram, E> {
    let mut out = Histogram::default();
    for (at, &nr) in h.page.iter().enumerate().filter(|(_, nr)| **nr > 0) {
        let page = page(nr)?;
        let first = at * page.bucket.len();
        for (i, &n) in page.bucket.iter().enumerate().filter(|(_, n)| **n > 0) {
            out.record_n(bucket_middle_ns((first + i) as u32), n);
        }
    }
    out.add_overflow(h.nr_overflow);
    out.widen_to(!h.min_ns_inverted, h.max_ns, h.sum_ns);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ip_bucket` again, written the slow way.
    fn bucket(ns: u64) -> u32 {
        if ns < 32 {
            return ns as u32;
        }
        let e = ns.ilog2() - 5;
        ((e + 1) << 5) | ((ns >> e) & 31) as u32
    }

    #[test]
    fn a_bucket_middle_falls_into_its_own_bucket() {
        for index in 0..1024 {
            assert_eq!(bucket(bucket_middle_ns(index)), index);
        }
    }

    #[test]
    fn bucket_error_is_below_the_documented_bound() {
        for ns in (32..5_000_000u64).step_by(977) {
            let middle = bucket_middle_ns(bucket(ns)) as f64;
            assert!((middle - ns as f64).abs() / ns as f64 <= 0.032, "{ns}: {middle}");
        }
    }

    #[test]
    fn a_sketch_knows_how_many_values_it_has_seen() {
        // Registers as random values fill them.
        let mut state = 1u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state ^ (state >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        let mut registers = [0u8; 1024];
        assert_eq!(estimate_distinct(&registers), 0);
        let mut nr = 0;
        for want in [1u64, 50, 3_000, 100_000] {
            while nr < want {
                let hash = random();
                let at = (hash & 1023) as usize;
                let rank = ((hash >> 10) | 1).leading_zeros() as u8 - 10 + 1;
                registers[at] = registers[at].max(rank);
                nr += 1;
            }
            let error = (estimate_distinct(&registers) as f64 - want as f64).abs() / want as f64;
            assert!(error < 0.1, "{want}: {}", estimate_distinct(&registers));
        }
    }

    #[test]
    fn short_or_unknown_records_are_refused() {
        assert!(decode_record(&[]).is_none());
        assert!(decode_record(&[1, 0, 0, 0, 9]).is_none());
        assert!(decode_record(&[0xff; 4096]).is_none());
    }

    #[test]
    fn names_survive_the_way_to_the_kernel_and_back() {
        for name in ["", "irq/36-virtio1", "fifteen-letters", "longer-than-fifteen-bytes"] {
            let want: String = name.chars().take(15).collect();
            assert_eq!(decode_comm(comm_words(&Comm::from(name))).as_str(), want);
        }
        let hostile = Comm::from_bytes(b"\x1b[2J\xff\\\n\xe2\x80\xae");
        assert_eq!(decode_comm(comm_words(&hostile)), hostile);
    }

    #[test]
    fn every_origin_survives_the_way_to_the_kernel_and_back() {
        let vectors = Vector::ALL.iter().copied().map(Origin::Vector);
        let softirqs = SoftirqVec::ALL.iter().copied().map(Origin::Softirq);
        for want in vectors.chain(softirqs).chain([Origin::Irq(36)]) {
            let (kind, nr) = origin_words(want);
            assert_eq!(decode_origin(u32::from(kind), nr), Some(want));
        }
    }
}
