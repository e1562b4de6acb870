// SPDX-License-Identifier: GPL-2.0-or-later
//! `shield` and `tune` on a Debian 12 and a Debian 13 whose own systemd is the first process, with
//! four CPUs: units that are attached, reloaded and restarted, containers of runc, the shipped units
//! from boot on, power that goes in the middle of a `set`, and kills at random while services and
//! containers come and go.
//!
//! `boots.sh` and `containers.sh` are what runs in the guest, as a service; `stage.sh` mounts the
//! disk and starts systemd. The disk lasts from boot to boot. With `IRQPATH_PID1=1` only, because a
//! real-time kernel takes more than ten minutes where there is no KVM. `IRQPATH_RANDOM_KILLS=200` tries
//! as many kills, from the seed `IRQPATH_SEED`, instead of 10.

mod others;

use std::env;
use std::path::Path;

use irqpath_lab::Lab;
use irqpath_lab::guest::{Guest, Initramfs};
use irqpath_lab::kernel::{Arch, Flavour, Kernel, provide_debian};
use irqpath_lab::vm::{Disk, Ending, Machine, Outcome};
use irqpath_testing::cli::{is_installed, is_root, release_binary};
use irqpath_testing::guests::{self, PATIENT};

/// Without it the guests are not booted.
const ASKED: &str = "IRQPATH_PID1";
/// How many kills are tried, if not 10.
const KILLS: &str = "IRQPATH_RANDOM_KILLS";

/// Nothing that starts by the clock, no login on the console, and no modules: a minimal Debian 13 has
/// not what loads them.
const QUIET: &str = "systemd.show_status=0 systemd.mask=getty.target systemd.mask=timers.target \
    systemd.mask=systemd-modules-load.service systemd.firstboot=no rdinit=/stage";

/// The units as `make install` writes them.
const SHIPPED: [(&str, &str, u32); 4] = [
    (
        "system/irqpath-shield.service",
        include_str!("../../../../../systemd/irqpath-shield.service"),
        0o644,
    ),
    (
        "system/irqpath-tune.service",
        include_str!("../../../../../systemd/irqpath-tune.service"),
        0o644,
    ),
    (
        "system/irqpath-agent.service",
        include_str!("../../../../../systemd/irqpath-agent.service"),
        0o644,
    ),
    ("system-sleep/irqpath", include_str!("../../../../../systemd/irqpath.sleep"), 0o755),
];

/// Units of the test.
const UNITS: [(&str, &str); 6] = [
    (
        "irqpath-job",
        "[Unit]\nAfter=basic.target\n[Service]\nType=exec\nExecStart=/usr/bin/unitjob\n\
         [Install]\nWantedBy=multi-user.target\n",
    ),
    // Two processes; the first says in the journal what it is told.
    (
        "motor",
        "[Service]\nMemoryMax=64M\nExecStart=/bin/sh -c 'trap \"echo told\" USR1; echo begins; \
         sleep 100000 & while :; do wait; done'\n",
    ),
    ("pinned", "[Service]\nCPUAffinity=3\nExecStart=/bin/sleep 100000\n"),
    ("limited", "[Service]\nAllowedCPUs=0-1\nExecStart=/bin/sleep 100000\n"),
    // What an administrator sees before the shield is set again.
    (
        "note",
        "[Unit]\nBefore=irqpath-shield.service\n[Service]\nType=oneshot\n\
         ExecStart=/usr/bin/irqpath shield status\nStandardOutput=file:/results/note\n\
         [Install]\nWantedBy=multi-user.target\n",
    ),
    ("ordinary", "[Service]\nExecStart=/bin/sleep 100000\n"),
];

/// What a boot needs.
struct Scene {
    lab: Lab,
    kernel: Kernel,
    guest: Initramfs,
    disk: Disk,
}

impl Scene {
    /// With a Debian that has these packages, too. `job` is what runs, and `with` adds to the guest.
    fn open(
        suite: &str,
        flavour: Flavour,
        packages: &[&str],
        job: &str,
        with: impl FnOnce(Guest) -> Guest,
    ) -> Option<Self> {
        let what = format!("guests with Debian's {suite}");
        if env::var_os(ASKED).is_none() {
            println!("skipped: {what}: {ASKED} is not set; these guests take minutes");
            return None;
        }
        for program in ["debootstrap", "mke2fs"] {
            if !is_installed(program) {
                println!("skipped: {what}: {program} is not installed");
                return None;
            }
        }
        if !is_root(&what) {
            return None;
        }
        let (lab, kernel) = guests::provide_kernel(flavour, Arch::X86_64)?;
        let image = guests::or_skip(&what, provide_debian(&lab, suite, packages))?;
        let intsight = guests::build_intsight(&lab, &kernel)?;
        let disk = Disk::copy_of(&image).unwrap();
        let guest = with(describe_guest(&kernel, &intsight, job)).build(&lab).unwrap();
        Some(Self { lab, kernel, guest, disk })
    }

