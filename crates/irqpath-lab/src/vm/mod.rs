// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a guest in QEMU and brings its results back.
//!
//! Four modes. *Exact*: one virtual CPU, one instruction is one nanosecond (or 2, 4, 8, 16), two runs
//! are identical to the byte; figures are path lengths in instructions. *Smp*: several virtual CPUs
//! by KVM where it works, else by QEMU's translator with a thread each. *Turns*: several virtual
//! CPUs by the translator on one thread. *Counted*: the same, on a clock of instructions. Figures of
//! all but the first are times, are not exact, and are marked so.
//!
//! `args` decides how QEMU is called, `instruction` how fast its virtual CPU is, `jail` what it may do,
//! `inherit` gives it its files, `disk` is one that lasts, `run` watches it, `result` reads what the guest left,
//! `splat` finds what its kernel complained about, `accel` tries KVM, `tsc` knows the host's clock, `shell` is
//! for people.

mod accel;
mod args;
mod breakpoint;
mod control;
mod direct;
mod disk;
mod error;
mod inherit;
mod instruction;
mod jail;
mod memory;
mod outcome;
mod result;
mod run;
mod shell;
mod splat;
mod tsc;
mod version;

pub use disk::Disk;
pub use error::VmError;
pub use instruction::InstructionTime;
pub use outcome::{Ending, Outcome, Stage};
pub use result::{HEAD_LEN, Head, JobEnd, ResultError, Results, State as ResultState};
pub use splat::{Splat, SplatKind, find_splats};
pub use version::{QemuVersion, query_text};

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::Lab;
use crate::guest::Initramfs;
use crate::kernel::{Arch, Kernel};

/// How the guest's time passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One virtual CPU, an instruction takes the same time always, nothing depends on the host.
    Exact,
    /// Several virtual CPUs in real time.
    Smp { cpus: u32 },
    /// Several virtual CPUs that take turns on one of the host: slower, but QEMU before 8.1 has no
    /// trouble then with a guest that patches its code all the time.
    Turns { cpus: u32 },
    /// The same, and each instruction of any of them takes the same time of all: a busy host does not
    /// stretch what is measured. Not exact: who is next, and after how many, is up to QEMU.
    Counted { cpus: u32 },
}

/// Who executes the guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    /// QEMU's translator, counting instructions.
    TcgExact,
    /// QEMU's translator, one host thread per virtual CPU.
    TcgMulti,
    /// QEMU's translator, one host thread for all virtual CPUs.
    TcgSingle,
    /// The same, counting instructions.
    TcgCounted,
    /// The host's processor, which runs the guest's instructions itself.
    Kvm,
}

/// Devices that not every guest has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Devices {
    /// QEMU's `edu` PCI device, which raises an interrupt on a register write.
    pub edu: bool,
    /// Two virtio-net that are connected to each other and to nothing else.
    pub nics: bool,
    /// The HPET (x86-64 only). It is off otherwise: with it the kernel counts the ticks before
    /// the switch to the TSC too fast.
    pub hpet: bool,
}

/// A QEMU plugin, and what it shall do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginUse {
    pub library: PathBuf,
    /// Its arguments (`a=b,c=d`), but for `out`.
    pub arguments: String,
    /// The file that gets what it leaves at `out` when the guest ends.
    pub out: PathBuf,
}

#[derive(Debug, Clone)]
pub struct Machine {
    pub arch: Arch,
    /// The kernel as packaged: `vmlinuz-...`.
    pub image: PathBuf,
    pub mode: Mode,
    /// Where the clock counts instructions: in modes exact and counted.
    pub instruction: InstructionTime,
    pub memory_mib: u32,
    /// Room for the results, MiB; a power of two.
    pub result_mib: u32,
    pub append: String,
    pub plugin: Option<PluginUse>,
    pub devices: Devices,
    /// `/dev/vda` of the guest; what it writes there is there at the next run.
    pub disk: Option<Disk>,
    /// Host time after which it is ended by force.
    pub limit_host: Duration,
    /// Guest time after which the job is killed; what it has written until then comes back.
    /// In mode exact this ends a job that only waits, within few seconds of host time.
    pub limit_guest: Option<Duration>,
}

impl Machine {
    /// A machine in mode exact.
    pub fn exact(kernel: &Kernel) -> Self {
        Self {
            arch: kernel.arch,
            image: kernel.image.clone(),
            mode: Mode::Exact,
            instruction: InstructionTime::default(),
            memory_mib: 1024,
            result_mib: 64,
            append: String::new(),
            plugin: None,
            devices: Devices::default(),
            disk: None,
            limit_host: Duration::from_secs(600),
            limit_guest: Some(Duration::from_secs(3600)),
        }
    }

    /// A machine with several virtual CPUs in real time.
    pub fn smp(kernel: &Kernel, cpus: u32) -> Self {
        Self { mode: Mode::Smp { cpus }, limit_guest: None, ..Self::exact(kernel) }
    }

    /// A machine with several virtual CPUs in real time, which take turns.
    pub fn turns(kernel: &Kernel, cpus: u32) -> Self {
        Self { mode: Mode::Turns { cpus }, ..Self::smp(kernel, cpus) }
    }

    /// A machine with several virtual CPUs whose clock counts their instructions.
    pub fn counted(kernel: &Kernel, cpus: u32) -> Self {
        Self { mode: Mode::Counted { cpus }, ..Self::smp(kernel, cpus) }
    }

    pub fn append_parameters(mut self, parameters: &str) -> Self {
        self.append.extend([" ", parameters]);
        self
    }

    /// Makes what an exact run makes of its image, so that the run itself makes nothing.
    pub fn prepare_image(&self, lab: &Lab) -> Result<(), VmError> {
        direct::choose_image(lab, self, Accelerator::TcgExact).map(drop)
    }

    /// Boots the guest, waits for its end, and reads what it left. A guest that went wrong is an
    /// [`Outcome`] too; [`Outcome::require_success`] makes an error of it.
    ///
    /// # Errors
    /// If QEMU or a file is not there, or QEMU ends with an error of its own.
    pub fn run(&self, lab: &Lab, guest: &Initramfs) -> Result<Outcome, VmError> {
        let accelerator = accel::choose_accelerator(lab, self)?;
        run::run_guest(lab, self, guest, accelerator)
    }

    /// Boots the guest on this terminal with a shell instead of its job, until it is left.
    ///
    /// # Errors
    /// If QEMU or a file is not there, or QEMU ends with an error of its own.
    pub fn run_shell(&self, lab: &Lab, guest: &Initramfs) -> Result<(), VmError> {
        let accelerator = accel::choose_accelerator(lab, self)?;
        shell::run_shell(lab, self, guest, accelerator)
    }
}

impl Accelerator {
    /// Whether two runs are identical.
    pub const fn is_exact(self) -> bool {
        matches!(self, Self::TcgExact)
    }
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TcgExact => "tcg, exact",
            Self::TcgMulti => "tcg, multi-threaded",
            Self::TcgSingle => "tcg, one thread",
            Self::TcgCounted => "tcg, one thread, counting instructions",
            Self::Kvm => "kvm",
        })
    }
}
