// SPDX-License-Identifier: GPL-2.0-or-later
//! A process that is really killed (SIGKILL) while it sets and resets a shield over and over. It is
//! this test binary again, told by its environment which machine of files to work on.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

const ROOT: &str = "IRQPATH_TEST_SHIELD_ROOT";
const KILLS: u64 = 40;

fn set_and_reset(host: &Host, access: &FakeAccess) {
    set(host, access, &wanted("2-3")).unwrap();
    set(host, access, &wanted("3")).unwrap();
    reset(host, access).unwrap();
}

/// Run by itself this is a test of some rounds; told of a machine it is the process to be killed.
#[test]
fn over_and_over_leaves_everything_as_it_was() {
    if let Ok(root) = std::env::var(ROOT) {
        let host = Host::new(root);
        let mut access = FakeAccess::for_host(&host);
        access.pause = Duration::from_micros(300);
        loop {
            set_and_reset(&host, &access);
        }
    }
    let fake = with_cgroups();
    let before = fake.read_all();
    for round in 1..=3 {
        set_and_reset(&fake.host(), &FakeAccess::new(&fake));
        assert_eq!(fake.read_all(), before, "round {round}");
    }
}

/// Wait until the child has begun to change something.
fn wait_for_journal(fake: &Fake) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !crate::journal::exists(&fake.host(), OWNER) {
        assert!(Instant::now() < deadline, "the worker changes nothing");
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn a_killed_process_leaves_what_the_next_reset_needs() {
    let fake = with_cgroups();
    let before = fake.read_all();
    let mut half_done = 0;
    for kill in 1..=KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "shield::tests::killed::over_and_over_leaves_everything_as_it_was"])
            .env(ROOT, fake.host().path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for_journal(&fake);
        // Different every time, so that different steps are met.
        std::thread::sleep(Duration::from_millis(kill * 7 % 61));
        assert_eq!(child.try_wait().unwrap(), None, "the worker ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
        half_done += u32::from(fake.read_all() != before);
        let reset = reset(&fake.host(), &FakeAccess::new(&fake)).unwrap();
        assert_eq!(reset.undone.left, [], "kill {kill}");
        assert_eq!(fake.read_all(), before, "kill {kill}");
    }
    assert!(half_done > 0, "no kill fell between two changes");
}
