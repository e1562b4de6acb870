// SPDX-License-Identifier: GPL-2.0-or-later
//! Response and determinism tests as text and as a page, of an invented result with known numbers.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use irqpath_analysis::jitter::{InterruptionEngine, Looker, summarize_loops};
use irqpath_analysis::response::ResponseCounter;
use irqpath_model::{
    Cause, CauseKind, CpuInfo, Event, Exceeded, IdealSource, Interruptions, Jitter, LossReason,
    Measured, Meta, Missing, Names, Occupancy, Origin, PathEnd, PathRecord, Point, Response,
    ResponseSource, SlowPath, Stamp, Summary, Task, Transition, Via,
};
use irqpath_report::html;
use irqpath_report::text::{TextOptions, write_jitter, write_response};
use serde_json::Value;

const HOSTILE: &str = "</script><img src=x>";

fn meta() -> Meta {
    Meta {
        host: "paper".to_owned(),
        cpu: CpuInfo { online: "0-1".to_owned(), ..CpuInfo::default() },
        duration_ns: 2_000_000_000,
        ..Meta::default()
    }
}

/// The document's third table: 12 of 28 800 882 responses took over 20 us.
fn first_response(summary: &mut Summary) -> &mut Response {
    let Measured::Response { response, .. } = &mut summary.measured else { panic!() };
    &mut response[0]
}

fn first_jitter(summary: &mut Summary) -> &mut Jitter {
    let Measured::Jitter { jitter } = &mut summary.measured else { panic!() };
    &mut jitter[0]
}

fn responses() -> Summary {
    let mut counter = ResponseCounter::default();
    (0..28_800).for_each(|_| counter.record(11_300));
    counter.record(27_000);
    let source = ResponseSource::Hpet;
    let response = Response {
        source,
        origin: "timer 2 of /dev/hpet".to_owned(),
        stand_in: None,
        basis: source.time_basis(),
        cpu: 1,
        tid: 7,
        sched: "f:80".to_owned(),
        period_ns: 488_281,
        quantiles: counter.histogram.quantiles(),
        table: counter.table.buckets(),
        doubling: counter.doubling.buckets(),
        histogram: counter.histogram,
        nr_missed: 3,
        nr_early: 0,
        nr_lost: 0,
        threshold_ns: Some(25_000),
        exceeded: Some(Exceeded { ns: 27_000, nr: 28_801, read_ns: None }),
    };
    let what = "CAP_IPC_LOCK".to_owned();
    let missing = vec![Missing { what, consequence: "memory is not locked".to_owned() }];
    let measured = Measured::Response { response: vec![response], slow: Vec::new() };
    Summary { missing, ..Summary::from_measured(measured) }
}

fn interrupted() -> Summary {
    let looker = Looker { cpu: 1, tid: 77 };
    let mut engine = InterruptionEngine::new(&[looker], Some(0), Names::default());
    let task = |tid, comm: &str| {
        Transition::SwitchIn(Task { tid, comm: comm.into(), prio: 120, ..Task::default() })
    };
    let transitions = [
        (100, task(77, "irqpath")),
        (5_000, Transition::HardirqEntry(Origin::Irq(36))),
        (9_000, Transition::HardirqExit),
        (9_000, task(5, HOSTILE)),
        (13_000, task(77, "irqpath")),
        (90_000, Transition::HardirqEntry(Origin::Irq(36))),
    ];
    let block = transitions.into_iter().zip(1..);
    let block = block.map(|((ns, what), seq)| Occupancy { ns, cpu: 1, seq, what });
    engine.push(Event::Occupancy(block.collect()));
    engine.add_interruption(1, 4_500, 13_500);
    engine.add_interruption(1, 40_000, 46_000);
    engine.flush();
    let found = engine.take_result(1, 0).unwrap();
    let (threshold_ns, look_ns, lasted_ns) = (5_000, 30, 2_000_000_000);
    let found = Interruptions { threshold_ns, look_ns, lasted_ns, ..found };
    let ideal = (1_147_132_000, IdealSource::Given);
    let loops = summarize_loops(&[1_147_132_000, 1_168_630_000], 9, ideal);
    let (sched, interruptions) = ("f:80".to_owned(), Some(found));
    let jitter = Jitter { cpu: 1, tid: 77, sched, loops, interruptions };
    Summary::from_measured(Measured::Jitter { jitter: vec![jitter] })
}

fn has_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn responses_as_the_document_prints_them() {
    let mut out = Vec::new();
    write_response(&mut out, &meta(), &responses(), &TextOptions::default()).unwrap();
    has_all(
        &String::from_utf8(out).unwrap(),
        &[
            "from the comparator's match",
            "timer 2 of /dev/hpet,",
            "measured 28801 hpet interrupts",
            "minimum latency: 0.0113 ms",
            "maximum latency: 0.027 ms",
            "28800 samples < 0.02 ms (99.996%)",
            "28801 samples < 0.03 ms (100%)",
            "missed: 3, early: 0, lost: 0",
            "Ended at the threshold of 25.0 us: response 28 801 on CPU 1, 14.063 s after the start,",
            "\n2.0 us too long.",
            "missing: CAP_IPC_LOCK: memory is not locked",
        ],
    );
}

