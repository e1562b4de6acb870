// SPDX-License-Identifier: GPL-2.0-or-later
//! How much the units could do to a host, by systemd's own measure, whether systemd takes them, and
//! what is done after sleep.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use irqpath_testing::cli::irqpath;

const UNITS: [(&str, &str); 3] = [
    ("irqpath-agent", include_str!("../../../systemd/irqpath-agent.service")),
    ("irqpath-shield", include_str!("../../../systemd/irqpath-shield.service")),
    ("irqpath-tune", include_str!("../../../systemd/irqpath-tune.service")),
];

#[test]
fn systemd_finds_the_units_exposed_by_at_most_3() {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in UNITS {
        let unit = directory.path().join(format!("{name}.service"));
        fs::write(&unit, text.replace("@BINDIR@", "/usr/bin")).unwrap();
        let mut analyze = Command::new("systemd-analyze");
        // In tenths. Since systemd 250.
        analyze.args(["security", "--offline=true", "--no-pager", "--threshold=30"]).arg(&unit);
        let Ok(output) = analyze.output() else {
            eprintln!("skipped: {name}: systemd-analyze is not installed");
            return;
        };
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("Overall exposure"), "{output:?}");
        assert!(output.status.success(), "{said}");
    }
}

#[test]
fn systemd_takes_the_agents_socket_and_its_address_is_the_agents_own() {
    let directory = tempfile::tempdir().unwrap();
    let socket = include_str!("../../../systemd/irqpath-agent.socket");
    let streams: Vec<&str> =
        socket.lines().filter_map(|line| line.strip_prefix("ListenStream=")).collect();
    let [address] = streams[..] else { panic!("{streams:?}") };
    let config = directory.path().join("agent.toml");
    fs::write(&config, "").unwrap();
    let checked = irqpath().args(["agent", "--check", "--config"]).arg(&config).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(said.contains(&format!("http://{address}/metrics")), "{said}");

    let program = assert_cmd::cargo::cargo_bin("irqpath");
    let bindir = program.parent().unwrap().display().to_string();
    fs::write(directory.path().join("irqpath-agent.socket"), socket).unwrap();
    let service = directory.path().join("irqpath-agent.service");
    fs::write(service, UNITS[0].1.replace("@BINDIR@", &bindir)).unwrap();
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["verify", "--man=no", "irqpath-agent.socket", "irqpath-agent.service"]);
    let Ok(output) = analyze.current_dir(&directory).output() else {
        eprintln!("skipped: systemd-analyze is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("irqpath-agent"), "{said}");
}

/// `make install` and the package for Debian take all of them.
#[test]
fn the_rpm_has_every_unit() {
    let spec = include_str!("../../../packaging/rpm/irqpath.spec");
    let units = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../systemd")).unwrap();
    let paths = units.map(|unit| unit.unwrap().path());
    let paths: Vec<_> = paths.filter(|path| path.extension().unwrap() != "sleep").collect();
    assert!(paths.len() >= 4, "{paths:?}");
    for path in paths {
        let name = path.file_name().unwrap().display();
        assert!(spec.lines().any(|line| line == format!("%{{unitdir}}/{name}")), "{name}");
    }
}

#[test]
fn the_sleep_hook_repairs_after_sleep_and_does_nothing_before() {
    let directory = tempfile::tempdir().unwrap();
    let said = directory.path().join("said");
    let write = |name: &str, text: String| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    write("irqpath", format!("#!/bin/sh\necho \"$@\" >>{}\n", said.display()));
    let hook = include_str!("../../../systemd/irqpath.sleep");
    let hook = write("hook", hook.replace("@BINDIR@", &directory.path().display().to_string()));
    for (when, want) in [("pre", None), ("post", Some("shield repair\n"))] {
        for how in ["suspend", "hibernate"] {
            let _ = fs::remove_file(&said);
            assert!(Command::new(&hook).args([when, how]).status().unwrap().success());
            assert_eq!(fs::read_to_string(&said).ok().as_deref(), want, "{when} {how}");
        }
    }
}
