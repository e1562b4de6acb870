// SPDX-License-Identifier: GPL-2.0-or-later
//! Journals and locks that another user of the host could have made, opened or written.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use irqpath_model::change::{Form, Value};
use irqpath_model::{Scheduling, TaskId};
use proptest::prelude::*;
use rustix::fs::{FlockOperation, flock, mknodat};

use super::*;
use crate::change::{Access as _, undo_changes};
use crate::testing::{Fake, FakeAccess};

const JOURNAL: &str = "var/lib/irqpath/test.journal";
const LOCK: &str = "run/irqpath/lock";
const ROOT: &str = "IRQPATH_TEST_JOURNAL_ROOT";
/// The user `nobody`.
const STRANGER: u32 = 65534;

fn fake() -> Fake {
    Fake::new()
        .with_file("proc/sys/kernel/random/boot_id", "boot-1\n")
        .with_file("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
        .with_file("proc/irq/1/smp_affinity", "f\n")
        .with_file("etc/shadow", "secret\n")
}

fn file(path: &str, form: Form) -> Target {
    Target::File { path: path.to_owned(), form }
}

fn intent(target: Target, before: &str, new: &str) -> Intent {
    let value = |text: &str| match &target {
        Target::File { form, .. } => form.parse(text).unwrap(),
        Target::ProcessCgroup { .. } | Target::ThreadCgroup { .. } => Value::Text(text.to_owned()),
        _ => Value::Present(false),
    };
    Intent { label: "it".to_owned(), before: value(before), new: value(new), target }
}

fn begun(host: &Host) -> Journal {
    let mut journal = Journal::open(host, "test").unwrap();
    journal.begin_set(&"wish").unwrap();
    journal
        .write_intents(&[intent(file("proc/irq/1/smp_affinity", Form::Mask), "f", "3")])
        .unwrap();
    journal
}

fn mode(host: &Host, path: &str) -> u32 {
    fs::symlink_metadata(host.path(path)).unwrap().mode() & 0o7777
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Run by itself it starts itself again with the worst umask that there is.
#[test]
fn modes_do_not_follow_the_umask() {
    if let Ok(root) = std::env::var(ROOT) {
        drop(begun(&Host::new(root)));
        return;
    }
    for umask in ["000", "077"] {
        let fake = fake();
        let test = "journal::trust_tests::modes_do_not_follow_the_umask";
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("umask {umask}; exec \"$0\" --exact {test}")]);
        shell.arg(std::env::current_exe().unwrap()).env(ROOT, fake.host().path(""));
        assert!(shell.stdout(Stdio::null()).status().unwrap().success());
        let modes = ["var/lib/irqpath", JOURNAL, "run/irqpath", LOCK];
        let modes = modes.map(|path| format!("{:o}", mode(&fake.host(), path)));
        assert_eq!(modes, ["755", "644", "700", "600"], "umask {umask}");
    }
}

#[test]
fn a_journal_that_others_may_have_written_is_not_obeyed() {
    type Spoil = fn(&Path);
    let cases: [(&str, Spoil); 6] = [
        ("mode 666", |path| fs::set_permissions(path, Permissions::from_mode(0o666)).unwrap()),
        ("mode 664", |path| fs::set_permissions(path, Permissions::from_mode(0o664)).unwrap()),
        ("belongs to uid 65534", |path| chown(path, Some(STRANGER), None).unwrap()),
        ("regular file", |path| {
            fs::remove_file(path).unwrap();
            let (kind, mode) = (rustix::fs::FileType::Fifo, 0o644.into());
            mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
        }),
        ("cannot", |path| {
            fs::rename(path, path.with_extension("moved")).unwrap();
            symlink("test.moved", path).unwrap();
        }),
        ("line of more than 33554432 bytes", |path| {
            File::options().write(true).open(path).unwrap().set_len(1 << 40).unwrap();
        }),
    ];
    for (why, spoil) in cases {
        if why.contains("uid") && !is_root() {
            continue;
        }
        let fake = fake();
        drop(begun(&fake.host()));
        spoil(&fake.host().path(JOURNAL));
        for error in [
            Journal::open(&fake.host(), "test").map(drop).unwrap_err().to_string(),
            peek_journal(&fake.host(), "test")
                .map(drop)
                .map_or_else(|e| e.to_string(), |()| why.into()),
        ] {
            assert!(error.contains(why) && error.lines().count() == 1, "{why}: {error}");
        }
    }
}

#[test]
fn a_directory_that_others_could_write_is_closed_and_a_strangers_is_refused() {
    let fake = fake();
    let host = fake.host();
    for path in ["var/lib/irqpath", "run/irqpath"] {
        fs::create_dir_all(host.path(path)).unwrap();
        fs::set_permissions(host.path(path), Permissions::from_mode(0o777)).unwrap();
    }
    drop(begun(&host));
    assert_eq!((mode(&host, "var/lib/irqpath"), mode(&host, "run/irqpath")), (0o755, 0o700));
    if is_root() {
        chown(host.path("run/irqpath"), Some(STRANGER), None).unwrap();
        let error = Journal::open(&host, "test").unwrap_err().to_string();
        assert!(error.contains("belongs to uid 65534"), "{error}");
    }
}