/// `IRQPATH_BLESS=1 cargo test` rewrites the files; look at them before they are committed.
#[test]
fn screens_of_80_and_200_columns() {
    let mut with_effect = meta();
    let effect = "The fair server of the kernel gives ordinary tasks that wait for such a CPU 50 ms \
                  of every second. The fair server let hog:7 o:0 run for 50 000 us, 50 000 us at once.";
    with_effect.observer_effects.push(effect.to_owned());
    let of_response = |out: &mut Vec<u8>, options: &TextOptions| {
        write_response(out, &meta(), &responses(), options).unwrap();
    };
    let of_jitter = |out: &mut Vec<u8>, options: &TextOptions| {
        write_jitter(out, &with_effect, &interrupted(), 20, options).unwrap();
    };
    for name in ["response", "jitter"] {
        for width in [80, 200] {
            let (mut out, options) = (Vec::new(), TextOptions { width, ..TextOptions::default() });
            if name == "response" {
                of_response(&mut out, &options);
            } else {
                of_jitter(&mut out, &options);
            }
            let text = String::from_utf8(out).unwrap();
            let golden = format!("{}/tests/golden/{name}-{width}.txt", env!("CARGO_MANIFEST_DIR"));
            if std::env::var_os("IRQPATH_BLESS").is_some() {
                std::fs::write(&golden, &text).unwrap();
            }
            assert_eq!(text, std::fs::read_to_string(&golden).unwrap(), "{name} {width}");
        }
    }
}

/// A path of the task from its timer on, back in user space at these times, ns.
fn path(raise: u64, user: u64) -> SlowPath {
    let mut stamps = [None; Point::COUNT];
    let hardirq = raise + 3_000;
    for (point, ns) in [(Point::Raise, raise), (Point::Hardirq, hardirq), (Point::User, user)] {
        stamps[point.index()] = Some(Stamp { ns, cpu: 1 });
    }
    let record = PathRecord {
        origin: Origin::Irq(36),
        via: Via::empty(),
        stamps,
        timer_fn: 0,
        target: Task { tid: 7, comm: "irqpath-respond".into(), prio: 19, ..Task::default() },
        end: PathEnd::User,
        queues: Vec::new(),
        cgroup: None,
    };
    SlowPath { record, stages: Vec::new() }
}

#[test]
fn what_a_path_leaves_of_the_response_over_the_threshold_is_told() {
    let mut summary = responses();
    let read_ns = 5_000_030_900;
    let over = Exceeded { ns: 30_900, nr: 28_801, read_ns: Some(read_ns) };
    first_response(&mut summary).exceeded = Some(over);
    let text = |slow: Vec<SlowPath>| {
        let mut out = Vec::new();
        let response = summary.response().to_vec();
        let summary = Summary::from_measured(Measured::Response { response, slow });
        let options = TextOptions { width: 300, ..TextOptions::default() };
        write_response(&mut out, &meta(), &summary, &options).unwrap();
        String::from_utf8(out).unwrap()
    };
    let earlier = path(4_000_000_000, 4_000_040_000);
    for (slow, want) in [
        (
            vec![earlier.clone(), path(5_000_000_000, 5_000_023_500)],
            "Of these 30.9 us, the path that began at 5.000000 s explains 23.5 us; 7.4 us went by \
             between the return to user space and the task's reading of the clock.",
        ),
        (
            vec![path(5_000_002_000, 5_000_023_500)],
            "explains 21.5 us; 7.4 us went by between the return to user space and the task's \
             reading of the clock, 2.0 us before the first point that was traced.",
        ),
        (vec![earlier], "The path of this response is not among those below"),
    ] {
        let found = text(slow);
        assert!(found.contains(want), "{want} is not in\n{found}");
    }
    let found = text(Vec::new());
    assert!(!found.contains("The path of") && !found.contains("Of these"), "{found}");
}

