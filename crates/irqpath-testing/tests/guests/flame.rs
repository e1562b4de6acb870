// SPDX-License-Identifier: GPL-2.0-or-later
//! The flame graph of a real guest: a module and a program of known length (`tests/known`).
//!
//! Every instance must be as long as the guest's own clock says, to the instruction, every known
//! call chain must hold exactly its instructions, and the plugin must not change a byte of what
//! the guest leaves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use irqpath_lab::Lab;
use irqpath_lab::flame::{Attribution, PathMarks, Plugin, Profile, Recording, Symbols};
use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour, Toolchain, module};
use irqpath_lab::vm::{Machine, Outcome};
use irqpath_testing::guests;

const PATHS: [PathMarks; 5] = [
    PathMarks { from: 32, to: 33 },
    PathMarks { from: 34, to: 35 },
    PathMarks { from: 36, to: 37 },
    PathMarks { from: 38, to: 39 },
    PathMarks { from: 40, to: 41 },
];
const JOB: &str = r"
dmesg | grep -o 'known: [0-9 ]*$' > known.txt
user > user.txt
dmesg > dmesg.txt
cat /proc/kallsyms > kallsyms
";

/// A guest that has run, and what was recorded of it.
struct Scene {
    outcome: Outcome,
    recording: Recording,
    symbols: Symbols,
    /// Lengths of the last path by the plugin that only counts, and their parts in user space.
    counted: Vec<(u64, u64)>,
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/known")
}

