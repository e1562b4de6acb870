// SPDX-License-Identifier: GPL-2.0-or-later
//! Tells a running irqbalance which CPUs to leave alone, through the socket that `irqbalance-ui`
//! uses (irqbalance 1.2 and newer): `setup` answers `SLEEP n [IRQ n ...] BANNED mask`. `settings cpus
//! LIST` replaces what the mask has by a list of CPUs (`cpulist_parse()` in its cputree.c), and
//! `settings cpus NULL` gives it back to irqbalance's own rules. irqbalance takes either up at its next
//! scan, within ten seconds. The numbers in the answer are the interrupts that it leaves alone;
//! `settings ban irqs N N` replaces them.
//!
//! The kernel attaches the sender's credentials because irqbalance asked for them
//! (`SO_PASSCRED`), so nothing else has to be sent along.

use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use irqpath_model::CpuList;

use crate::Host;

/// irqbalance answers between two scans, within milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

fn connect_socket(host: &Host, tid: u32) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(host.path(format!("run/irqbalance/irqbalance{tid}.sock")))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// True if a process of this name is root's irqbalance. Anybody can name a program so, and the name
/// alone would have interrupts moved that somebody pinned by hand.
///
/// All its users are root, and it is that program, or in its unit's cgroup, or has made the socket:
/// a set-user-ID program that was started through a link of this name is neither.
pub(crate) fn is_genuine(host: &Host, pid: u32) -> bool {
    let Some(root) = find_root(host) else { return false };
    is_of_user(host, pid, root)
        && (runs_program(host, pid, root) || is_in_unit(host, pid) || has_socket(host, pid, root))
}

/// The owner of /proc: root, and in tests who made the machine of files.
fn find_root(host: &Host) -> Option<u32> {
    std::fs::metadata(host.path("proc")).map(|found| found.uid()).ok()
}

/// True if all users of a process are root.
pub(crate) fn is_of_root(host: &Host, pid: u32) -> bool {
    find_root(host).is_some_and(|root| is_of_user(host, pid, root))
}

