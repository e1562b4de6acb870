// SPDX-License-Identifier: GPL-2.0-or-later
//! What is in a virtual machine beside its kernel: our init, busybox, exactly the programs and
//! modules that are asked for, and one job.
//!
//! The job is a script of busybox's shell. It runs in `/results`; what lies there when it ends,
//! with its output in `job.log`, comes back to the host. [`crate::vm`] runs the machine.
//! `lab/guest/init.c` is the other side of what is written here.
//!
//! The rule: same requests, same bytes. An initramfs that differs makes a run that differs.

mod busybox;
mod compile;
mod cpio;
mod elf;
mod error;
pub(crate) mod modules;
mod programs;

pub use compile::compile_program;
pub use error::GuestError;

use std::path::{Path, PathBuf};

use crate::Lab;
use crate::kernel::{Arch, Kernel};
use crate::own;
use cpio::{Archive, Node};
use modules::Modules;
use programs::System;

/// Directories that init mounts on or busybox fills; the rest appears with what is put there.
const DIRECTORIES: [&str; 8] =
    ["/bin", "/dev", "/proc", "/results", "/run", "/sys", "/tmp", "/etc/irqpath"];
const PROGRAMS: &str = "/usr/bin";
const MODULES: &str = "/lib/modules";

/// What a guest is to contain. Nothing is looked up before [`Guest::build`].
///
/// ```no_run
/// # use irqpath_lab::{Lab, guest::Guest, vm::Machine};
/// # use irqpath_lab::kernel::{Arch, Flavour, Kernel};
/// # fn example(lab: &Lab) -> Result<(), Box<dyn std::error::Error>> {
/// let kernel = Kernel::provide(lab, Flavour::StockRt, Arch::X86_64)?;
/// let guest = Guest::new(&kernel)
///     .program("cyclictest")
///     .job("cyclictest -q -p 80 -l 1000 -i 1000 > cyclictest.txt")
///     .build(lab)?;
/// let outcome = Machine::exact(&kernel).run(lab, &guest)?.require_success()?;
/// print!("{}", outcome.results.file_text("cyclictest.txt")?);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Guest {
    arch: Arch,
    root: PathBuf,
    kernel_modules: Vec<PathBuf>,
    job: String,
    sysctls: Vec<(String, String)>,
    requests: Vec<Request>,
}

#[derive(Debug, Clone)]
enum Request {
    Program(String),
    ProgramFile { name: String, path: PathBuf },
    OwnProgram(String),
    Selftest { kernel: PathBuf, test: String },
    File { place: String, from: PathBuf, mode: u32 },
    Text { place: String, text: String, mode: u32 },
    ModuleFile { path: PathBuf, parameters: String },
    Module { name: String, parameters: String },
}

/// A guest, ready to be run.
#[derive(Debug, Clone)]
pub struct Initramfs {
    /// The machine that it is for.
    pub arch: Arch,
    /// The archive, not compressed: unpacking would take the guest longer than reading.
    pub bytes: Vec<u8>,
}

impl Guest {
    /// A guest for this kernel that does nothing yet. Programs are those of this system.
    pub fn new(kernel: &Kernel) -> Self {
        Self { kernel_modules: kernel.modules.clone(), ..Self::without_modules(kernel.arch) }
    }

    /// A guest for any kernel of this machine.
    pub(crate) fn without_modules(arch: Arch) -> Self {
        Self {
            arch,
            root: PathBuf::from("/"),
            kernel_modules: Vec::new(),
            job: String::new(),
            sysctls: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// Takes programs from a directory with unpacked packages instead of from this system.
    pub fn system(mut self, root: &Path) -> Self {
        root.clone_into(&mut self.root);
        self
    }

    /// The script to run, in busybox's shell and in `/results`.
    pub fn job(mut self, script: &str) -> Self {
        script.clone_into(&mut self.job);
        self
    }

    /// A program of the system, by name or path, with its shared libraries; in `/usr/bin`.
    pub fn program(self, name: &str) -> Self {
        self.push_request(Request::Program(name.into()))
    }

    /// A program in a file of this host, with its shared libraries; in `/usr/bin` under a name
    /// of its own, because the file may have been copied or renamed here.
    pub fn program_file(self, name: &str, path: &Path) -> Self {
        self.push_request(Request::ProgramFile { name: name.into(), path: path.into() })
    }

    /// A program of ours, compiled from `lab/guest/NAME.c`; in `/usr/bin`.
    pub fn own_program(self, name: &str) -> Self {
        self.push_request(Request::OwnProgram(name.into()))
    }

    /// A selftest of the kernel, `DIRECTORY/.../NAME`, in the same place below `/selftests`, from a
    /// source of the kernel.
    pub fn selftest(self, kernel: &Path, test: &str) -> Self {
        self.push_request(Request::Selftest { kernel: kernel.into(), test: test.into() })
    }

    /// A file of this host at an absolute path in the guest, with permission bits.
    pub fn file(self, place: &str, from: &Path, mode: u32) -> Self {
        self.push_request(Request::File { place: place.into(), from: from.into(), mode })
    }

    /// A text at an absolute path in the guest, with permission bits.
    pub fn text(self, place: &str, text: &str, mode: u32) -> Self {
        self.push_request(Request::Text { place: place.into(), text: text.into(), mode })
    }

    /// A kernel module in a file; init loads it, in the order of these calls, before the job.
    pub fn module_file(self, path: &Path, parameters: &str) -> Self {
        self.push_request(Request::ModuleFile { path: path.into(), parameters: parameters.into() })
    }

    /// A module that the kernel comes with ([`Kernel::modules`]), and those that it needs before
    /// it; loaded like [`Guest::module_file`].
    pub fn module(self, name: &str, parameters: &str) -> Self {
        self.push_request(Request::Module { name: name.into(), parameters: parameters.into() })
    }

    /// A kernel setting that init makes before the job: `kernel.sched_rt_runtime_us`, `-1`.
    pub fn sysctl(mut self, name: &str, value: &str) -> Self {
        self.sysctls.push((name.replace('.', "/"), value.to_owned()));
        self
    }

    fn push_request(mut self, request: Request) -> Self {
        self.requests.push(request);
        self
    }

    /// Looks everything up and makes the initramfs.
    ///
    /// # Errors
    /// If something is not there, or is for another machine.
    pub fn build(&self, lab: &Lab) -> Result<Initramfs, GuestError> {
        let mut build = Build::new(lab, self);
        for directory in DIRECTORIES {
            build.archive.put_node(directory, Node::Directory);
        }
        build.archive.put_node("/dev/console", Node::Device(5, 1));
        let init = compile_program(lab, self.arch, "init")?;
        build.copy_file("/init", &init, 0o755)?;
        for request in &self.requests {
            build.fulfil_request(request)?;
        }
        build.add_busybox()?;
        build.add_settings(self);
        let written = GuestError::at(Path::new("the initramfs"), "write");
        let bytes = build.archive.to_bytes().map_err(written)?;
        Ok(Initramfs { arch: self.arch, bytes })
    }
}

/// An initramfs in the making.
struct Build<'a> {
    lab: &'a Lab,
    system: System,
    arch: Arch,
    kernel_modules: Modules,
    archive: Archive,
    /// Lines for init: path, space, parameters.
    modules: String,
}

impl<'a> Build<'a> {
    fn new(lab: &'a Lab, guest: &Guest) -> Self {
        let system = System::at(&guest.root, guest.arch);
        let kernel_modules = Modules::from_files(&guest.kernel_modules);
        let (archive, modules) = (Archive::default(), String::new());
        Self { lab, system, arch: guest.arch, kernel_modules, archive, modules }
    }