#[test]
fn a_list_at_80_columns_cuts_no_time_of_long_names() {
    let mut summary = interrupted();
    let longest = &mut first_jitter(&mut summary).interruptions.as_mut().unwrap().longest;
    let cause = |kind, who: &str, ns| Cause { kind, who: who.to_owned(), ns, nr_times: 1 };
    longest[0].ns = 48_210_000;
    longest[0].causes = vec![
        cause(CauseKind::Idle, "idle", 48_103_000),
        cause(CauseKind::Thread, "memfd:sealed-91:12040 o:0", 39_900),
        cause(CauseKind::Thread, "kworker/1:1H-kb:4412040 o:-20", 38_000),
        cause(CauseKind::Hardirq, "LOC:local_timer", 29_100),
    ];
    let (mut out, options) = (Vec::new(), TextOptions { width: 80, ..TextOptions::default() });
    write_jitter(&mut out, &meta(), &summary, 20, &options).unwrap();
    let text = String::from_utf8(out).unwrap();
    let list = text.split("LIST of CPU").nth(1).unwrap();
    assert!(list.contains("task held off 48 103, 3 more 107\n"), "{list}");
    assert!(!list.contains('\u{2026}'), "{list}");
}

#[test]
fn an_emulated_interrupt_is_said_to_be_one() {
    let mut summary = responses();
    first_response(&mut summary).stand_in = Some("an hrtimer".to_owned());
    let mut out = Vec::new();
    write_response(&mut out, &meta(), &summary, &TextOptions::default()).unwrap();
    has_all(&String::from_utf8(out).unwrap(), &["is emulated: what interrupted was an hrtimer"]);
}

#[test]
fn the_legend_and_what_interrupted() {
    let mut out = Vec::new();
    write_jitter(&mut out, &meta(), &interrupted(), 20, &TextOptions::default()).unwrap();
    has_all(
        &String::from_utf8(out).unwrap(),
        &[
            // Figure 2.
            "ideal: 1.147132sec  (as given)",
            "max: 1.168630sec",
            "jitter: 0.021498sec (1.87%)",
            "kernel entry and exit, or unseen",
            "hardirq 36 4.00",
            "nothing in this kernel: firmware (SMI), or an exception",
        ],
    );
}

#[test]
fn whatever_was_lost_is_told_in_text_and_page() {
    let text = |summary: &Summary| {
        let mut out = Vec::new();
        write_jitter(&mut out, &meta(), summary, 0, &TextOptions::default()).unwrap();
        write_response(&mut out, &meta(), summary, &TextOptions::default()).unwrap();
        String::from_utf8(out).unwrap()
    };
    let mut summary = interrupted();
    assert!(!text(&summary).contains("tracer"), "nothing is said of a tracer that was not there");
    assert!(data(&meta(), &summary)["notes"].to_string().contains("Nothing was lost."));
    summary.overhead.nr_events = 5_000;
    has_all(&text(&summary), &["lost by the tracer: 0\n", "overhead: 5 000 events"]);
    summary.loss.add_loss(LossReason::OccupancyOverrun, 7);
    let told = "7  transitions overwritten; causes may be incomplete";
    has_all(&text(&summary), &["lost by the tracer: 7\n", told]);
    first_jitter(&mut summary).loops.as_mut().unwrap().nr_lost = 2;
    first_jitter(&mut summary).interruptions.as_mut().unwrap().nr_lost = 3;
    first_jitter(&mut summary).loops.as_mut().unwrap().excess.nr_overflow = 4;
    has_all(&text(&summary), &["lost: 5, too long for the histogram: 4"]);
    let notes = data(&meta(), &summary)["notes"].to_string();
    has_all(&notes, &["5 measurements found no room", "Lost by the tracer: 7 transitions"]);
    assert!(!notes.contains("Nothing was lost"), "{notes}");
}

fn data(meta: &Meta, summary: &Summary) -> Value {
    let mut out = Vec::new();
    html::write(&mut out, meta, summary, html::Options::default()).unwrap();
    let page = String::from_utf8(out).unwrap();
    assert!(!page.contains("{{") && !page.contains("<img"), "a marker or a name was left");
    let (_, rest) = page.split_once(r#"id="data">"#).unwrap();
    serde_json::from_str(rest.split_once("</script").unwrap().0).unwrap()
}

#[test]
fn the_page_has_the_numbers_and_takes_names_as_text() {
    let page = data(&meta(), &responses());
    let verdict = page["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("Responses to hpet: longest 27.0 us, median 11.3 us"), "{verdict}");
    let notes = page["notes"].to_string();
    has_all(
        &notes,
        &["took 27.0 us, more than 25.0 us", "CAP_IPC_LOCK", "3 interrupts were missed"],
    );
    let bars = page["figures"][0]["bars"].as_array().unwrap();
    assert_eq!(bars.iter().map(|b| b[2].as_u64().unwrap()).sum::<u64>(), 28_801);
    for table in page["numbers"].as_array().unwrap() {
        let nr = table["columns"].as_array().unwrap().len();
        assert!(
            table["rows"].as_array().unwrap().iter().all(|r| r.as_array().unwrap().len() == nr)
        );
    }

    let page = data(&meta(), &interrupted());
    assert_eq!(page["figures"].as_array().unwrap().len(), 2);
    let details = page["details"].to_string();
    has_all(&details, &["hardirq 36", "<img src=x>:5"]);
}
