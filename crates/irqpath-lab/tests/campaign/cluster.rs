// SPDX-License-Identifier: GPL-2.0-or-later
//! A Slurm of our own: munge, a controller and two nodes, in a temporary directory and on loopback.
//! Every daemon is a child that dies with the thread that started it.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use irqpath_lab::campaign::engine::Slurm;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use super::unit::unit_command;

/// One cluster at a time: they share two CPUs.
static ONE: Mutex<()> = Mutex::new(());

pub struct Cluster {
    directory: TempDir,
    /// Munge first, then the controller.
    daemons: Vec<Child>,
    nodes: BTreeMap<&'static str, Child>,
    _one: MutexGuard<'static, ()>,
}

impl Cluster {
    /// Starts it; or says why this test does not run.
    pub fn start(test: &str) -> Option<Self> {
        if let Some(why) = find_obstacle() {
            println!("skipped: {test}: {why}");
            return None;
        }
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().expect("directory");
        let at = directory.path();
        fs::set_permissions(at, fs::Permissions::from_mode(0o755)).expect("mode");
        for name in ["state", "w1", "w2"] {
            fs::create_dir(at.join(name)).expect(name);
        }
        fs::write(at.join("munge.key"), [7; 128]).expect("key");
        fs::set_permissions(at.join("munge.key"), fs::Permissions::from_mode(0o400)).expect("mode");
        fs::write(at.join("slurm.conf"), format_configuration(at)).expect("configuration");
        let nodes = BTreeMap::new();
        let mut cluster = Self { directory, daemons: Vec::new(), nodes, _one: one };
        cluster.start_munge();
        let controller = cluster.start_daemon("slurmctld", &["-D", "-i"]);
        cluster.daemons.push(controller);
        cluster.start_node("w1");
        cluster.start_node("w2");
        cluster.wait_until("two idle nodes", |cluster| {
            let nodes = cluster.ask("sinfo", &["--noheader", "--Node", "--format=%N %t"]);
            String::from_utf8_lossy(&nodes.stdout).matches(" idle\n").count() == 2
        });
        Some(cluster)
    }

    fn start_munge(&mut self) {
        let at = self.directory.path();
        let file = |option: &str, name: &str| format!("--{option}={}", at.join(name).display());
        let arguments = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            "--num-threads=2".to_owned(),
            file("key-file", "munge.key"),
            file("socket", "munge.sock"),
            file("pid-file", "munge.pid"),
            file("log-file", "munge.log"),
            file("seed-file", "munge.seed"),
        ];
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let munge = self.start_daemon("munged", &arguments);
        self.daemons.push(munge);
        self.wait_until("munge's socket", |c| c.directory.path().join("munge.sock").exists());
    }

    pub fn start_node(&mut self, name: &'static str) {
        let node = self.start_daemon("slurmd", &["-D", "-N", name]);
        self.nodes.insert(name, node);
    }

    /// Kills a node as if its power failed: the daemon, and the unit with what watches it.
    pub fn kill_node(&mut self, name: &str, unit: &str) {
        let mut node = self.nodes.remove(name).expect("node");
        node.kill().and_then(|()| node.wait()).expect("killed");
        let watcher = find_parent(unit);
        for pid in [watcher, unit.parse().expect("number")] {
            // One may have ended with the other.
            let _ = kill_process(Pid::from_raw(pid).expect("process"), Signal::KILL);
        }
    }

    fn start_daemon(&self, program: &str, arguments: &[&str]) -> Child {
        let log = self.directory.path().join(format!("{program}.log"));
        let log = fs::File::options().create(true).append(true).open(log).expect("log");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", program]).args(arguments);
        command.env("SLURM_CONF", self.conf()).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("log")).stderr(log);
        command.spawn().expect(program)
    }

    pub fn conf(&self) -> PathBuf {
        self.directory.path().join("slurm.conf")
    }

    fn ask(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(arguments).env("SLURM_CONF", self.conf()).output().expect(program)
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !is_so(self) {
            assert!(Instant::now() < end, "{what}: {}", self.read_logs());
            sleep(Duration::from_millis(100));
        }
    }

    fn read_logs(&self) -> String {
        let read = |name| fs::read_to_string(self.directory.path().join(name)).unwrap_or_default();
        ["munged.log", "slurmctld.log", "slurmd.log"].map(read).join("\n")
    }

    pub fn engine(&self) -> Slurm {
        slurm_engine(self.conf())
    }
}

pub fn slurm_engine(conf: PathBuf) -> Slurm {
    Slurm { command: unit_command(), throttle: None, options: Vec::new(), conf: Some(conf) }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.ask("scancel", &["--user=root"]);
        let end = Instant::now() + Duration::from_secs(10);
        while !self.ask("squeue", &["--noheader"]).stdout.is_empty() && Instant::now() < end {
            sleep(Duration::from_millis(200));
        }
        let daemons = std::mem::take(&mut self.daemons);
        for mut child in
            std::mem::take(&mut self.nodes).into_values().chain(daemons.into_iter().rev())
        {
            // One that is gone already is what is wanted.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn find_obstacle() -> Option<String> {
    if std::env::var_os("IRQPATH_SLURM").is_none() {
        return Some("five minutes of Slurm: IRQPATH_SLURM=1".to_owned());
    }
    if !geteuid().is_root() {
        return Some("starting Slurm needs root".to_owned());
    }
    let missing = ["munged", "slurmctld", "slurmd", "sbatch"].into_iter().find(|program| {
        let places = ["/usr/sbin", "/usr/bin", "/sbin"];
        !places.iter().any(|place| Path::new(place).join(program).exists())
    });
    missing.map(|program| format!("no {program}: scripts/setup.sh --with slurm"))
}

/// The parent of a process, by `/proc/PID/stat`.
fn find_parent(pid: &str) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("stat");
    let (_, rest) = stat.rsplit_once(')').expect("name");
    rest.split_whitespace().nth(1).and_then(|parent| parent.parse().ok()).expect("parent")
}

fn format_configuration(at: &Path) -> String {
    // Free now; nothing else on this machine takes ports so quickly.
    let free =
        || TcpListener::bind("127.0.0.1:0").expect("port").local_addr().expect("port").port();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let host = host.split('.').next().unwrap_or_default();
    let (controller, w1, w2) = (free(), free(), free());
    let at = at.display();
    format!(
        "ClusterName=irqpath-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={at}/munge.sock
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd-%n.pid
SlurmdSpoolDir={at}/%n
StateSaveLocation={at}/state
SwitchType=switch/none
SlurmdTimeout=10
KillWait=2
MinJobAge=30
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MaxArraySize=6
NodeName=w1 NodeHostname={host} NodeAddr=127.0.0.1 Port={w1} CPUs=1 RealMemory=100
NodeName=w2 NodeHostname={host} NodeAddr=127.0.0.1 Port={w2} CPUs=1 RealMemory=100
PartitionName=all Nodes=w1,w2 Default=YES MaxTime=INFINITE State=UP
"
    )
}
