// SPDX-License-Identifier: GPL-2.0-or-later
//! What another user of this host can do to a running QEMU, and what QEMU can do to the host. The
//! guest is a kernel of two instructions, so that only QEMU and gcc are needed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use irqpath_lab::guest::Initramfs;
use irqpath_lab::kernel::Arch;
use irqpath_lab::vm::{Devices, Ending, InstructionTime, Machine, Mode, Outcome};
use irqpath_lab::{Cache, Lab};

use irqpath_testing::cli::is_installed;
use irqpath_testing::guests;

/// Entered by the note that QEMU looks for in an uncompressed kernel (`XEN_ELFNOTE_PHYS32_ENTRY`).
const IDLE_KERNEL: &str = r#"
.section .note.Xen, "a"
.long 4, 4, 18
.asciz "Xen"
.long _start
.text
.code32
.globl _start
_start: hlt
jmp _start
"#;
const LIMIT: Duration = Duration::from_secs(6);

/// A guest that does nothing until it is ended, in a process of its own.
struct Idle {
    guest: JoinHandle<Outcome>,
    qemu: PathBuf,
    directory: tempfile::TempDir,
}

impl Idle {
    fn start(umask: &str) -> Option<Self> {
        for program in ["qemu-system-x86_64", "gcc", "setpriv"] {
            if !is_installed(program) {
                println!("skipped: a confined QEMU: {program} is not installed");
                return None;
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let image = kernel(directory.path(), umask);
        let lab = Lab { cache: Cache::at(directory.path().join("cache")), ..guests::open_lab() };
        let machine = Machine {
            arch: Arch::X86_64,
            image,
            mode: Mode::Exact,
            instruction: InstructionTime::default(),
            memory_mib: 64,
            result_mib: 1,
            // By which its QEMU is told from those of other tests.
            append: directory.path().display().to_string(),
            plugin: None,
            devices: Devices::default(),
            disk: None,
            limit_host: LIMIT,
            limit_guest: None,
        };
        let guest = thread::spawn(move || {
            let nothing = Initramfs { arch: Arch::X86_64, bytes: b"nothing".to_vec() };
            machine.run(&lab, &nothing).unwrap()
        });
        let qemu = wait_for_qemu(directory.path());
        Some(Self { guest, qemu, directory })
    }

    fn status(&self, name: &str) -> String {
        let status = fs::read_to_string(self.qemu.join("status")).unwrap();
        let field = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        field.unwrap().split_whitespace().next().unwrap_or_default().to_owned()
    }
}

fn kernel(directory: &Path, umask: &str) -> PathBuf {
    let source = directory.join("idle.S");
    fs::write(&source, IDLE_KERNEL).unwrap();
    let image = directory.join("idle");
    let compile = format!(
        "umask {umask}; gcc -nostdlib -static -Wl,-Ttext=0x100000,--build-id=none -o {} {}",
        image.display(),
        source.display()
    );
    let output = Command::new("sh").args(["-c", &compile]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    image
}

/// The directory in `/proc` of the QEMU with this among its arguments, once it is set up.
fn wait_for_qemu(argument: &Path) -> PathBuf {
    let argument = argument.display().to_string();
    let is_set_up = |process: &PathBuf| {
        let read = |name| fs::read_to_string(process.join(name)).unwrap_or_default();
        read("stat").contains("(qemu-system")
            && read("cmdline").contains(&argument)
            && read("status").contains("Seccomp:\t2")
    };
    let started = Instant::now();
    loop {
        let mut all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        if let Some(found) = all.find(is_set_up) {
            return found;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "no QEMU with a filter was started");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Inodes of the sockets that the process has open.
fn sockets(process: &Path) -> BTreeSet<String> {
    let links = fs::read_dir(process.join("fd")).unwrap().flatten();
    let targets = links.filter_map(|link| fs::read_link(link.path()).ok());
    let inode = |target: PathBuf| {
        let name = target.to_string_lossy().into_owned();
        Some(name.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
    };
    targets.filter_map(inode).collect()
}

#[test]
fn nobody_else_reaches_a_running_qemu_and_it_reaches_nothing() {
    let Some(idle) = Idle::start("022") else { return };
    let is_root = rustix::process::geteuid().is_root();
    let uid: u32 = idle.status("Uid").parse().unwrap();
    assert_ne!(uid, 0, "QEMU runs as root");
    assert_eq!((idle.status("NoNewPrivs"), idle.status("Seccomp")), ("1".into(), "2".into()));
    assert_eq!(u64::from_str_radix(&idle.status("CapEff"), 16), Ok(0));
    if is_root {
        assert_eq!(u64::from_str_radix(&idle.status("CapBnd"), 16), Ok(0));
        assert_eq!(idle.status("Groups"), "", "a group of root's");
    }
    let ours = sockets(&idle.qemu);
    assert!(!ours.is_empty(), "questions to QEMU go through a socket");
    for line in fs::read_to_string("/proc/net/unix").unwrap().lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.get(7);
        assert!(!ours.contains(words[6]) || name.is_none(), "others can connect to {line}");
    }
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        let inodes = text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(9));
        assert_eq!(inodes.filter(|inode| ours.contains(*inode)).count(), 0, "{table}");
    }
    let outcome = idle.guest.join().unwrap();
    let Ending::Hung { cpus, .. } = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(cpus.starts_with("its processors are"), "the socket was not answered: {cpus}");
}

#[test]
fn a_kernel_that_only_root_may_read_is_run_all_the_same() {
    let Some(idle) = Idle::start("077") else { return };
    let image = idle.directory.path().join("idle");
    assert_eq!(fs::metadata(image).unwrap().mode() & 0o077, 0);
    let outcome = idle.guest.join().unwrap();
    assert!(matches!(outcome.ending, Ending::Hung { .. }), "{:?}", outcome.ending);
}
