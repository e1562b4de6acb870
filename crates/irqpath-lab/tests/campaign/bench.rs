// SPDX-License-Identifier: GPL-2.0-or-later
//! A campaign in a directory of its own, and the faults of its units.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use irqpath_lab::Progress;
use irqpath_lab::campaign::engine::{Engine, Local};
use irqpath_lab::campaign::{Campaign, CampaignError, Report, Store, Unit};
use irqpath_lab::experiment::Identity;
use irqpath_lab::experiment::Replaced;
use tempfile::TempDir;

use super::unit::unit_command;

/// What is under test, and what may go wrong in it.
pub struct Bench {
    path: PathBuf,
    /// Removed at the end, if this is who made it.
    directory: Option<TempDir>,
    /// A disk of its own for the campaign.
    disk: bool,
    pub units: Vec<Unit>,
    pub verify_percent: u8,
    pub attempts: u32,
}

impl Bench {
    pub fn new(nr_units: usize) -> Self {
        let directory = tempfile::tempdir().expect("directory");
        fs::create_dir(directory.path().join("faults")).expect("faults");
        let mut bench = Self::at(directory.path(), nr_units);
        bench.directory = Some(directory);
        bench
    }

    /// The one that another process has made.
    pub fn at(path: &Path, nr_units: usize) -> Self {
        let unit = |nr: usize| Unit {
            experiment: format!("e{nr}"),
            variant: "rt".to_owned(),
            draw: 0,
            limit_s: 30,
            memory_mib: 1,
            identity: Identity::new([("nr", nr.to_string())]),
        };
        let units = (0..nr_units).map(unit).collect();
        let (path, disk) = (path.to_owned(), false);
        Self { path, directory: None, disk, units, verify_percent: 0, attempts: 3 }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the campaign is.
    pub fn place(&self) -> PathBuf {
        self.path().join("campaign")
    }

    pub fn fault(&self, name: &str) -> PathBuf {
        self.path().join("faults").join(name)
    }

    pub fn add_fault(&self, name: &str) {
        fs::write(self.fault(name), "").expect("fault");
    }

    pub fn remove_fault(&self, name: &str) {
        fs::remove_file(self.fault(name)).expect("fault");
    }

    /// `process unit worker` of every start until now.
    pub fn list_starts(&self) -> Vec<[String; 3]> {
        let text = fs::read_to_string(self.fault("starts")).unwrap_or_default();
        let words = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            <[String; 3]>::try_from(words).expect("three words")
        };
        text.lines().map(words).collect()
    }

    /// The start of a unit, once there is one.
    pub fn wait_for_start(&self, unit: &str) -> [String; 3] {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let found = self.list_starts().into_iter().find(|[_, of, _]| of == unit);
            if let Some(found) = found {
                return found;
            }
            assert!(Instant::now() < end, "{unit} did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Puts the campaign on a disk of a megabyte; false if that is not allowed.
    pub fn mount_small_disk(&mut self) -> bool {
        fs::create_dir(self.place()).expect("place");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m,mode=755", "tmpfs"]).arg(self.place());
        self.disk = mount.output().is_ok_and(|output| output.status.success());
        self.disk
    }

    pub fn run(&self, engine: &dyn Engine) -> Result<Report, CampaignError> {
        self.run_with(engine, None)
    }

    pub fn run_with(
        &self,
        engine: &dyn Engine,
        arbiter: Option<&dyn Engine>,
    ) -> Result<Report, CampaignError> {
        let store = Store::open(&self.place(), true)?;
        let campaign = Campaign {
            store: &store,
            units: &self.units,
            replaced: &Replaced::default(),
            verify_percent: self.verify_percent,
            attempts: self.attempts,
            progress: &Progress::hidden(),
            arbiter,
        };
        campaign.run(engine)
    }

    /// Every unit has exactly one result that counts, and it is what a right worker writes.
    pub fn require_complete(&self, report: &Report) {
        assert!(report.open.is_empty(), "{:?}", report.open);
        assert_eq!(report.settled.len(), self.units.len());
        for (unit, run) in &report.settled {
            assert_eq!(read_console(&run.path), self.right_bytes(*unit), "{run:?}");
        }
        assert_eq!(self.count_partials(), 0);
    }

    fn right_bytes(&self, unit: usize) -> String {
        let unit = &self.units[unit];
        format!("{} {}\n", unit.label(), unit.identity.key())
    }

    /// Half-made results.
    pub fn count_partials(&self) -> usize {
        let units = fs::read_dir(self.place().join("units")).expect("units");
        let names = units.flat_map(|unit| fs::read_dir(unit.expect("unit").path()).expect("runs"));
        let is_partial = |name: &fs::DirEntry| name.path().to_string_lossy().ends_with(".partial");
        names.flatten().filter(is_partial).count()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if self.disk {
            let unmounted = Command::new("umount").arg(self.place()).status();
            assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
        }
    }
}

pub fn read_console(run: &Path) -> String {
    fs::read_to_string(run.join("console.log")).expect("console")
}

pub fn local_engine(nr_workers: usize) -> Local {
    Local { command: unit_command(), nr_workers, name: "local".to_owned() }
}
