// SPDX-License-Identifier: GPL-2.0-or-later
//! Which benchmarks to run: all combinations of the lists, checked against what the module can
//! do before the first one starts.

use std::time::Duration;

use anyhow::{bail, ensure};
use irqpath_analysis::bench::{is_interrupt, is_nothing};
use irqpath_model::bench::{BenchConfig, Clock, Mechanism};
use irqpath_source::intsight::Available;

use super::args::{AllOr, Bench, BenchLooks};

/// Room for the checkpoints of a run when every tracepoint is hooked: a tick in between has ten.
const CAPACITY_FOR_CAUSES: u64 = 64;

/// The benchmarks, in the order in which they are run: loads change least often.
pub fn plan_benchmarks(
    asked: &Bench,
    available: &Available,
    current: &BenchConfig,
    cpu: u16,
) -> anyhow::Result<Vec<BenchConfig>> {
    let what = &asked.what;
    let mechanisms = choose_mechanisms(&what.mechanism, available)?;
    let tracepoints = choose_tracepoints(&asked.looks, available)?;
    let trigger = what.trigger.clone().unwrap_or_else(|| current.trigger.clone());
    let known = &available.triggers;
    ensure!(
        known.is_empty() || known.contains(&trigger),
        "intsight has no trigger '{trigger}' here; it has: {}",
        known.join(" ")
    );
    let checkpoint_capacity = if tracepoints.iter().all(|t| is_interrupt(t)) {
        current.checkpoint_capacity
    } else {
        current.checkpoint_capacity.max(CAPACITY_FOR_CAUSES)
    };
    let mut plan = Vec::new();
    for &nr_load in &what.load {
        for &delay_us in &what.rate {
            plan.extend(mechanisms.iter().map(|&mechanism| BenchConfig {
                mechanism,
                nr_reps: what.reps,
                delay_us,
                wait: what.wait,
                trigger: trigger.clone(),
                tracepoints: tracepoints.clone(),
                checkpoint_capacity,
                nr_load: Some(nr_load),
                cpu: Some(cpu),
            }));
        }
    }
    Ok(plan)
}

/// Refuse clocks that the module does not stamp, and counters whose rate nobody would know when
/// all is measured. `known` is the counter whose rate is known here.
pub fn check_clocks(
    looks: &BenchLooks,
    available: &Available,
    known: Option<Clock>,
) -> anyhow::Result<()> {
    let stamped = &available.clocks;
    let finest = stamped.iter().min().map(|&clock| AllOr::One(clock));
    let asked = if looks.clock.is_empty() { finest.as_slice() } else { &looks.clock };
    for clock in asked {
        let AllOr::One(clock) = *clock else { continue };
        if !stamped.contains(&clock) {
            let has: Vec<_> = stamped.iter().map(|c| c.name()).collect();
            bail!(
                "intsight stamps no {clock}; it was built with: {} (INTSIGHT_CLOCKS)",
                has.join(" ")
            );
        }
        let has_rate = clock.counts_ns()
            || known == Some(clock)
            || [Clock::Ktime, Clock::KtimeMonoFast].iter().any(|ns| stamped.contains(ns));
        ensure!(
            has_rate,
            "the rate of {clock} cannot be measured here; build intsight with \
             INTSIGHT_CLOCKS=\"{clock} ktime\""
        );
    }
    Ok(())
}

/// The least that a benchmark takes.
pub fn least_duration(config: &BenchConfig) -> Duration {
    Duration::from_micros(config.nr_reps.saturating_mul(config.delay_us))
}

fn choose_mechanisms(
    asked: &[AllOr<Mechanism>],
    available: &Available,
) -> anyhow::Result<Vec<Mechanism>> {
    let has = |m: &Mechanism| available.mechanisms.iter().any(|name| name == m.name());
    let mut mechanisms = Vec::new();
    for one in asked {
        match one {
            AllOr::All => mechanisms.extend(Mechanism::ALL.iter().copied().filter(has)),
            AllOr::One(m) if has(m) => mechanisms.push(*m),
            AllOr::One(m) => bail!(
                "intsight has no mechanism {m} on this kernel; it has: {}",
                available.mechanisms.join(" ")
            ),
        }
    }
    // Said twice is measured once.
    let mut seen = Vec::new();
    mechanisms.retain(|m| {
        !seen.contains(m) && {
            seen.push(*m);
            true
        }
    });
    Ok(mechanisms)
}

