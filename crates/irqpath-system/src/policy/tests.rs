// SPDX-License-Identifier: GPL-2.0-or-later
//! Policies of a kernel made of files, one of them unknown to this code; and the table of
//! associations as the kernel writes it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use irqpath_model::policy::{Associations, KernelPolicy};
use rustix::io::Errno;

use super::associations::parse_rows;
use super::*;
use crate::testing::{Fake, FakeAccess};

const TITLES: &str =
    "irq\tname\tpid\tcomm\tprio\thits\truns\tmisses\tage_ms\tcredit\tpinned\tmm_switched\n";

/// Replace a file, with this mode.
fn put(fake: &Fake, file: &str, text: &str, mode: u32) {
    let path = fake.host().path(format!("{ROOT}/{file}"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    // One that may not be written is there, or none.
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Three policies, a directory that is none, and the table.
fn kernel() -> Fake {
    let fake = Fake::new();
    for (file, text, mode) in [
        ("learn/enabled", "0\n", 0o644),
        ("learn/learned", "3\n", 0o444),
        ("migrate/enabled", "1\n", 0o644),
        ("migrate/watchdog_us", "200\n", 0o644),
        ("migrate/quiet", "7\n", 0o644),
        ("migrate/offered", "18446744073709551615\n", 0o444),
        ("of_tomorrow/enabled", "0\n", 0o644),
        ("of_tomorrow/quiet", "1000\n", 0o644),
        ("of_tomorrow/list", "\n", 0o644),
        ("debug/dump", "words\n", 0o444),
        ("associations", TITLES, 0o400),
    ] {
        put(&fake, file, text, mode);
    }
    fake
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&w| w.to_owned()).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// As `learn`, or `learn!` for one that is on.
fn names(policies: &[KernelPolicy]) -> Vec<String> {
    policies.iter().map(|p| format!("{}{}", p.name, if p.enabled { "!" } else { "" })).collect()
}

#[test]
fn policies_are_what_the_kernel_says() {
    let found = read_policies(&kernel().host()).unwrap();
    assert_eq!(names(&found), ["learn", "migrate!", "of_tomorrow"]);
    assert_eq!(found[0].counters, [("learned".to_owned(), 3)].into());
    assert!(found[0].settings.is_empty());
    assert_eq!(
        found[1].settings,
        pairs(&[("quiet", "7"), ("watchdog_us", "200")]).into_iter().collect()
    );
    assert_eq!(found[1].counters["offered"], u64::MAX);
    assert_eq!(found[2].settings["list"], "");
}

#[test]
fn another_kernel_is_named() {
    let fake = Fake::new().with_file("sys/kernel/realtime", "1\n");
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    for error in [
        read_policies(&host).unwrap_err(),
        read_associations(&host).unwrap_err(),
        enable(&host, &access, &words(&["learn"]), &[]).unwrap_err(),
        disable(&host, &access, &words(&[ALL])).unwrap_err(),
    ] {
        assert!(matches!(error, PolicyError::NoPolicies), "{error}");
        assert!(error.to_string().contains("/sys/kernel/irqpath (CONFIG_IRQPATH)"), "{error}");
    }
}

#[test]
fn files_that_are_no_count_and_no_switch() {
    for (file, text, mode, part) in [
        ("migrate/enabled", "yes\n", 0o644, "enabled, line 1: 'yes' is not 0 or 1"),
        ("migrate/offered", "-1\n", 0o444, "offered, line 1: '-1' is not a count"),
    ] {
        let fake = kernel();
        put(&fake, file, text, mode);
        let error = read_policies(&fake.host()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn enabled_with_the_settings_first() {
    let fake = kernel();
    let access = FakeAccess::new(&fake);
    let settings = pairs(&[("watchdog_us", "500"), ("list", "")]);
    let asked = words(&["of_tomorrow", "migrate", "migrate"]);
    let now = enable(&fake.host(), &access, &asked, &settings).unwrap();
    assert_eq!(names(&now), ["migrate!", "of_tomorrow!"]);
    assert_eq!(now[0].settings["watchdog_us"], "500");
    let written = access.written.borrow().join("\n").replace(&format!("{ROOT}/"), "");
    assert_eq!(
        written,
        "migrate/watchdog_us: 500\nof_tomorrow/list: \nmigrate/enabled: 1\nof_tomorrow/enabled: 1"
    );
    let text = std::fs::read_to_string(fake.host().path(format!("{ROOT}/of_tomorrow/list")));
    assert_eq!(text.unwrap(), "\n", "an empty value is a write, too");
}

#[test]
fn disabled_by_name_or_all() {
    for (asked, want, left) in [
        (&["migrate"][..], &["migrate"][..], ["learn!", "migrate", "of_tomorrow"]),
        (
            &["learn", "all"],
            &["learn", "migrate", "of_tomorrow"],
            ["learn", "migrate", "of_tomorrow"],
        ),
    ] {
        let fake = kernel();
        let (host, access) = (fake.host(), FakeAccess::new(&fake));
        enable(&host, &access, &words(&["learn"]), &[]).unwrap();
        assert_eq!(names(&disable(&host, &access, &words(asked)).unwrap()), want);
        assert_eq!(names(&read_policies(&host).unwrap()), left);
    }
}

#[test]
fn unknown_names_are_refused_before_anything_is_written() {
    let fake = kernel();
    let (host, access) = (fake.host(), FakeAccess::new(&fake));
    for (asked, set, want) in [
        (
            &["learn", "all"][..],
            "x",
            "there is no policy 'all'; this kernel has: learn, migrate, of_tomorrow",
        ),
        (
            &["debug"],
            "x",
            "there is no policy 'debug'; this kernel has: learn, migrate, of_tomorrow",
        ),
        (
            &["../learn"],
            "x",
            "there is no policy '../learn'; this kernel has: learn, migrate, of_tomorrow",
        ),
        (&["learn"], "x", "there is no setting 'x' of learn; there is: none"),
        (
            &["learn", "migrate"],
            "offered",
            "there is no setting 'offered' of learn, migrate; there is: quiet, watchdog_us",
        ),
        (
            &["migrate"],
            "enabled",
            "there is no setting 'enabled' of migrate; there is: quiet, watchdog_us",
        ),
        (
            &["migrate", "of_tomorrow"],
            "quiet",
            "migrate and of_tomorrow each have a setting 'quiet'; enable them one after the other",
        ),
    ] {
        let error = enable(&host, &access, &words(asked), &pairs(&[(set, "1")])).unwrap_err();
        assert_eq!(error.to_string(), want);
    }
    let error = disable(&host, &access, &words(&["direct"])).unwrap_err();
    assert!(error.to_string().starts_with("there is no policy 'direct'"), "{error}");
    assert!(access.written.borrow().is_empty());
}

#[test]
fn a_refusal_names_the_file_the_error_and_what_was_done() {
    const EACCES: i32 = 13;
    const ERANGE: i32 = 34;
    let watchdog = "sys/kernel/irqpath/migrate/watchdog_us";
    let fake = kernel();
    let settings = pairs(&[("quiet", "8"), ("watchdog_us", "5")]);
    let refused = |errno| {
        let access = FakeAccess::new(&fake).with_refusal(watchdog, errno);
        enable(&fake.host(), &access, &words(&["migrate"]), &settings).unwrap_err().to_string()
    };
    assert_eq!(
        refused(ERANGE),
        "the kernel refused '5' for /sys/kernel/irqpath/migrate/watchdog_us: Numerical result out of \
         range (os error 34); Documentation/ABI/testing/sysfs-kernel-irqpath-* says what it takes; \
         written before: migrate/quiet=8"
    );
    assert_eq!(refused(EACCES), format!("this user may not write /{watchdog}; run with sudo"));
}

#[test]
fn names_with_spaces_and_numbers() {
    for (line, want) in [
        (
            "24\teth0-rx-0\t70\tjackd\t80\t40\t10\t1\t1500\t12\t1\t5",
            Some((24, "eth0-rx-0", 70, "jackd")),
        ),
        (
            "9\tPCIe PME\t70\tmy worker 3\t80\t1\t0\t0\t0\t8\t0\t0",
            Some((9, "PCIe PME", 70, "my worker 3")),
        ),
        ("9\tacpi\t70\t1 2 3\t80\t1\t0\t0\t0\t8\t0\t0", Some((9, "acpi", 70, "1 2 3"))),
        ("9\tacpi\t70\t\t80\t1\t0\t0\t0\t8\t0\t0", Some((9, "acpi", 70, ""))),
        ("9\t\t70\tapp\t80\t1\t0\t0\t0\t8\t0\t0", Some((9, "", 70, "app"))),
        ("9\tacpi\t70\tapp\t80\t1\t0\t0\t0\t8\t0", None),
        ("9\tacpi\t70\tapp\t80\t1\t0\t0\t0\tx\t0\t0", None),
        ("nine\tacpi\t70\tapp\t80\t1\t0\t0\t0\t8\t0\t0", None),
    ] {
        let read = parse_rows(&format!("{line}\n"));
        let one = read.list.first().map(|a| (a.irq, a.name.as_str(), a.tid, a.comm.as_str()));
        assert_eq!(one, want, "{line}");
        assert_eq!(read.nr_unreadable, usize::from(want.is_none()), "{line}");
    }
}

#[test]
fn the_table_is_sorted_and_tells_what_is_missing() {
    let table = format!(
        "{TITLES}36\tdisk\t72\tlow\t10\t1\t0\t0\t0\t8\t0\t0\n24\tsnd\t70\tjackd\t80\t40\t10\t1\t1500\t12\t1\t9\n\
         36\tdisk\t71\thigh\t90\t5\t2\t3\t0\t0\t0\t0\n# 12 more\n"
    );
    let fake = kernel();
    put(&fake, "associations", &table, 0o400);
    let read = read_associations(&fake.host()).unwrap();
    let tids: Vec<u32> = read.list.iter().map(|a| a.tid).collect();
    assert_eq!(tids, [70, 71, 72]);
    assert_eq!((read.complete, read.nr_unreadable), (false, 0), "12 are missing");
    let one = &read.list[0];
    assert_eq!((one.priority, one.nr_wakeups, one.nr_runs, one.nr_mispredicted), (80, 40, 10, 1));
    assert_eq!((one.success, one.age_ns, one.trust), (Some(0.9), 1_500_000_000, 12));
    let by_hand: Vec<_> = read.list.iter().map(|a| (a.pinned, a.nr_mm_switched)).collect();
    assert_eq!(by_hand, [(true, 9), (false, 0), (false, 0)]);
    let successes: Vec<_> = read.list[1..].iter().map(|a| a.success).collect();
    assert_eq!(successes, [Some(0.0), None], "more mispredictions than runs; no runs");
}

#[test]
fn an_empty_table_and_one_with_other_columns() {
    let fake = kernel();
    let empty = Associations { complete: true, ..Associations::default() };
    assert_eq!(read_associations(&fake.host()).unwrap(), empty);
    for text in ["", "irq task\n1 2\n"] {
        let fake = Fake::new().with_file("sys/kernel/irqpath/associations", text);
        let error = read_associations(&fake.host()).unwrap_err();
        assert!(matches!(error, PolicyError::OtherColumns { .. }), "{error}");
    }
}

#[test]
fn an_association_is_made_by_hand_and_left_to_learning() {
    let fake = kernel().with_file("proc/irq/24/irqpath_target", "");
    let access = FakeAccess::new(&fake);
    pin_association(&fake.host(), &access, (24, 70), true).unwrap();
    pin_association(&fake.host(), &access, (24, 70), false).unwrap();
    let path = "proc/irq/24/irqpath_target";
    assert_eq!(*access.written.borrow(), [format!("{path}: 70"), format!("{path}: -70")]);
}

#[test]
fn why_an_association_cannot_be_made_by_hand() {
    let path = "proc/irq/24/irqpath_target";
    for (errno, why) in [
        (Errno::SRCH, "there is no such task"),
        (Errno::INVAL, "it is no FIFO, RR or deadline task of user space"),
        (Errno::NXIO, "the interrupt has no handler"),
        (Errno::NOSPC, "all that the task can have were made by hand"),
        (Errno::NOMEM, "Cannot allocate memory (os error 12)"),
    ] {
        let fake = kernel().with_file(path, "");
        let access = FakeAccess::new(&fake).with_refusal(path, errno.raw_os_error());
        let error = pin_association(&fake.host(), &access, (24, 70), true).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "interrupt 24 cannot be given to task 70: {why}; irqpath policy assoc shows those \
                 that there are"
            )
        );
    }
    for (fake, pinned, part) in [
        (kernel().with_file(path, ""), false, "taken from task 70: the task has none with it"),
        (kernel(), true, "given to task 70: the interrupt has no handler"),
    ] {
        let access = FakeAccess::new(&fake).with_refusal(path, Errno::NOENT.raw_os_error());
        let error =
            pin_association(&fake.host(), &access, (24, 70), pinned).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
