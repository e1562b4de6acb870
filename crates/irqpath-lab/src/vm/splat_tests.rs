// SPDX-License-Identifier: GPL-2.0-or-later
//! Consoles as kernels print them, and what is to be found in each.

use super::*;
use proptest::prelude::*;

/// A boot without complaints, with words in it that look like some.
const CLEAN: &str = "\
[    0.000000] Linux version 6.12.117+deb12-rt-amd64 (debian-kernel@lists.debian.org)
[    0.250123] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on
[    0.663900] acpi PNP0A03:00: fail to add MMCONFIG information
[    1.036839] amd_pstate: the _CPC object is not present in SBIOS or ACPI disabled
[    1.500000] dummy: loading out-of-tree module taints kernel.
[    1.600000] debugfs: no BUG: here
irqpath: job starts
irqpath: 4096 bytes of results
[    2.112058] reboot: Power down
";

const PANIC: &str = "\
irqpath: job starts
[    2.113000] sysrq: Trigger a crash
[    2.113200] Kernel panic - not syncing: sysrq triggered crash
[    2.113300] CPU: 0 UID: 0 PID: 61 Comm: sh Not tainted 6.12.117+deb12-rt-amd64 #1
[    2.113400] Call Trace:
[    2.113500]  <TASK>
[    2.114000] ---[ end Kernel panic - not syncing: sysrq triggered crash ]---
";

