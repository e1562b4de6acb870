// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds in a console what the kernel complained about, also when it went on afterwards. Pure.
//!
//! A complaint is known by how its line begins, after the time stamp: the same words in the
//! middle of a line are a boot message about mitigations, or somebody's `echo`.

use std::fmt;

/// What a complaint is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SplatKind {
    /// The kernel gave up.
    Panic,
    /// It died in one context: bad address, bad instruction.
    Oops,
    /// Lockdep: an order of locks that can end in a deadlock, or a context that must not lock.
    Lockdep,
    /// A sanitizer: KASAN, KFENCE, KCSAN, UBSAN.
    Sanitizer,
    /// Sleeping or scheduling where that is forbidden.
    Atomic,
    /// RCU, a soft or hard lockup, a workqueue: something does not get on.
    Stall,
    /// A task that sleeps uninterruptibly for too long.
    HungTask,
    /// A `BUG:` that is none of the kinds above.
    Bug,
    /// A `WARNING:` that is none of the kinds above.
    Warning,
    /// An interrupt that nobody handles.
    Irq,
    /// A KUnit suite that failed at boot. The kernel only says so.
    Kunit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splat {
    /// What it is about.
    pub kind: SplatKind,
    /// Its first line, without time stamp.
    pub title: String,
    /// That line's number in the console, from 0.
    pub line: usize,
}

impl Splat {
    /// Whether it is about a breakpoint; x86-64 has `int3` there while it patches a jump.
    pub fn is_breakpoint(&self) -> bool {
        self.kind == SplatKind::Oops
            && ["Oops: int3:", "int3:"].iter().any(|b| self.title.starts_with(b))
    }
}

/// How a complaint begins, the most particular first. `*` stands for anything.
const BEGINNINGS: &[(&str, SplatKind)] = &[
    ("Kernel panic - not syncing", SplatKind::Panic),
    ("BUG: KASAN:", SplatKind::Sanitizer),
    ("BUG: KFENCE:", SplatKind::Sanitizer),
    ("BUG: KCSAN:", SplatKind::Sanitizer),
    ("BUG: KMSAN:", SplatKind::Sanitizer),
    ("UBSAN:", SplatKind::Sanitizer),
    ("kmemleak:*new suspected memory leaks", SplatKind::Sanitizer),
    ("WARNING: possible ", SplatKind::Lockdep),
    ("WARNING: inconsistent lock state", SplatKind::Lockdep),
    ("WARNING:*order unsafe lock", SplatKind::Lockdep),
    ("WARNING: bad unlock balance", SplatKind::Lockdep),
    ("WARNING: bad contention detected", SplatKind::Lockdep),
    ("WARNING: held lock freed", SplatKind::Lockdep),
    ("WARNING: lock held when returning", SplatKind::Lockdep),
    ("WARNING: nested lock was not taken", SplatKind::Lockdep),
    ("WARNING:*still has locks held", SplatKind::Lockdep),
    ("WARNING: suspicious RCU usage", SplatKind::Lockdep),
    ("INFO: possible ", SplatKind::Lockdep),
    ("[ BUG: Invalid wait context ]", SplatKind::Lockdep),
    ("[ BUG:", SplatKind::Lockdep),
    ("BUG: MAX_LOCK", SplatKind::Lockdep),
    ("BUG: MAX_STACK_TRACE_ENTRIES", SplatKind::Lockdep),
    ("INFO: trying to register non-static key", SplatKind::Lockdep),
    ("BUG: scheduling while atomic", SplatKind::Atomic),
    ("BUG: sleeping function called", SplatKind::Atomic),
    ("BUG: using *() in preemptible", SplatKind::Atomic),
    ("BUG: workqueue leaked", SplatKind::Atomic),
    ("rcu: INFO:*stall", SplatKind::Stall),
    ("rcu:*kthread starved", SplatKind::Stall),
    ("INFO: rcu*stall", SplatKind::Stall),
    ("watchdog: BUG: soft lockup", SplatKind::Stall),
    ("watchdog: Watchdog detected hard LOCKUP", SplatKind::Stall),
    ("NMI watchdog: Watchdog detected hard LOCKUP", SplatKind::Stall),
    ("BUG: workqueue lockup", SplatKind::Stall),
    ("INFO: task *blocked", SplatKind::HungTask),
    ("BUG: kernel NULL pointer", SplatKind::Oops),
    ("BUG: unable to handle", SplatKind::Oops),
    ("Unable to handle kernel", SplatKind::Oops),
    ("Internal error: Oops", SplatKind::Oops),
    ("Oops:", SplatKind::Oops),
    ("general protection fault", SplatKind::Oops),
    ("invalid opcode:", SplatKind::Oops),
    ("int3:", SplatKind::Oops),
    ("kernel BUG at", SplatKind::Oops),
    ("BUG:", SplatKind::Bug),
    ("BUG ", SplatKind::Bug), // slab: "BUG kmalloc-64 (Tainted: G): Poison overwritten"
    ("WARNING:", SplatKind::Warning),
    ("irq *: nobody cared", SplatKind::Irq),
    ("irq event *: bogus return value", SplatKind::Irq),
    ("    # *: EXPECTATION FAILED at", SplatKind::Kunit), // what a console of errors only shows
    ("    # *: ASSERTION FAILED at", SplatKind::Kunit),
    ("not ok ", SplatKind::Kunit),
];

