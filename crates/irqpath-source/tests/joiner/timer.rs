// SPDX-License-Identifier: GPL-2.0-or-later
//! Timers: the raise is the programmed expiry, but never later than the interrupt.

use crate::harness::paths;

/// One timer interrupt on CPU 0 at 1000 whose callback wakes a task that ends at the switch.
fn expire(arguments: &str, want: &str) {
    let script = format!(
        "0 1000 vector_entry local_timer
         0 1005 hrtimer_entry {arguments}
         0 1010 waking 12
         0 1015 hrtimer_exit
         0 1020 vector_exit local_timer
         0 1030 switch 12"
    );
    paths(&script, want);
}

#[test]
fn the_expiry_is_the_raise() {
    expire(
        "900 0 0xabc",
        "path local_timer faulter:12 via=- switch_in raise@0=900 hardirq@0+100 waking@0+10 switch_in@0+20 fn=abc",
    );
}

#[test]
fn a_base_that_is_ahead_is_translated() {
    expire(
        "1000900 1000000",
        "path local_timer faulter:12 via=- switch_in raise@0=900 hardirq@0+100 waking@0+10 switch_in@0+20",
    );
    // CLOCK_BOOTTIME and CLOCK_TAI too; an offset may even be negative.
    expire(
        "400 -500",
        "path local_timer faulter:12 via=- switch_in raise@0=900 hardirq@0+100 waking@0+10 switch_in@0+20",
    );
}

#[test]
fn a_timer_that_is_early_has_no_irq_latency() {
    for expiry in ["1001", "1004 0", "2000 5", "5 100000"] {
        expire(
            expiry,
            "path local_timer faulter:12 via=- switch_in raise@0=1000 hardirq@0+0 waking@0+10 switch_in@0+20",
        );
    }
}

/// A timer on CPU 0 that is set twice, to expire at 900, and expires in an interrupt at 1000.
fn set_and_expire(set: &str, want: &str) {
    let script = format!(
        "{set}
         0 1000 vector_entry local_timer
         0 1005 timer_expires 1
         0 1010 waking 12
         0 1015 hrtimer_exit
         0 1020 vector_exit local_timer
         0 1030 switch 12"
    );
    paths(&script, want);
}

#[test]
fn a_timer_that_was_due_when_it_was_set_is_raised_by_that() {
    let raised = |ns: u64| {
        let first = 1000 - ns;
        format!(
            "path local_timer faulter:12 via=- switch_in raise@0={ns} hardirq@0+{first} waking@0+10 switch_in@0+20"
        )
    };
    set_and_expire("0 950 timer_set 1 900", &raised(950));
    // Not due, due and set again in time, set again when due, and others that were due.
    set_and_expire("0 850 timer_set 1 900", &raised(900));
    set_and_expire("0 850 timer_set 1 800\n0 860 timer_set 1 900", &raised(900));
    set_and_expire("0 850 timer_set 1 900\n0 960 timer_set 1 900", &raised(960));
    set_and_expire(
        "0 940 timer_set 1 900\n0 950 timer_set 2 900\n0 960 timer_set 3 900",
        &raised(940),
    );
}

#[test]
fn each_timer_of_one_interrupt_has_its_own_raise() {
    paths(
        "0 1000 vector_entry local_timer
         0 1001 hrtimer_entry 900
         0 1002 waking 12
         0 1003 hrtimer_exit
         0 1004 waking 13
         0 1005 hrtimer_entry 950
         0 1006 waking 14
         0 1007 hrtimer_exit
         0 1008 vector_exit local_timer
         0 1010 switch 12
         0 1020 switch 13 1
         0 1021 sys_exit
         0 1030 switch 14 1
         0 1031 sys_exit",
        "path local_timer faulter:12 via=- switch_in raise@0=900 hardirq@0+100 waking@0+2 switch_in@0+8
         path local_timer t13:13 via=- user hardirq@0=1000 waking@0+4 switch_in@0+16 user@0+1
         path local_timer t14:14 via=- user raise@0=950 hardirq@0+50 waking@0+6 switch_in@0+24 user@0+1",
    );
}

#[test]
fn an_hrtimer_in_a_softirq_was_raised_before_the_interrupt() {
    paths(
        "0 1000 vector_entry local_timer
         0 1001 softirq_raise 8
         0 1002 vector_exit local_timer
         0 1010 softirq_entry 8
         0 1011 hrtimer_entry 900
         0 1012 waking 12
         0 1013 hrtimer_exit
         0 1014 hrtimer_entry 1005
         0 1015 waking 13
         0 1016 hrtimer_exit
         0 1017 softirq_exit 8
         0 1020 switch 12
         0 1030 switch 13 1
         0 1031 sys_exit",
        "path local_timer faulter:12 via=s8 switch_in raise@0=900 hardirq@0+100 softirq_raise@0+1 softirq@0+9 waking@0+2 switch_in@0+8
         path local_timer t13:13 via=s8 user raise@0=1000 hardirq@0+0 softirq_raise@0+1 softirq@0+9 waking@0+5 switch_in@0+15 user@0+1",
    );
}

#[test]
fn an_hrtimer_in_a_softirq_of_a_task_is_raised_with_it_at_the_latest() {
    paths(
        "0 1000 softirq_raise 8
         0 1010 softirq_entry 8
         0 1011 hrtimer_entry 1005
         0 1012 waking 12
         0 1013 hrtimer_exit
         0 1017 softirq_exit 8
         0 1020 switch 12",
        "path softirq:8 faulter:12 via=s8 switch_in raise@0=1000 softirq_raise@0+0 softirq@0+10 waking@0+2 switch_in@0+8",
    );
}

#[test]
fn a_timer_of_the_wheel_has_a_callback_and_no_expiry() {
    paths(
        "0 1000 vector_entry local_timer
         0 1001 softirq_raise 1
         0 1002 vector_exit local_timer
         0 1010 softirq_entry 1
         0 1011 timer_entry 0xf00
         0 1012 waking 12
         0 1013 timer_exit
         0 1014 waking 13
         0 1017 softirq_exit 1
         0 1020 switch 12
         0 1030 switch 13 1
         0 1031 sys_exit",
        "path local_timer faulter:12 via=s1 switch_in hardirq@0=1000 softirq_raise@0+1 softirq@0+9 waking@0+2 switch_in@0+8 fn=f00
         path local_timer t13:13 via=s1 user hardirq@0=1000 softirq_raise@0+1 softirq@0+9 waking@0+4 switch_in@0+16 user@0+1",
    );
}

#[test]
fn timers_outside_of_an_interrupt_do_nothing() {
    paths(
        "0 1000 hrtimer_entry 900
         0 1001 waking 12
         0 1002 hrtimer_exit
         0 1003 timer_entry 0x1
         0 1004 timer_exit
         0 1020 switch 12",
        "",
    );
}