const NULL: &str = "\
[    3.000000] BUG: kernel NULL pointer dereference, address: 0000000000000000
[    3.000100] #PF: supervisor write access in kernel mode
[    3.000200] #PF: error_code(0x0002) - not-present page
[    3.000300] PGD 0 P4D 0
[    3.000400] Oops: Oops: 0002 [#1] PREEMPT_RT SMP NOPTI
[    3.000500] CPU: 0 UID: 0 PID: 70 Comm: insmod Tainted: G           OE
";

const CIRCULAR: &str = "\
[   12.000000] ======================================================
[   12.000001] WARNING: possible circular locking dependency detected
[   12.000002] 6.12.117 #1 Tainted: G           O
[   12.000003] ------------------------------------------------------
[   12.000004] test/123 is trying to acquire lock:
[   12.000005] ffff888001 (a){+.+.}-{3:3}, at: first+0x10/0x20 [test]
[   12.000006]
[   12.000007]                but task is already holding lock:
[   12.000008]  *** DEADLOCK ***
";

const ATOMIC: &str = "\
[    5.000000] BUG: scheduling while atomic: insmod/90/0x00000002
[    5.000001] Modules linked in: test(OE+)
[    6.000000] BUG: sleeping function called from invalid context at kernel/locking/spinlock_rt.c:48
[    6.000001] in_atomic(): 1, irqs_disabled(): 0, non_block: 0, pid: 90, name: insmod
";

const WARN: &str = "\
[    4.000000] ------------[ cut here ]------------
[    4.000001] refcount_t: underflow; use-after-free.
[    4.000002] WARNING: CPU: 0 PID: 88 at lib/refcount.c:28 refcount_warn_saturate+0xba/0x110
[    4.000003] Modules linked in:
[    4.000020] ---[ end trace 0000000000000000 ]---
[    9.000000] ------------[ cut here ]------------
[    9.000001] WARNING: CPU: 0 PID: 89 at kernel/irq/manage.c:790 enable_irq+0x50/0xa0
";

const KASAN: &str = "\
[    7.000000] ==================================================================
[    7.000001] BUG: KASAN: slab-use-after-free in test_init+0x80/0x100 [test]
[    7.000002] Write of size 4 at addr ffff888004a1c000 by task insmod/77
";

const STALLS: &str = "\
[   60.000000] rcu: INFO: rcu_preempt self-detected stall on CPU
[   60.000001] rcu: \t0-....: (5249 ticks this GP) idle=d2bc/1/0x4000000000000000
[   90.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [sh:61]
[  242.000000] INFO: task cat:99 blocked for more than 120 seconds.
";

const ARM_OOPS: &str = "\
[    2.000000][   T55] Unable to handle kernel paging request at virtual address dfff800000000000
[    2.000100][   T55] Mem abort info:
[    2.000200][   T55] Internal error: Oops: 0000000096000004 [#1] PREEMPT_RT SMP
";

/// `BUG()` in a kernel thread, which ends in a panic.
const BUG: &str = "\
[    3.000000] ------------[ cut here ]------------
[    3.000010] kernel BUG at kernel/irq/manage.c:1234!
[    3.000020] Oops: invalid opcode: 0000 [#1] PREEMPT_RT SMP NOPTI
[    3.000030] CPU: 0 UID: 0 PID: 70 Comm: irq/9-test Tainted: G           OE
[    3.000400] Kernel panic - not syncing: Fatal exception in interrupt
";

const NOBODY: &str = "[    2.5] irq 9: nobody cared (try booting with the \"irqpoll\" option)\n";

const KUNIT: &str = "\
[    4.0] KTAP version 1
[    4.1]     ok 1 offers_by_priority
[    4.2]     # offers_by_age: EXPECTATION FAILED at kernel/irqpath/assoc_test.c:80
[    4.2]     Expected age == 1, but
[    4.2]     not ok 2 offers_by_age
[    4.3] # irqpath-assoc: pass:1 fail:1 skip:0 total:2
[    4.4] not ok 1 irqpath-assoc
[    4.5] ok 2 irqpath-shield
";

const INVALID_WAIT: &str = "\
[    3.0] =============================
[    3.0] [ BUG: Invalid wait context ]
[    3.0] 6.12.117 #1 Not tainted
";

fn find_kinds(console: &str) -> Vec<SplatKind> {
    find_splats(console).iter().map(|splat| splat.kind).collect()
}

#[test]
fn complaints_are_found_and_counted_once() {
    use SplatKind as Kind;
    for (name, console, expected) in [
        ("clean", CLEAN, &[][..]),
        ("panic", PANIC, &[Kind::Panic]),
        ("null", NULL, &[Kind::Oops]),
        ("circular", CIRCULAR, &[Kind::Lockdep]),
        ("atomic", ATOMIC, &[Kind::Atomic, Kind::Atomic]),
        ("warn", WARN, &[Kind::Warning, Kind::Warning]),
        ("kasan", KASAN, &[Kind::Sanitizer]),
        ("stalls", STALLS, &[Kind::Stall, Kind::Stall, Kind::HungTask]),
        ("arm", ARM_OOPS, &[Kind::Oops]),
        ("bug", BUG, &[Kind::Oops, Kind::Panic]),
        ("nobody", NOBODY, &[Kind::Irq]),
        ("kunit", KUNIT, &[Kind::Kunit, Kind::Kunit]),
        ("wait", INVALID_WAIT, &[Kind::Lockdep]),
    ] {
        assert_eq!(find_kinds(console), expected, "{name}");
    }
}

#[test]
fn a_complaint_is_the_same_with_and_without_stamps() {
    for console in [CLEAN, PANIC, NULL, CIRCULAR, WARN, KASAN, STALLS] {
        let bare: Vec<&str> = console.lines().map(without_stamp).collect();
        assert_eq!(find_kinds(console), find_kinds(&bare.join("\n")), "{console}");
    }
}

#[test]
fn title_and_line() {
    let splats = find_splats(&format!("{CLEAN}{WARN}"));
    let line = CLEAN.lines().count() + 1;
    assert_eq!(
        (splats[0].title.as_str(), splats[0].line),
        ("refcount_t: underflow; use-after-free.", line)
    );
    assert!(splats[1].title.starts_with("WARNING: CPU: 0 PID: 89 at kernel/irq/manage.c:790"));
}

#[test]
fn stamps_are_cut_off() {
    for (line, message) in [
        ("[    2.112058] reboot: Power down", "reboot: Power down"),
        ("[    2.112058][   T12] x", "x"),
        ("[    2.112058][    C0]  x", " x"),
        ("[ BUG: Invalid wait context ]", "[ BUG: Invalid wait context ]"),
        ("[12] [34] [56] x", "[56] x"),
        ("no stamp", "no stamp"),
        ("[", "["),
        ("[]", "[]"),
        ("", ""),
    ] {
        assert_eq!(without_stamp(line), message, "{line}");
    }
}

proptest! {
    /// Complaints are found whatever stands around them, and lines without any stay quiet.
    #[test]
    fn found_in_any_company(before in "[a-z \n]{0,200}", after in "[a-z \n]{0,200}") {
        prop_assert_eq!(find_kinds(&format!("{before}\n{after}")), vec![]);
        let console = format!("{before}\n{CIRCULAR}{after}\n{STALLS}");
        let found = find_kinds(&console);
        prop_assert_eq!(&found[..2], &[SplatKind::Lockdep, SplatKind::Stall]);
    }

    #[test]
    fn no_console_breaks_it(console in "\\PC*") {
        for splat in find_splats(&console) {
            prop_assert!(splat.line < console.lines().count());
        }
    }
}

#[test]
fn a_breakpoint_is_known_as_printed_by_old_and_new_kernels() {
    for (line, expected) in [
        ("[    3.093098] int3: 0000 [#1] PREEMPT SMP NOPTI", true),
        ("[    3.093098] Oops: int3: 0000 [#1] PREEMPT_RT SMP NOPTI", true),
        ("[    3.093098] Oops: invalid opcode: 0000 [#1] SMP NOPTI", false),
        ("[    3.093098] WARNING: int3: 0000", false),
    ] {
        let splats = find_splats(line);
        assert_eq!(splats.len(), 1, "{line}");
        assert_eq!(splats[0].is_breakpoint(), expected, "{line}");
    }
}
