// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether a file system can be believed when it says who owns a file.
//!
//! Whoever fills a disk at home gives its files any owner. Desktops let every user mount such a
//! disk, always with `nosuid`, as the kernel would believe its owners otherwise. Here as well:
//! owners count where root has mounted without `nosuid`, where `/etc/fstab` lists the mount for
//! root alone, on the file system of `/`, and on those that exist in memory only and have no
//! owners but real ones.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use rustix::fs::{AtFlags, StatVfsMountFlags, StatxFlags, fstatfs, fstatvfs, statx};

use crate::bounded;

/// No list of mounts is longer.
const MAX_LIST: u64 = 64 << 20;

/// File systems whose owners the kernel keeps: tmpfs and devtmpfs, ramfs, proc, sysfs, the two of
/// cgroups, devpts, debugfs, tracefs (`include/uapi/linux/magic.h`).
const IN_MEMORY: [u64; 9] = [
    0x0102_1994,
    0x8584_58f6,
    0x9fa0,
    0x6265_6572,
    0x0027_e0eb,
    0x6367_7270,
    0x1cd1,
    0x6462_6720,
    0x7472_6163,
];

/// Options of `/etc/fstab` with which others than root may mount.
const FOR_USERS: [&str; 4] = ["user", "users", "owner", "group"];

/// The mount that a file lies on, if the owners of its files may be made up.
pub(crate) fn find_doubtful(file: impl AsFd) -> io::Result<Option<PathBuf>> {
    let file = file.as_fd();
    if !fstatvfs(file)?.f_flag.contains(StatVfsMountFlags::NOSUID) {
        return Ok(None);
    }
    // The type of this field differs between processors; the numbers have 32 bits.
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
    let kind = fstatfs(file)?.f_type as u64 & 0xffff_ffff;
    if IN_MEMORY.contains(&kind) {
        return Ok(None);
    }
    let id = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?.stx_mnt_id;
    // Not by a walk, which asks this question of every link.
    let read = |path| bounded::read_open(File::open(path)?.into(), MAX_LIST);
    let mounts = read("/proc/self/mountinfo")?;
    let listed = read("/etc/fstab").unwrap_or_default();
    Ok(judge_mounts(id, &String::from_utf8_lossy(&mounts), &String::from_utf8_lossy(&listed)))
}

/// A line of `/proc/self/mountinfo`; the names are still escaped.
struct Mount<'a> {
    id: u64,
    device: &'a str,
    point: &'a str,
    options: &'a str,
}

fn parse_mount(line: &str) -> Option<Mount<'_>> {
    let mut fields = line.split(' ');
    let id = fields.next()?.parse().ok()?;
    let device = fields.nth(1)?;
    Some(Mount { id, device, point: fields.nth(1)?, options: fields.next()? })
}

fn judge_mounts(id: u64, mounts: &str, listed: &str) -> Option<PathBuf> {
    let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(parse_mount).collect();
    let Some(here) = mounts.iter().find(|mount| mount.id == id) else {
        return Some("a mount that is no longer there".into());
    };
    // One file system can be mounted in several places, and services see all of them `nosuid`.
    let is_roots = |mount: &Mount<'_>| {
        let has_suid = mount.options.split(',').all(|option| option != "nosuid");
        has_suid || mount.point == "/" || is_listed(mount.point, listed)
    };
    let same = || mounts.iter().filter(|mount| mount.device == here.device);
    if same().any(is_roots) { None } else { Some(unescape_octal(here.point)) }
}

/// True if `/etc/fstab` has the mount point, and nobody but root may mount it.
fn is_listed(point: &str, listed: &str) -> bool {
    let is_for_root = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let is_entry = fields.next().is_some_and(|source| !source.starts_with('#'));
        let is_here = fields.next().map(|path| path.trim_end_matches('/')) == Some(point);
        let options = fields.nth(1).unwrap_or("");
        is_entry && is_here && options.split(',').all(|option| !FOR_USERS.contains(&option))
    };
    listed.lines().any(is_for_root)
}