/// All complaints, in order; each is counted once, though it has many lines.
pub fn find_splats(console: &str) -> Vec<Splat> {
    let mut splats: Vec<Splat> = Vec::new();
    let mut boxed = Boxed::Outside;
    for (line, text) in console.lines().enumerate() {
        let message = without_stamp(text);
        let (inside, next) = boxed.read_line(message);
        boxed = next;
        let found = splat_kind(message).or((inside == Boxed::Title).then_some(SplatKind::Warning));
        let Some(kind) = found else { continue };
        let is_more = matches!(inside, Boxed::Body(_)) && kind != SplatKind::Panic;
        if !is_more && !is_rest_of_oops(splats.last(), message, line) {
            splats.push(Splat { kind, title: message.trim_end().to_owned(), line });
        }
    }
    splats
}

/// Where a line stands with respect to "cut here" and "end trace", between which all lines
/// belong to one complaint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Boxed {
    Outside,
    /// The line after "cut here".
    Title,
    /// So many lines further on.
    Body(u32),
}

impl Boxed {
    /// Where this line stands, and what the next one starts from.
    fn read_line(self, message: &str) -> (Self, Self) {
        /// An oops may have no end; a trace is never longer.
        const BODY_MAX: u32 = 120;
        if message.starts_with("------------[ cut here ]") {
            return (Self::Outside, Self::Title);
        }
        if message.starts_with("---[ end") {
            return (self, Self::Outside);
        }
        match self {
            Self::Outside | Self::Body(BODY_MAX..) => (Self::Outside, Self::Outside),
            Self::Title => (self, Self::Body(1)),
            Self::Body(nr) => (self, Self::Body(nr + 1)),
        }
    }
}

/// An oops says what happened, and some lines later once more that it is one.
fn is_rest_of_oops(last: Option<&Splat>, message: &str, line: usize) -> bool {
    /// Lines between the two.
    const NEAR: usize = 20;
    let is_rest = ["Oops:", "Internal error: Oops"].iter().any(|text| message.starts_with(text));
    is_rest && last.is_some_and(|last| last.kind == SplatKind::Oops && line - last.line <= NEAR)
}

/// What a line complains about, if it is the beginning of a complaint.
fn splat_kind(message: &str) -> Option<SplatKind> {
    BEGINNINGS.iter().find(|(pattern, _)| begins_like(message, pattern)).map(|&(_, kind)| kind)
}

/// Whether `text` begins like `pattern`, in which one `*` may stand for anything.
fn begins_like(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text.starts_with(pattern),
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| rest.contains(tail)),
    }
}

/// A console line without `[   12.345678] ` and without the caller that some kernels add,
/// `[   T12] `.
pub fn without_stamp(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..2 {
        let Some((inside, after)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) else {
            break;
        };
        let inside = inside.trim();
        let is_stamp = !inside.is_empty() && inside.chars().all(|c| c.is_ascii_digit() || c == '.');
        let is_caller = inside
            .strip_prefix(['T', 'C'])
            .is_some_and(|id| !id.is_empty() && id.chars().all(|c| c.is_ascii_digit()));
        if !is_stamp && !is_caller {
            break;
        }
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    rest
}

impl fmt::Display for SplatKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Panic => "panic",
            Self::Oops => "oops",
            Self::Lockdep => "lockdep",
            Self::Sanitizer => "sanitizer",
            Self::Atomic => "sleeping in atomic context",
            Self::Stall => "stall",
            Self::HungTask => "hung task",
            Self::Bug => "bug",
            Self::Warning => "warning",
            Self::Irq => "interrupt",
            Self::Kunit => "KUnit",
        })
    }
}

#[cfg(test)]
#[path = "splat_tests.rs"]
mod tests;
