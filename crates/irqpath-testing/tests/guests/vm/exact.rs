// SPDX-License-Identifier: GPL-2.0-or-later
//! Mode exact: two runs are the same to the byte.

use irqpath_lab::kernel::Arch;

use super::scene::Scene;

/// Work of all kinds: processes, sleeps, pipes, files, time stamps, random numbers.
const JOB: &str = r"
for i in 1 2 3 4 5 6 7 8; do (sleep 0.0$i; echo slept $i; date +%s.%N) & done; wait
for i in 1 2 3; do cat /proc/uptime /proc/stat /proc/meminfo /proc/timer_list; sleep 0.1; done
dd if=/dev/urandom bs=1k count=16 2>/dev/null | md5sum
i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; echo counted $i
seq 1 5000 | sort -r | tail -n 1
cat /proc/sys/kernel/random/uuid /proc/interrupts /proc/self/maps
lsmod; ls -la --full-time /results /dev
dmesg > dmesg.txt
";

fn twice(arch: Arch) {
    let Some(scene) = Scene::exact(arch) else { return };
    let guest = scene.guest().job(JOB).module("dummy", "");
    let [first, second] = [(); 2].map(|()| scene.run(&guest).require_success().unwrap());
    assert!(first.exact);
    assert!(first.results.job_log().contains("counted 2000"), "{}", first.results.job_log());
    assert!(first.results.job_log().contains("dummy"), "{}", first.results.job_log());
    assert_eq!(first.console, second.console);
    for ((path, one), (_, other)) in first.results.files().zip(second.results.files()) {
        let same = one == other;
        assert!(same, "{} differs:\n{}", path.display(), difference(one, other));
    }
    assert_eq!(first.results, second.results);
    assert_eq!((first.boot_ns, first.job_ns), (second.boot_ns, second.job_ns));
    eprintln!("{arch}: boot {:?} ns, wall {:?} {:?}", first.boot_ns, first.wall, second.wall);
}

fn difference(one: &[u8], other: &[u8]) -> String {
    let [one, other] = [one, other].map(String::from_utf8_lossy);
    let mut lines = one.lines().zip(other.lines());
    lines.find(|(a, b)| a != b).map_or_else(String::new, |(a, b)| format!("-{a}\n+{b}"))
}

#[test]
fn two_runs_are_identical_x86_64() {
    twice(Arch::X86_64);
}

#[test]
fn two_runs_are_identical_arm64() {
    twice(Arch::Arm64);
}