/// `\040` is a space.
fn unescape_octal(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut left = text.as_bytes();
    while let [first, rest @ ..] = left {
        let code = rest.get(..3).filter(|_| *first == b'\\');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => (bytes.push(byte), left = &rest[3..]).1,
            None => (bytes.push(*first), left = rest).1,
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{OutputError, StagedFile};
    use crate::tree;
    use std::fs;
    use std::os::unix::fs::{lchown, symlink};
    use std::path::Path;
    use std::process::Command;

    const MOUNTS: &str = "\
21 1 254:0 / / rw,nosuid,relatime - ext4 /dev/vda rw
30 21 254:0 /srv /srv rw,nosuid - ext4 /dev/vda rw
31 21 8:1 / /data rw,nosuid,nodev - ext4 /dev/sda1 rw
32 21 8:1 /alice /mnt/alice rw,nosuid,nodev - ext4 /dev/sda1 rw
33 21 8:16 / /media/mallory/A\\040STICK rw,nosuid,nodev shared:9 - ext4 /dev/sdb rw
34 21 8:32 / /usb rw,nosuid,nodev - ext4 /dev/sdc rw
35 21 8:48 / /backup rw,nosuid - xfs /dev/sdd rw
36 21 8:48 / /mnt/backup rw,relatime - xfs /dev/sdd rw
37 21 0:44 / /run/user/1000/gvfs rw,nosuid - fuse.gvfsd-fuse gvfsd-fuse rw
";
    const LISTED: &str = "\
# /dev/sdb /media/mallory/A\\040STICK ext4 defaults 0 2
#/dev/sdb /media/mallory/A\\040STICK ext4 defaults 0 2
UUID=1-2 /data/ ext4\tnosuid,nodev 0 2
/dev/sdc /usb auto noauto,user 0 0
";

    #[test]
    fn a_mount_with_nosuid_counts_if_root_alone_can_have_made_it() {
        for (id, what) in [
            (21, "the root, as a service sees it"),
            (30, "another mount of the root"),
            (31, "listed"),
            (32, "another mount of one that is listed"),
            (35, "one that is mounted without nosuid elsewhere"),
        ] {
            assert_eq!(judge_mounts(id, MOUNTS, LISTED), None, "{what}");
        }
        for (id, point) in [
            (33, "/media/mallory/A STICK"),
            (34, "/usb"),
            (37, "/run/user/1000/gvfs"),
            (99, "a mount that is no longer there"),
        ] {
            assert_eq!(judge_mounts(id, MOUNTS, LISTED).as_deref(), Some(Path::new(point)));
        }
        assert!(judge_mounts(31, MOUNTS, "").is_some());
    }

    #[test]
    fn owners_in_memory_are_real() {
        for path in ["/proc/self", "/sys", "/dev", "/"] {
            assert_eq!(find_doubtful(File::open(path).unwrap()).unwrap(), None, "{path}");
        }
    }

    const WITH_DISK: &str = "IRQPATH_TEST_WITH_DISK";

    /// Run by itself it starts itself again where mounts are seen by nobody else.
    #[test]
    fn roots_files_on_a_users_disk_are_not_believed() {
        if let Some(directory) = std::env::var_os(WITH_DISK) {
            return try_disk(directory.as_ref());
        }
        let directory = tempfile::tempdir().unwrap();
        if !make_disk(directory.path()) {
            eprintln!("skipped: roots_files_on_a_users_disk needs root, mke2fs and loop devices");
            return;
        }
        let test = "mounts::tests::roots_files_on_a_users_disk_are_not_believed";
        let mut again = Command::new("unshare");
        again.arg("--mount").arg(std::env::current_exe().unwrap()).args(["--exact", test]);
        let output = again.env(WITH_DISK, directory.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    /// A disk on which root owns a tree and a link, and a tmpfs with the same.
    fn make_disk(directory: &Path) -> bool {
        let content = directory.join("content");
        fs::create_dir_all(content.join("tree/lab")).unwrap();
        fs::create_dir(directory.join("secret")).unwrap();
        fs::write(directory.join("secret/file"), "").unwrap();
        fs::write(content.join("tree/lab/file"), "").unwrap();
        symlink(directory.join("secret"), content.join("out")).unwrap();
        for mount in ["disk", "memory"] {
            fs::create_dir(directory.join(mount)).unwrap();
        }
        let mut make = Command::new("mke2fs");
        make.args(["-q", "-t", "ext4", "-d"]).arg(content).arg(directory.join("image"));
        let has_loop = Path::new("/dev/loop-control").exists();
        lchown(directory, Some(0), Some(0)).is_ok()
            && has_loop
            && make.arg("4M").status().is_ok_and(|status| status.success())
    }

    fn try_disk(directory: &Path) {
        let (disk, memory) = (directory.join("disk"), directory.join("memory"));
        let mount = |arguments: &[&str], on: &Path| {
            assert!(Command::new("mount").args(arguments).arg(on).status().unwrap().success());
        };
        let image = directory.join("image");
        mount(&["-o", "loop,nosuid,nodev", image.to_str().unwrap()], &disk);
        mount(&["-t", "tmpfs", "-o", "nosuid,nodev,mode=755", "tmpfs"], &memory);
        fs::create_dir_all(memory.join("tree/lab")).unwrap();
        symlink(directory.join("secret"), memory.join("out")).unwrap();

        let point = format!("{} is mounted nosuid", disk.display());
        let refused = tree::check_tree(&disk.join("tree"), &["lab"]).unwrap_err().to_string();
        assert!(refused.contains(&point) && !refused.contains('\n'), "{refused}");
        let refused = crate::input::open(&disk.join("out/file")).unwrap_err().to_string();
        assert!(refused.contains(&point) && refused.contains("the link out"), "{refused}");
        let error = StagedFile::create(&disk.join("out/x.json")).map(drop).unwrap_err();
        let OutputError::Refused { source, .. } = error else { panic!("{error}") };
        assert!(source.to_string().contains(&point), "{source}");
        assert_eq!(fs::read_dir(directory.join("secret")).unwrap().count(), 1);
        // What leads nowhere else is used as before.
        let (file, _) = StagedFile::create(&disk.join("x.json")).unwrap();
        file.commit().unwrap();
        tree::check_tree(&memory.join("tree"), &["lab"]).unwrap();
        crate::input::open(&memory.join("out/file")).unwrap();
        // Mounted by root as one of the machine's own.
        mount(&["-o", "remount,suid"], &disk);
        tree::check_tree(&disk.join("tree"), &["lab"]).unwrap();
        crate::input::open(&disk.join("out/file")).unwrap();
        assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    }
}
