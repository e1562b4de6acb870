// SPDX-License-Identifier: GPL-2.0-or-later
//! A disk that is full, or gets full at any point. The journal's directory is a file system in memory
//! of six sizes: room for no file, and for 1, 2, 4, 8 and all 9 pages of a journal.

use std::process::{Command, Stdio};

use irqpath_model::TaskId;
use irqpath_model::change::{Target, Value};
use irqpath_model::shield::Reset;

use super::*;
use crate::change::{Access as _, Intent};
use crate::journal::Journal;

const ROOT: &str = "IRQPATH_TEST_FULL_ROOT";
const MOUNT: &str = "IRQPATH_TEST_FULL_MOUNT";
const DIRECTORY: &str = "var/lib/irqpath";

/// Starts a test again where it may mount; false if it is that one, which has mounted.
fn again(test: &str, fake: &Fake, options: &str) -> bool {
    let target = fake.host().path(DIRECTORY);
    std::fs::create_dir_all(&target).unwrap();
    let mut unshare = Command::new("unshare");
    unshare.args(["--map-root-user", "--mount", "sh", "-c"]).arg(format!(
        "mount -t tmpfs -o {options} none {} || exit 77; exec \"$0\" --exact {test} --nocapture",
        target.display()
    ));
    unshare.arg(std::env::current_exe().unwrap());
    unshare.env(ROOT, fake.host().path("")).env(MOUNT, options).stdout(Stdio::null());
    let output = unshare.stderr(Stdio::piped()).output().unwrap();
    if output.status.code() == Some(77) {
        eprintln!("skipped: no file system can be mounted here");
        return false;
    }
    assert!(output.status.success(), "{options}: {}", String::from_utf8_lossy(&output.stderr));
    true
}

/// A machine whose journal has 9 pages of 4096 bytes.
fn large() -> Fake {
    (200..390).fold(machine(), |fake, tid| fake.with_task(tid, 1, "one of many", "0-3", 0))
}

fn is_as_before(host: &Host, access: &FakeAccess, what: &str) {
    let status = status(host, access).unwrap();
    assert_eq!((status.wanted, status.held, status.drift.len()), (None, 0, 0), "{what}");
    assert!(!crate::journal::exists(host, OWNER), "{what}");
}

fn fill(host: &Host) {
    let filler = host.path(DIRECTORY).join("filler");
    let mut file = std::fs::File::create(filler).unwrap();
    while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
}

/// What happens inside, where the journal's file system is as small as the options say.
fn set_and_reset_on_a_small_disk(root: &str) {
    let host = Host::new(root);
    let access = FakeAccess::for_host(&host);
    if let Err(error) = set(&host, &access, &wanted("2-3")) {
        let error = error.to_string();
        assert!(error.contains("No space left") && error.lines().count() == 1, "{error}");
        is_as_before(&host, &access, "a set that failed");
        assert_eq!(reset(&host, &access).unwrap(), Reset::default());
        return;
    }
    fill(&host);
    // Nothing can be written down any more, and all goes back all the same.
    let reset = reset(&host, &access).unwrap();
    assert_eq!(reset.undone.left, []);
    is_as_before(&host, &access, "a reset on a full disk");
}

#[test]
fn on_a_small_or_full_disk_everything_is_undone_and_status_says_so() {
    if let Ok(root) = std::env::var(ROOT) {
        return set_and_reset_on_a_small_disk(&root);
    }
    let sizes = ["nr_inodes=1", "size=4k", "size=8k", "size=16k", "size=32k", "size=40k"];
    for options in sizes {
        let fake = large();
        let before = fake.read_all();
        let test =
            "shield::tests::full::on_a_small_or_full_disk_everything_is_undone_and_status_says_so";
        if !again(test, &fake, options) {
            return;
        }
        assert_eq!(fake.read_all(), before, "{options}");
    }
}

/// A shield that is there, a disk that gets full, and another shield that is wanted then.
#[test]
fn a_second_set_on_a_full_disk_takes_the_first_one_down() {
    if let Ok(root) = std::env::var(ROOT) {
        let host = Host::new(&root);
        let access = FakeAccess::for_host(&host);
        set(&host, &access, &wanted("3")).unwrap();
        fill(&host);
        let error = set(&host, &access, &wanted("2-3")).unwrap_err().to_string();
        assert!(error.contains("No space left"), "{error}");
        is_as_before(&host, &access, "a second set");
        return;
    }
    let fake = large();
    let before = fake.read_all();
    let test = "shield::tests::full::a_second_set_on_a_full_disk_takes_the_first_one_down";
    if again(test, &fake, "size=80k") {
        assert_eq!(fake.read_all(), before);
    }
}

/// The rest of half a line would make the next one unreadable.
#[test]
fn half_a_line_is_taken_back_and_a_journal_without_a_line_is_none() {
    if let Ok(root) = std::env::var(ROOT) {
        let host = Host::new(&root);
        let path = host.path(DIRECTORY).join("filler");
        let intents: Vec<Intent> = (0..100).map(widened).collect();
        let mut journal = Journal::open(&host, OWNER).unwrap();
        fill(&host);
        journal.begin_set(&"wish").unwrap_err();
        assert!(!crate::journal::exists(&host, OWNER));
        std::fs::remove_file(&path).unwrap();
        journal.begin_set(&"wish").unwrap();
        fill(&host);
        journal.write_intents(&intents).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        journal.write_intents(&intents).unwrap();
        let content = crate::journal::peek_journal(&host, OWNER).unwrap();
        assert_eq!((content.damaged, content.ledger.held().count()), (vec![], 100));
        return;
    }
    let test =
        "shield::tests::full::half_a_line_is_taken_back_and_a_journal_without_a_line_is_none";
    again(test, &machine(), "size=40k");
}

fn widened(tid: u32) -> Intent {
    let cpus = |text: &str| Value::Cpus(text.parse().unwrap());
    Intent {
        target: Target::TaskAffinity { task: TaskId { tid, start_ticks: 7 } },
        label: format!("task {tid}"),
        before: cpus("0-3"),
        new: cpus("0-1"),
    }
}

/// A value that cannot be put back stays in the journal, and what was put back is not called drift.
#[test]
fn a_refusal_on_a_full_disk_can_be_tried_again() {
    if let Ok(root) = std::env::var(ROOT) {
        let host = Host::new(&root);
        let access = FakeAccess::for_host(&host);
        set(&host, &access, &wanted("2-3")).unwrap();
        fill(&host);
        let refusing = FakeAccess::for_host(&host).with_refusal("affinity/210", 22);
        assert!(reset(&host, &refusing).unwrap().undone.is_unfinished());
        assert!(reset(&host, &access).unwrap().undone.restored >= 1);
        is_as_before(&host, &access, "the second reset");
        assert_eq!(access.affinity(210).unwrap().to_string(), "0-3");
        return;
    }
    let fake = large();
    let before = fake.read_all();
    let test = "shield::tests::full::a_refusal_on_a_full_disk_can_be_tried_again";
    if again(test, &fake, "size=80k") {
        assert_eq!(fake.read_all(), before);
    }
}