#[test]
fn a_lock_that_others_could_have_opened_is_replaced() {
    let fake = fake();
    let path = fake.host().path(LOCK);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let stranger = File::open(&path).unwrap();
    flock(&stranger, FlockOperation::NonBlockingLockExclusive).unwrap();
    let lock = Lock::take_within(path.parent().unwrap(), Duration::from_millis(50)).unwrap();
    assert_eq!(mode(&fake.host(), LOCK), 0o600);
    let error = Lock::take_within(path.parent().unwrap(), Duration::from_millis(50)).unwrap_err();
    assert!(error.is_locked(), "the new one is a lock: {error}");
    drop(lock);
}

#[test]
fn nobody_cannot_take_the_lock_of_root() {
    if !is_root() {
        return;
    }
    let fake = fake();
    fs::set_permissions(fake.host().path(""), Permissions::from_mode(0o755)).unwrap();
    drop(begun(&fake.host()));
    let flock = |path: &str| {
        let mut setpriv = Command::new("setpriv");
        setpriv.args(["--reuid=65534", "--clear-groups", "flock", "-n"]);
        setpriv.arg(fake.host().path(path)).arg("true").stderr(Stdio::null());
        setpriv.status().unwrap().success()
    };
    assert!(flock("etc/shadow"), "it can lock what it can read");
    assert!(flock(JOURNAL), "status is for everybody");
    assert!(!flock(LOCK) && !flock("run/irqpath"));
    drop(Journal::open(&fake.host(), "test").unwrap());
}

#[test]
fn a_target_that_irqpath_never_changes_is_refused_and_nothing_is_done() {
    let mask = |path: &str| file(path, Form::Mask);
    let task = TaskId { tid: 1, start_ticks: 1 };
    let cgroup = |mount: &str| Target::ProcessCgroup { task, mount: mount.into() };
    let thread = |mount: &str| Target::ThreadCgroup { task, mount: mount.into() };
    let forged = [
        intent(file("etc/shadow", Form::Text), "mine", "secret"),
        intent(file("proc/sys/kernel/core_pattern", Form::Text), "|/tmp/x", "core"),
        intent(file("proc/sys/kernel/timer_migration", Form::List), "1", "2"),
        intent(file("sys/devices/system/cpu/cpufreq/../scaling_governor", Form::Text), "1", "2"),
        intent(
            file("sys/devices/system/cpu/cpu/power/pm_qos_resume_latency_us", Form::Text),
            "1",
            "2",
        ),
        intent(file("sys/kernel/debug/sched/fair_server/../runtime", Form::Text), "1", "2"),
        intent(mask("proc/irq/1/../../sys/kernel/x"), "1", "2"),
        intent(mask("proc/irq//smp_affinity"), "1", "2"),
        intent(mask("proc/irq/1/smp_affinity_list"), "1", "2"),
        intent(mask("sys/devices/virtual/workqueue/../cpumask"), "1", "2"),
        intent(mask("sys/class/net/../queues/rx-0/rps_cpus"), "1", "2"),
        intent(file("sys/class/net/../threaded", Form::Text), "1", "2"),
        intent(mask("/proc/irq/1/smp_affinity"), "1", "2"),
        intent(file("sys/fs/cgroup/a/cpuset.cpus", Form::List), "1", "2"),
        intent(file("sys/fs/cgroup/irqpath.shield/../a/cpuset.cpus", Form::List), "1", "2"),
        intent(file("tmp/irqpath.shield/cpuset.cpus", Form::List), "1", "2"),
        intent(Target::Cgroup { path: "sys/fs/cgroup/system.slice".into() }, "", ""),
        intent(Target::Cgroup { path: "etc/irqpath.shield".into() }, "", ""),
        intent(Target::Cgroup { path: "sys/fs/cgroup/a/../irqpath.cpu3".into() }, "", ""),
        intent(Target::Cgroup { path: "sys/fs/cgroup/a/irqpath.cpu".into() }, "", ""),
        intent(Target::Cgroup { path: "sys/fs/cgroup/a/irqpath.cpu3/b".into() }, "", ""),
        intent(file("sys/fs/cgroup/a/cgroup.type", Form::Text), "domain", "threaded"),
        intent(thread("tmp"), "tmp/a", "tmp/b"),
        intent(thread("sys/fs/cgroup"), "sys/fs/cgroup/a/../../tmp", "sys/fs/cgroup"),
        intent(cgroup("tmp"), "tmp/a", "tmp/b"),
        intent(cgroup("sys/fs/cgroup"), "sys/fs/cgroup/../../../tmp", "sys/fs/cgroup"),
        intent(cgroup("sys/fs/cgroup"), "sys/fs/cgroup", "tmp"),
    ];
    for intent in forged {
        let fake = fake();
        let mut journal = begun(&fake.host());
        let error = journal.write_intents(std::slice::from_ref(&intent)).unwrap_err().to_string();
        assert!(error.contains("never changes"), "{error}");
        drop(journal);
        let path = fake.host().path(JOURNAL);
        let good = fs::read_to_string(&path).unwrap();
        let line = lines::format_line(&Record::Intend(intent.clone())).unwrap();
        fs::write(&path, good + &line).unwrap();
        for error in [
            Journal::open(&fake.host(), "test").map(drop).unwrap_err(),
            peek_journal(&fake.host(), "test").map(drop).unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(text.contains("never changes") && text.lines().count() == 1, "{text}");
        }
    }
}

