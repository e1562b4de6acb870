// SPDX-License-Identifier: GPL-2.0-or-later
//! Who a cgroup belongs to, by the names that systemd, container engines and the kubelet give:
//! `/system.slice/ssh.service`, `docker-ID.scope`, `kubepods-burstable-podUID.slice`.
//!
//! The rule to know: only root makes slices, the first unit below them, and the directories of
//! engines at the top. Below these, whoever the cgroup was given to names things, so nothing there
//! is read: neither the pods of a Kubernetes node that is itself a container nor the services of a
//! user's own systemd.

use crate::printable;

/// Letters of a container's number that are shown, as container engines show them.
const ID_LEN: usize = 12;
/// Longest name that is kept. The kernel allows 255 bytes for each part of a path.
const NAME_LEN: usize = 120;

/// Who a cgroup belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unit {
    /// The outermost unit of systemd, or the first part of the path; `/` for the root. Of a container
    /// without a unit, its number.
    pub name: String,
    /// The pod's UID, if the kubelet made it.
    pub pod: Option<String>,
    /// The first twelve letters of the container's number, if it is one.
    pub container: Option<String>,
}

/// The answer to whose a cgroup is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// This unit's.
    Unit(Unit),
    /// Nobody's: the whole hierarchy was looked through, and it was gone.
    Gone,
    /// Unknown: it was not found, but parts of the hierarchy could not be seen.
    Unseen,
}

impl Unit {
    /// From the path of a cgroup, from the root of the hierarchy on. Names are made printable. The
    /// outermost unit counts: below it, whoever the cgroup was given to names things.
    pub fn from_path(path: &str) -> Self {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let nr_slices = parts.iter().take_while(|part| is_slice(part)).count();
        let (slices, below) = parts.split_at(nr_slices);
        // containerd makes plain directories of systemd's words if its driver is not the kubelet's.
        if let ([], [joined, ..]) | (["system.slice"], ["containerd.service", joined, ..]) =
            (slices, below)
            && let Some(unit) = Self::from_joined(joined)
        {
            return unit;
        }
        match (slices, below) {
            ([], ["kubepods", below @ ..] | ["kubelet", "kubepods", below @ ..]) => {
                Self::from_kubelet(below)
            }
            ([], ["docker", id, ..]) if find_container(id).is_some() => Self::new(id, None),
            ([], ["libpod_parent", id, ..] | ["libpod_parent", _, id, ..])
                if id.starts_with("libpod-") && find_container(id).is_some() =>
            {
                Self::new(id, None)
            }
            (_, [unit, ..]) if is_unit(unit) => {
                Self::new(unit, slices.iter().copied().find_map(pod_of_slice))
            }
            _ => Self {
                pod: slices.iter().copied().find_map(pod_of_slice),
                ..Self::new(parts.first().copied().unwrap_or("/"), None)
            },
        }
    }

    /// Of a part of a path that root named.
    fn new(part: &str, pod: Option<String>) -> Self {
        let is_systemds = is_unit(part) || is_slice(part);
        let name = if is_systemds { unescape(part) } else { part.to_owned() };
        let name = printable(&name).chars().take(NAME_LEN).collect();
        Self { name, pod, container: find_container(part) }
    }

    /// `SLICE:PREFIX:ID`.
    fn from_joined(part: &str) -> Option<Self> {
        let mut words = part.split(':');
        let (Some(slice), Some(prefix), Some(id), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return None;
        };
        let pod = pod_of_slice(slice)?;
        Some(Self::new(&format!("{prefix}-{id}.scope"), Some(pod)))
    }

    /// Below the kubelet's directory, where its driver does not ask systemd: `burstable/podUID/ID`.
    fn from_kubelet(below: &[&str]) -> Self {
        let uid = |part: &&str| part.strip_prefix("pod").and_then(read_uid);
        let at = below.iter().take(2).position(|part| uid(part).is_some());
        let part = at.and_then(|at| below.get(at + 1)).copied().unwrap_or("kubepods");
        Self::new(part, at.and_then(|at| uid(&below[at])))
    }
}

fn is_slice(part: &str) -> bool {
    matches!(part.rsplit_once('.'), Some((_, "slice")))
}

/// Slices are none here: tasks are in one of these below its slice.
fn is_unit(part: &str) -> bool {
    matches!(part.rsplit_once('.'), Some((_, "service" | "scope" | "mount" | "socket" | "swap")))
}

/// `\\x2d` is a hyphen to systemd, which has another meaning for the plain one. It also puts `_`
/// before names that the kernel has for files of its own: `_cpu.service`.
fn unescape(name: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name.strip_prefix('_').unwrap_or(name);
    while let Some(at) = rest.find("\\x") {
        let code = rest.get(at + 2..at + 4).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let taken = if code.is_some() { 4 } else { 2 };
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        match code {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(b"\\x"),
        }
        rest = &rest[at + taken..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The kubelet's driver for systemd writes `kubepods-burstable-podUID.slice`, with the name of its
/// cgroup root before it if it has one: `kubelet-kubepods-podUID.slice`.
fn pod_of_slice(part: &str) -> Option<String> {
    let (above, uid) = part.strip_suffix(".slice")?.rsplit_once("-pod")?;
    let class = ["-besteffort", "-burstable"].into_iter().find_map(|s| above.strip_suffix(s));
    let above = class.unwrap_or(above);
    let is_kubelets = above == "kubepods" || above.ends_with("-kubepods");
    read_uid(uid).filter(|_| is_kubelets)
}

/// A pod's UID; systemd's driver writes `_` for `-`.
fn read_uid(text: &str) -> Option<String> {
    let uid = text.replace('_', "-");
    let is_uid = uid.len() == 36 && uid.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    // A static pod has the digest of its manifest.
    let is_digest = uid.len() == 32 && uid.chars().all(|c| c.is_ascii_hexdigit());
    (is_uid || is_digest).then_some(uid)
}

/// `ENGINE-ID.scope`, `ENGINE-ID` or `ID`. `ENGINE-conmon-ID` is the process that watches over the
/// container.
fn find_container(part: &str) -> Option<String> {
    let stem = part.strip_suffix(".scope").unwrap_or(part);
    let (engine, id) = stem.rsplit_once('-').unwrap_or(("", stem));
    let is_watcher = engine.rsplit('-').next() == Some("conmon");
    let is_id = id.len() == 64 && id.chars().all(|c| c.is_ascii_hexdigit());
    (is_id && !is_watcher).then(|| id[..ID_LEN].to_owned())
}

#[cfg(test)]
#[path = "unit_tests.rs"]
mod tests;
