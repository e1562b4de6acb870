// SPDX-License-Identifier: GPL-2.0-or-later
//! Starts QEMU, watches it until it ends or must be ended, and collects what is left.
//!
//! The rule: nothing outlives this process. QEMU gets a signal when the thread that started it
//! dies (`setpriv --pdeathsig`), and every file and socket between the two has no name.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::control::Monitor;
use super::inherit::Inherited;
use super::memory::Memory;
use super::outcome::{Evidence, Forced, Outcome};
use super::result::{HEAD_LEN, Head, ResultError, Results, State};
use super::{
    Accelerator, Machine, PluginUse, VmError, args, breakpoint, direct, jail, tsc, version,
};
use crate::Lab;
use crate::guest::Initramfs;
use crate::own;

/// A guest that has been silent for so long may be caught in an error of QEMU's.
const SILENCE: Duration = Duration::from_secs(20);
/// How often the console and the limit are looked at; the end of QEMU is noticed at once.
const GLANCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// QEMU says so and then waits for a person to look at its state.
const KVM_GAVE_UP: &str = "KVM internal error";

/// Everything that this process and QEMU share.
struct Shared {
    initramfs: Memory,
    console: Memory,
    results: Memory,
    messages: Memory,
    recording: Memory,
    control: UnixStream,
}

/// Boots the guest and waits for its end. One that an error of QEMU ended, and one whose job asks
/// for it, is booted again.
pub fn run_guest(
    lab: &Lab,
    machine: &Machine,
    guest: &Initramfs,
    accelerator: Accelerator,
) -> Result<Outcome, VmError> {
    /// Three errors of QEMU in a row were seen, beside other guests.
    const BOOTS_MAX: u32 = 5;
    let mut outcome = boot_once(lab, machine, guest, accelerator)?;
    while let Some(why) = find_reason_to_repeat(machine, accelerator, &outcome)
        && outcome.nr_boots < BOOTS_MAX
    {
        lab.progress.print_note(&format!("{why}; once more"));
        let nr_boots = outcome.nr_boots + 1;
        outcome = Outcome { nr_boots, ..boot_once(lab, machine, guest, accelerator)? };
    }
    Ok(outcome)
}

/// Why what a guest left does not count, if it does not.
fn find_reason_to_repeat(
    machine: &Machine,
    accelerator: Accelerator,
    outcome: &Outcome,
) -> Option<&'static str> {
    if outcome.met_breakpoint() && version::keeps_stale_breakpoints(machine.arch, accelerator) {
        return Some("QEMU executed a breakpoint that was gone (mended in 8.1)");
    }
    outcome.job_gave_up().then_some("the job asks for another boot")
}

fn boot_once(
    lab: &Lab,
    machine: &Machine,
    guest: &Initramfs,
    accelerator: Accelerator,
) -> Result<Outcome, VmError> {
    let kernel = direct::choose_image(lab, machine, accelerator)?;
    let (ours, theirs) = UnixStream::pair().map_err(VmError::at("control".as_ref(), "make"))?;
    let shared = Shared::new(machine, guest, ours)?;
    let mut inherited = Inherited::default();
    let plugin = match &machine.plugin {
        Some(plugin) => Some(load_plugin(plugin, &shared, &mut inherited)?),
        None => None,
    };
    let disk = machine.disk.as_ref().map(|disk| inherited.add_disk(disk)).transpose()?;
    let run = args::Run {
        accelerator,
        kernel: &inherited.add_file(&kernel)?,
        initramfs: &inherited.add_memory(&shared.initramfs)?,
        console: Some(&inherited.add_memory(&shared.console)?),
        results: Some(&inherited.add_memory(&shared.results)?),
        control: Some(inherited.add_fd(theirs.into())),
        disk: disk.as_deref(),
        plugin: plugin.as_ref().map(|(library, arguments)| (library.as_path(), arguments.as_str())),
        sandbox: jail::has_sandbox(machine.arch),
        tsc_khz: tsc::known_khz(machine, accelerator),
    };
    let mut command = qemu_command(machine, &run, &shared)?;
    inherited.hand_to(&mut command);
    let start = Instant::now();
    let mut qemu = Qemu::start(&mut command)?;
    drop(command); // and with it QEMU's end of the socket: its death is seen
    let may_be_stale = version::keeps_stale_breakpoints(machine.arch, accelerator);
    let forced = watch_guest(&mut qemu, machine, &shared, start, may_be_stale)?;
    let status = qemu.end()?;
    let wall = start.elapsed();
    if forced.is_none() && !status.success() {
        return Err(describe_failure(machine, &shared.messages, status));
    }
    if let Some(plugin) = &machine.plugin {
        keep_recording(&shared.recording, &plugin.out)?;
    }
    collect_outcome(&shared, machine, forced, wall, accelerator)
}

/// The plugin and its arguments for a QEMU that can open nothing by name.
fn load_plugin(
    plugin: &PluginUse,
    shared: &Shared,
    inherited: &mut Inherited,
) -> Result<(PathBuf, String), VmError> {
    let (library, out) =
        (inherited.add_file(&plugin.library)?, inherited.add_memory(&shared.recording)?);
    Ok((library, format!("out={},{}", out.display(), plugin.arguments)))
}

/// Copies what a plugin left. One that was ended by force left nothing.
fn keep_recording(recording: &Memory, out: &Path) -> Result<(), VmError> {
    if recording.len().map_err(VmError::at("recording".as_ref(), "read"))? == 0 {
        return Ok(());
    }
    let copied = own::create(out).and_then(|mut file| recording.copy_to(&mut file));
    copied.map_err(VmError::at(out, "write"))
}

