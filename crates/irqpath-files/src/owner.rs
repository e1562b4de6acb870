// SPDX-License-Identifier: GPL-2.0-or-later
//! Whose links, files and directories this process may rely on.
//!
//! Root's and the caller's own. Under `sudo` the caller is also the user who typed it, as
//! `SUDO_UID` tells: this is git's rule for `safe.directory`, and it lets `sudo irqpath` work in a
//! checkout or home of that user. A user who may become root is not kept from anything by it.

use rustix::fs::Stat;
use rustix::process::{Uid, geteuid};

use crate::bounded::read_roots_text;

/// No list of users is larger; a larger one names nobody.
const MAX_USERS: u64 = 16 << 20;

/// True for root, the caller, and under `sudo` the user who called it.
pub fn is_trusted(uid: u32) -> bool {
    let caller = geteuid();
    uid == Uid::ROOT.as_raw() || uid == caller.as_raw() || calling_user() == Some(uid)
}

/// The user on whose behalf root works, if `sudo` tells of one.
pub fn calling_user() -> Option<u32> {
    geteuid().is_root().then(sudo_uid).flatten()
}

/// The user who called `sudo`.
fn sudo_uid() -> Option<u32> {
    std::env::var("SUDO_UID").ok()?.parse().ok()
}

/// A user for an error line: `alice (uid 1000)`, or the number alone.
pub fn describe_user(uid: u32) -> String {
    let users = read_roots_text("/etc/passwd", MAX_USERS).unwrap_or_default();
    match users.lines().filter_map(parse_user).find(|user| user.uid == uid) {
        Some(User { name, .. }) => format!("{name} (uid {uid})"),
        None => format!("uid {uid}"),
    }
}

/// True if somebody who is not trusted may write to it: by the owner's rights, by the mode, or
/// by a group that is not the private one of a trusted user.
pub(crate) fn is_writable_by_others(stat: &Stat) -> bool {
    let group = stat.st_mode & 0o020 != 0 && !is_private_group(stat.st_gid);
    !is_trusted(stat.st_uid) || stat.st_mode & 0o002 != 0 || group
}

/// A line of the list of users.
struct User<'a> {
    name: &'a str,
    uid: u32,
    gid: u32,
}

fn parse_user(line: &str) -> Option<User<'_>> {
    let mut fields = line.split(':');
    let name = fields.next()?;
    let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(User { name, uid, gid })
}

/// True for root's group, and for a group in which there is nobody but a trusted user.
fn is_private_group(gid: u32) -> bool {
    let read = |path: &str| read_roots_text(path, MAX_USERS);
    let lists = read("/etc/passwd").and_then(|users| Ok((users, read("/etc/group")?)));
    gid == 0 || lists.is_ok_and(|(users, groups)| is_private(gid, &users, &groups))
}

fn is_private(gid: u32, users: &str, groups: &str) -> bool {
    let users: Vec<User<'_>> = users.lines().filter_map(parse_user).collect();
    let is_trusted_name =
        |name: &str| users.iter().any(|user| user.name == name && is_trusted(user.uid));
    let group = groups.lines().find(|line| line.split(':').nth(2) == Some(&gid.to_string()));
    let Some(members) = group.and_then(|line| line.split(':').nth(3)) else { return false };
    let mut primary = users.iter().filter(|user| user.gid == gid).peekable();
    primary.peek().is_some()
        && primary.all(|user| is_trusted(user.uid))
        && members.split(',').filter(|name| !name.is_empty()).all(is_trusted_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_private_if_nobody_else_is_in_it() {
        let me = geteuid().as_raw();
        let users = format!(
            "me:x:{me}:70::/:\nmallory:x:4001:71::/:\nme2:x:{me}:72::/:\nbob:x:4002:72::/:\n"
        );
        let groups = "me:x:70:\nmallory:x:71:\nusers:x:72:\nwheel:x:73:me\n";
        assert!(is_private(70, &users, groups));
        assert!(is_private(70, &users, &groups.replace("70:", "70:me")));
        assert!(!is_private(70, &users, &groups.replace("70:", "70:me,mallory")));
        assert!(!is_private(70, &users, &groups.replace("70:", "70:unknown")));
        for other in [71, 72, 73, 74] {
            assert!(!is_private(other, &users, groups), "{other}");
        }
        assert!(!is_private(70, "", "") && !is_private(70, "damaged", "me:x"));
    }

    #[test]
    fn root_and_the_caller_are_trusted_and_named() {
        assert!(is_trusted(0) && is_trusted(geteuid().as_raw()));
        assert!(!is_trusted(4_000_000_001));
        assert_eq!(describe_user(4_000_000_001), "uid 4000000001");
        assert_eq!(describe_user(0), "root (uid 0)");
    }
}
