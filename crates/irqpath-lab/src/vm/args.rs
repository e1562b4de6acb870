// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's command line. Pure: what is decided here decides whether two runs are the same.
//!
//! Why each flag of mode exact is there:
//!
//! * `thread=single -smp 1`: two virtual CPUs take turns by host time.
//! * `-icount shift=0,sleep=off`: one instruction is one nanosecond, 16 with shift 4; idle time is
//!   skipped, not waited for.
//! * `rr=record,rrfile=/dev/null`: what is recorded is of no use here, but recording takes a lock
//!   that keeps QEMU's main loop from skipping idle time while the virtual CPU is on its way to
//!   halt: it would skip to a timer's time plus what that CPU had not yet accounted, once in some
//!   hundred thousand timers and by the host's chance. Costs 15 % more time.
//! * the processor of QEMU 7.2: each QEMU has more features in `max`, and the kernel takes other ways
//!   through them (`fsrm`: copies by `rep movsb` alone), so that paths had other lengths.
//!   `rdrand` and `rdseed`, moreover, hand host randomness to the guest.
//! * `-rtc clock=vm,base=...`, `-seed 1`: the date and QEMU's own random numbers.
//! * console to a file and not to a pipe: a full pipe would delay the serial port's interrupts.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::{Accelerator, Machine, Mode, jail};
use crate::kernel::Arch;

/// What a run adds to what the [`Machine`] says.
pub struct Run<'a> {
    /// Who executes the guest's instructions.
    pub accelerator: Accelerator,
    /// The image as QEMU shall load it.
    pub kernel: &'a Path,
    pub initramfs: &'a Path,
    /// Where the console goes; on this terminal if there is none.
    pub console: Option<&'a Path>,
    /// Memory shared with the guest, if results are wanted.
    pub results: Option<&'a Path>,
    /// Number of the inherited socket for questions to QEMU. A socket with a name would be open to
    /// other users, and whoever reaches it can have QEMU run programs and write files.
    pub control: Option<i32>,
    /// The guest's disk, which QEMU writes.
    pub disk: Option<&'a Path>,
    /// The plugin as QEMU shall load it, and its arguments.
    pub plugin: Option<(&'a Path, &'a str)>,
    /// True if this QEMU can filter its own system calls.
    pub sandbox: bool,
    /// The rate of the TSC that the guest sees, if it shall not measure it.
    pub tsc_khz: Option<u64>,
}

pub fn build_arguments(machine: &Machine, run: &Run) -> Vec<OsString> {
    let mut args = Args::default();
    args.push_pair("-machine", board_argument(machine));
    args.push_pair("-cpu", cpu_model(machine.arch, run.accelerator));
    push_accelerator(&mut args, machine, run.accelerator);
    args.push_pair("-m", machine.memory_mib.to_string());
    if run.sandbox {
        args.push_pair("-sandbox", jail::SANDBOX);
    }
    for flag in ["-nodefaults", "-no-user-config", "-no-reboot"] {
        args.push_flag(flag);
    }
    args.push_pair("-nic", "none");
    args.push_pair("-display", "none");
    push_console(&mut args, run);
    if let Some(path) = run.results {
        args.push_path("-object", &results_backend(machine), path, "");
        args.push_pair("-device", "ivshmem-plain,memdev=results");
    }
    if machine.devices.hpet && machine.arch == Arch::X86_64 {
        // The board routes it to IRQ 2 only, which the kernel's driver does not take. These are
        // the lines of QEMU's newer boards: 16 to 23, and 8 and 2.
        args.push_pair("-global", "hpet.hpet-intcap=0xff0104");
    }
    if machine.devices.edu {
        args.push_pair("-device", "edu");
    }
    if machine.devices.nics {
        for end in ["a", "b"] {
            args.push_pair("-netdev", format!("hubport,hubid=0,id={end}"));
            args.push_pair(
                "-device",
                // A packet leaves in virtual time. Otherwise QEMU's main loop would send it, for
                // which time that jumps from event to event does not wait.
                format!(
                    "virtio-net-pci,netdev={end},mac=52:54:00:00:00:0{end},romfile=,\
                     ioeventfd=off,tx=timer"
                ),
            );
        }
    }
    if let Some(path) = run.disk {
        args.push_path(
            "-drive",
            "if=none,id=disk,format=raw,cache=unsafe,file.locking=off,file.filename=",
            path,
            "",
        );
        args.push_pair("-device", "virtio-blk-pci,drive=disk");
    }
    if let Some(fd) = run.control {
        args.push_pair("-chardev", format!("socket,id=control,fd={fd}"));
        args.push_pair("-mon", "chardev=control,mode=control");
    }
    if let Some((path, plugin_args)) = run.plugin {
        args.push_path("-plugin", "", path, &format!(",{plugin_args}"));
    }
    args.push_path("-kernel", "", run.kernel, "");
    args.push_path("-initrd", "", run.initramfs, "");
    args.push_pair("-append", kernel_parameters(machine, run));
    args.0
}

fn board_argument(machine: &Machine) -> String {
    match machine.arch {
        Arch::X86_64 => {
            let hpet = if machine.devices.hpet { "on" } else { "off" };
            format!("pc,usb=off,smbus=off,vmport=off,hpet={hpet}")
        }
        Arch::Arm64 => "virt,gic-version=3,highmem=off".to_owned(),
    }
}