fn is_of_user(host: &Host, pid: u32, root: u32) -> bool {
    let status = host.read_fact(&format!("proc/{pid}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let mut users = users.unwrap_or_default().split_whitespace().peekable();
    users.peek().is_some() && users.all(|user| user.parse() == Ok(root))
}

/// Only who may trace root's processes can read which program it is.
fn runs_program(host: &Host, pid: u32, root: u32) -> bool {
    let link = host.path(format!("proc/{pid}/exe"));
    let name = std::fs::read_link(&link).ok().and_then(|path| path.file_name().map(Into::into));
    let name: std::ffi::OsString = name.unwrap_or_default();
    let is_named = ["irqbalance", "irqbalance (deleted)"].iter().any(|known| name == *known);
    is_named && is_only_roots(&link, root)
}

fn is_in_unit(host: &Host, pid: u32) -> bool {
    let cgroups = host.read_fact(&format!("proc/{pid}/cgroup")).unwrap_or_default();
    cgroups
        .lines()
        .any(|line| line.splitn(3, ':').nth(2) == Some("/system.slice/irqbalance.service"))
}

fn has_socket(host: &Host, pid: u32, root: u32) -> bool {
    let socket = host.path(format!("run/irqbalance/irqbalance{pid}.sock"));
    let is_roots = std::fs::symlink_metadata(&socket).is_ok_and(|found| found.uid() == root);
    is_roots && is_only_roots(&host.path("run/irqbalance"), root)
}

/// True if root owns it and nobody else may write it.
fn is_only_roots(path: &Path, root: u32) -> bool {
    let found = std::fs::metadata(path);
    found.is_ok_and(|found| found.uid() == root && found.mode() & 0o022 == 0)
}

fn ask_setup(host: &Host, tid: u32) -> io::Result<String> {
    let mut stream = connect_socket(host, tid)?;
    stream.write_all(b"setup")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn not_understood(answer: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("irqbalance answered '{answer}'"))
}

/// CPUs that it leaves alone now, whoever said so.
pub(super) fn read_banned(host: &Host, tid: u32) -> io::Result<CpuList> {
    let answer = ask_setup(host, tid)?;
    parse_banned(&answer).ok_or_else(|| not_understood(&answer))
}

/// Interrupts that it was told to leave alone, in order, with a space between two.
pub(super) fn read_lines(host: &Host, tid: u32) -> io::Result<String> {
    let answer = ask_setup(host, tid)?;
    parse_lines(&answer).ok_or_else(|| not_understood(&answer))
}

fn parse_lines(answer: &str) -> Option<String> {
    let (before, _) = answer.split_once("BANNED ")?;
    let words: Vec<&str> = before.split_whitespace().collect();
    let number = |pair: &[&str]| (pair[0] == "IRQ").then(|| pair[1].parse::<u32>().ok())?;
    let irqs: BTreeSet<u32> = words.windows(2).filter_map(number).collect();
    Some(join_lines(&irqs))
}

/// The form in which interrupts are told and answered.
pub(crate) fn join_lines(irqs: &BTreeSet<u32>) -> String {
    let irqs: Vec<String> = irqs.iter().map(ToString::to_string).collect();
    irqs.join(" ")
}

fn parse_banned(answer: &str) -> Option<CpuList> {
    CpuList::from_mask(answer.split_once("BANNED ")?.1)
}

/// Make it leave these alone. It knows an empty list by a word, after which its environment or the
/// kernel's isolated CPUs decide again.
pub(super) fn ban_cpus(host: &Host, tid: u32, cpus: &CpuList) -> io::Result<()> {
    let list = if cpus.is_empty() { "NULL".to_owned() } else { cpus.to_string() };
    tell(host, tid, &format!("settings cpus {list}"))
}

/// Make it leave these interrupts alone, and no others. It knows an empty list by a word.
pub(super) fn ban_lines(host: &Host, tid: u32, irqs: &str) -> io::Result<()> {
    let irqs = if irqs.is_empty() { "NONE" } else { irqs };
    tell(host, tid, &format!("settings ban irqs {irqs}"))
}

fn tell(host: &Host, tid: u32, request: &str) -> io::Result<()> {
    let mut stream = connect_socket(host, tid)?;
    stream.write_all(request.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    // It closes the connection when it has read the request.
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixListener;
    use std::thread;

    #[test]
    fn answers_of_several_versions() {
        for (answer, want) in [
            ("SLEEP 10 BANNED 00000000,0000000c", Some("2-3")),
            ("SLEEP 10 IRQ 9 LOAD 0 DIFF 0 CLASS 0 BANNED 0", Some("")),
            ("SLEEP 10", None),
            ("", None),
        ] {
            assert_eq!(parse_banned(answer).map(|c| c.to_string()).as_deref(), want, "{answer}");
        }
    }

    #[test]
    fn interrupts_that_are_left_alone_stand_before_the_mask() {
        for (answer, want) in [
            (
                "SLEEP 10 IRQ 40 LOAD 0 DIFF 0 CLASS 0 IRQ 8 LOAD 1 DIFF 0 CLASS 2 BANNED 0",
                Some("8 40"),
            ),
            ("SLEEP 10 BANNED 0000000c", Some("")),
            ("SLEEP 10", None),
        ] {
            assert_eq!(parse_lines(answer).as_deref(), want, "{answer}");
        }
    }

    #[test]
    fn the_name_alone_makes_no_irqbalance() {
        let named = || Fake::new().with_task(50, 1, "irqbalance", "0-3", 0);
        let genuine = |fake: &Fake| is_genuine(&fake.host(), 50);
        assert!(!genuine(&named()), "a name and a user");
        let exe = |fake: Fake, program: &str| {
            fake.with_file(program, "").with_link("proc/50/exe", &format!("../../{program}"))
        };
        assert!(genuine(&exe(named(), "usr/sbin/irqbalance")));
        assert!(
            !genuine(&exe(named(), "usr/bin/sudo")),
            "a link of the name to a program of root's"
        );
        let writable = exe(named(), "tmp/irqbalance");
        std::fs::set_permissions(
            writable.host().path("tmp/irqbalance"),
            std::fs::Permissions::from_mode(0o777),
        )
        .unwrap();
        assert!(!genuine(&writable), "a program that others may write");
        let unit = |cgroup: &str| named().with_file("proc/50/cgroup", &format!("0::{cgroup}\n"));
        assert!(genuine(&unit("/system.slice/irqbalance.service")));
        assert!(!genuine(&unit("/user.slice/user-7.slice/system.slice/irqbalance.service")));
        let socket = named().with_file("run/irqbalance/irqbalance50.sock", "");
        assert!(genuine(&socket));
        std::fs::set_permissions(
            socket.host().path("run/irqbalance"),
            std::fs::Permissions::from_mode(0o777),
        )
        .unwrap();
        assert!(!genuine(&socket), "a directory that others may write");
        let status = exe(named(), "usr/sbin/irqbalance");
        let users = std::fs::read_to_string(status.host().path("proc/50/status")).unwrap();
        let mine = rustix::process::geteuid().as_raw();
        for stranger in [format!("Uid:\t4242\t{mine}\t{mine}\t{mine}"), "Uid:".to_owned()] {
            let line = users.lines().find(|line| line.starts_with("Uid:")).unwrap();
            let status = exe(named(), "usr/sbin/irqbalance")
                .with_file("proc/50/status", &users.replace(line, &stranger));
            assert!(!genuine(&status), "{stranger}");
        }
    }

    #[test]
    fn a_conversation() {
        let fake = Fake::new().with_file("run/irqbalance/keep", "");
        let host = fake.host();
        let socket = UnixListener::bind(host.path("run/irqbalance/irqbalance77.sock")).unwrap();
        let server = thread::spawn(move || {
            let mut heard = Vec::new();
            for _ in 0..5 {
                let (mut peer, _) = socket.accept().unwrap();
                let mut buffer = [0; 256];
                let n = peer.read(&mut buffer).unwrap();
                heard.push(String::from_utf8(buffer[..n].to_vec()).unwrap());
                let _ = peer.write_all(b"SLEEP 10 BANNED 2");
            }
            heard
        });
        assert_eq!(read_banned(&host, 77).unwrap().to_string(), "1");
        ban_cpus(&host, 77, &"2-3".parse().unwrap()).unwrap();
        ban_cpus(&host, 77, &CpuList::default()).unwrap();
        ban_lines(&host, 77, "8 40").unwrap();
        ban_lines(&host, 77, "").unwrap();
        assert_eq!(
            server.join().unwrap(),
            [
                "setup",
                "settings cpus 2-3",
                "settings cpus NULL",
                "settings ban irqs 8 40",
                "settings ban irqs NONE"
            ]
        );
        assert!(read_banned(&host, 78).is_err());
    }
}
