// SPDX-License-Identifier: GPL-2.0-or-later
//! `shield` and `tune` on a Debian 13 beside what other people run: podman and containerd, irqbalance,
//! tuned and NetworkManager; and what those tools do alone that docs/shield-tools.md compares.

use std::env;
use std::path::Path;

use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::Flavour;

use super::Scene;

const PACKAGES: [&str; 11] = [
    "podman",
    "crun",
    "containerd",
    "irqbalance",
    "tuned",
    "network-manager",
    "tuna",
    "cpuset",
    "rtirq-init",
    "util-linux",
    "kmod",
];

/// Each is said when its part has held.
const CHECKS: [&str; 11] = [
    "containers have their CPUs",
    "after containers of podman",
    "irqbalance leaves shielded CPUs alone",
    "after irqbalance",
    "a shield beside tuned",
    "tuna alone",
    "cset alone",
    "rtirq alone",
    "tuned alone",
    "irqbalance alone",
    "systemd alone",
];
/// The same with a kubelet.
const POD_CHECKS: [&str; 3] =
    ["pods have the CPUs that the kubelet gave them", "the first pod is gone", "after pods"];

/// Where a kubelet is; `scripts/kubelet.sh` builds one.
const KUBELET: &str = "IRQPATH_KUBELET";
const POD: &str = include_str!("../../../../../deploy/kubernetes/shielded-pod.yaml");

#[test]
fn beside_others() {
    let job = [include_str!("kubelet.sh"), include_str!("others.sh")].concat();
    let kubelet = env::var_os(KUBELET);
    let add_kubelet = |guest: Guest| match &kubelet {
        Some(path) => {
            let guest = guest.program_file("kubelet", Path::new(path));
            guest.text("/payload/pod.yaml", POD, 0o644)
        }
        None => guest,
    };
    let scene = Scene::open("trixie", Flavour::StockRt, &PACKAGES, &job, add_kubelet);
    let Some(scene) = scene else { return };
    if kubelet.is_none() {
        println!("skipped: pods: {KUBELET} is not set");
    }
    let outcome = scene.boot();
    let text = |name: &str| outcome.results.file_text(name).unwrap_or_default();
    let checks = text("checks");
    eprintln!("{checks}{}{}", text("seen"), text("failures"));
    let context = || ["hooks.txt", "kubelet.txt", "job.log"].map(text).join("== \n");
    assert_eq!(text("failures"), "", "{checks}{}", context());
    let pods = kubelet.is_some().then_some(POD_CHECKS).into_iter().flatten();
    for check in CHECKS.into_iter().chain(pods) {
        assert!(checks.contains(check), "no '{check}' in:\n{checks}");
    }
    outcome.require_success().unwrap();
}
