// SPDX-License-Identifier: GPL-2.0-or-later
//! The units of `systemd/`, started, killed, started again and stopped by a systemd of its own in a guest with two
//! CPUs: what they promise (from boot on, restarted when it fails, everything back when it is stopped) must hold.

use std::path::Path;

use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour};
use irqpath_lab::vm::{Machine, Outcome};
use irqpath_testing::cli::release_binary;
use irqpath_testing::guests::{self, PATIENT};

const SYSTEMD: &str = "/lib/systemd/systemd";
/// What a systemd from 254 on starts services with, at this very place.
const EXECUTOR: &str = "/usr/lib/systemd/systemd-executor";

/// The targets between which a system's units lie; a guest has no others.
const TARGETS: [(&str, &str); 5] = [
    ("sysinit", ""),
    ("basic", "Requires=sysinit.target\nAfter=sysinit.target\n"),
    ("multi-user", "Requires=basic.target\nAfter=basic.target\nAllowIsolate=yes\n"),
    ("default", "Requires=multi-user.target\nAfter=multi-user.target\nAllowIsolate=yes\n"),
    ("shutdown", "DefaultDependencies=no\n"),
];

/// What the units print, for who has to find out why one failed.
const OUTPUT: &str = "[Service]\nStandardOutput=append:/results/units.txt\nStandardError=inherit\n";

/// A manager of a user has other state directories, and a guest that runs from its initramfs no root
/// that can be mounted again; what the units shut out that way is left open here.
const OPEN: &str = "[Service]\nStateDirectory=\nRuntimeDirectory=\nProtectSystem=no\nProtectHome=no\n\
    PrivateTmp=no\nPrivateDevices=no\nDevicePolicy=auto\nPrivateNetwork=no\nProtectControlGroups=no\n\
    ProtectKernelLogs=no\nProtectKernelModules=no\nProtectClock=no\nProtectHostname=no\n\
    IPAddressDeny=\nKeyringMode=inherit\n";

/// The units as `make install` writes them.
const UNITS: [(&str, &str); 2] = [
    ("irqpath-shield", include_str!("../../../../systemd/irqpath-shield.service")),
    ("irqpath-tune", include_str!("../../../../systemd/irqpath-tune.service")),
];

fn with_units(guest: Guest) -> Guest {
    let guest = TARGETS.iter().fold(guest, |guest, (name, more)| {
        let text = format!("[Unit]\nDescription={name}\n{more}");
        guest.text(&format!("/usr/lib/systemd/user/{name}.target"), &text, 0o644)
    });
    let guest = UNITS.iter().fold(guest, |guest, (name, text)| {
        let text = text.replace("@BINDIR@", "/usr/bin");
        guest.text(&format!("/usr/lib/systemd/user/{name}.service"), &text, 0o644)
    });
    guest
        .text("/etc/systemd/user/service.d/output.conf", OUTPUT, 0o644)
        .text("/etc/systemd/user/service.d/open.conf", OPEN, 0o644)
        .text("/etc/machine-id", "0123456789abcdef0123456789abcdef\n", 0o444)
        .text("/etc/passwd", "root:x:0:0:root:/:/bin/sh\n", 0o644)
        .text("/etc/group", "root:x:0:\n", 0o644)
}

fn run() -> Option<Outcome> {
    if !Path::new(SYSTEMD).exists() {
        println!("skipped: the units: {SYSTEMD} is not installed");
        return None;
    }
    let (lab, kernel) = guests::provide_kernel(Flavour::StockRt, Arch::X86_64)?;
    let intsight = guests::build_intsight(&lab, &kernel)?;
    let guest = with_units(Guest::new(&kernel));
    let executor = Path::new(EXECUTOR);
    let guest = if executor.exists() {
        guest.program(EXECUTOR).file(EXECUTOR, executor, 0o755)
    } else {
        guest
    };
    let guest = guest
        .program_file("irqpath", &release_binary())
        .program(SYSTEMD)
        .program("systemctl")
        .own_program("waiter")
        .own_program("hoststate")
        .file("/modules/intsight.ko", &intsight, 0o644)
        .job(include_str!("systemd.sh"));
    let machine = Machine {
        limit_host: guests::LIMIT,
        ..Machine::smp(&kernel, 2).append_parameters(PATIENT)
    };
    let outcome = machine.run(&lab, &guest.build(&lab).unwrap()).unwrap();
    for name in ["said", "differences", "units.txt", "systemd.log", "systemctl.log"] {
        eprintln!("{name}:\n{}", outcome.results.file_text(name).unwrap_or_default());
    }
    Some(outcome.require_success().unwrap())
}

#[test]
fn the_units_keep_their_promises() {
    let Some(outcome) = run() else { return };
    let said = outcome.results.file_text("said").unwrap();
    let expected = "\
        systemd is running\n\
        mask 3 priority 50\n\
        without its file: inactive, mask 3\n\
        shield: active, mask 1\n\
        killed and restarted: active, mask 1\n\
        tune: active, priority 81\n\
        no power: mask 1, priority 81\n\
        systemd is running\n\
        from boot on: active, mask 1; active, priority 81\n\
        tune stopped: inactive, priority 50\n\
        shield stopped: inactive, mask 3\n\
        everything is as before\n";
    assert_eq!(said, expected);
}
