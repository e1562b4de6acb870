// SPDX-License-Identifier: GPL-2.0-or-later
//! What a guest is given is there and works.

use std::path::Path;

use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::Arch;
use irqpath_lab::vm::Machine;

use super::scene::Scene;
use irqpath_testing::cli::is_installed;
use irqpath_testing::guests;

fn scene() -> Option<Scene> {
    Scene::exact(Arch::X86_64)
}

#[test]
fn the_stage_is_set() {
    let Some(scene) = scene() else { return };
    let job = r"
        cat /proc/mounts; ip -o addr show lo; cat /proc/sys/kernel/panic_on_oops
        cat /data/text; stat -c %a /data/text; pwd; another-name && echo ran
    ";
    let guest = scene.guest().job(job).text("/data/text", "content\n", 0o640);
    let guest = guest.program_file("another-name", Path::new("/bin/true"));
    let outcome = scene.run(&guest.sysctl("kernel.panic_on_oops", "1")).require_success().unwrap();
    let log = outcome.results.job_log();
    for mount in ["/proc", "/sys", "/sys/kernel/debug", "/sys/kernel/tracing", "/tmp", "/results"] {
        assert!(log.lines().any(|line| line.split(' ').nth(1) == Some(mount)), "{mount}: {log}");
    }
    assert!(log.contains("127.0.0.1"), "{log}");
    assert!(log.ends_with("1\ncontent\n640\n/results\nran\n"), "{log}");
}

#[test]
fn programs_run_with_their_libraries() {
    let Some(scene) = scene() else { return };
    let calls = [
        ("cyclictest", "cyclictest -q -l 10", "T: 0"),
        ("hackbench", "hackbench -l 1", "Time:"),
        ("stress-ng", "stress-ng --cpu 1 --cpu-ops 10", "successful run"),
        ("iperf3", "iperf3 --version", "iperf 3"),
        ("perf", "perf stat -e context-switches true", "context-switches"),
        ("bpftrace", "bpftrace --version", "bpftrace v"),
    ];
    let there: Vec<_> = calls
        .iter()
        .filter(|(name, ..)| {
            let there = is_installed(name);
            if !there {
                eprintln!("skipped: {name} in a guest: it is not installed");
            }
            there
        })
        .collect();
    let guest = there.iter().fold(scene.guest(), |guest, (name, ..)| guest.program(name));
    let lines: Vec<String> =
        there.iter().map(|(name, call, _)| format!("{call} > {name}.txt 2>&1")).collect();
    let outcome = scene.run(&guest.job(&lines.join("\n"))).require_success().unwrap();
    for (name, _, words) in there {
        let text = outcome.results.file_text(&format!("{name}.txt")).unwrap();
        assert!(text.contains(words), "{name}: {text}");
    }
}

#[test]
fn results_are_files_and_directories() {
    let Some(scene) = scene() else { return };
    let job = "mkdir -p a/b; echo deep > a/b/c; ln -s /etc/passwd link; echo wide > d";
    let outcome = scene.job(job).require_success().unwrap();
    let names: Vec<String> =
        outcome.results.files().map(|(path, _)| path.display().to_string()).collect();
    assert_eq!(names, ["a/b/c", "d", "job.log"]);
    let dir = tempfile::tempdir().unwrap();
    outcome.results.extract_files(dir.path()).unwrap();
    assert_eq!(std::fs::read_to_string(dir.path().join("a/b/c")).unwrap(), "deep\n");
}

#[test]
fn modules_come_with_what_they_need() {
    let Some(scene) = scene() else { return };
    // virtio_net needs net_failover, which needs failover.
    let guest = scene.guest().job("lsmod").module("virtio_net", "");
    let log = scene.run(&guest).require_success().unwrap().results.job_log();
    assert!(
        ["virtio_net", "net_failover", "failover"].iter().all(|name| log.contains(name)),
        "{log}"
    );
}

#[test]
fn same_requests_give_same_bytes() {
    let Some(scene) = scene() else { return };
    let guest = || scene.guest().job("true").text("/b", "b", 0o600).text("/a", "a", 0o600);
    let bytes = |guest: Guest| guest.build(&scene.lab).unwrap().bytes;
    assert!(bytes(guest()) == bytes(guest()));
    assert!(bytes(guest()) != bytes(guest().text("/c", "", 0o600)));
}

/// The kernel measures it again a second after boot, and says so if both are within a percent.
#[test]
fn a_guest_in_real_time_is_told_the_rate_of_its_tsc() {
    let Some(mut scene) = scene() else { return };
    if Arch::host() != Some(Arch::X86_64) {
        eprintln!("skipped: a_guest_in_real_time_is_told_the_rate_of_its_tsc: the host has none");
        return;
    }
    let machine = Machine::turns(&scene.kernel, 1).append_parameters("no_timer_check tsc=reliable");
    scene.machine = Machine { limit_host: guests::LIMIT, ..machine };
    let job = r"
        grep -o 'tsc_early_khz=[0-9]*' /proc/cmdline
        until dmesg | grep 'Refined TSC'; do sleep 0.2; done
        cat /sys/devices/system/clocksource/clocksource0/current_clocksource
    ";
    let outcome = scene.job(job).require_success().unwrap();
    let log = outcome.results.job_log();
    assert!(log.contains("tsc_early_khz=") && log.ends_with("\ntsc\n"), "{log}");
}
