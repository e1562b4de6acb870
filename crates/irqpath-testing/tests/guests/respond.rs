// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath respond` beside cyclictest in an exact guest, Debian's 6.12 with PREEMPT_RT: one virtual
//! CPU on which nothing else runs, one instruction is one nanosecond. There medians are compared to
//! the letter of the claim, and the devices that this machine may lack are there: HPET, RTC, intsight.

use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour};
use irqpath_lab::vm::{Devices, Machine, Outcome};
use irqpath_testing::cli::{is_installed, release_binary};
use irqpath_testing::guests;
use irqpath_testing::peers::{INTERVAL_US, cyclictest, cyclictest_median};
use serde_json::Value;

/// Run the job in a guest that has everything, an HPET if wanted; `None`, said aloud, where there is
/// no lab.
fn run(job: &str, hpet: bool) -> Option<Outcome> {
    if !is_installed("cyclictest") {
        println!("skipped: cyclictest is not installed");
        return None;
    }
    let (lab, kernel) = guests::provide_kernel(Flavour::StockRt, Arch::X86_64)?;
    let intsight = guests::build_intsight(&lab, &kernel)?;
    let guest = Guest::new(&kernel)
        .job(job)
        .program_file("irqpath", &release_binary())
        .program("cyclictest")
        .file("/modules/intsight.ko", &intsight, 0o644);
    let machine = Machine {
        devices: Devices { hpet, ..Devices::default() },
        limit_host: guests::LIMIT,
        ..Machine::exact(&kernel)
    };
    Some(machine.run(&lab, &guest.build(&lab).unwrap()).unwrap().require_success().unwrap())
}

fn response(outcome: &Outcome, name: &str) -> Value {
    let text = outcome.results.file_text(&format!("{name}.json"));
    let text = text.unwrap_or_else(|e| panic!("{name}: {e}\n{}", outcome.results.job_log()));
    let all: Value = serde_json::from_str(&text).unwrap();
    all["summary"]["response"][0].clone()
}

fn ns(response: &Value, field: &str) -> u64 {
    response["quantiles"][field].as_u64().unwrap()
}

#[test]
fn sources_agree_with_cyclictest_and_with_each_other() {
    let hz = 1_000_000 / INTERVAL_US;
    let respond = format!("irqpath respond -d 1s -f {hz} --json");
    let job = format!(
        "set -e\n\
         insmod /modules/intsight.ko nr_devices=1\n\
         {respond} > /results/timer.json\n\
         {} > /results/cyclictest.txt\n\
         {respond} --source timerfd > /results/timerfd.json\n\
         {respond} --source hpet > /results/hpet.json\n\
         {respond} --source device > /results/device.json\n\
         irqpath respond -d 1s -f 1024 --source rtc --json > /results/rtc.json\n\
         irqpath respond -d 5s -f 1 --source rtc --json > /results/rtc1.json\n\
         irqpath respond -d 1s -T 1 --json > /results/over.json || [ $? = 1 ]\n",
        cyclictest("0", 1)
    );
    let Some(outcome) = run(&job, true) else { return };
    assert!(outcome.exact);
    let cyclictest = cyclictest_median(&outcome.results.file_text("cyclictest.txt").unwrap());
    let timer = response(&outcome, "timer");
    println!("medians, ns: cyclictest {cyclictest}, timer {}", ns(&timer, "q50_ns"));
    assert!(ns(&timer, "q50_ns").abs_diff(cyclictest) <= 1_000);

    for (name, least) in [("timer", 1_990), ("timerfd", 1_990), ("hpet", 1_980), ("device", 1_980)]
    {
        let r = response(&outcome, name);
        let (n, q50) = (ns(&r, "n"), ns(&r, "q50_ns"));
        println!("{name}: {n}, median {q50} ns, {}, {}", r["origin"], r["sched"]);
        assert!((least..=2_010).contains(&n), "{name}: {n} in a second");
        assert_eq!((&r["nr_missed"], &r["nr_lost"]), (&0.into(), &0.into()), "{name}");
        assert_eq!(r["sched"], "f:80");
        // On a machine without caches nothing takes longer than an idle exit and a wakeup.
        assert!((1_000..60_000).contains(&q50), "{name}: {q50}");
    }
    // The RTC core stands in for the periodic interrupt, and where there is an HPET it has the
    // RTC's line.
    for (name, least, stand_in) in [("rtc", 900, "hrtimer"), ("rtc1", 3, "HPET")] {
        let r = response(&outcome, name);
        assert!(r["stand_in"].as_str().unwrap_or_default().contains(stand_in), "{name}: {r}");
        assert!(ns(&r, "n") >= least, "{name}: {}", ns(&r, "n"));
    }
    over_the_threshold(&outcome);
}

#[test]
fn the_chips_own_interrupt_is_not_called_emulated() {
    let job = "irqpath respond -d 5s -f 1 --source rtc --json > /results/rtc1.json";
    let Some(outcome) = run(job, false) else { return };
    let r = response(&outcome, "rtc1");
    assert_eq!(r["stand_in"], Value::Null, "the update interrupt is the chip's alarm");
    assert!((3..=5).contains(&ns(&r, "n")), "{}", ns(&r, "n"));
}

fn over_the_threshold(outcome: &Outcome) {
    let all: Value =
        serde_json::from_str(&outcome.results.file_text("over.json").unwrap()).unwrap();
    let (r, slow) = (&all["summary"]["response"][0], &all["summary"]["slow"][0]);
    assert_eq!(r["exceeded"]["nr"], 1, "1 us is too short for anything");
    let traced: u64 =
        slow["stages"].as_array().unwrap().iter().map(|s| s["ns"].as_u64().unwrap()).sum();
    let measured = r["exceeded"]["ns"].as_u64().unwrap();
    println!("over the threshold: measured {measured} ns, traced {traced} ns of it");
    // What the task does between its return to user space and the clock is not traced.
    assert!(traced <= measured && measured - traced < 20_000);
}
