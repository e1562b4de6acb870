// SPDX-License-Identifier: GPL-2.0-or-later
//! Machines made of files, for tests, and a way to change them that refuses and dies on command.

mod flows;
mod threads;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use irqpath_model::change::{Left, Target, Value};
use irqpath_model::tune::{FlowRule, FlowTable};
use irqpath_model::{CpuList, Scheduling};

use crate::Host;
use crate::change::{Access, RealAccess};

/// A temporary root; removed when dropped.
pub struct Fake(tempfile::TempDir);

impl Fake {
    /// In memory where possible: journals are synced, and tests die hundreds of times.
    pub fn new() -> Self {
        let memory = std::path::Path::new("/dev/shm");
        Self(tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap())
    }

    /// Add a file of text.
    pub fn with_file(self, relative: &str, text: &str) -> Self {
        self.with_bytes(relative, text.as_bytes())
    }

    /// Add a file of bytes.
    pub fn with_bytes(self, relative: &str, bytes: &[u8]) -> Self {
        let path = self.0.path().join(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    /// Add a symbolic link.
    pub fn with_link(self, relative: &str, to: &str) -> Self {
        let path = self.0.path().join(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // A task may be made again.
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(to, path).unwrap();
        self
    }

    /// Add a task, started at tick `tid`, with these CPUs and flags of `/proc/TID/stat`.
    pub fn with_task(self, tid: u32, ppid: u32, comm: &str, cpus: &str, flags: u64) -> Self {
        let stat = format!(
            "{tid} ({comm}) S {ppid} 1 1 0 -1 {flags} 0 0 0 0 1 2 0 0 20 0 1 0 {tid} 0 0 \
             1 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 0 0 0 0 0 0\n"
        );
        let uid = rustix::process::geteuid().as_raw();
        let users = format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n");
        let status = format!("Name:\t{comm}\n{users}Cpus_allowed_list:\t{cpus}\n");
        self.with_file(&format!("proc/{tid}/task/{tid}/stat"), &stat)
            .with_file(&format!("proc/{tid}/stat"), &stat)
            .with_file(&format!("proc/{tid}/status"), &status)
            // One file, as in the kernel: a kill must not fall between two copies.
            .with_link(&format!("proc/{tid}/task/{tid}/status"), "../../status")
            .with_file(&format!("proc/{tid}/cgroup"), "0::/\n")
    }

    /// Add a second thread to a process, with CPUs of its own.
    pub fn with_thread(self, tgid: u32, tid: u32, cpus: &str) -> Self {
        let stat = std::fs::read_to_string(self.host().path(format!("proc/{tgid}/stat"))).unwrap();
        let status = format!("Name:\tthread\nTgid:\t{tgid}\nCpus_allowed_list:\t{cpus}\n");
        self.with_file(&format!("proc/{tgid}/task/{tid}/stat"), &stat)
            .with_file(&format!("proc/{tid}/stat"), &stat)
            .with_file(&format!("proc/{tid}/status"), &status)
            .with_link(&format!("proc/{tgid}/task/{tid}/status"), &format!("../../../{tid}/status"))
    }

    /// Add root's irqbalance as this process.
    pub fn with_irqbalance(self, pid: u32) -> Self {
        self.with_task(pid, 1, "irqbalance", "0-3", 0)
            .with_file("usr/sbin/irqbalance", "")
            .with_link(&format!("proc/{pid}/exe"), "../../usr/sbin/irqbalance")
    }

    /// Give a task of this machine a FIFO priority.
    pub fn with_fixed(self, tid: u32, priority: u8) -> Self {
        self.with_scheduling(tid, Scheduling::fifo(priority))
    }

    /// Schedule a task of this machine like this.
    pub fn with_scheduling(self, tid: u32, scheduling: Scheduling) -> Self {
        write_scheduling(&self.host(), tid, scheduling).unwrap();
        self
    }

    pub fn host(&self) -> Host {
        Host::new(self.0.path())
    }

    /// Every file below `proc` and `sys` with its text: what an exact undo brings back.
    pub fn read_all(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut pending = vec![self.0.path().join("proc"), self.0.path().join("sys")];
        while let Some(directory) = pending.pop() {
            for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                let is_link = path.is_symlink();
                if path.is_dir() {
                    pending.push(path.clone());
                    found.insert(path, "a directory".to_owned());
                } else if !is_link {
                    let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                    // The kernel prints a mask in one way only; files keep what was written.
                    let is_mask = ["affinity", "cpumask", "_cpus"].iter().any(|end| {
                        path.file_name().is_some_and(|n| n.to_string_lossy().ends_with(end))
                    }) || path.parent().is_some_and(|p| p.ends_with("proc/shield"));
                    let mask = CpuList::from_mask(&text).filter(|_| is_mask);
                    // Those of a cgroup are in no order.
                    let members = ["cgroup.procs", "cgroup.threads"];
                    let text = if members.iter().any(|name| path.ends_with(name)) {
                        let mut lines: Vec<&str> = text.lines().collect();
                        lines.sort_unstable();
                        lines.join("\n")
                    } else {
                        text
                    };
                    let text = mask.map_or(text.trim().to_owned(), |cpus| format!("CPU {cpus}"));
                    found.insert(path, text);
                }
            }
        }
        found
    }
}

/// Rewrite the fields of `/proc/TID/stat` that tell how a task is scheduled.
fn write_scheduling(host: &Host, tid: u32, scheduling: Scheduling) -> io::Result<()> {
    for path in [format!("proc/{tid}/stat"), format!("proc/{tid}/task/{tid}/stat")] {
        let full = host.path(path);
        let text = std::fs::read_to_string(&full)?;
        let (before, rest) = text.rsplit_once(')').unwrap();
        let mut words: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
        // Field n of proc_pid_stat(5) is words[n - 3].
        words[19 - 3] = scheduling.nice.to_string();
        words[40 - 3] = scheduling.priority.to_string();
        words[41 - 3] = (scheduling.policy as u32).to_string();
        std::fs::write(full, format!("{before}) {}\n", words.join(" ")))?;
    }
    Ok(())
}

/// What is thrown where a test wants the process to die. Only destructors run, which do what the
/// kernel does for a killed process: close files and drop the lock.
pub struct Killed;

/// Has `run` die one step later each time, on a new machine, until it lives to its end. `undo` must then
/// leave nothing changed, and returns what it could not undo. Returns how often `run` died.
pub fn die_at_each_step(
    make: impl Fn() -> Fake,
    access: impl Fn(&Fake) -> FakeAccess,
    run: impl Fn(&Fake, &FakeAccess),
    undo: impl Fn(&Host, &FakeAccess) -> Vec<Left>,
) -> u32 {
    let mut deaths = 0;
    loop {
        let fake = make();
        let before = fake.read_all();
        let dying = access(&fake);
        dying.steps_left.set(Some(deaths));
        let end = catch_unwind(AssertUnwindSafe(|| run(&fake, &dying)));
        assert_eq!(undo(&fake.host(), &access(&fake)), [], "killed at step {deaths}");
        assert_eq!(fake.read_all(), before, "killed at step {deaths}");
        match end {
            Ok(()) => return deaths,
            Err(payload) => assert!(payload.is::<Killed>(), "at step {deaths}"),
        }
        deaths += 1;
    }
}

/// Where the hierarchy of a [`Fake`] is mounted.
const MOUNT: &str = "sys/fs/cgroup";

/// A cgroup's files as they are when it is made; by name and text.
const CGROUP_FILES: [(&str, &str); 7] = [
    ("cgroup.procs", ""),
    ("cgroup.threads", ""),
    ("cgroup.type", "domain\n"),
    ("cgroup.subtree_control", ""),
    ("cpuset.cpus", ""),
    ("cpuset.cpus.exclusive", ""),
    ("cpuset.cpus.partition", "member\n"),
];

/// A step's name, and what happens there.
type AtStep = (&'static str, Box<dyn Fn()>);

/// Changes the files of a [`Fake`] as the kernel would.
pub struct FakeAccess {
    host: Host,
    real: RealAccess,
    /// Writes to these end with this error number; a path ending with `*` stands for a beginning.
    pub refuse: BTreeMap<String, i32>,
    /// What a write to these leaves, whatever was written.
    pub becomes: BTreeMap<String, String>,
    /// Steps until it dies.
    pub steps_left: Cell<Option<u32>>,
    /// Tasks that ask for these CPUs again as soon as theirs were looked at.
    pub restless: BTreeMap<u32, &'static str>,
    /// What somebody else does at a step.
    pub at_step: Option<AtStep>,
    /// What each step takes, for a kill to fall into.
    pub pause: Duration,
    /// What was written, in order.
    pub written: RefCell<Vec<String>>,
}

impl FakeAccess {
    pub fn new(fake: &Fake) -> Self {
        Self::for_host(&fake.host())
    }

    /// For a fake machine that another process made.
    pub fn for_host(host: &Host) -> Self {
        Self {
            host: host.clone(),
            real: RealAccess::new(host),
            refuse: BTreeMap::new(),
            becomes: BTreeMap::new(),
            restless: BTreeMap::new(),
            steps_left: Cell::new(None),
            at_step: None,
            written: RefCell::default(),
            pause: Duration::ZERO,
        }
    }

    /// Refuse writes to `path` with this error number.
    pub fn with_refusal(mut self, path: &str, errno: i32) -> Self {
        self.refuse.insert(path.to_owned(), errno);
        self
    }

    /// A target's value; `None` if it is gone.
    pub fn get_for_test(&self, target: &Target) -> Option<Value> {
        (self as &dyn Access).get(target).unwrap()
    }

    fn check_errno(&self, path: &str) -> io::Result<()> {
        let hit = self.refuse.iter().find(|(pattern, _)| match pattern.strip_suffix('*') {
            Some(beginning) => path.starts_with(beginning),
            None => path == pattern.as_str(),
        });
        hit.map_or(Ok(()), |(_, &errno)| Err(io::Error::from_raw_os_error(errno)))
    }

    fn replace_text(&self, path: &str, from: &str, to: &str) -> io::Result<()> {
        let text = std::fs::read_to_string(self.host.path(path))?;
        let line = |l: &str| {
            if l.starts_with(from) { format!("{from}{to}\n") } else { format!("{l}\n") }
        };
        self.put_text(path, &text.lines().map(line).collect::<String>())
    }

    /// A file gets its text at once, as the kernel's do, also where a kill falls into it.
    fn put_text(&self, path: &str, text: &str) -> io::Result<()> {
        let staged = self.host.path("staged");
        std::fs::write(&staged, text)?;
        std::fs::rename(staged, self.host.path(path))
    }

    /// The kernel's side of `cgroup.procs`: the process leaves one list and comes into another.
    fn move_process(&self, pid: &str, directory: &str) -> io::Result<()> {
        let (mount, below) = directory.split_at(MOUNT.len());
        let own = format!("proc/{pid}/cgroup");
        let old = self.real.read(&own)?;
        let old = old.trim().trim_start_matches("0::").trim_end_matches('/');
        let (from, to) =
            (format!("{mount}{old}/cgroup.procs"), format!("{directory}/cgroup.procs"));
        let others = |path: &str| -> io::Result<String> {
            let text = self.real.read(path)?;
            let others = text.lines().filter(|line| *line != pid).flat_map(|line| [line, "\n"]);
            Ok(others.collect())
        };
        self.put_text(&from, &others(&from)?)?;
        self.put_text(&to, &format!("{}{pid}\n", others(&to)?))?;
        self.replace_text(&own, "0::", if below.is_empty() { "/" } else { below })
    }

    /// The kernel's side of `cgroup.subtree_control`.
    fn switch_controller(&self, path: &str, request: &str) -> io::Result<()> {
        let (on, name) = request.split_at(1);
        let old = std::fs::read_to_string(self.host.path(path))?;
        let mut words: Vec<&str> = old.split_whitespace().filter(|w| *w != name.trim()).collect();
        let directory = path.trim_end_matches("/cgroup.subtree_control");
        let children: Vec<String> = self.real.list_directories(directory);
        let children = children.iter().map(|name| format!("{directory}/{name}"));
        if on == "+" {
            words.push(name.trim());
            self.put_text(path, &words.join(" "))?;
            return children.into_iter().try_for_each(|child| self.add_cpuset(&child));
        }
        for child in children {
            let below = self.real.read(&format!("{child}/cgroup.subtree_control"));
            if below.is_ok_and(|text| text.contains(name.trim())) {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            for (file, _) in CGROUP_FILES.iter().filter(|(file, _)| file.starts_with("cpuset")) {
                let _ = std::fs::remove_file(self.host.path(format!("{child}/{file}")));
            }
        }
        self.put_text(path, &words.join(" "))
    }

    /// The kernel's side of a CPU's `online`.
    fn update_online(&self, path: &str, is_on: bool) -> io::Result<()> {
        let cpu = path.strip_prefix("sys/devices/system/cpu/cpu");
        let Some(cpu) = cpu.and_then(|cpu| cpu.strip_suffix("/online")) else { return Ok(()) };
        let (all, one) = (self.online_cpus()?, cpu.parse::<CpuList>().unwrap());
        let online = if is_on { all.union(&one) } else { all.difference(&one) };
        self.put_text("sys/devices/system/cpu/online", &format!("{online}\n"))
    }

    /// The files of the controller appear where they are not.
    fn add_cpuset(&self, directory: &str) -> io::Result<()> {
        for (file, text) in CGROUP_FILES.iter().filter(|(file, _)| file.starts_with("cpuset")) {
            let path = format!("{directory}/{file}");
            if !self.host.path(&path).exists() {
                self.put_text(&path, text)?;
            }
        }
        Ok(())
    }
}

impl Access for FakeAccess {
    fn read(&self, path: &str) -> io::Result<String> {
        self.real.read(path)
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        self.check_errno(path)?;
        self.written.borrow_mut().push(format!("{path}: {}", text.trim()));
        std::fs::metadata(self.host.path(path))?;
        if path.ends_with("cgroup.subtree_control") {
            return self.switch_controller(path, text);
        }
        if let Some(directory) = path.strip_suffix("/cgroup.procs") {
            return self.move_process(text.trim(), directory);
        }
        if let Some(directory) = path.strip_suffix("/cgroup.threads") {
            return self.move_thread(text.trim(), directory);
        }
        if let Some(directory) = path.strip_suffix("/cgroup.type") {
            return self.make_threaded(text.trim(), directory);
        }
        self.put_text(path, self.becomes.get(path).map_or(text, String::as_str))?;
        self.update_online(path, text.trim() == "1")
    }

    fn is_directory(&self, path: &str) -> bool {
        self.real.is_directory(path)
    }

    fn list_directories(&self, path: &str) -> Vec<String> {
        self.real.list_directories(path)
    }

    fn create_directory(&self, path: &str) -> io::Result<()> {
        self.check_errno(path)?;
        let (staged, full) = (self.host.path("staged.d"), self.host.path(path));
        if full.exists() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        // What a kill left.
        let _ = std::fs::remove_dir_all(&staged);
        std::fs::create_dir(&staged)?;
        for (name, text) in CGROUP_FILES {
            std::fs::write(staged.join(name), text)?;
        }
        std::fs::rename(staged, full)
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        self.check_errno(path)?;
        let (staged, full) = (self.host.path("staged.d"), self.host.path(path));
        let list = |name: &str| self.real.read(&format!("{path}/{name}")).unwrap_or_default();
        let inside = list("cgroup.procs") + &list("cgroup.threads");
        if !self.real.list_directories(path).is_empty() || !inside.trim().is_empty() {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let _ = std::fs::remove_dir_all(&staged);
        std::fs::rename(full, &staged)?;
        std::fs::remove_dir_all(staged)?;
        self.end_threaded(path)
    }

    fn task_start(&self, tid: u32) -> Option<u64> {
        self.real.task_start(tid)
    }

    fn affinity(&self, tid: u32) -> io::Result<CpuList> {
        let found = self.real.affinity(tid)?;
        if let Some(cpus) = self.restless.get(&tid) {
            let status = format!("proc/{tid}/status");
            self.replace_text(&status, "Cpus_allowed_list:", &format!("\t{cpus}"))?;
        }
        Ok(found)
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuList) -> io::Result<()> {
        self.check_errno(&format!("affinity/{tid}"))?;
        self.written.borrow_mut().push(format!("affinity {tid}: {cpus}"));
        self.replace_text(&format!("proc/{tid}/status"), "Cpus_allowed_list:", &format!("\t{cpus}"))
    }

    fn scheduling(&self, tid: u32) -> io::Result<Scheduling> {
        self.real.scheduling(tid)
    }

    fn set_scheduling(&self, tid: u32, scheduling: Scheduling) -> io::Result<()> {
        self.check_errno(&format!("scheduling/{tid}"))?;
        write_scheduling(&self.host, tid, scheduling)
    }

    fn flow_table(&self, device: &str) -> io::Result<FlowTable> {
        flows::read_table(&self.real, device)
    }

    fn insert_flow_rule(&self, device: &str, location: u32, rule: FlowRule) -> io::Result<()> {
        self.check_errno(&format!("flows/{device}/{location}"))?;
        self.change_flows(device, |lines| drop(lines.insert(location, rule.to_string())))
    }

    fn remove_flow_rule(&self, device: &str, location: u32) -> io::Result<()> {
        self.check_errno(&format!("flows/{device}/{location}"))?;
        self.change_flows(device, |lines| drop(lines.remove(&location)))
    }

    fn cgroup_of(&self, tid: u32, mount: &str) -> io::Result<String> {
        self.real.cgroup_of(tid, mount)
    }

    fn irqbalance_banned(&self, tid: u32) -> io::Result<CpuList> {
        self.real.irqbalance_banned(tid)
    }

    fn set_irqbalance_banned(&self, tid: u32, cpus: &CpuList) -> io::Result<()> {
        self.real.set_irqbalance_banned(tid, cpus)
    }

    fn irqbalance_lines(&self, tid: u32) -> io::Result<String> {
        self.real.irqbalance_lines(tid)
    }

    fn set_irqbalance_lines(&self, tid: u32, irqs: &str) -> io::Result<()> {
        self.real.set_irqbalance_lines(tid, irqs)
    }

    fn mark_step(&self, what: &'static str) {
        if let Some((name, happens)) = &self.at_step
            && *name == what
        {
            happens();
        }
        std::thread::sleep(self.pause);
        if let Some(left) = self.steps_left.get() {
            if left == 0 {
                std::panic::panic_any(Killed);
            }
            self.steps_left.set(Some(left - 1));
        }
    }
}
