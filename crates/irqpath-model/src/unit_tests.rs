// SPDX-License-Identifier: GPL-2.0-or-later
//! Paths as systemd, container engines and the kubelet make them, and as strangers may.

use super::*;

/// `ID` and `NODE` stand for numbers of containers, `UID` for that of a pod, `U_I_D` for the same as
/// systemd's driver writes it, and `DIGEST` for a static pod. Then the name (`=` is the container's
/// unit or directory itself), `pod` or `static`, and `ID` or `NODE` if it is a container.
const PATHS: &[(&str, &str, &str, &str)] = &[
    // Systemd alone.
    ("/", "/", "", ""),
    ("", "/", "", ""),
    ("/init.scope", "init.scope", "", ""),
    ("/system.slice/ssh.service", "ssh.service", "", ""),
    ("/system.slice/a.service/worker/b.service", "a.service", "", ""),
    ("/system.slice/home-data.mount", "home-data.mount", "", ""),
    ("/system.slice", "system.slice", "", ""),
    ("/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", "", ""),
    ("/user.slice/user-0.slice/session-3.scope", "session-3.scope", "", ""),
    (
        "/user.slice/user-1000.slice/user@1000.service/app.slice/app-foot-7.scope",
        "user@1000.service",
        "",
        "",
    ),
    // What a user names is the user's.
    ("/user.slice/user-7.slice/user@7.service/sshd.service/podUID/ID", "user@7.service", "", ""),
    (
        "/user.slice/user-7.slice/user@7.service/kubepods.slice/kubepods-podU_I_D.slice/docker-ID.scope",
        "user@7.service",
        "",
        "",
    ),
    (
        "/user.slice/user-7.slice/user@7.service/user.slice/libpod-ID.scope/container",
        "user@7.service",
        "",
        "",
    ),
    ("/system.slice/podUID/ID", "system.slice", "", ""),
    ("/podman/podUIDx", "podman", "", ""),
    ("/machine/x/y.z", "machine", "", ""),
    ("/lxc.payload.c1/system.slice/ssh.service", "lxc.payload.c1", "", ""),
    ("/a/kubepods/podUID/ID", "a", "", ""),
    // Words that systemd escapes.
    ("/system.slice/dev\\x2dx.service", "dev-x.service", "", ""),
    ("/system.slice/_cpu.service", "cpu.service", "", ""),
    ("/system.slice/__a.service", "_a.service", "", ""),
    ("/_plain", "_plain", "", ""),
    ("/x\\xzz.scope", "x\\xzz.scope", "", ""),
    (
        "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/vcpu0",
        "machine-qemu-1-vm.scope",
        "",
        "",
    ),
    (
        "/machine.slice/systemd-nspawn@c1.service/payload/system.slice/ssh.service",
        "systemd-nspawn@c1.service",
        "",
        "",
    ),
    // Docker.
    ("/system.slice/docker-ID.scope", "=", "", "ID"),
    ("/system.slice/docker-ID.scope/init.scope", "docker-ID.scope", "", "ID"),
    ("/docker/ID", "=", "", "ID"),
    ("/docker/buildkit/abc", "docker", "", ""),
    ("/ID", "=", "", "ID"),
    // A Kubernetes node that is a container: its owner names the pods.
    (
        "/system.slice/docker-NODE.scope/kubelet.slice/kubelet-kubepods.slice/\
         kubelet-kubepods-podU_I_D.slice/cri-containerd-ID.scope",
        "docker-NODE.scope",
        "",
        "NODE",
    ),
    (
        "/docker/NODE/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/\
         kubelet-kubepods-besteffort-podU_I_D.slice/cri-containerd-ID.scope",
        "NODE",
        "",
        "NODE",
    ),
    ("/docker/NODE/kubelet/kubepods/burstable/podUID/ID", "NODE", "", "NODE"),
    // Podman.
    ("/machine.slice/libpod-ID.scope/container", "libpod-ID.scope", "", "ID"),
    ("/machine.slice/libpod-ID.scope/payload", "libpod-ID.scope", "", "ID"),
    ("/machine.slice/libpod-conmon-ID.scope", "=", "", ""),
    ("/machine.slice/machine-libpod_pod_NODE.slice/libpod-ID.scope", "=", "", "ID"),
    ("/libpod_parent/libpod-ID/ctr", "libpod-ID", "", "ID"),
    ("/libpod_parent/NODE/libpod-ID", "=", "", "ID"),
    ("/libpod_parent/conmon", "libpod_parent", "", ""),
    ("/libpod_parent/libpod-conmon-ID", "libpod_parent", "", ""),
    ("/system.slice/web.service/libpod-payload-ID", "web.service", "", ""),
    ("/system.slice/ID.service", "=", "", ""),
    // The kubelet with systemd's driver.
    (
        "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podU_I_D.slice/\
         cri-containerd-ID.scope",
        "=",
        "pod",
        "ID",
    ),
    ("/kubepods.slice/kubepods-podU_I_D.slice/docker-ID.scope", "=", "pod", "ID"),
    (
        "/kubepods.slice/kubepods-podU_I_D.slice/crio-ID.scope/container",
        "crio-ID.scope",
        "pod",
        "ID",
    ),
    ("/kubepods.slice/kubepods-podU_I_D.slice/crio-conmon-ID.scope", "=", "pod", ""),
    ("/kubepods.slice/kubepods-burstable-podDIGEST.slice/crio-ID.scope", "=", "static", "ID"),
    ("/kubepods.slice/kubepods-podU_I_D.slice", "kubepods.slice", "pod", ""),
    ("/kubepods.slice/kubepods-pod0123.slice/docker-ID.scope", "=", "", "ID"),
    ("/system.slice/system-podU_I_D.slice/docker-ID.scope", "=", "", "ID"),
    // With a cgroup root, as in a node of kind.
    (
        "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/\
         kubelet-kubepods-burstable-podU_I_D.slice/cri-containerd-ID.scope",
        "=",
        "pod",
        "ID",
    ),
    (
        "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podDIGEST.slice/\
         cri-containerd-ID.scope",
        "=",
        "static",
        "ID",
    ),
    ("/kubelet.slice/kubelet.service", "kubelet.service", "", ""),
    // With the driver for plain directories.
    ("/kubepods/burstable/podUID/ID", "=", "pod", "ID"),
    ("/kubepods/podUID/ID/inner/x.service", "ID", "pod", "ID"),
    ("/kubepods/besteffort/podDIGEST/crio-ID", "=", "static", "ID"),
    ("/kubepods/besteffort/podUID/crio-conmon-ID", "=", "pod", ""),
    ("/kubepods/besteffort/podUID", "kubepods", "pod", ""),
    ("/kubepods/besteffort/x/podUID/ID", "kubepods", "", ""),
    ("/kubelet/kubepods/burstable/podUID/ID", "=", "pod", "ID"),
    ("/kubelet/x", "kubelet", "", ""),
    // With another driver than containerd's.
    (
        "/system.slice/containerd.service/kubepods-burstable-podU_I_D.slice:cri-containerd:ID",
        "cri-containerd-ID.scope",
        "pod",
        "ID",
    ),
    (
        "/kubelet-kubepods-podDIGEST.slice:cri-containerd:ID",
        "cri-containerd-ID.scope",
        "static",
        "ID",
    ),
    ("/system.slice/a.service/kubepods-podU_I_D.slice:cri-containerd:ID", "a.service", "", ""),
    ("/system.slice/containerd.service/a:b:ID", "containerd.service", "", ""),
];

