// SPDX-License-Identifier: GPL-2.0-or-later
//! The module of this machine: set parameters, run a benchmark, read or copy its result.
//!
//! Rule: whoever opens it finds the parameters restored when the value is dropped.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use irqpath_files::input;
use irqpath_files::output::Directory;
use irqpath_model::bench::{BenchCapture, BenchConfig, Clock};

use super::{DIRECTORY, IntsightError, Room, params, raw};

/// Parameters that a benchmark changes, in the order in which they are restored.
const PARAMETERS: [&str; 7] = [
    "bottom_handler",
    "reps",
    "delay_us",
    "delay_type",
    "checkpoint_capacity",
    "trigger",
    "tracepoints",
];

/// Files whose copy describes a benchmark, beside the results.
const DESCRIPTION: [&str; 17] = [
    "bottom_handler",
    "reps",
    "delay_ms",
    "delay_us",
    "delay_type",
    "checkpoint_capacity",
    "trigger",
    "tracepoints",
    "overflows",
    "checkpoint_cost",
    "vmalloc_checkpoint_matrix",
    "available_bottom_handlers",
    "available_triggers",
    "available_tracepoints",
    "available_clocks",
    "softirq_vector",
    "version",
];

/// What to do where the module does not say what is wrong.
const LOOK: &str = "look at the kernel's log with dmesg";

/// What the loaded module can do, by its own words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Available {
    /// Mechanisms; some kernels lack some.
    pub mechanisms: Vec<String>,
    /// Ways to raise the interrupt.
    pub triggers: Vec<String>,
    /// Tracepoints that can be hooked.
    pub tracepoints: Vec<String>,
    /// Clocks that checkpoints stamp.
    pub clocks: Vec<Clock>,
}

/// The module of a machine.
#[derive(Debug)]
pub struct Intsight {
    directory: PathBuf,
    saved: Vec<(&'static str, String)>,
}

impl Intsight {
    /// Open the module of the machine below `root` (`/`), and initialise it if that is needed.
    pub fn open(root: &Path) -> Result<Self, IntsightError> {
        let directory = root.join(DIRECTORY);
        check_directory(&directory)?;
        if !directory.join("bottom_handler").exists() {
            write(&directory, "init", "1").map_err(|source| {
                let what = "initialise itself";
                IntsightError::Step { what, advice: LOOK, source }
            })?;
        }
        let mut saved = Vec::new();
        for file in PARAMETERS {
            if let Some(value) = params::read_text(&directory, file)? {
                saved.push((file, value));
            }
        }
        Ok(Self { directory, saved })
    }

    /// The module's debugfs directory, as given or as found.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What it can do.
    pub fn read_available(&self) -> Result<Available, IntsightError> {
        let words = |file| params::read_words(&self.directory, file);
        let path = || self.directory.join("available_clocks");
        let clocks = words("available_clocks")?;
        let clocks: Result<_, _> = clocks
            .iter()
            .map(|c| c.parse().map_err(|e| IntsightError::from_word(path(), &e)))
            .collect();
        Ok(Available {
            mechanisms: words("available_bottom_handlers")?,
            triggers: words("available_triggers")?,
            tracepoints: words("available_tracepoints")?,
            clocks: clocks?,
        })
    }

    /// The parameters in force.
    pub fn read_config(&self) -> Result<BenchConfig, IntsightError> {
        params::read(&self.directory)
    }

    /// Set the parameters and allocate the buffer.
    pub fn prepare_bench(&self, config: &BenchConfig) -> Result<(), IntsightError> {
        for (file, value) in params::list_writes(config) {
            write(&self.directory, file, &value).map_err(|source| {
                let available = match file {
                    "bottom_handler" => "available_bottom_handlers",
                    "trigger" => "available_triggers",
                    "tracepoints" => "available_tracepoints",
                    _ => "",
                };
                let available = params::read_words(&self.directory, available).unwrap_or_default();
                IntsightError::Refused { file, value, source, available }
            })?;
        }
        self.write_step(
            "prepare_trigger",
            "allocate room for the checkpoints",
            "ask for fewer --reps, or hook fewer tracepoints",
        )
    }

    /// Run the benchmark: blocks for its whole length.
    pub fn run_bench(&self) -> Result<(), IntsightError> {
        self.write_step("do_trigger", "run the benchmark", LOOK)
    }

    /// Make the results readable.
    pub fn postprocess(&self) -> Result<(), IntsightError> {
        self.write_step("postprocess_trigger", "show the results", LOOK)
    }

    fn write_step(
        &self,
        file: &str,
        what: &'static str,
        advice: &'static str,
    ) -> Result<(), IntsightError> {
        write(&self.directory, file, "1").map_err(|source| match source.kind() {
            io::ErrorKind::Interrupted => IntsightError::Interrupted,
            _ => IntsightError::Step { what, advice, source },
        })
    }

    /// Read the results; see [`raw::read_raw`].
    pub fn read(&self, only: &[Clock]) -> Result<BenchCapture, IntsightError> {
        raw::read_raw(&self.directory, only, Room::OWN)
    }

    /// Copy parameters and results into `target`, which exists, as `cp -r` would, but for the
    /// files that only take commands.
    pub fn copy_to(&self, target: &Directory) -> Result<(), IntsightError> {
        let results = target.create_directory("csv_results")?;
        for file in DESCRIPTION {
            let from = self.directory.join(file);
            if from.exists() {
                copy_file(&from, target, file)?;
            }
        }
        let from = self.directory.join("csv_results");
        copy_file(&from.join("name"), &results, "name")?;
        for clock in raw::list_clocks(&from)? {
            copy_file(&from.join(clock.name()), &results, clock.name())?;
        }
        Ok(())
    }
}

impl Drop for Intsight {
    fn drop(&mut self) {
        for (file, value) in &self.saved {
            if params::read_text(&self.directory, file).ok().flatten().as_ref() != Some(value) {
                // Nobody is left to tell; the module refuses what would be unsafe.
                let _ = write(&self.directory, file, value);
            }
        }
    }
}

/// Tell apart why the module's directory is not there.
fn check_directory(directory: &Path) -> Result<(), IntsightError> {
    let debugfs = directory.parent().unwrap_or(directory);
    match fs::read_dir(debugfs).map(Iterator::count) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            return Err(IntsightError::Privilege(debugfs.to_owned()));
        }
        Ok(0) => {
            return Err(IntsightError::NotMounted(debugfs.to_owned()));
        }
        _ => {}
    }
    match fs::read_dir(directory) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            Err(IntsightError::NoModule(directory.to_owned()))
        }
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            Err(IntsightError::Privilege(directory.to_owned()))
        }
        Err(source) => Err(IntsightError::Read { path: directory.to_owned(), source }),
    }
}

/// One write, one line: that is how the module takes a value.
fn write(directory: &Path, file: &str, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(directory.join(file))?;
    let line = format!("{value}\n");
    // Not write_all: it would repeat a do_trigger that a signal ended.
    let written = file.write(line.as_bytes())?;
    if written == line.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

fn copy_file(from: &Path, to: &Directory, name: &str) -> Result<(), IntsightError> {
    let unreadable = |source| IntsightError::Read { path: from.to_owned(), source };
    let mut source = input::open(from).map_err(unreadable)?;
    Ok(to.write(name, |target| io::copy(&mut source, target).map(drop))?)
}
