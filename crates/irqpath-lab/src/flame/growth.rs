// SPDX-License-Identifier: GPL-2.0-or-later
//! Why one run of a path took longer than another: the fewest call chains that explain it.
//!
//! Chains are compared from the innermost interrupt or system call on, so that a timer tick is
//! the same cause wherever it hit. Of everything below one entry the deepest function is named
//! that still holds nearly all of the growth, or a few that do together: `update_load_avg`, not
//! `entry_SYSCALL_64`.

use std::collections::BTreeMap;
use std::fmt;

use super::Profile;
use super::profile::Frame;

/// Part of the growth that the frames explain at least, and that a callee must hold to be named
/// instead of its caller, percent.
pub const EXPLAINED: i64 = 80;
/// Into how many functions the growth below one entry is divided before their caller is named.
const MAX_PARTS: usize = 3;

/// A chain that executes more instructions than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grown {
    /// The chain, from the entry into the kernel to the function that is named.
    pub chain: Vec<Frame>,
    /// Instructions more, with everything it calls.
    pub delta: i64,
}

/// Where the instructions are that one run has more than another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Growth {
    /// Instructions more in total; negative if it is fewer.
    pub total: i64,
    /// The fewest chains that explain at least 80 % of the total, largest first; none unless
    /// there is growth.
    pub frames: Vec<Grown>,
    /// What remains; negative if something else became shorter.
    pub unexplained: i64,
}

/// A tree of functions with the difference of their instructions.
#[derive(Debug, Default)]
struct Tree {
    /// Of this function and everything it calls.
    delta: i64,
    callees: BTreeMap<Frame, Tree>,
}

impl Tree {
    fn add_chain(&mut self, chain: &[Frame], delta: i64) {
        self.delta += delta;
        if let Some((first, rest)) = chain.split_first() {
            self.callees.entry(first.clone()).or_default().add_chain(rest, delta);
        }
    }

    /// Callees that grew, the one that grew most first.
    fn grown_callees(&self) -> Vec<(&Frame, &Self)> {
        let mut grown: Vec<_> = self.callees.iter().filter(|(_, tree)| tree.delta > 0).collect();
        grown.sort_by(|a, b| b.1.delta.cmp(&a.1.delta).then_with(|| a.0.cmp(b.0)));
        grown
    }

    /// The deepest functions that hold at least `needed` of the growth, `room` of them at most.
    fn find_deepest(&self, needed: i64, chain: &[Frame], room: usize) -> Vec<Grown> {
        let mut callees = Vec::new();
        let mut held = 0;
        for (name, tree) in self.grown_callees() {
            if held >= needed {
                break;
            }
            held += tree.delta;
            callees.push((name, tree));
        }
        if held < needed || callees.len() > room {
            return vec![Grown { chain: chain.to_vec(), delta: self.delta }];
        }
        let mut parts = Vec::new();
        for (at, (name, tree)) in callees.iter().enumerate() {
            let chain = [chain, &[Frame::clone(name)]].concat();
            let share = (tree.delta * needed + held - 1) / held;
            let others = callees.len() - at - 1;
            parts.extend(tree.find_deepest(share, &chain, room - parts.len() - others));
        }
        parts
    }
}

impl Growth {
    /// What `now` executes more than `before`.
    pub fn between(before: &Profile, now: &Profile) -> Self {
        let mut tree = Tree::default();
        for (profile, sign) in [(now, 1), (before, -1)] {
            for (stack, &count) in &profile.stacks {
                tree.add_chain(&stack.frames[stack.entry..], sign * count.cast_signed());
            }
        }
        let total = tree.delta;
        let mut left = total;
        let mut frames = Vec::new();
        for (name, tree) in tree.grown_callees() {
            if (total - left) * 100 >= total * EXPLAINED {
                break;
            }
            let needed = (tree.delta * EXPLAINED + 99) / 100;
            for grown in tree.find_deepest(needed, std::slice::from_ref(name), MAX_PARTS) {
                left -= grown.delta;
                frames.push(grown);
            }
        }
        if total <= 0 {
            return Self { total, frames: Vec::new(), unexplained: total };
        }
        frames.sort_by_key(|grown| std::cmp::Reverse(grown.delta));
        Self { total, frames, unexplained: left }
    }
}

fn frame_name(frame: Option<&Frame>) -> &str {
    frame.map_or("", |frame| frame)
}

impl Grown {
    /// The entry into the kernel (or the outermost function), and the function that is named.
    pub fn place(&self) -> (&str, &str) {
        (frame_name(self.chain.first()), frame_name(self.chain.last()))
    }
}

/// With its growth: `update_load_avg < entry_SYSCALL_64 +812`.
impl fmt::Display for Grown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (entry, function) = self.place();
        let below = if self.chain.len() > 1 { format!(" < {entry}") } else { String::new() };
        write!(f, "{function}{below} {:+}", self.delta)
    }
}

/// What grew, largest first.
impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, grown) in self.frames.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{grown}")?;
        }
        Ok(())
    }
}