const UID: &str = "12345678-9abc-def0-1234-56789abcdef0";
const DIGEST: &str = "8daa50c3a64c9ff60bb9eab7b44b56fd";

/// With numbers in the place of the words.
fn fill_in(text: &str) -> String {
    let number = |start: &str| start.to_owned() + &"c".repeat(64 - start.len());
    text.replace("podUID", &format!("pod{UID}"))
        .replace("U_I_D", &UID.replace('-', "_"))
        .replace("DIGEST", DIGEST)
        .replace("NODE", &number("fedcba987654"))
        .replace("ID", &number("0123456789ab"))
}

#[test]
fn names_of_systemd_engines_and_the_kubelet_are_understood() {
    for (path, name, pod, container) in PATHS {
        let path = fill_in(path);
        let unit = Unit::from_path(&path);
        let name =
            if *name == "=" { path.rsplit('/').next().unwrap().into() } else { fill_in(name) };
        let pod = match *pod {
            "pod" => Some(UID),
            "static" => Some(DIGEST),
            _ => None,
        };
        let container = match *container {
            "ID" => Some("0123456789ab"),
            "NODE" => Some("fedcba987654"),
            _ => None,
        };
        let found = (unit.name.as_str(), unit.pod.as_deref(), unit.container.as_deref());
        assert_eq!(found, (name.as_str(), pod, container), "{path}");
    }
}

#[test]
fn hostile_names_are_short_and_printable() {
    let unit = Unit::from_path(&format!("/\u{1b}[2J\n{}", "x".repeat(250)));
    assert!(unit.name.chars().count() <= NAME_LEN, "{unit:?}");
    assert!(unit.name.chars().all(crate::is_printable), "{unit:?}");
    for path in
        ["/a\\x1b\\x0a.service", "/kubepods-podU_I_D.slice:\u{1b}[2J\n:ID", "/\u{e4}\\x.scope"]
    {
        let unit = Unit::from_path(&fill_in(path));
        assert!(unit.name.chars().all(crate::is_printable), "{unit:?}");
    }
}