impl Shared {
    fn new(machine: &Machine, guest: &Initramfs, control: UnixStream) -> Result<Self, VmError> {
        let memory = |e| VmError::at("memory".as_ref(), "reserved")(e);
        Ok(Self {
            initramfs: Memory::with("initramfs", &guest.bytes).map_err(memory)?,
            console: Memory::new("console").map_err(memory)?,
            results: Memory::zeroed("results", result_bytes(machine)).map_err(memory)?,
            messages: Memory::new("messages").map_err(memory)?,
            recording: Memory::new("recording").map_err(memory)?,
            control,
        })
    }
}

fn result_bytes(machine: &Machine) -> u64 {
    u64::from(machine.result_mib) << 20
}

fn qemu_command(machine: &Machine, run: &args::Run, shared: &Shared) -> Result<Command, VmError> {
    let messages =
        || shared.messages.clone_handle().map_err(VmError::at("memory".as_ref(), "shared"));
    let mut command = jail::qemu_command(machine.arch, run.accelerator);
    command.args(args::build_arguments(machine, run)).stdin(Stdio::null());
    command.stdout(messages()?).stderr(messages()?);
    Ok(command)
}

/// A QEMU that is ended when this is dropped.
pub struct Qemu(Child);

impl Qemu {
    pub fn start(command: &mut Command) -> Result<Self, VmError> {
        let no_program =
            |source| VmError::NoProgram { program: "setpriv", package: "util-linux", source };
        command.spawn().map(Self).map_err(no_program)
    }

    /// Waits at most one glance; true if it has ended.
    fn has_ended(&self) -> Result<bool, VmError> {
        let io = |e: rustix::io::Errno| VmError::at("QEMU".as_ref(), "watch")(e.into());
        let pid = Pid::from_child(&self.0);
        let fd = pidfd_open(pid, PidfdFlags::empty()).map_err(io)?;
        let mut fds = [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)];
        match poll(&mut fds, Some(&GLANCE)) {
            Ok(nr) => Ok(nr > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(e) => Err(io(e)),
        }
    }

    /// Ends it if it runs, and says how it ended.
    pub fn end(&mut self) -> Result<ExitStatus, VmError> {
        if let Ok(Some(status)) = self.0.try_wait() {
            return Ok(status);
        }
        let result = self.0.kill().and_then(|()| self.0.wait());
        result.map_err(VmError::at("QEMU".as_ref(), "ended"))
    }

    /// Waits until it ends by itself.
    pub fn wait(&mut self) -> Result<ExitStatus, VmError> {
        self.0.wait().map_err(VmError::at("QEMU".as_ref(), "watch"))
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.end();
    }
}

/// Waits for the end; what was seen of a guest that did not end in time.
fn watch_guest(
    qemu: &mut Qemu,
    machine: &Machine,
    shared: &Shared,
    start: Instant,
    may_be_stale: bool,
) -> Result<Option<Forced>, VmError> {
    let mut said = 0;
    let (mut last_word, mut last_look) = (start, start);
    let mut monitor = Monitor::new(&shared.control);
    while !qemu.has_ended()? {
        let len = shared.console.len().unwrap_or(said);
        if len != said {
            (said, last_word) = (len, Instant::now());
            last_look = last_word;
        }
        if shared.messages.read_text().is_ok_and(|text| text.contains(KVM_GAVE_UP)) {
            let log = format!("{KVM_GAVE_UP}; this host's KVM does not run this kernel");
            return Err(VmError::Qemu { log });
        }
        if start.elapsed() >= machine.limit_host {
            return Ok(Some(monitor.inspect_cpus(last_word.elapsed())));
        }
        if may_be_stale && last_look.elapsed() >= SILENCE {
            last_look = Instant::now();
            // A QEMU that does not answer is waited for.
            if breakpoint::is_stale(&mut monitor).unwrap_or(false) {
                let forced = monitor.inspect_cpus(last_word.elapsed());
                return Ok(Some(Forced { stale_breakpoint: true, ..forced }));
            }
        }
    }
    Ok(None)
}

fn describe_failure(machine: &Machine, messages: &Memory, status: ExitStatus) -> VmError {
    /// What `setpriv` ends with when there is no such program.
    const NOT_FOUND: i32 = 127;
    if status.code() == Some(NOT_FOUND) {
        let (program, package) =
            (version::program_name(machine.arch), version::package_name(machine.arch));
        let source = io::ErrorKind::NotFound.into();
        return VmError::NoProgram { program, package, source };
    }
    let text = messages.read_text().unwrap_or_default();
    let log = text.trim().lines().last().map_or_else(|| status.to_string(), str::to_owned);
    VmError::Qemu { log }
}

fn collect_outcome(
    shared: &Shared,
    machine: &Machine,
    forced: Option<Forced>,
    wall: Duration,
    accelerator: Accelerator,
) -> Result<Outcome, VmError> {
    let read = |from, len| {
        shared.results.read_range(from, len).map_err(VmError::at("results".as_ref(), "read"))
    };
    let head = match Head::parse(&read(0, HEAD_LEN)?) {
        Err(ResultError::Missing) => None,
        parsed => Some(parsed?),
    };
    let results = match head.filter(|head| head.state == State::Complete) {
        None => Results::default(),
        Some(head) => {
            let len = head.length.min(result_bytes(machine));
            Results::parse(&head, &read(HEAD_LEN as u64, len as usize)?)?
        }
    };
    let console = shared.console.read_text().map_err(VmError::at("console".as_ref(), "read"))?;
    Ok(Outcome::from_evidence(Evidence { console, head, results, forced, wall, accelerator }))
}
