// SPDX-License-Identifier: GPL-2.0-or-later
//! Flow rules on a machine made of files: what is made, what is left alone, and that all goes back.

use irqpath_model::tune::{CannotSteer, SteerState, SteeredDevice, Steering};

use super::*;
use crate::testing::{Fake, FakeAccess, die_at_each_step};

const HIGH: &str = "udp port 5001 to queue 1";
const LOW: &str = "udp port 5000 to queue 0";

/// Two receivers, and a device with two queues.
fn machine() -> Fake {
    Fake::new()
        .with_file("proc/self/uid_map", "0 0 4294967295\n")
        .with_file("proc/sys/kernel/random/boot_id", "one\n")
        .with_flows("eth0", "on 2 16\n")
        .with_task(70, 1, "low", "0-1", 0)
        .with_fixed(70, 20)
        .with_socket(70, 5000)
        .with_task(71, 1, "high", "0-1", 0)
        .with_fixed(71, 40)
        .with_socket(71, 5001)
}

fn steer(fake: &Fake, access: &FakeAccess, list: &str) -> Steering {
    steer_receivers(&fake.host(), access, &Devices::from_list(list), &[]).unwrap()
}

fn states(device: &SteeredDevice) -> Vec<(&str, &SteerState)> {
    device.receivers.iter().map(|s| (s.receiver.comm.as_str(), &s.state)).collect()
}

fn both(rules: [(u32, &str); 2]) -> String {
    rules.map(|(at, words)| format!("{at} {words}\n")).concat()
}

#[test]
fn each_receiver_is_steered_and_goes_back() {
    let fake = machine();
    let (access, before) = (FakeAccess::new(&fake), fake.read_all());
    let dry = list_steering(&fake.host(), &access, &Devices::All).unwrap();
    let would = &SteerState::WouldSteer;
    assert_eq!(states(&dry.devices[0]), [("high", would), ("low", would)]);
    assert_eq!(fake.read_all(), before, "a look changes nothing");
    let steering = steer(&fake, &access, "all");
    let done = &SteerState::Steered;
    assert_eq!(states(&steering.devices[0]), [("high", done), ("low", done)]);
    assert_eq!(fake.read_flows("eth0"), both([(14, LOW), (15, HIGH)]));
    let status = status(&fake.host(), &access).unwrap();
    let tuned: Vec<_> = status.threads.iter().map(|t| (t.wanted.as_str(), &t.before)).collect();
    assert_eq!(tuned, [(LOW, &"none".to_owned()), (HIGH, &"none".to_owned())]);
    let again = steer(&fake, &access, "eth0");
    let already = &SteerState::Already;
    assert_eq!(states(&again.devices[0]), [("high", already), ("low", already)]);
    let reset = reset(&fake.host(), &access).unwrap();
    assert_eq!((reset.undone.restored, reset.undone.left.len()), (2, 0));
    assert_eq!(fake.read_all(), before);
    assert!(!fake.host().path("var/lib/irqpath/tune.journal").exists());
}

#[test]
fn a_rule_that_somebody_replaced_or_removed_is_theirs() {
    let fake = machine();
    let access = FakeAccess::new(&fake);
    steer(&fake, &access, "eth0");
    let theirs = "14 another rule: icmp\n15 udp port 5001 to queue 0\n";
    let fake = fake.with_flows("eth0", &format!("on 2 16\n{theirs}"));
    let again = steer(&fake, &access, "eth0");
    let by_hand = SteerState::ByHand("udp port 5001 to queue 0".to_owned());
    let changed = SteerState::ChangedMeanwhile;
    assert_eq!(states(&again.devices[0]), [("high", &by_hand), ("low", &changed)]);
    let reset = reset(&fake.host(), &access).unwrap();
    assert_eq!((reset.undone.restored, reset.undone.left.len()), (0, 2));
    assert_eq!(fake.read_flows("eth0"), theirs);

    let fake = machine();
    steer(&fake, &FakeAccess::new(&fake), "eth0");
    let fake = fake.with_flows("eth0", &format!("on 2 16\n15 {HIGH}\n"));
    let again = steer(&fake, &FakeAccess::new(&fake), "eth0");
    assert_eq!(states(&again.devices[0]), [("high", &SteerState::Already), ("low", &changed)]);
    assert_eq!(fake.read_flows("eth0"), format!("15 {HIGH}\n"));
}