fn choose_tracepoints(looks: &BenchLooks, available: &Available) -> anyhow::Result<Vec<String>> {
    let has = &available.tracepoints;
    let those = |wanted: &dyn Fn(&str) -> bool| {
        has.iter().filter(|name| wanted(name)).cloned().collect::<Vec<_>>()
    };
    match looks.tracepoints.as_slice() {
        [] if looks.causes => Ok(those(&|name| !is_nothing(name))),
        [] => Ok(those(&is_interrupt)),
        [word] if word == "none" => Ok(Vec::new()),
        [word] if word == "all" => Ok(has.clone()),
        names => {
            if let Some(absent) = names.iter().find(|name| !has.contains(name)) {
                bail!("intsight cannot hook '{absent}' on this kernel; it can: {}", has.join(" "));
            }
            Ok(names.to_vec())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser as _;
    use irqpath_model::bench::{Clock, Wait};

    fn split_words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn plan_arguments(arguments: &[&str]) -> anyhow::Result<Vec<BenchConfig>> {
        let all = ["irqpath", "bench"].iter().chain(arguments);
        let Verb::Bench(asked) = Cli::try_parse_from(all).unwrap().verb else { panic!() };
        let available = Available {
            mechanisms: split_words("none softirq tasklet workqueue irq_work"),
            triggers: split_words("irq_work hrtimer"),
            tracepoints: split_words(
                "sched_switch irq_handler_entry irq_handler_exit softirq_entry",
            ),
            clocks: vec![Clock::Tsc],
        };
        let current = BenchConfig {
            mechanism: Mechanism::Tasklet,
            nr_reps: 1,
            delay_us: 1,
            wait: Wait::Active,
            trigger: "irq_work".to_owned(),
            tracepoints: vec![],
            checkpoint_capacity: 16,
            nr_load: None,
            cpu: None,
        };
        plan_benchmarks(&asked, &available, &current, 3)
    }

    #[test]
    fn all_combinations_with_the_loads_outermost() {
        let plan =
            plan_arguments(&["--load", "0,1", "--rate", "50,25", "-m", "tasklet,softirq"]).unwrap();
        let row =
            |c: &BenchConfig| format!("{} {} {}", c.nr_load.unwrap(), c.delay_us, c.mechanism);
        let rows: Vec<_> = plan.iter().map(row).collect();
        assert_eq!(rows[..3], ["0 20000 tasklet", "0 20000 softirq", "0 40000 tasklet"]);
        assert_eq!((rows.len(), rows[7].as_str()), (8, "1 40000 softirq"));
        assert_eq!(least_duration(&plan[0]), Duration::from_secs(1_000));
        assert_eq!((plan[0].cpu, plan[0].wait), (Some(3), Wait::Passive));
    }

    #[test]
    fn all_means_what_the_module_has_and_each_is_run_once() {
        let plan = plan_arguments(&["-m", "irq_work,all"]).unwrap();
        let names: Vec<_> = plan.iter().map(|c| c.mechanism.name()).collect();
        assert_eq!(names, ["irq_work", "none", "softirq", "tasklet", "workqueue"]);
    }

    #[test]
    fn tracepoints_and_the_room_for_them() {
        for (arguments, want, capacity) in [
            (&[][..], "irq_handler_entry", 16),
            (&["--causes"], "sched_switch irq_handler_entry softirq_entry", 64),
            (&["--tracepoints", "none"], "", 16),
            (&["--tracepoints", "softirq_entry"], "softirq_entry", 64),
        ] {
            let plan = plan_arguments(arguments).unwrap();
            assert_eq!(plan[0].tracepoints.join(" "), want, "{arguments:?}");
            assert_eq!(plan[0].checkpoint_capacity, capacity, "{arguments:?}");
        }
    }

    #[test]
    fn clocks_that_are_not_stamped_or_have_no_rate_are_refused() {
        let check = |arguments: &[&str], stamped: &[Clock], known| {
            let all = ["irqpath", "bench"].iter().chain(arguments);
            let Verb::Bench(asked) = Cli::try_parse_from(all).unwrap().verb else { panic!() };
            let available = Available { clocks: stamped.to_vec(), ..Available::default() };
            check_clocks(&asked.looks, &available, known).map_err(|e| e.to_string())
        };
        let (tsc, cycles, ktime) = (Clock::Tsc, Clock::Pmccntr, Clock::Ktime);
        assert_eq!(check(&[], &[tsc], Some(tsc)), Ok(()));
        assert_eq!(check(&[], &[cycles, ktime], Some(Clock::Cntvct)), Ok(()));
        assert_eq!(check(&["--clock", "all"], &[tsc, ktime], Some(tsc)), Ok(()));
        let error = check(&[], &[cycles], Some(Clock::Cntvct)).unwrap_err();
        assert!(error.contains("build intsight with INTSIGHT_CLOCKS=\"pmccntr ktime\""), "{error}");
        let error = check(&["--clock", "ktime"], &[tsc], Some(tsc)).unwrap_err();
        assert!(error.contains("stamps no ktime; it was built with: tsc"), "{error}");
    }

    #[test]
    fn what_the_module_cannot_do_is_refused_with_what_it_can() {
        for (arguments, part) in [
            (&["-m", "workqueue_bh"][..], "no mechanism workqueue_bh on this kernel; it has: none"),
            (&["--trigger", "gpio"], "no trigger 'gpio' here; it has: irq_work hrtimer"),
            (&["--tracepoints", "mix_pool_bytes"], "cannot hook 'mix_pool_bytes' on this kernel"),
        ] {
            let error = plan_arguments(arguments).unwrap_err().to_string();
            assert!(error.contains(part), "{arguments:?}: {error}");
        }
    }
}
