// SPDX-License-Identifier: GPL-2.0-or-later
//! `shield` and `tune` on a Debian 13 beside what other people run: podman and containerd, irqbalance,
//! tuned and NetworkManager; and what those tools do alone that docs/shield-tools.md compares.

use std::env;
use std::path::Path;

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

/// Where a kubelet is; `scripts/kubelet.sh` builds one.
const KUBELET: &str = "IRQPATH_KUBELET";
const POD: &str = include_str!("../../../../../deploy/kubernetes/shielded-pod.yaml");

#[test]
fn beside_others() {
    let job = [include_str!("kubelet.sh"), include_str!("others.sh")].concat();
    let scene =
        Scene::open("trixie", Flavour::StockRt, &PACKAGES, &job, |guest| {
            match env::var_os(KUBELET) {
                Some(kubelet) => guest.program_file("kubelet", Path::new(&kubelet)).text(
                    "/payload/pod.yaml",
                    POD,
                    0o644,
                ),
                None => guest,
            }
        });
    let Some(scene) = scene else { return };
    let outcome = scene.boot();
    let text = |name: &str| outcome.results.file_text(name).unwrap_or_default();
    eprintln!("{}{}{}", text("checks"), text("seen"), text("failures"));
    assert_eq!(text("failures"), "", "{}", text("job.log"));
    outcome.require_success().unwrap();
}