    fn fulfil_request(&mut self, request: &Request) -> Result<(), GuestError> {
        match request {
            Request::Program(name) => {
                let path = self.system.find_program(name)?;
                self.add_program(&path.file_name().unwrap_or_default().to_string_lossy(), &path)
            }
            Request::ProgramFile { name, path } => self.add_program(name, path),
            Request::OwnProgram(name) => {
                let path = compile_program(self.lab, self.arch, name)?;
                self.copy_file(&format!("{PROGRAMS}/{name}"), &path, 0o755)
            }
            Request::Selftest { kernel, test } => {
                let path = compile::compile_selftest(self.lab, self.arch, kernel, test)?;
                self.copy_file(&format!("/selftests/{test}"), &path, 0o755)
            }
            Request::File { place, from, mode } => self.copy_file(place, from, *mode),
            Request::Text { place, text, mode } => {
                self.archive.put_node(place, Node::File(*mode, text.clone().into_bytes()));
                Ok(())
            }
            Request::ModuleFile { path, parameters } => {
                let none = || GuestError::NoModule { name: path.display().to_string() };
                let name = modules::module_name(path).ok_or_else(none)?;
                self.add_module(&name, modules::read_module(path)?, parameters);
                Ok(())
            }
            Request::Module { name, parameters } => {
                let mut chain = self.kernel_modules.with_dependencies(name)?;
                let own = chain.pop().map(|module| (module, parameters.as_str()));
                let needed = chain.into_iter().map(|module| (module, ""));
                for ((name, data), parameters) in needed.chain(own) {
                    self.add_module(&name, data, parameters);
                }
                Ok(())
            }
        }
    }

    fn add_program(&mut self, name: &str, path: &Path) -> Result<(), GuestError> {
        self.copy_file(&format!("{PROGRAMS}/{name}"), path, 0o755)?;
        for (place, from) in self.system.find_libraries(path)? {
            self.copy_file(&place, &from, 0o755)?;
        }
        Ok(())
    }

    fn add_module(&mut self, name: &str, data: Vec<u8>, parameters: &str) {
        let place = format!("{MODULES}/{name}.ko");
        if !self.archive.has_path(&place) {
            self.modules.extend([&place, " ", parameters, "\n"]);
            self.archive.put_node(&place, Node::File(0o644, data));
        }
    }

    fn copy_file(&mut self, place: &str, from: &Path, mode: u32) -> Result<(), GuestError> {
        let data = own::read(from).map_err(GuestError::at(from, "read"))?;
        self.archive.put_node(place, Node::File(mode, data));
        Ok(())
    }

    fn add_busybox(&mut self) -> Result<(), GuestError> {
        let path = busybox::provide_busybox(self.lab, self.arch)?;
        self.copy_file("/bin/busybox", &path, 0o755)?;
        self.archive.put_node("/bin/sh", Node::Link("busybox".into()));
        Ok(())
    }

    fn add_settings(&mut self, guest: &Guest) {
        let line = |(name, value): &(String, String)| format!("{name} {value}\n");
        let sysctls: String = guest.sysctls.iter().map(line).collect();
        let modules = std::mem::take(&mut self.modules);
        for (place, text) in [
            ("/job", guest.job.clone()),
            ("/etc/irqpath/modules", modules),
            ("/etc/irqpath/sysctl", sysctls),
        ] {
            self.archive.put_node(place, Node::File(0o644, text.into_bytes()));
        }
    }
}
