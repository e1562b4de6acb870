// SPDX-License-Identifier: GPL-2.0-or-later
//! Boots a kernel with the module and the test scripts, its own and the kernel's selftests of
//! irqpath, and judges what they printed.

use std::env;
use std::path::Path;
use std::time::Duration;

use irqpath_lab::Lab;
use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour, Kernel, module};
use irqpath_lab::vm::{Devices, Machine, Outcome};

use super::ktap::{self, Verdict};
use irqpath_testing::guests;

/// Set to 1 it asks for what takes long: to build kernels and to run them.
const DEBUG: &str = "IRQPATH_DEBUG";
/// The same for the kernel of our own that is of today.
const NEWEST: &str = "IRQPATH_7X";
/// Places in the project, and in the guest: scripts find each other by them.
const MODULE: &str = "kernel/module/intsight";
const SELFTESTS: &str = "kernel/overlay/tools/testing/selftests/irqpath";
const ABI: &str = "kernel/overlay/Documentation/ABI/testing";
/// Programs of `lab/guest` that the scripts use.
const PROGRAMS: [&str; 16] = [
    "devmemory",
    "devmisuse",
    "devsegment",
    "devwaits",
    "fifo",
    "harass",
    "netjob",
    "netping",
    "netsend",
    "netserver",
    "netsink",
    "pipelock",
    "prio",
    "taps",
    "tracer",
    "waiter",
];

/// A lab and a kernel.
pub struct Scene {
    lab: Lab,
    pub kernel: Kernel,
}

impl Scene {
    /// With this kernel; `None` after saying why there is none.
    pub fn with(flavour: Flavour, arch: Arch) -> Option<Self> {
        if flavour.checks_itself() && env::var_os(DEBUG).is_none_or(|v| v != "1") {
            println!("skipped: intsight on {flavour}: {DEBUG}=1 builds and runs it, half an hour");
            return None;
        }
        if flavour.is_newest_own() && env::var_os(NEWEST).is_none_or(|v| v != "1") {
            println!(
                "skipped: intsight on {flavour}: {NEWEST}=1 builds and runs it, a quarter of an hour"
            );
            return None;
        }
        let (lab, kernel) = guests::provide_kernel(flavour, arch)?;
        Some(Self { lab, kernel })
    }

    /// Mode exact: waiting costs nothing, and a test that passes once passes always.
    pub fn exact(&self) -> Machine {
        Machine { devices: self.devices(), ..Machine::exact(&self.kernel) }
    }

    /// Two CPUs: what only happens if two things happen at once.
    pub fn smp(&self) -> Machine {
        self.two(Machine::smp(&self.kernel, 2))
    }

    /// Two CPUs that take turns, for kernels that patch themselves all the time.
    pub fn turns(&self) -> Machine {
        self.two(Machine::turns(&self.kernel, 2))
    }

    fn two(&self, machine: Machine) -> Machine {
        // On a busy host the timer's interrupt may come too late for that check.
        Machine { devices: self.devices(), ..machine.append_parameters("no_timer_check") }
    }

    /// Not for the kernel that checks itself: each load enables the device, for which ACPI tells
    /// how its interrupts are wired, and under KASAN that takes half a minute of the guest.
    fn devices(&self) -> Devices {
        let edu = !self.kernel.flavour.checks_itself();
        // For what only our kernels do with them.
        let nics = self.kernel.flavour.has_policies();
        Devices { edu, nics, ..Devices::default() }
    }

    /// False, said aloud, where what builds the module cannot be had.
    pub fn has_module(&self) -> bool {
        guests::build_intsight(&self.lab, &self.kernel).is_some()
    }

    /// Runs the module's scripts with these shell variables (`TESTS` chooses, all without it) and
    /// fails if one of their tests does.
    pub fn run(&self, machine: Machine, variables: &str) {
        check(self.module_tests(machine, variables));
    }

    /// The same for tests after which the kernel must have complained of this, and of nothing else.
    pub fn run_into(&self, complaint: &str, machine: Machine, variables: &str) {
        let splats = self.module_tests(machine, variables).splats;
        let titles: Vec<_> = splats.into_iter().map(|splat| splat.title).collect();
        assert!(matches!(&titles[..], [one] if one.contains(complaint)), "{titles:?}");
    }

