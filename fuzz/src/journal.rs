// SPDX-License-Identifier: GPL-2.0-or-later
//! Journals of `shield` and `tune`, as `status` and `reset` read them. A line without a checksum
//! gets one.

use std::cell::RefCell;
use std::io;

use irqpath_model::tune::{Flow, FlowRule, FlowTable, FoundRule, Transport};
use irqpath_model::{CpuList, Policy, Scheduling};
use irqpath_system::change::{Access, put_back};
use irqpath_system::{Host, journal, shield, tune};

use crate::scratch::Scratch;

/// Files of the machine whose journal it is.
const FILES: [(&str, &str); 8] = [
    ("proc/sys/kernel/random/boot_id", "boot-1\n"),
    ("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
    ("proc/version", "Linux version 6.12.0\n"),
    ("proc/irq/1/smp_affinity", "f\n"),
    ("proc/irq/default_smp_affinity", "f\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/possible", "0-3\n"),
    ("sys/devices/system/cpu/present", "0-3\n"),
];

/// Look at what is held, and put it back.
pub fn run(data: &[u8]) -> bool {
    let scratch = Scratch::new();
    for (name, text) in FILES {
        scratch.put(name, text.as_bytes());
    }
    let text = sealed(data);
    scratch.put("var/lib/irqpath/shield.journal", &text);
    scratch.put("var/lib/irqpath/tune.journal", &text);
    let host = Host::new(scratch.path());
    let access = Recorder::default();
    let _ = shield::status(&host, &access);
    let _ = tune::status(&host, &access);
    let _ = tune::known_associations(&host);
    assert!(access.written.borrow().is_empty(), "a look has changed {:?}", access.written);
    let Ok(content) = journal::peek_journal(&host, "shield") else { return false };
    put_back(&access, &content.ledger, |_| true);
    access.check();
    !content.is_empty()
}

fn sealed(data: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for line in data.split_inclusive(|&byte| byte == b'\n') {
        if line.first() == Some(&b'{') {
            let json = line.strip_suffix(b"\n").unwrap_or(line);
            text.extend(format!("{:08x} ", crc32fast::hash(json)).bytes());
        }
        text.extend(line);
    }
    text
}

/// A host on which every value is there, and that notes what is changed.
#[derive(Default)]
struct Recorder {
    written: RefCell<Vec<String>>,
}

impl Recorder {
    fn note(&self, path: impl Into<String>) {
        self.written.borrow_mut().push(path.into());
    }

    fn check(&self) {
        for path in self.written.borrow().iter() {
            assert!(is_ours(path), "the journal had {path} written");
        }
    }
}

/// What irqpath changes, said a second time: an oracle that asked `change/allowed.rs` would not see
/// what is wrong there. `#` stands for a number, `*` for a name.
const ALLOWED: [&str; 24] = [
    "proc/irq/#/smp_affinity",
    "proc/irq/default_smp_affinity",
    "proc/shield/procs",
    "proc/shield/irqs",
    "proc/shield/ltmrs",
    "proc/sys/net/core/rps_default_mask",
    "proc/sys/kernel/watchdog_cpumask",
    "proc/sys/kernel/timer_migration",
    "proc/sys/vm/stat_interval",
    "sys/devices/system/cpu/cpu#/power/pm_qos_resume_latency_us",
    "sys/devices/system/cpu/cpufreq/*/scaling_governor",
    "sys/devices/system/cpu/cpu#/online",
    "sys/kernel/debug/sched/fair_server/cpu#/runtime",
    "sys/devices/virtual/workqueue/cpumask",
    "sys/devices/virtual/workqueue/*/cpumask",
    "sys/class/net/*/queues/*/rps_cpus",
    "sys/class/net/*/queues/*/xps_cpus",
    "sys/class/net/*/threaded",
    "sys/fs/cgroup/cgroup.subtree_control",
    "sys/fs/cgroup/irqpath.shield",
    "sys/fs/cgroup/irqpath.shield/run",
    "sys/fs/cgroup/irqpath.shield/cgroup.subtree_control",
    "sys/fs/cgroup/irqpath.shield/cpuset.cpus",
    "sys/fs/cgroup/irqpath.shield/cpuset.cpus.partition",
];

fn is_ours(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let climbs = parts.iter().any(|part| ["", ".", ".."].contains(part));
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let fits = |pattern: &&str| {
        let wanted: Vec<&str> = pattern.split('/').collect();
        wanted.len() == parts.len()
            && wanted.iter().zip(&parts).all(|(wanted, part)| match *wanted {
                "*" => true,
                exact => match exact.strip_suffix('#') {
                    Some(prefix) => part.strip_prefix(prefix).is_some_and(is_number),
                    None => exact == *part,
                },
            })
    };
    // Any cgroup may be the one that a process goes back to.
    let lists = ["/cgroup.procs", "/cgroup.threads"];
    let is_return =
        path.starts_with("sys/fs/cgroup/") && lists.iter().any(|list| path.ends_with(list));
    // Below any cgroup there may be one for single threads, which has a type.
    let made = path.strip_suffix("/cgroup.type").unwrap_or(path);
    let cpu = made.rsplit_once("/irqpath.cpu").map_or("", |(_, cpu)| cpu);
    let is_threads = path.starts_with("sys/fs/cgroup/") && !cpu.is_empty() && is_number(cpu);
    // Any cgroup may be one that gets CPUs for itself.
    let files = ["/cgroup.subtree_control", "/cpuset.cpus.exclusive", "/cpuset.cpus.partition"];
    let is_attached =
        path.starts_with("sys/fs/cgroup/") && files.iter().any(|file| path.ends_with(file));
    !climbs && (is_return || is_attached || is_threads || ALLOWED.iter().any(fits))
}

impl Access for Recorder {
    fn read(&self, path: &str) -> io::Result<String> {
        Ok(if path.ends_with("online") { "0-3\n" } else { "3\n" }.to_owned())
    }

    fn write(&self, path: &str, _text: &str) -> io::Result<()> {
        self.note(path);
        Ok(())
    }

    fn is_directory(&self, _path: &str) -> bool {
        true
    }

    fn list_directories(&self, _path: &str) -> Vec<String> {
        Vec::new()
    }

    fn create_directory(&self, path: &str) -> io::Result<()> {
        self.note(path);
        Ok(())
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        self.note(path);
        Ok(())
    }

    fn task_start(&self, _tid: u32) -> Option<u64> {
        Some(1)
    }

    fn affinity(&self, _tid: u32) -> io::Result<CpuList> {
        Ok("0-3".parse().expect("a list"))
    }

    fn set_affinity(&self, _tid: u32, _cpus: &CpuList) -> io::Result<()> {
        Ok(())
    }

    fn scheduling(&self, _tid: u32) -> io::Result<Scheduling> {
        Ok(Scheduling { policy: Policy::Fifo, priority: 1, nice: 0 })
    }

    fn set_scheduling(&self, _tid: u32, _scheduling: Scheduling) -> io::Result<()> {
        Ok(())
    }

    fn cgroup_of(&self, _tid: u32, mount: &str) -> io::Result<String> {
        Ok(mount.to_owned())
    }

    fn irqbalance_banned(&self, _tid: u32) -> io::Result<CpuList> {
        self.affinity(0)
    }

    fn set_irqbalance_banned(&self, _tid: u32, _cpus: &CpuList) -> io::Result<()> {
        Ok(())
    }

    fn irqbalance_lines(&self, _tid: u32) -> io::Result<String> {
        Ok("3".to_owned())
    }

    fn set_irqbalance_lines(&self, _tid: u32, irqs: &str) -> io::Result<()> {
        let is_numbers = irqs.bytes().all(|b| b.is_ascii_digit() || b == b' ');
        assert!(is_numbers, "the journal had irqbalance told {irqs:?}");
        Ok(())
    }

    fn flow_table(&self, _device: &str) -> io::Result<FlowTable> {
        let flow = Flow { transport: Transport::Udp, port: 5000 };
        let rule = |at| (at, FoundRule::Plain(FlowRule { flow, queue: 1 }));
        let rules = (0..4).map(rule).collect();
        Ok(FlowTable { is_on: true, nr_queues: 2, nr_places: 4, rules })
    }

    // The device has to be one by its name, as for its files.
    fn insert_flow_rule(&self, device: &str, _location: u32, _rule: FlowRule) -> io::Result<()> {
        self.note(format!("sys/class/net/{device}/threaded"));
        Ok(())
    }

    fn remove_flow_rule(&self, device: &str, _location: u32) -> io::Result<()> {
        self.note(format!("sys/class/net/{device}/threaded"));
        Ok(())
    }
}