    fn boot(&self) -> Outcome {
        let machine = Machine {
            limit_host: if env::var_os(KILLS).is_some() {
                8 * guests::LIMIT
            } else {
                guests::LIMIT
            },
            disk: Some(self.disk.clone()),
            // Attaching and detaching programs patches the kernel: in turns QEMU 7.2 is safe then.
            ..Machine::turns(&self.kernel, 4).append_parameters(PATIENT).append_parameters(QUIET)
        };
        let outcome = machine.run(&self.lab, &self.guest).unwrap();
        eprintln!("{:?} after {:?}", outcome.ending, outcome.wall);
        outcome
    }
}

fn describe_guest(kernel: &Kernel, intsight: &Path, job: &str) -> Guest {
    let guest = SHIPPED.iter().fold(Guest::new(kernel), |guest, (place, text, mode)| {
        let text = text.replace("@BINDIR@", "/usr/bin");
        guest.text(&format!("/payload/usr/lib/systemd/{place}"), &text, *mode)
    });
    let guest = UNITS.iter().fold(guest, |guest, (name, text)| {
        guest.text(&format!("/payload/etc/systemd/system/{name}.service"), text, 0o644)
    });
    guest
        .module("virtio_blk", "")
        .module("crc32c_generic", "")
        .module("ext4", "")
        .program_file("irqpath", &release_binary())
        .own_program("unitjob")
        .own_program("hoststate")
        .own_program("killat")
        .own_program("waiter")
        .file("/payload/intsight.ko", intsight, 0o644)
        .text("/stage", include_str!("stage.sh"), 0o755)
        .text("/payload/job", &(include_str!("common.sh").to_owned() + job), 0o644)
}

/// The job of [`holds`] on such a kernel.
fn boots_job(flavour: Flavour) -> String {
    // Other kernels have no interrupt threads to tune.
    let tune = u8::from(flavour == Flavour::StockRt);
    let asked = |name: &str, usual: &str| env::var(name).unwrap_or_else(|_| usual.to_owned());
    let settings =
        format!("TUNE={tune}\nKILLS={}\nSEED={}\n", asked(KILLS, "10"), asked("IRQPATH_SEED", "1"));
    settings + include_str!("containers.sh") + include_str!("boots.sh")
}

/// Each is said when its part has held; the parts before it have, too.
const CHECKS: [&str; 22] = [
    "boot 1: systemd is running",
    "boot 1: an attached unit is shown and logs as before",
    "boot 1: attached, daemon-reload and a repair",
    "boot 1: attached, daemon-reexec and a repair",
    "boot 1: attached again after a restart",
    "boot 1: killed by cgroup",
    "boot 1: after an attached unit",
    "boot 1: a thread alone, through a restart",
    "boot 1: after a thread alone",
    "boot 1: after a unit with CPUAffinity=",
    "boot 1: after a partition that was there",
    "boot 1: after units with AllowedCPUs=",
    "boot 1: containers have their CPUs",
    "boot 1: after containers",
    "boot 1: after a container that a reset outlived",
    "boot 1: after reloads",
    "boot 1: after a set on a full disk",
    "boot 1: after a reset on a full disk",
    "boot 1: after kills",
    "boot 2: the units shield, serve and learn from boot on",
    "boot 2: after the units of a boot",
    "boot 2: after sleep",
];

const TUNED: [&str; 3] = [
    "boot 1: the thread of a bound line stays with it",
    "boot 2: tune serves the task",
    "boot 2: tune serves a NIC that comes later",
];

fn holds(suite: &str, flavour: Flavour) {
    let job = boots_job(flavour);
    let Some(scene) = Scene::open(suite, flavour, &[], &job, |guest| guest) else { return };
    // Its job takes the power away.
    let first = scene.boot();
    let last = if first.ending == Ending::Vanished { scene.boot() } else { first.clone() };
    let text = |name: &str| last.results.file_text(name).unwrap_or_default();
    let (failures, checks) = (text("failures"), text("checks"));
    let context = || {
        let files = ["journal.txt", "seen", "kills", "suspend.txt", "job.log"];
        files.map(|name| format!("== {name}\n{}", text(name))).concat()
    };
    eprintln!("{checks}{}{}", text("kills"), text("seen"));
    assert_eq!(first.ending, Ending::Vanished, "{failures}{}{}", first.console, context());
    assert_eq!(failures, "", "{checks}{}", context());
    // On a kernel with interrupt threads.
    let tuned = (flavour == Flavour::StockRt).then_some(TUNED).into_iter().flatten();
    for check in CHECKS.into_iter().chain(tuned) {
        assert!(checks.contains(check), "no '{check}' in:\n{checks}{}", context());
    }
    last.require_success().unwrap();
}

#[test]
fn debian_12() {
    holds("bookworm", Flavour::Stock);
}

#[test]
fn debian_13() {
    holds("trixie", Flavour::StockRt);
}