/// The program, built for the guest.
fn user_program(lab: &Lab, arch: Arch, directory: &Path) -> PathBuf {
    let program = directory.join("user");
    let mut gcc = Toolchain::provide(lab, arch).unwrap().compiler_command(&tests()).unwrap();
    gcc.args(["-O1", "-static", "-no-pie", "-Wall", "-o"]).arg(&program);
    let output = gcc.arg("user.c").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

impl Scene {
    /// Runs it with the plugin, and without to see that nothing changes.
    fn new(flavour: Flavour, arch: Arch) -> Option<Self> {
        let (lab, kernel) = guests::provide_kernel(flavour, arch)?;
        let dir = tempfile::tempdir().unwrap();
        let module = module::build_module(&lab, &kernel, &tests(), &[]).unwrap();
        let user = user_program(&lab, arch, dir.path());
        let guest =
            Guest::new(&kernel).module_file(&module, "").program_file("user", &user).job(JOB);
        let guest = guest.sysctl("kernel.kptr_restrict", "0").build(&lab).unwrap();
        let out = dir.path().join("recording");
        let plugin = Plugin::build(&lab, arch).unwrap();
        let plain = Machine { limit_host: guests::LIMIT, ..Machine::exact(&kernel) };
        let traced =
            Machine { plugin: Some(plugin.for_machine(&out, &PATHS, 16384)), ..plain.clone() };
        let counts = dir.path().join("counts");
        let counting =
            Machine { plugin: Some(plugin.use_counter(&counts, PATHS[4])), ..plain.clone() };
        let run = |machine: Machine| machine.run(&lab, &guest).unwrap().require_success().unwrap();
        let [without, with, counter] = [plain, traced, counting].map(run);
        assert_eq!(without.console, counter.console);
        assert_eq!(without.console, with.console);
        assert_eq!(without.results, with.results);
        assert_eq!((without.boot_ns, without.job_ns), (with.boot_ns, with.job_ns));
        println!("{flavour} {arch}: {:?} without plugin, {:?} with", without.wall, with.wall);
        let recording = Recording::read(&out).unwrap();
        let mut symbols =
            Symbols::from_kallsyms(&with.results.file_text("kallsyms").unwrap()).unwrap();
        symbols.add_program(&std::fs::read(&user).unwrap()).unwrap();
        let counted = std::fs::read_to_string(&counts).unwrap();
        let path = |line: &str| {
            let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            let [all, user, together] = numbers[..] else { panic!("three numbers: {line}") };
            assert_eq!(all, together, "there is one CPU");
            (all, user)
        };
        let counted = counted.lines().map(path).collect();
        Some(Self { outcome: with, recording, symbols, counted })
    }

    /// What the guest measured, by path.
    fn measured(&self) -> BTreeMap<(u8, u8), Vec<u64>> {
        let mut found: BTreeMap<(u8, u8), Vec<u64>> = BTreeMap::new();
        for line in self.outcome.results.file_text("known.txt").unwrap().lines() {
            let words: Vec<u64> =
                line.split(' ').skip(1).map(|word| word.parse().unwrap()).collect();
            found.entry((words[0] as u8, words[1] as u8)).or_default().push(words[2]);
        }
        let user = self.outcome.results.file_text("user.txt").unwrap();
        found.insert((40, 41), user.lines().map(|line| line.parse().unwrap()).collect());
        found
    }

    /// The profiles of all instances of a path.
    fn profiles(&self, from: u8, to: u8) -> Vec<Profile> {
        let attribution = Attribution::new(&self.recording, &self.symbols);
        let path = self.recording.find_path(PathMarks { from, to }).unwrap();
        let instances = 0..path.instances.len();
        instances.map(|at| attribution.profile_route(path.route_of(at).unwrap())).collect()
    }
}

/// Instructions in chains that end with these functions.
fn below(profile: &Profile, chain: &str) -> u64 {
    let folded = profile.fold_stacks();
    let lines = folded.lines().filter_map(|line| line.rsplit_once(' '));
    let ends = lines.filter(|(stack, _)| stack.ends_with(chain));
    ends.map(|(_, count)| count.parse::<u64>().unwrap()).sum()
}

fn every_instance_is_as_long_as_measured(scene: &Scene) {
    for (&(from, to), measured) in &scene.measured() {
        let path = scene.recording.find_path(PathMarks { from, to }).unwrap();
        let found = path.compare_lengths(measured);
        assert!(
            found.differing.is_empty() && found.unpaired == 0 && found.exact > 0,
            "{from}-{to}: {found:?}"
        );
        assert_eq!(path.restarted, 0);
    }
}

fn known_chains_hold_their_instructions(scene: &Scene) {
    let m = |name: &str| format!("{name} [known]");
    for profile in scene.profiles(32, 33) {
        let chain = format!("{};{};{}", m("known_call"), m("known_middle"), m("known_leaf"));
        assert_eq!(below(&profile, &chain), 1001);
        assert_eq!(profile.unsymbolised() + profile.unknown(), 0);
    }
    for profile in scene.profiles(34, 35) {
        assert_eq!(below(&profile, &m("known_step")), 300 * 201);
        let timer = format!("{};{}", m("known_timer"), m("known_in_timer"));
        assert_eq!(below(&profile, &timer), 501);
    }
    for profile in scene.profiles(36, 37) {
        let thread = format!("kthread;{};{}", m("known_thread"), m("known_leaf"));
        assert_eq!(below(&profile, &thread), 1001);
        assert_eq!(profile.unknown(), 0);
    }
}

/// What the entry of a kernel is called.
struct Names {
    /// Begins an interrupt, in the kernel.
    interrupt: &'static str,
    /// On the way from there to the timer's function.
    timer: &'static str,
    /// Begins a system call, page fault and interrupt in user space.
    syscall: &'static str,
    fault: &'static str,
    tick: &'static str,
}

const X86_64: Names = Names {
    interrupt: "asm_sysvec_apic_timer_interrupt;",
    timer: ";__sysvec_apic_timer_interrupt;hrtimer_interrupt;__hrtimer_run_queues",
    syscall: "entry_SYSCALL_64_after_hwframe;do_syscall_64;",
    fault: "asm_exc_page_fault;exc_page_fault;",
    tick: "asm_sysvec_apic_timer_interrupt;",
};

const ARM64: Names = Names {
    interrupt: "el1h_64_irq;el1h_64_irq_handler;el1_interrupt;",
    timer: ";arch_timer_handler_virt;hrtimer_interrupt;__hrtimer_run_queues",
    syscall: "el0t_64_sync;el0t_64_sync_handler;el0_svc;do_el0_svc;",
    fault: "el0t_64_sync;el0t_64_sync_handler;el0_da;do_mem_abort;",
    tick: "el0t_64_irq;el0t_64_irq_handler;",
};

/// Both sides of a switch, and the interrupt, lie where the kernel's source says.
fn chains_are_those_of_the_kernel(scene: &Scene, names: &Names) {
    let Names { interrupt: entry, timer, .. } = names;
    let folded = scene.profiles(34, 35)[0].fold_stacks();
    let chain = format!(";known_loop [known];known_step [known];{entry}");
    let inside = format!("{timer};known_timer [known];known_in_timer [known] 501");
    // It may come between two calls of known_step as well.
    let shorter = format!(";known_loop [known];{entry}");
    let lines = || folded.lines().filter(|line| line.ends_with(&inside));
    assert!(lines().any(|l| l.contains(&chain) || l.contains(&shorter)), "no such chain");
    let folded = scene.profiles(36, 37)[2].fold_stacks();
    // What lies between is called differently by kernels with and without PREEMPT_RT, and the switch
    // is earlier, in cond_resched(), where the thread that was woken preempts.
    for (from, on) in [
        ("known_switched [known];complete;", ["", ";try_to_wake_up;"]),
        // wait_for_completion(), or __wait_for_common(), to which it jumps.
        ("known_switched [known];", ["wait_for_com", ";__schedule;"]),
        ("ret_from_fork;kthread;known_thread [known];", ["", ";schedule;__schedule;"]),
        // Nobody may wait yet, if the thread preempted the task that asked it as soon as it was woken.
        ("ret_from_fork;kthread;known_thread [known];complete", ["", ""]),
    ] {
        let leads = |line: &str| {
            line.split_once(from).is_some_and(|(_, rest)| {
                let rest = format!(";{rest}");
                on.iter().all(|part| rest.contains(part))
            })
        };
        assert!(folded.lines().any(leads), "{from}...{on:?} in\n{folded}");
    }
}

fn user_space_is_counted_too(scene: &Scene, names: &Names) {
    let called = |folded: &str, entry| folded.contains(&format!("[user];{entry}"));
    let profiles = scene.profiles(40, 41);
    let folded = profiles[1].fold_stacks();
    assert!(called(&folded, names.syscall), "no such chain");
    assert!(folded.contains("[user];call_system "), "no such chain");
    let folded = profiles[3].fold_stacks();
    assert!(called(&folded, names.fault), "no such chain");
    let ticks = profiles[4].fold_stacks();
    assert!(called(&ticks, names.tick), "no such chain");
    // 2 million times load, add, store, load, compare, jump at least.
    assert!(below(&profiles[4], ";last") > 12_000_000, "no such chain");
}

/// It counts blocks: what an exception or the end of a page cuts off counts too, less than one
/// instruction in a hundred.
fn the_counter_agrees(scene: &Scene) {
    let (measured, counted) = (&scene.measured()[&(40, 41)], &scene.counted);
    assert_eq!(counted.len(), measured.len());
    for ((all, user), &measured) in counted.iter().zip(measured) {
        let expected = measured..=measured + measured / 100;
        assert!(expected.contains(all) && user <= all, "{all}, {user} of {expected:?}");
    }
    // The first is in user space as a whole, the second is a system call.
    assert_eq!(counted[0].0, counted[0].1);
    assert!(counted[1].1 < counted[1].0 / 2, "{counted:?}");
}

fn is_exact(flavour: Flavour, arch: Arch) {
    let Some(scene) = Scene::new(flavour, arch) else { return };
    let names = if arch == Arch::X86_64 { X86_64 } else { ARM64 };
    let stats = scene.recording.stats;
    assert_eq!((stats.lost, stats.unshaped), (0, 0), "{stats:?}");
    every_instance_is_as_long_as_measured(&scene);
    the_counter_agrees(&scene);
    known_chains_hold_their_instructions(&scene);
    chains_are_those_of_the_kernel(&scene, &names);
    user_space_is_counted_too(&scene, &names);
}

#[test]
fn x86_64_rt_is_exact() {
    is_exact(Flavour::StockRt, Arch::X86_64);
}

#[test]
fn x86_64_is_exact() {
    is_exact(Flavour::Stock, Arch::X86_64);
}

#[test]
fn arm64_rt_is_exact() {
    is_exact(Flavour::StockRt, Arch::Arm64);
}

#[test]
fn arm64_is_exact() {
    is_exact(Flavour::Stock, Arch::Arm64);
}
