// SPDX-License-Identifier: GPL-2.0-or-later
//! Threaded NAPI on a machine made of files: which devices are switched, and that all goes back.

use std::collections::BTreeMap;

use irqpath_model::tune::{PacketState, Packets};

use super::*;
use crate::testing::{Fake, FakeAccess, die_at_each_step};

/// Two devices with NAPI, one without, one that is threaded already, and one of an old kernel.
fn machine() -> Fake {
    Fake::new()
        .with_file("proc/self/uid_map", "0 0 4294967295\n")
        .with_file("proc/sys/kernel/random/boot_id", "one\n")
        .with_file("sys/class/net/bonding_masters", "\n")
        .with_file("sys/class/net/lo/threaded", "0\n")
        .with_file("sys/class/net/eth0/threaded", "0\n")
        .with_file("sys/class/net/eth1/threaded", "0\n")
        .with_file("sys/class/net/veth0/threaded", "0\n")
        .with_file("sys/class/net/wlan0/threaded", "1\n")
        .with_file("sys/class/net/old0/mtu", "1500\n")
        .with_task(50, 2, "napi/eth0-8193", "0-1", 0x0020_0000)
        .with_task(51, 2, "napi/eth01-8194", "0-1", 0x0020_0000)
        .with_task(52, 2, "napi/wlan0-8195", "0-1", 0x0020_0000)
        .with_task(70, 1, "napi/eth0-1", "0-1", 0)
}

fn access(fake: &Fake) -> FakeAccess {
    FakeAccess::new(fake).with_refusal("sys/class/net/veth0/threaded", 95)
}

fn states(packets: &Packets) -> Vec<(&str, &PacketState)> {
    packets.devices.iter().map(|device| (device.name.as_str(), &device.state)).collect()
}

fn switch(fake: &Fake, access: &FakeAccess, list: &str) -> Packets {
    switch_devices(&fake.host(), access, &Devices::from_list(list), &[]).unwrap()
}

/// The threads of devices that were switched get a priority.
fn lift(fake: &Fake, access: &FakeAccess, packets: &Packets) -> usize {
    let planner = |threads: &[LiveThread], held: &BTreeMap<TaskId, u8>| {
        plan_new_threads(packets, threads, held)
    };
    apply_plan(&fake.host(), access, &[], &planner, true).unwrap().1.changed.len()
}

#[test]
fn each_device_is_switched_or_named_and_goes_back() {
    use PacketState::{Already, NoNapi, Switched, Unsupported, WouldSwitch};
    let fake = machine();
    let (access, before) = (access(&fake), fake.read_all());
    let dry = list_devices(&fake.host(), &access, &Devices::All).unwrap();
    assert_eq!(dry.devices.iter().filter(|d| d.state == WouldSwitch).count(), 3);
    assert_eq!(fake.read_all(), before, "a look changes nothing");
    let packets = switch(&fake, &access, "all");
    let mut found = states(&packets);
    found.sort_unstable_by_key(|(name, _)| *name);
    assert_eq!(
        found,
        [
            ("eth0", &Switched),
            ("eth1", &Switched),
            ("old0", &Unsupported),
            ("veth0", &NoNapi),
            ("wlan0", &Already)
        ]
    );
    assert_eq!(fake.host().read("sys/class/net/eth0/threaded").unwrap().trim(), "1");
    assert_eq!(lift(&fake, &access, &packets), 1, "the kernel's thread of that very device");
    assert_eq!(status(&fake.host(), &access).unwrap().threads.len(), 3);
    let again = switch(&fake, &access, "eth0,eth1");
    assert_eq!(states(&again), [("eth0", &Already), ("eth1", &Already)]);
    let reset = reset(&fake.host(), &access).unwrap();
    assert_eq!((reset.undone.restored, reset.undone.left.len()), (3, 0));
    assert_eq!(fake.read_all(), before);
}

#[test]
fn named_devices_only_and_names_that_are_no_names() {
    let fake = machine();
    let packets = switch(&fake, &access(&fake), "eth1,gone0,../../proc,.");
    let missing = &PacketState::Missing;
    assert_eq!(
        states(&packets),
        [
            ("eth1", &PacketState::Switched),
            ("gone0", missing),
            ("../../proc", missing),
            (".", missing)
        ]
    );
    assert_eq!(fake.host().read("sys/class/net/eth0/threaded").unwrap().trim(), "0");
}