#[test]
fn a_place_that_somebody_took_in_between_is_not_written_over() {
    let fake = machine();
    let mut access = FakeAccess::new(&fake);
    let taken = "15 udp port 9 to queue 1\n";
    let file = fake.host().path("sys/flows/eth0");
    let take = move || std::fs::write(&file, format!("on 2 16\n{taken}")).unwrap();
    access.at_step = Some(("after the journal", Box::new(take)));
    let steering = steer(&fake, &access, "eth0");
    let refused = SteerState::Refused("File exists".to_owned());
    assert_eq!(states(&steering.devices[0]), [("high", &refused), ("low", &SteerState::Steered)]);
    let access = FakeAccess::new(&fake);
    assert!(reset(&fake.host(), &access).unwrap().undone.left.is_empty());
    assert_eq!(fake.read_flows("eth0"), taken);
}

#[test]
fn a_refused_rule_leaves_nothing_in_the_journal() {
    let fake = machine();
    let before = fake.read_all();
    let access = FakeAccess::new(&fake).with_refusal("flows/eth0/*", 22);
    let steering = steer(&fake, &access, "eth0");
    let refused = &SteerState::Refused("Invalid argument".to_owned());
    assert_eq!(states(&steering.devices[0]), [("high", refused), ("low", refused)]);
    assert_eq!(fake.read_all(), before);
    assert!(!fake.host().path("var/lib/irqpath/tune.journal").exists());
}

#[test]
fn the_rule_of_a_receiver_that_is_gone_is_taken_back() {
    let fake = machine();
    let access = FakeAccess::new(&fake);
    steer(&fake, &access, "eth0");
    std::fs::remove_dir_all(fake.host().path("proc/71")).unwrap();
    let steering = steer(&fake, &access, "eth0");
    assert_eq!(steering.devices[0].taken_back, [LOW, HIGH]);
    assert_eq!(fake.read_flows("eth0"), "15 udp port 5000 to queue 1\n");
    reset(&fake.host(), &access).unwrap();
    assert_eq!(fake.read_flows("eth0"), "");
}

#[test]
fn a_device_that_cannot_is_named_with_the_reason() {
    let fake = machine()
        .with_flows("eth1", "off 2 16\n")
        .with_flows("eth2", "on 1 16\n")
        .with_flows("veth0", "none\n");
    let before = fake.read_all();
    let access = FakeAccess::new(&fake);
    let steering = steer(&fake, &access, "eth1,eth2,veth0,gone0,../../flows,.");
    let reasons: Vec<_> = steering.devices.iter().map(|d| d.cannot.clone().unwrap()).collect();
    let missing = CannotSteer::Missing;
    let refused = CannotSteer::Refused("Operation not supported".to_owned());
    let want = [
        CannotSteer::Off,
        CannotSteer::OneQueue,
        refused,
        missing.clone(),
        missing.clone(),
        missing,
    ];
    assert_eq!(reasons, want);
    assert_eq!(fake.read_all(), before);
}

#[test]
fn another_device_with_the_name_has_nothing_to_undo() {
    let fake = machine();
    let access = FakeAccess::new(&fake);
    steer(&fake, &access, "eth0");
    let fake = fake.with_flows("eth0", "none\n");
    let undone = reset(&fake.host(), &access).unwrap().undone;
    assert_eq!((undone.already, undone.left.len()), (2, 0));
}

#[test]
fn a_journal_with_other_targets_is_not_believed() {
    use irqpath_model::change::{Target, Value};
    let fake = machine();
    let text = |words: &str| Value::Text(words.to_owned());
    for (device, before, new) in [
        ("../eth0", "", HIGH),
        ("a/b", "", HIGH),
        ("eth0", "", "drop everything"),
        ("eth0", "", ""),
        ("eth0", HIGH, ""),
        ("eth0", HIGH, LOW),
    ] {
        let target = Target::FlowRule { device: device.to_owned(), location: 1 };
        let label = "rule".to_owned();
        let intent = crate::change::Intent { target, label, before: text(before), new: text(new) };
        let mut journal = crate::journal::Journal::open(&fake.host(), OWNER).unwrap();
        assert!(journal.write_intents(&[intent]).is_err(), "{device} {before} {new}");
    }
}

#[test]
fn killed_between_any_two_steps_no_rule_is_left() {
    let run = |fake: &Fake, dying: &FakeAccess| {
        steer(fake, dying, "all");
        // The more urgent one ends, and the other one moves.
        let gone = fake.host().path("proc/71/fd/5001");
        let link = std::fs::read_link(&gone).unwrap();
        std::fs::remove_file(&gone).unwrap();
        let end = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            steer(fake, dying, "all");
        }));
        std::os::unix::fs::symlink(link, gone).unwrap();
        if let Err(payload) = end {
            std::panic::resume_unwind(payload);
        }
    };
    let undo = |host: &Host, access: &FakeAccess| reset(host, access).unwrap().undone.left;
    let deaths = die_at_each_step(machine, FakeAccess::new, run, undo);
    assert!(deaths > 12, "{deaths}");
}
