// SPDX-License-Identifier: GPL-2.0-or-later
//! Pins on a machine made of files: what they mean, how they are kept, and files of strangers.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use irqpath_model::tune::{Association, Carrier, Pin, PinFile, TunedNow};
use irqpath_model::{Comm, Origin, TaskId};

use super::*;
use crate::testing::{Fake, FakeAccess};

const KTHREAD: u64 = 0x0020_0000;

/// Two lines of one action name, a network queue, a shared line, and tasks of two units.
fn machine() -> Fake {
    Fake::new()
        .with_file("proc/self/uid_map", "0 0 4294967295\n")
        .with_file("proc/sys/kernel/random/boot_id", "one\n")
        .with_file("proc/interrupts", "  CPU0\n 5: 1 PCI-MSI 1-edge xhci_hcd\n")
        .with_file("sys/kernel/irq/5/actions", "xhci_hcd\n")
        .with_file("sys/kernel/irq/6/actions", "xhci_hcd\n")
        .with_file("sys/kernel/irq/7/actions", "eth0-rx-0\n")
        .with_file("sys/kernel/irq/16/actions", "ahci,eth0-aux\n")
        .with_file("sys/bus/pci/devices/0000:00:14.0/msi_irqs/5", "msi\n")
        .with_file("sys/bus/pci/devices/0000:00:15.0/irq", "6\n")
        .with_task(50, 2, "irq/5-xhci_hcd", "0-1", KTHREAD)
        .with_task(70, 1, "stop", "0-1", 0)
        .with_task(71, 1, "stop", "0-1", 0)
        .with_task(72, 1, "ordinary", "0-1", 0)
        .with_file("proc/70/cgroup", "0::/system.slice/motion.service\n")
        .with_file("proc/71/cgroup", "0::/system.slice/not-motion.service\n")
        .with_file("proc/72/cgroup", "0::/system.slice/motion.service\n")
        .with_fixed(50, 50)
        .with_fixed(70, 80)
        .with_fixed(71, 60)
}

fn pin(irq: &str, comm: Option<&str>, unit: Option<&str>) -> Pin {
    Pin {
        irq: irq.into(),
        device: None,
        through: vec![],
        comm: comm.map(Comm::from),
        unit: unit.map(str::to_owned),
    }
}

fn meant(fake: &Fake, pin: &Pin) -> Vec<String> {
    let host = fake.host();
    let found = resolve_pins(&host, std::slice::from_ref(pin), &host.live_threads()).unwrap();
    found.iter().map(|one| format!("{}>{}", one.line, one.task.tid)).collect()
}

#[test]
fn a_pin_means_every_line_and_real_time_task_of_its_names() {
    let fake = machine();
    for (pin, want) in [
        (pin("eth0-rx-0", Some("stop"), None), &["7:eth0-rx-0>70", "7:eth0-rx-0>71"][..]),
        (pin("eth0-rx-0", None, Some("motion.service")), &["7:eth0-rx-0>70"]),
        (pin("eth0-rx-0", Some("stop"), Some("motion.service")), &["7:eth0-rx-0>70"]),
        (pin("eth0-aux", None, Some("motion.service")), &["16:ahci,eth0-aux>70"]),
        (pin("xhci_hcd", None, Some("motion.service")), &["5:xhci_hcd>70", "6:xhci_hcd>70"]),
        (pin("eth0", Some("stop"), None), &[]),
        (pin("eth0-rx-0", Some("ordinary"), None), &[]),
        (pin("eth0-rx-0", Some("sto"), None), &[]),
    ] {
        assert_eq!(meant(&fake, &pin), want, "{pin}");
    }
    let one = Pin { device: Some("0000:00:15.0".into()), ..pin("xhci_hcd", Some("stop"), None) };
    assert_eq!(meant(&fake, &one), ["6:xhci_hcd>70", "6:xhci_hcd>71"]);
    let through = vec!["secondary".into(), "napi/eth0-".into()];
    let one = Pin { through, ..pin("eth0-rx-0", None, Some("motion.service")) };
    let found = resolve_pins(&fake.host(), &[one], &fake.host().live_threads()).unwrap();
    let carriers: Vec<_> = found[0].carriers.iter().map(|c| c.comm.as_str()).collect();
    assert_eq!(carriers, ["irq/7-eth0-rx-0", "irq/7-s-eth0-rx", "napi/eth0-"]);
    assert!(found[0].pinned && found[0].established);
}

