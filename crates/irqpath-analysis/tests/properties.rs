// SPDX-License-Identifier: GPL-2.0-or-later
//! Properties over any sequence of transitions and any record: causes add up exactly, nothing
//! panics, and neither the order of blocks nor pruning changes a result.

mod common;

use common::{DISK, NIC, boosted, names, record};
use irqpath_analysis::{Engine, EngineConfig, SlowKeeper, Timelines, attribute_path};
use irqpath_model::{
    Event, Names, Occupancy, Origin, PathRecord, Point, SoftirqVec, Transition, Vector, Via,
};
use proptest::prelude::*;

/// Times of all random events lie below this.
const END: u64 = 2000;

fn any_origin() -> impl Strategy<Value = Origin> {
    prop_oneof![Just(DISK), Just(NIC), Just(Origin::Vector(Vector::LocalTimer))]
}

fn any_vec() -> impl Strategy<Value = SoftirqVec> {
    prop::sample::select(SoftirqVec::ALL.to_vec())
}

fn any_transition() -> impl Strategy<Value = Transition> {
    let comm = prop::sample::select(vec!["a", "irq/36-x", "ksoftirqd/0", "kworker/0:1"]);
    prop_oneof![
        any_origin().prop_map(Transition::HardirqEntry),
        Just(Transition::HardirqExit),
        any_vec().prop_map(Transition::SoftirqEntry),
        Just(Transition::SoftirqExit),
        (0u32..4, comm, -1i16..141, -1i16..141)
            .prop_map(|(tid, comm, p, n)| Transition::SwitchIn(boosted(tid, comm, p, n))),
        (0u32..4).prop_map(|tid| Transition::Unseen(boosted(tid, "found", 120, 120))),
        (0u64..300).prop_map(|duration_ns| Transition::NmiEnd { duration_ns }),
        (0u64..300).prop_map(|duration_ns| Transition::Stolen { duration_ns }),
    ]
}

/// Anything, numbers and times in any order.
fn any_occupancy() -> impl Strategy<Value = Occupancy> {
    (0..END, 0u16..3, 0u64..40, any_transition()).prop_map(|(ns, cpu, seq, what)| Occupancy {
        ns,
        cpu,
        seq,
        what,
    })
}

/// A sequence as a kernel makes it on CPU 0: numbers and times ascend together; some are lost.
fn ascending() -> impl Strategy<Value = Vec<Occupancy>> {
    let step = (0u64..40, any_transition(), prop::bool::weighted(0.1));
    prop::collection::vec(step, 1..80).prop_map(|steps| {
        let (mut ns, mut seq, mut all) = (0, 0, Vec::new());
        for (gap_ns, what, is_lost) in steps {
            ns += gap_ns;
            let is_nmi = matches!(what, Transition::NmiEnd { .. });
            seq += u64::from(!is_nmi);
            if !is_lost {
                all.push(Occupancy { ns, cpu: 0, seq: if is_nmi { 0 } else { seq }, what });
            }
        }
        all
    })
}

fn any_record() -> impl Strategy<Value = PathRecord> {
    let stamp = prop::option::of((0..END, 0u16..3));
    let stamps = prop::collection::vec(stamp, Point::COUNT);
    (any_origin(), 0u32..1 << 17, stamps, -1i16..140).prop_map(|(origin, via, stamps, prio)| {
        let stamps: Vec<_> = Point::ALL
            .iter()
            .copied()
            .zip(stamps)
            .filter_map(|(point, stamp)| stamp.map(|(ns, cpu)| (point, ns, cpu)))
            .collect();
        let mut record = record(origin, Via::from_bits_retain(via), &stamps);
        record.target.prio = prio;
        record
    })
}

/// A plausible record on CPU 0 that starts at `first` or later.
fn record_since(first: u64) -> impl Strategy<Value = PathRecord> {
    (prop::collection::vec(0u64..400, Point::COUNT), 0u32..1 << 17).prop_map(move |(gaps, via)| {
        let mut ns = first;
        let stamps: Vec<_> = Point::ALL
            .iter()
            .copied()
            .zip(gaps)
            .map(|(point, gap)| {
                ns += gap;
                (point, ns, 0)
            })
            .collect();
        record(DISK, Via::from_bits_retain(via), &stamps)
    })
}