    fn module_tests(&self, machine: Machine, variables: &str) -> Outcome {
        let source = self.lab.project.module_source("intsight");
        let built = module::build_module(&self.lab, &self.kernel, &source, &[]).unwrap();
        let guest = self.guest().file(&format!("/{MODULE}/intsight.ko"), &built, 0o644);
        let guest = PROGRAMS.iter().fold(guest, |guest, name| guest.own_program(name));
        self.outcome(machine, guest, &format!("{MODULE}/tests/run.sh"), variables)
    }

    /// Runs one of the kernel's selftests of irqpath, as a machine without this lab does.
    pub fn selftest(&self, machine: Machine, script: &str) {
        // The system's: Debian's busybox has none.
        let guest = self.guest().program("chrt").program("setpriv");
        check(self.outcome(machine, guest, &format!("{SELFTESTS}/{script}"), ""));
    }

    fn outcome(&self, machine: Machine, guest: Guest, script: &str, variables: &str) -> Outcome {
        let machine = Machine {
            // On two quiet cores a minute is enough; other tests may make this host slow.
            limit_host: Duration::from_secs(3000),
            ..machine
        };
        // For who looks into one of them: IRQPATH_TESTS=... cargo test.
        let chosen = env::var("IRQPATH_TESTS").map(|tests| format!(" TESTS='{tests}'"));
        let variables = format!("{variables}{}", chosen.unwrap_or_default());
        let guest = guest.job(&format!("{variables} sh /{script}"));
        let outcome = machine.run(&self.lab, &guest.build(&self.lab).unwrap()).unwrap();
        judge(&self.kernel, &outcome);
        outcome
    }

    /// With all scripts, and with what they read, in the places that they have in the project.
    fn guest(&self) -> Guest {
        let kernel = self.lab.project.kernel();
        [&format!("{MODULE}/tests"), SELFTESTS, ABI].iter().fold(
            Guest::new(&self.kernel),
            |guest, directory| {
                let below = Path::new(directory).strip_prefix("kernel").unwrap();
                let files = kernel.join(below).read_dir().unwrap();
                files.fold(guest, |guest, file| {
                    let path = file.unwrap().path();
                    let name = path.file_name().unwrap().to_string_lossy().into_owned();
                    guest.file(&format!("/{directory}/{name}"), &path, 0o755)
                })
            },
        )
    }
}

/// A script that failed without a test that did, or a complaint of the kernel.
fn check(outcome: Outcome) {
    outcome.require_success().unwrap_or_else(|error| panic!("{error}\n{}", error.log()));
}

/// Fails with the tests that failed and what they said.
fn judge(kernel: &Kernel, outcome: &Outcome) {
    let log = outcome.results.job_log();
    let tests = ktap::parse(&log).unwrap_or_else(|why| {
        let complaint = outcome.splats.first().map_or("", |splat| splat.title.as_str());
        panic!("{}: {why}; {}; {complaint}\n{log}", kernel.release, outcome.ending)
    });
    let with = |verdict: Verdict| tests.iter().filter(move |test| test.verdict == verdict);
    for test in with(Verdict::Skipped) {
        println!("skipped: {} on {}: {}", test.name, kernel.release, test.notes.join("; "));
    }
    let failed: Vec<_> =
        with(Verdict::Failed).map(|t| format!("{}: {}", t.name, t.notes.join("\n"))).collect();
    assert!(failed.is_empty(), "{}, {}", kernel.release, failed.join("\n"));
    let passed = with(Verdict::Passed).count();
    assert!(passed > 0, "{}: no test ran", kernel.release);
    let (wall, guest) = (outcome.wall.as_secs_f64(), outcome.job_ns.unwrap_or(0) / 1_000_000_000);
    let boots = outcome.nr_boots;
    println!("{}: {passed} passed in {wall:.1} s, {guest} s of the guest", kernel.release);
    if boots > 1 {
        println!("{}: booted {boots} times, after stale breakpoints of QEMU", kernel.release);
    }
}