#[test]
fn what_a_user_writes_becomes_names() {
    let fake = machine();
    let host = fake.host();
    let make = |irq: &str, task: &str| make_pins(&host, irq, task, &host.live_threads());
    assert_eq!(make("7", "70").unwrap(), [pin("eth0-rx-0", Some("stop"), None)]);
    let by_number = make("6", "motion.service").unwrap();
    assert_eq!(by_number[0].device.as_deref(), Some("0000:00:15.0"), "the name means two lines");
    let parts: Vec<_> = make("ETH0", "stop").unwrap().into_iter().map(|pin| pin.irq).collect();
    assert_eq!(parts, ["eth0-aux", "eth0-rx-0"]);
    assert_eq!(make("can0", "stop").unwrap(), [pin("can0", Some("stop"), None)], "it may come");
    for (irq, task, part) in [
        ("99", "stop", "no interrupt '99'"),
        ("7", "4711", "no such task"),
        ("7", "50", "no such task of user space"),
        ("7", "a-name-of-16-byt", "15 bytes"),
        ("7", "", "15 bytes"),
    ] {
        let error = make(irq, task).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn lists_are_kept_over_a_boot_and_end_with_unpin() {
    let fake = machine();
    let host = fake.host();
    let (by_hand, of_file) = (pin("a", Some("x"), None), pin("b", None, Some("y.service")));
    let file = |pin: &Pin| PinFile { serve: vec![pin.clone()], ..PinFile::default() };
    write_pins(&host, PinList::ByHand, &file(&by_hand)).unwrap();
    write_pins(&host, PinList::FromFile, &file(&of_file)).unwrap();
    let fake = fake.with_file("proc/sys/kernel/random/boot_id", "two\n");
    assert_eq!(all_pins(&fake.host()).unwrap(), [by_hand.clone(), of_file.clone()]);
    write_pins(&host, PinList::FromFile, &PinFile::default()).unwrap();
    assert_eq!(all_pins(&host).unwrap(), std::slice::from_ref(&by_hand));
    assert_eq!(remove_pins(&host, |pin| pin.irq == "a").unwrap(), [by_hand]);
    assert!(all_pins(&host).unwrap().is_empty());
    assert!(!host.path("var/lib/irqpath/tune.pins").exists());
}

#[test]
fn a_list_that_others_may_write_is_refused() {
    let fake = machine();
    let host = fake.host();
    let pins = PinFile { serve: vec![pin("a", Some("x"), None)], ..PinFile::default() };
    write_pins(&host, PinList::ByHand, &pins).unwrap();
    let path = host.path("var/lib/irqpath/tune.pins");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    let error = all_pins(&host).unwrap_err().to_string();
    assert!(error.contains("may be written by others"), "{error}");
}

#[test]
fn a_file_comes_back_and_a_damaged_one_is_refused_with_its_line() {
    let odd = Pin {
        device: Some("0000:00:14.0".into()),
        through: vec!["ksoftirqd/0".into()],
        ..pin("a \"name\" = [\u{1b}]\n", Some("x'\"\\"), Some("y.service"))
    };
    let file = PinFile { serve: vec![odd], ..PinFile::default() };
    let path = Path::new("/x/tune.toml");
    assert_eq!(parse_pins(path, &format_pins(&file)).unwrap(), file);
    for (text, part) in [
        ("", "line 1"),
        ("version = 2\n", "version 2"),
        ("version = 1\nserve = 3\n", "line 2"),
        ("version = 1\n[[serve]]\nirq = \"a\"\n", "entry 1"),
        ("version = 1\n[[serve]]\nirq = \"a\"\ncomm = \"x\"\nrun = \"sh\"\n", "run"),
        ("version = 1\n[[serve]]\nirq = \"a\"\nunit = \"../../x\"\n", "without a path"),
    ] {
        let error = parse_pins(path, text).unwrap_err().to_string();
        assert!(error.starts_with("/x/tune.toml: ") && error.contains(part), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn what_was_learned_is_exported_by_name() {
    let fake = machine();
    let host = fake.host();
    let learned = |origin, carriers: &[(&str, u64)]| Association {
        origin,
        line: "x".into(),
        task: TaskId { tid: 70, start_ticks: 70 },
        comm: "stop".into(),
        carriers: carriers.iter().map(|&(c, nr)| Carrier { comm: c.into(), nr }).collect(),
        nr: 9,
        recent: 9.0,
        share: 1.0,
        confidence: 0.5,
        age_ns: 0,
        established: true,
        pinned: false,
    };
    let known = [
        learned(Origin::Irq(5), &[("irq/5-xhci_hcd", 9), ("kworker/0:1", 9), ("napi/eth0-12", 1)]),
        learned(Origin::Irq(16), &[("irq/16-eth0-aux", 9), ("napi/eth0-12", 9)]),
        learned(Origin::Softirq(irqpath_model::SoftirqVec::NetRx), &[("napi/eth0-12", 9)]),
    ];
    let (pins, nr_nameless) = describe_associations(&host, &known).unwrap();
    let unit = Some("motion.service");
    let device = Some("0000:00:14.0".to_owned());
    let want = [
        Pin { device, ..pin("xhci_hcd", Some("stop"), unit) },
        Pin { through: vec!["napi/eth0-".into()], ..pin("eth0-aux", Some("stop"), unit) },
    ];
    assert_eq!((pins.as_slice(), nr_nameless), (&want[..], 1));
    // On the same machine they mean what was learned.
    let found = resolve_pins(&host, &pins, &host.live_threads()).unwrap();
    let lines: Vec<_> = found.iter().map(|one| (one.origin, one.task.tid)).collect();
    assert_eq!(lines, [(Origin::Irq(5), 70), (Origin::Irq(16), 70)]);
}

#[test]
fn a_pinned_priority_is_journalled_and_reset() {
    let fake = machine();
    let (host, access, before) = (fake.host(), FakeAccess::new(&fake), fake.read_all());
    let pins = [pin("xhci_hcd", None, Some("motion.service"))];
    let known = resolve_pins(&host, &pins, &host.live_threads()).unwrap();
    let planner = |threads: &[LiveThread], _: &BTreeMap<TaskId, u8>| {
        let find = |tid| threads.iter().find(|t| t.id.tid == tid).cloned().unwrap();
        let (thread, task) = (find(50), find(70));
        let change = irqpath_model::tune::TuneChange {
            thread,
            priority: 81,
            task,
            why: "pinned".to_owned(),
        };
        irqpath_model::tune::TunePlan { changes: vec![change], ..Default::default() }
    };
    apply_plan(&host, &access, &known, &planner, true).unwrap();
    let status = status(&host, &access).unwrap();
    assert!(status.reasons[0].pinned && status.threads[0].state == TunedNow::Ours);
    reset(&host, &access).unwrap();
    assert_eq!(fake.read_all(), before);
}