fn timelines(blocks: impl IntoIterator<Item = Vec<Occupancy>>) -> Timelines {
    let mut timelines = Timelines::new();
    for block in blocks {
        timelines.ingest_block(block);
    }
    timelines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn causes_add_up_exactly(
        blocks in prop::collection::vec(prop::collection::vec(any_occupancy(), 0..40), 0..6),
        record in any_record(),
    ) {
        let slow = attribute_path(&record, &timelines(blocks), &names());
        let spans = record.stages();
        prop_assert_eq!(slow.stages.len(), spans.len());
        for (stage, span) in slow.stages.iter().zip(spans) {
            prop_assert_eq!(stage.ns, span.ns());
            prop_assert_eq!(stage.causes.iter().map(|c| c.ns).sum::<u64>(), stage.ns);
            prop_assert!(stage.causes.iter().all(|c| c.ns > 0 && c.nr_times > 0));
            prop_assert!(stage.causes.is_sorted_by_key(|c| std::cmp::Reverse(c.ns)));
        }
    }

    #[test]
    fn segments_fill_the_window(
        block in prop::collection::vec(any_occupancy(), 0..80),
        start in 0..END, length in 0..END, open in 0..END,
    ) {
        let segments = timelines([block]).segments(0, start, start + length, open);
        let mut at = start;
        for segment in &segments {
            prop_assert_eq!(segment.start_ns, at);
            prop_assert!(segment.end_ns > at);
            at = segment.end_ns;
        }
        prop_assert_eq!(at, start + length);
    }

    #[test]
    fn the_order_of_blocks_does_not_matter(
        (all, blocks) in ascending().prop_flat_map(|all| {
            let blocks: Vec<Vec<Occupancy>> = all.chunks(7).map(<[_]>::to_vec).collect();
            // Every block at least once, some twice, in any order.
            let twice: Vec<_> = blocks.iter().chain(&blocks[..blocks.len() / 2]).cloned().collect();
            (Just(all), Just(twice).prop_shuffle())
        }),
        record in record_since(0),
    ) {
        let ordered = attribute_path(&record, &timelines([all]), &names());
        prop_assert_eq!(attribute_path(&record, &timelines(blocks), &names()), ordered);
    }

    #[test]
    fn pruning_does_not_change_later_records(
        all in ascending(), cut in 0u64..1500, split in 0usize..80, record in record_since(1500),
        early in record_since(200),
    ) {
        let whole = timelines([all.clone()]);
        let split = split.min(all.len());
        let mut pruned = timelines([all[..split].to_vec()]);
        pruned.prune_before(cut);
        pruned.ingest_block(all[split..].to_vec());
        pruned.prune_before(cut);
        let want = attribute_path(&record, &whole, &names());
        prop_assert_eq!(attribute_path(&record, &pruned, &names()), want);
        if early.first().unwrap().ns >= cut {
            let want = attribute_path(&early, &whole, &names());
            prop_assert_eq!(attribute_path(&early, &pruned, &names()), want);
        }
    }

    #[test]
    fn every_wanted_record_leaves_the_engine_once(
        events in prop::collection::vec(
            prop_oneof![
                any_record().prop_map(|r| Event::Path(Box::new(r))),
                prop::collection::vec(any_occupancy(), 0..20).prop_map(Event::Occupancy),
            ],
            0..60,
        ),
        max_pending in 0usize..8, max_transitions in 0usize..60, settle_ns in 0u64..500,
    ) {
        let config = EngineConfig {
            threshold_ns: Some(0), keep: None, settle_ns, keep_ns: 100, max_pending, max_transitions,
        };
        let mut engine = Engine::new(config, Names::default());
        let (mut nr_out, mut nr_in) = (0, 0);
        let mut keeper = SlowKeeper::new(5);
        for event in events {
            if let Event::Path(record) = &event {
                nr_in += usize::from(record.first().is_some());
            }
            engine.push(event);
            prop_assert!(engine.nr_pending() <= max_pending);
            prop_assert!(engine.nr_transitions() <= max_transitions);
            for path in engine.drain() {
                nr_out += 1;
                keeper.add_path(path);
            }
        }
        nr_out += engine.flush().len();
        prop_assert_eq!(nr_out, nr_in);
        prop_assert!(keeper.len() <= 5);
        prop_assert!(keeper.iter().map(|p| p.record.until_running_ns()).is_sorted_by(|a, b| a >= b));
    }
}