#[test]
fn a_journal_of_the_version_before_is_undone() {
    let fake = fake().with_file("proc/irq/1/smp_affinity", "3\n");
    let records = [
        Record::Begin { version: 1, boot_id: "boot-1".into(), at_unix_s: 0, wanted: "x".into() },
        Record::Intend(intent(file("proc/irq/1/smp_affinity", Form::Mask), "f", "3")),
    ];
    let text: String = records.iter().map(|record| lines::format_line(record).unwrap()).collect();
    // As version 1 named the policies.
    let line = r#"{"record":"intend","kind":"task_scheduling","task":{"tid":40,"start_ticks":40},"label":"t","before":{"scheduling":{"policy":"other","priority":0,"nice":0}},"new":{"scheduling":{"policy":"round_robin","priority":50,"nice":0}}}"#;
    let text = format!("{text}{:08x} {line}\n", crc32fast::hash(line.as_bytes()));
    let fake = fake.with_task(40, 1, "worker", "0-3", 0).with_scheduling(40, Scheduling::rr(50));
    let fake = fake.with_file(JOURNAL, &text).with_file("var/lib/irqpath/lock", "1\n");
    let mut journal = Journal::open(&fake.host(), "test").unwrap();
    let access = FakeAccess::new(&fake);
    assert_eq!(undo_changes(&access, &mut journal, |_| true).unwrap().restored, 2);
    journal.finish().unwrap();
    assert_eq!(access.scheduling(40).unwrap(), Scheduling::default());
    assert_eq!(fs::read_to_string(fake.host().path("proc/irq/1/smp_affinity")).unwrap(), "f");
}

#[test]
fn a_journal_that_was_written_for_days_is_written_anew() {
    let fake = fake();
    let host = fake.host();
    drop(begun(&host));
    let (mut longest, mut lengths) = (0, Vec::new());
    for round in 0..20 {
        let mut journal = Journal::open(&host, "test").unwrap();
        let task = |tid: u32| Target::TaskAffinity { task: TaskId { tid, start_ticks: 7 } };
        let cpus = |text: &str| Value::Cpus(text.parse().unwrap());
        let widened = |tid: u32| Intent {
            target: task(tid),
            label: format!("task {tid}"),
            before: cpus("0-3"),
            new: cpus("0-1"),
        };
        journal.write_intents(&(0..300).map(widened).collect::<Vec<_>>()).unwrap();
        let length = fs::metadata(host.path(JOURNAL)).unwrap().len();
        longest = longest.max(length);
        lengths.push(length);
        let before = journal.ledger().clone();
        drop(journal);
        let after = Journal::open(&host, "test").unwrap();
        let held = |ledger: &Ledger| {
            ledger
                .newest_first()
                .into_iter()
                .map(|(t, h)| (t, h.original, h.ours))
                .collect::<Vec<_>>()
        };
        assert_eq!(held(after.ledger()), held(&before), "round {round}");
        assert_eq!(after.content().wanted, Some("wish".into()));
    }
    assert!(longest < 4 * lengths[0], "it grows: {lengths:?}");
    assert_eq!(mode(&host, JOURNAL), 0o644);
    assert!(!host.path("var/lib/irqpath/test.new").exists());
}

proptest! {
    /// What stands in a compacted journal means the same as the long one, to undo and to a change.
    #[test]
    fn the_fewest_changes_amount_to_the_same(changes in prop::collection::vec((0_u32..4, 0_u16..3, 0_u16..3), 0..40)) {
        let mut long = Ledger::default();
        let cpu = |cpu: u16| Value::Cpus([cpu].into_iter().collect());
        for (tid, before, new) in changes {
            let target = Target::TaskAffinity { task: TaskId { tid, start_ticks: 1 } };
            long.add_intent(Intent { target, label: "t".into(), before: cpu(before), new: cpu(new) });
        }
        let mut short = Ledger::default();
        long.list_intents().into_iter().for_each(|intent| short.add_intent(intent));
        let says = |ledger: &Ledger| ledger.newest_first().into_iter().map(|(t, h)| (t, h.original, h.ours)).collect::<Vec<_>>();
        prop_assert_eq!(says(&short), says(&long));
    }
}