/// What `max` of later QEMUs has, without what that of 7.2 did not have. Leaf 7.1 and the leaves above
/// 0x8000000a came later as a whole.
const QEMU_7_2_MAX: &str = "max,family=15,model=107,stepping=1,level-func7=0,xlevel=0x8000000a,\
    -rdrand,-rdseed,-fsrm,-rdpid,-sha-ni,-wbnoinvd,-x2apic,-xsaveerptr,-cmp-legacy,-3dnowprefetch";

fn cpu_model(arch: Arch, accelerator: Accelerator) -> &'static str {
    match (arch, accelerator) {
        (_, Accelerator::Kvm) => "host",
        (Arch::X86_64, _) => QEMU_7_2_MAX,
        (Arch::Arm64, _) => "cortex-a57",
    }
}

fn push_accelerator(args: &mut Args, machine: &Machine, accelerator: Accelerator) {
    match machine.mode {
        Mode::Exact => args.push_pair("-smp", "1"),
        Mode::Smp { cpus } | Mode::Turns { cpus } | Mode::Counted { cpus } => {
            args.push_pair("-smp", cpus.to_string());
        }
    }
    let shift = machine.instruction.shift();
    match accelerator {
        Accelerator::TcgExact => {
            args.push_pair("-accel", "tcg,thread=single");
            let counts = format!("shift={shift},sleep=off,rr=record,rrfile=/dev/null");
            args.push_pair("-icount", counts);
            args.push_pair("-rtc", "clock=vm,base=2020-01-01");
            args.push_pair("-seed", "1");
        }
        Accelerator::TcgMulti => args.push_pair("-accel", "tcg,thread=multi"),
        Accelerator::TcgSingle => args.push_pair("-accel", "tcg,thread=single"),
        // Recording is for one virtual CPU only.
        Accelerator::TcgCounted => {
            args.push_pair("-accel", "tcg,thread=single");
            args.push_pair("-icount", format!("shift={shift},sleep=off"));
            args.push_pair("-rtc", "clock=vm,base=2020-01-01");
            args.push_pair("-seed", "1");
        }
        Accelerator::Kvm => args.push_pair("-accel", "kvm"),
    }
}

fn push_console(args: &mut Args, run: &Run) {
    if let Some(path) = run.console {
        args.push_path("-chardev", "file,id=console,path=", path, "");
    } else {
        // Ctrl-a x ends it, Ctrl-c belongs to the guest.
        args.push_pair("-chardev", "stdio,id=console,mux=on,signal=off");
        args.push_pair("-mon", "chardev=console,mode=readline");
    }
    args.push_pair("-serial", "chardev:console");
}

fn results_backend(machine: &Machine) -> String {
    let size = machine.result_mib;
    format!("memory-backend-file,id=results,share=on,size={size}M,mem-path=")
}

/// The kernel's command line.
///
/// * `nokaslr randomize_kstack_offset=off`: addresses and stack depths must repeat.
/// * `tsc=reliable`: no watchdog that compares clocks.
/// * `tsc_early_khz=`: see [`super::tsc`].
/// * `panic=-1`: restart at once, which `-no-reboot` turns into an end.
/// * `loglevel=5`: warnings are on the console, where [`super::splat`] looks for them, and
///   nothing less is, because each byte costs instructions.
fn kernel_parameters(machine: &Machine, run: &Run) -> String {
    let mut words = vec![match machine.arch {
        Arch::X86_64 => "console=ttyS0".to_owned(),
        Arch::Arm64 => "console=ttyAMA0".to_owned(),
    }];
    words.extend(["panic=-1", "loglevel=5"].map(str::to_owned));
    if run.accelerator == Accelerator::TcgExact {
        words.extend(["nokaslr", "randomize_kstack_offset=off"].map(str::to_owned));
    }
    let counts = matches!(run.accelerator, Accelerator::TcgExact | Accelerator::TcgCounted);
    if counts && machine.arch == Arch::X86_64 {
        words.push("tsc=reliable".to_owned());
    }
    words.extend(run.tsc_khz.map(|khz| format!("tsc_early_khz={khz}")));
    words.extend(
        machine.limit_guest.map(|limit| format!("irqpath.limit_s={}", whole_seconds(limit))),
    );
    if run.results.is_none() {
        words.push("irqpath.shell".to_owned());
    }
    words.extend(machine.append.split_whitespace().map(str::to_owned));
    words.join(" ")
}

/// Whole seconds, at least one.
fn whole_seconds(limit: Duration) -> u64 {
    limit.as_secs().max(1)
}

#[derive(Default)]
struct Args(Vec<OsString>);

impl Args {
    fn push_flag(&mut self, flag: &str) {
        self.0.push(flag.into());
    }

    fn push_pair(&mut self, flag: &str, value: impl Into<String>) {
        self.0.push(flag.into());
        self.0.push(value.into().into());
    }

    fn push_path(&mut self, flag: &str, before: &str, path: &Path, after: &str) {
        let mut value = OsString::from(before);
        value.push(path);
        value.push(after);
        self.0.push(flag.into());
        self.0.push(value);
    }
}