#[test]
fn what_somebody_switched_back_stays_so() {
    let fake = machine();
    let access = access(&fake);
    switch(&fake, &access, "eth0");
    let fake = fake.with_file("sys/class/net/eth0/threaded", "0\n");
    let again = switch(&fake, &access, "eth0");
    assert_eq!(states(&again), [("eth0", &PacketState::ChangedMeanwhile)]);
    assert!(reset(&fake.host(), &access).unwrap().undone.left.is_empty());
    assert_eq!(fake.host().read("sys/class/net/eth0/threaded").unwrap().trim(), "0");
}

fn plug(fake: Fake, name: &str, index: u32) -> Fake {
    fake.with_file(&format!("sys/class/net/{name}/ifindex"), &format!("{index}\n"))
        .with_file(&format!("sys/class/net/{name}/threaded"), "0\n")
}

#[test]
fn a_device_that_comes_is_new_once_it_keeps_its_name() {
    let fake = plug(Fake::new(), "eth0", 2);
    let mut all = DeviceWatch::start(&fake.host(), Devices::All);
    let mut named = DeviceWatch::start(&fake.host(), Devices::from_list("eth1,../eth0"));
    let none: [&str; 0] = [];
    assert_eq!(all.take_new(&fake.host()), none);
    let fake = plug(plug(fake, "eth1", 3), "usb0", 4);
    assert_eq!((all.take_new(&fake.host()), named.take_new(&fake.host())), (vec![], vec![]));
    // As udev renames it.
    let renamed = fake.host().path("sys/class/net/enx2");
    std::fs::rename(fake.host().path("sys/class/net/usb0"), renamed).unwrap();
    assert_eq!(all.take_new(&fake.host()), ["eth1"]);
    assert_eq!(named.take_new(&fake.host()), ["eth1"]);
    assert_eq!(all.take_new(&fake.host()), ["enx2"]);
    assert_eq!((all.take_new(&fake.host()), named.take_new(&fake.host())), (vec![], vec![]));
    // Plugged out and in between two looks.
    let fake = plug(fake, "eth1", 5);
    assert_eq!(all.take_new(&fake.host()), none);
    assert_eq!(all.take_new(&fake.host()), ["eth1"]);
}

#[test]
fn a_device_in_place_of_one_that_was_switched_is_switched_and_goes_back() {
    let fake = plug(machine(), "eth0", 2);
    let access = access(&fake);
    switch(&fake, &access, "eth0");
    let fake = plug(fake, "eth0", 9);
    let names = ["eth0".to_owned(), "eth1".to_owned()];
    forget_devices(&fake.host(), &names).unwrap();
    assert_eq!(states(&switch(&fake, &access, "eth0")), [("eth0", &PacketState::Switched)]);
    assert_eq!(reset(&fake.host(), &access).unwrap().undone.restored, 1);
    assert_eq!(fake.host().read("sys/class/net/eth0/threaded").unwrap().trim(), "0");
    assert!(!fake.host().path("var/lib/irqpath/tune.journal").exists());
}

#[test]
fn without_napi_nothing_is_left_in_the_journal() {
    let fake = machine();
    let (access, before) = (access(&fake), fake.read_all());
    switch(&fake, &access, "veth0,old0");
    assert_eq!(fake.read_all(), before);
    assert!(!fake.host().path("var/lib/irqpath/tune.journal").exists());
}

#[test]
fn a_kernel_offers_what_it_has() {
    let words = |fake: &Fake| {
        let access = FakeAccess::new(fake);
        list_devices(&fake.host(), &access, &Devices::All).unwrap().offers.join("\n")
    };
    let fake = machine();
    assert_eq!(words(&fake), "");
    let fake = fake
        .with_file("proc/sys/net/core/busy_poll", "0\n")
        .with_file("sys/class/net/eth0/napi_defer_hard_irqs", "0\n")
        .with_file("sys/class/net/eth0/gro_flush_timeout", "0\n")
        .with_file("proc/sys/kernel/osrelease", "6.12.9-amd64\n");
    let (old, fake) = (words(&fake), fake.with_file("proc/sys/kernel/osrelease", "6.13.0-rc1\n"));
    assert!(old.contains("SO_BUSY_POLL") && old.contains("gro_flush_timeout"), "{old}");
    assert!(!old.contains("irq_suspend_timeout") && words(&fake).contains("irq_suspend_timeout"));
}

#[test]
fn killed_between_any_two_steps_devices_and_threads_are_as_before() {
    let run = |fake: &Fake, dying: &FakeAccess| {
        let packets = switch(fake, dying, "all");
        lift(fake, dying, &packets);
    };
    let undo = |host: &Host, access: &FakeAccess| reset(host, access).unwrap().undone.left;
    let deaths = die_at_each_step(machine, access, run, undo);
    assert!(deaths > 8, "{deaths}");
}
