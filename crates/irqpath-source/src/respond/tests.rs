// SPDX-License-Identifier: GPL-2.0-or-later
//! What is computed about a return, by hand; a short live run of the kernel's timers; and what
//! sources refuse.

use std::time::Instant;

use rustix::thread::{CpuSet, sched_getaffinity};

use super::*;

fn config(source: ResponseSource) -> RespondConfig {
    let allowed = sched_getaffinity(None).unwrap();
    let cpu = (0..CpuSet::MAX_CPU).rfind(|&cpu| allowed.is_set(cpu)).unwrap() as u16;
    let (device, threshold_ns) = (None, None);
    RespondConfig { source, device, hz: 1000.0, cpu, sched: Scheduling::fifo(50), threshold_ns }
}

#[test]
fn a_late_return_counts_what_it_missed() {
    for (due, now, want) in [
        (1_000, 1_000, (0, 0, false)),
        (1_000, 1_099, (99, 0, false)),
        (1_000, 1_100, (100, 1, false)),
        (1_000, 1_350, (350, 3, false)),
        (1_000, 999, (0, 0, true)),
    ] {
        let woken = timer::find_lateness(due, now, 100);
        assert_eq!((woken.ns, woken.nr_missed, woken.is_early), want, "{due} {now}");
    }
}

#[test]
fn the_hpets_period_is_rounded_as_the_driver_does() {
    // 10 ns a tick: 100 MHz, as QEMU's. 14.318180 MHz: as PCs have.
    assert_eq!(hpet::period_ticks(10_000_000, 2048), 48_828);
    assert_eq!(hpet::period_ticks(69_841_279, 2048), 6_991);
    assert_eq!(hpet::period_ticks(10_000_000, 1_000_000_000), 1);
}

#[test]
fn the_hpets_counter_tells_how_late_even_where_it_wraps() {
    for (counter, next, last, want) in [
        // Answered in time: the comparator is one period ahead of the match.
        (1_030, 1_100, 900, (30, 0, 1_000)),
        // Two matches went by: late since the first of them.
        (1_230, 1_300, 900, (230, 2, 1_200)),
        // The next match came between the two reads.
        (1_098, 1_200, 900, (98, 0, 1_000)),
        // Around the end of the counter.
        (5, 85, u32::MAX - 114, (20, 0, u32::MAX - 14)),
    ] {
        assert_eq!(hpet::find_lateness(counter, next, last, 100), want, "{counter} {next} {last}");
    }
}

#[test]
fn the_kernels_timers_are_waited_for() {
    for source in [ResponseSource::Timer, ResponseSource::Timerfd] {
        let mut task = Respondent::start(&config(source)).unwrap();
        assert_eq!(task.facts().period_ns, 1_000_000);
        let (mut nr, mut sum_ns) = (0_u64, 0_u64);
        let mut count = |task: &mut Respondent| {
            task.drain_responses(|ns| {
                nr += 1;
                sum_ns += ns;
            });
            nr
        };
        let started = Instant::now();
        task.let_measure();
        while count(&mut task) < 50 && started.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let ended = task.stop();
        count(&mut task);
        let elapsed_ms = started.elapsed().as_millis() as u64;
        assert!(ended.error.is_none() && ended.nr_lost == 0, "{ended:?}");
        // Every expiry was answered or missed; the last one may not be over.
        let all = nr + ended.nr_missed;
        assert!(nr >= 50 && all <= elapsed_ms + 1, "{source}: {all} in {elapsed_ms} ms");
        assert!(sum_ns / nr > 500, "{source}: a timer needs more than {} ns", sum_ns / nr);
        assert!(task.is_done());
    }
}

#[test]
fn the_first_response_over_the_threshold_ends_it() {
    let asked = RespondConfig { threshold_ns: Some(1), ..config(ResponseSource::Timer) };
    let mut task = Respondent::start(&asked).unwrap();
    task.let_measure();
    let started = Instant::now();
    while !task.is_done() && started.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut all = Vec::new();
    let ended = task.stop();
    task.drain_responses(|ns| all.push(ns));
    let read_ns = ended.exceeded.and_then(|over| over.read_ns);
    assert!(read_ns.is_some_and(|ns| ns <= now_ns()), "{read_ns:?}");
    assert_eq!(ended.exceeded, Some(Exceeded { ns: all[0], nr: 1, read_ns }));
    assert_eq!(all.len(), 1);
}

#[test]
fn what_cannot_be_is_refused_with_advice() {
    let missing = Some(PathBuf::from("/dev/irqpath-none"));
    let refused = |config: &RespondConfig| Respondent::start(config).unwrap_err().to_string();
    for (source, part) in [
        (ResponseSource::Hpet, "no HPET"),
        (ResponseSource::Device, "modprobe intsight"),
        (ResponseSource::Rtc, "CONFIG_RTC_CLASS"),
    ] {
        let hz = 1024.0;
        let asked = RespondConfig { device: missing.clone(), hz, ..config(source) };
        let line = refused(&asked);
        assert!(
            line.starts_with("there is no /dev/irqpath-none: ") && line.contains(part),
            "{line}"
        );
    }
    for (source, hz) in [(ResponseSource::Rtc, 1000.0), (ResponseSource::Hpet, 0.5)] {
        let line = refused(&RespondConfig { hz, ..config(source) });
        assert!(line.contains("cannot interrupt"), "{line}");
    }
    let line = refused(&RespondConfig { cpu: 1000, ..config(ResponseSource::Timer) });
    assert!(line.contains("cannot run on CPU 1000"), "{line}");
    let directory = Some(PathBuf::from("/proc"));
    let line = refused(&RespondConfig { device: directory, ..config(ResponseSource::Device) });
    assert!(line.contains("cannot open"), "{line}");
}
