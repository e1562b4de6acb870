// SPDX-License-Identifier: GPL-2.0-or-later
//! Why a response test could not be run: one line, what was wrong and what to do.

use std::io;
use std::path::PathBuf;

use crate::sampler::Failed;

/// What went wrong with a source of interrupts.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the message says what each field is
pub enum RespondError {
    /// The device does not exist.
    #[error("there is no {path}: {advice}", path = .path.display())]
    NoDevice {
        path: PathBuf,
        /// Where it comes from.
        advice: &'static str,
    },
    /// The device could not be opened.
    #[error("cannot open {path} ({source}); {}", open_advice(.source), path = .path.display())]
    Open {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The device did not do what it should.
    #[error("{path} could not {what} ({source}); {advice}", path = .path.display())]
    Device {
        path: PathBuf,
        /// What it should have done.
        what: String,
        /// What to do now.
        advice: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The source has no such rate.
    #[error("{what} cannot interrupt {hz} times a second; {advice}")]
    Rate {
        what: &'static str,
        /// The rate asked for.
        hz: f64,
        /// What it can do.
        advice: &'static str,
    },
    /// The task cannot run there.
    #[error("cannot run on CPU {cpu} ({source}); it must be online and in this session's cpuset")]
    Cpu {
        cpu: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The measuring thread could not be started.
    #[error("cannot start a measuring thread ({0}); check the limits of this session")]
    Thread(io::Error),
    /// Waiting failed in the middle of the test.
    #[error("waiting for the interrupt failed ({0}); what was measured until then is shown")]
    Wait(io::Error),
}

fn open_advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EBUSY) => "another program has it open (see lsof)",
        Some(libc::EACCES | libc::EPERM) => "run with sudo, or give yourself access to it",
        _ => "check that it is the right device",
    }
}

impl RespondError {
    /// From the failure to start a measuring thread on this CPU.
    pub(crate) fn of_thread(failed: Failed<Self>, cpu: u16) -> Self {
        match failed {
            Failed::Prepare(error) => error,
            Failed::Cpu(source) => Self::Cpu { cpu, source },
            Failed::Spawn(source) => Self::Thread(source),
        }
    }

    /// From the failure to open a device.
    pub(super) fn open(path: PathBuf, source: io::Error, advice: &'static str) -> Self {
        if source.kind() == io::ErrorKind::NotFound {
            return Self::NoDevice { path, advice };
        }
        Self::Open { path, source }
    }
}
