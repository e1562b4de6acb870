// SPDX-License-Identifier: GPL-2.0-or-later
//! Who a cgroup belongs to, by the names that systemd, container engines and the kubelet give:
//! `/system.slice/ssh.service`, `docker-ID.scope`, `kubepods-burstable-podUID.slice`.

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

impl Unit {
    /// From the path of a cgroup, from the root of the hierarchy on. Names are made printable. The
    /// outermost unit counts: below it, whoever the cgroup was given to names things.
    pub fn from_path(path: &str) -> Self {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let outermost = parts.iter().position(|part| is_unit(part));
        let of_engine = parts.first().is_some_and(|first| {
            first.starts_with("kubepods") || ["docker", "libpod_parent"].contains(first)
        });
        let trusted = match outermost {
            Some(at) => &parts[..=at],
            None if of_engine => &parts[..],
            None => &parts[..parts.len().min(1)],
        };
        let name = unescape(trusted.last().copied().unwrap_or("/"));
        let by_kubelet = trusted.first().is_some_and(|first| first.starts_with("kubepods"));
        Self {
            name: printable(&name).chars().take(NAME_LEN).collect(),
            pod: trusted.iter().copied().find_map(find_pod).filter(|_| by_kubelet),
            container: trusted.iter().copied().find_map(find_container),
        }
    }
}

fn is_unit(part: &str) -> bool {
    matches!(part.rsplit_once('.'), Some((_, "service" | "scope")))
}

/// `\\x2d` is a hyphen to systemd, which has another meaning for the plain one.
fn unescape(name: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name;
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

/// `podUID` of the kubelet; its driver for systemd writes `kubepods-...-podUID.slice`, with `_` for `-`.
fn find_pod(part: &str) -> Option<String> {
    let uid = match part.strip_suffix(".slice") {
        Some(stem) if stem.starts_with("kubepods") => stem.rsplit_once("-pod")?.1,
        Some(_) => return None,
        None => part.strip_prefix("pod")?,
    };
    let uid = uid.replace('_', "-");
    let is_uid = uid.len() == 36 && uid.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    // A static pod has the digest of its manifest.
    let is_digest = uid.len() == 32 && uid.chars().all(|c| c.is_ascii_hexdigit());
    (is_uid || is_digest).then_some(uid)
}

/// `ENGINE-ID.scope`, or `ID` alone.
fn find_container(part: &str) -> Option<String> {
    let stem = part.strip_suffix(".scope").unwrap_or(part);
    let id = stem.rsplit_once('-').map_or(stem, |(_, id)| id);
    let is_id = id.len() == 64 && id.chars().all(|c| c.is_ascii_hexdigit());
    is_id.then(|| id[..ID_LEN].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_systemd_engines_and_the_kubelet_are_understood() {
        let id = "0123456789ab".to_owned() + &"c".repeat(52);
        let uid = "12345678-9abc-def0-1234-56789abcdef0";
        let slice = format!("kubepods-burstable-pod{}.slice", uid.replace('-', "_"));
        for (path, name, pod, container) in [
            ("/".to_owned(), "/", None, None),
            (String::new(), "/", None, None),
            ("/system.slice/ssh.service".to_owned(), "ssh.service", None, None),
            ("/user.slice/user-0.slice/session-3.scope".to_owned(), "session-3.scope", None, None),
            ("/system.slice/a.service/worker".to_owned(), "a.service", None, None),
            ("/machine/x/y.z".to_owned(), "machine", None, None),
            ("/system.slice/dev\\x2dx.service".to_owned(), "dev-x.service", None, None),
            ("/x\\xzz".to_owned(), "x\\xzz", None, None),
            (format!("/system.slice/docker-{id}.scope"), "", None, Some("0123456789ab")),
            (
                format!(
                    "/kubepods.slice/kubepods-burstable.slice/{slice}/cri-containerd-{id}.scope"
                ),
                "",
                Some(uid),
                Some("0123456789ab"),
            ),
            (format!("/kubepods/burstable/pod{uid}/{id}"), "", Some(uid), Some("0123456789ab")),
            (format!("/podman/pod{uid}x"), "", None, None),
            // What a user names is his.
            (
                format!("/user.slice/user-7.slice/user@7.service/sshd.service/pod{uid}/{id}"),
                "user@7.service",
                None,
                None,
            ),
            (format!("/system.slice/pod{uid}/{id}"), "system.slice", None, None),
        ] {
            let unit = Unit::from_path(&path);
            assert!(name.is_empty() || unit.name == name, "{path}: {unit:?}");
            assert_eq!(unit.pod.as_deref(), pod, "{path}");
            assert_eq!(unit.container.as_deref(), container, "{path}");
        }
    }

    #[test]
    fn hostile_names_are_short_and_printable() {
        let unit = Unit::from_path(&format!("/\u{1b}[2J\n{}", "x".repeat(250)));
        assert!(unit.name.chars().count() <= NAME_LEN, "{unit:?}");
        assert!(unit.name.chars().all(crate::is_printable), "{unit:?}");
        let escaped = Unit::from_path("/a\\x1b\\x0a.service");
        assert!(escaped.name.chars().all(crate::is_printable), "{escaped:?}");
    }
}
