// SPDX-License-Identifier: GPL-2.0-or-later
//! From addresses to functions: the profile of a route, as stacks of function names.
//!
//! The rule to know: instructions are neither lost nor invented. What has no name is counted
//! under `[unsymbolised]`, what was called by something that was not seen under `[unknown]`, and
//! the sum over all stacks is the path's length.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use irqpath_model::printable;
use serde::{Deserialize, Serialize};

use super::recording::{Block, Node};
use super::symbols::KERNEL;
use super::{Recording, Route, Symbols};

/// Kernel code without a symbol.
const UNSYMBOLISED: &str = "[unsymbolised]";
/// What lies above was not seen.
const UNKNOWN: &str = "[unknown]";
/// User space without a symbol.
const USER: &str = "[user]";
/// Functions that nothing calls: above them there is nothing to be seen.
const FIRST: [&str; 6] = [
    "ret_from_fork_asm",
    "ret_from_fork",
    "secondary_startup_64_no_verify",
    "common_startup_64",
    "secondary_startup_64",
    "__primary_switched",
];

/// Name of a function in a stack.
pub type Frame = Arc<str>;

/// A call chain, outermost function first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stack {
    pub(super) frames: Vec<Frame>,
    /// Index of the first frame of the innermost interrupt or system call; what it interrupted
    /// is before that.
    pub(super) entry: usize,
}

/// Instructions by call chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    pub(super) stacks: BTreeMap<Stack, u64>,
}

/// Instructions by function, without those of the functions it calls: small enough to be stored
/// beside a budget.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FunctionTable(pub BTreeMap<String, u64>);

impl FunctionTable {
    /// Instructions of all of them together.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Functions that execute more than `before`, and how many instructions more; the largest
    /// growth first.
    pub fn grown_since(&self, before: &Self) -> Vec<(String, u64)> {
        let grown = self.0.iter().filter_map(|(name, &now)| {
            let more = now.checked_sub(before.0.get(name).copied().unwrap_or(0))?;
            (more > 0).then(|| (name.clone(), more))
        });
        let mut grown: Vec<_> = grown.collect();
        grown.sort_by(|(a, more_a), (b, more_b)| more_b.cmp(more_a).then_with(|| a.cmp(b)));
        grown
    }
}

impl Profile {
    /// Instructions of all of them together.
    pub fn total(&self) -> u64 {
        self.stacks.values().sum()
    }

    /// Instructions in kernel code that has no symbol.
    pub fn unsymbolised(&self) -> u64 {
        self.sum_last(|name| name == UNSYMBOLISED)
    }

    /// Instructions of chains whose beginning was not seen.
    pub fn unknown(&self) -> u64 {
        let unknown = self.stacks.iter().filter(|(stack, _)| &*stack.frames[0] == UNKNOWN);
        unknown.map(|(_, count)| count).sum()
    }

    /// Instructions of the functions whose name is wanted, without those they call.
    fn sum_last(&self, wanted: impl Fn(&str) -> bool) -> u64 {
        let of = |stack: &Stack| stack.frames.last().is_some_and(|name| wanted(name));
        self.stacks.iter().filter(|(stack, _)| of(stack)).map(|(_, count)| count).sum()
    }

    /// One line per chain, `outermost;...;innermost instructions`, as other tools read it.
    pub fn fold_stacks(&self) -> String {
        let mut folded: BTreeMap<String, u64> = BTreeMap::new();
        for (stack, count) in &self.stacks {
            // A symbol is what a stranger's program calls it.
            let frames: Vec<_> = stack.frames.iter().map(|frame| printable(frame)).collect();
            *folded.entry(frames.join(";")).or_default() += count;
        }
        folded.iter().fold(String::new(), |mut text, (stack, count)| {
            let _ = writeln!(text, "{stack} {count}");
            text
        })
    }

    /// Instructions by function, each without those of the functions it calls.
    pub fn sum_functions(&self) -> FunctionTable {
        let mut table = BTreeMap::new();
        for (stack, count) in &self.stacks {
            if let Some(name) = stack.frames.last() {
                *table.entry(name.to_string()).or_default() += count;
            }
        }
        FunctionTable(table)
    }
}

/// Functions of a block: name, and the instructions of it, from and before.
type Parts = Vec<(Frame, u32, u32)>;

/// Names for everything in a recording; makes profiles.
#[derive(Debug)]
pub struct Attribution<'a> {
    recording: &'a Recording,
    /// The function of each chain's last step; the root's name for a root.
    nodes: Vec<Frame>,
    blocks: Vec<Parts>,
}

impl<'a> Attribution<'a> {
    /// Look every address of the recording up.
    pub fn new(recording: &'a Recording, symbols: &Symbols) -> Self {
        let mut names = Names::new(symbols);
        let nodes = recording.nodes.iter().map(|node| names.frame_of_node(node)).collect();
        let blocks = recording.blocks.iter().map(|block| names.parts_of_block(block)).collect();
        Self { recording, nodes, blocks }
    }

    /// The profile of a route of this recording.
    pub fn profile_route(&self, route: &Route) -> Profile {
        // Add up by chain and function first: building a stack of names costs more.
        let mut counts: HashMap<(u32, &Frame), u64> = HashMap::new();
        for charge in &route.charges {
            let (first, end) = (charge.first, charge.first + charge.count);
            for (name, from, to) in &self.blocks[charge.block as usize] {
                let nr = end.min(*to).saturating_sub(first.max(*from));
                if nr > 0 {
                    *counts.entry((charge.node, name)).or_default() += u64::from(nr) * charge.times;
                }
            }
        }
        let mut stacks = BTreeMap::new();
        for ((node, name), count) in counts {
            *stacks.entry(self.build_stack(node, name)).or_default() += count;
        }
        Profile { stacks }
    }

    /// True if the route executed an instruction of this function itself.
    pub fn executes(&self, route: &Route, function: &str) -> bool {
        route.charges.iter().any(|charge| {
            let (first, end) = (charge.first, charge.first + charge.count);
            let here = &self.blocks[charge.block as usize];
            here.iter().any(|(name, from, to)| {
                **name == *function && first.max(*from) < end.min(*to) && charge.times > 0
            })
        })
    }

    /// The chain of names of a node with a function at its end.
    fn build_stack(&self, node: u32, last: &Frame) -> Stack {
        let mut frames = vec![last.clone()];
        // Frames inside the innermost entry, as soon as it is met.
        let mut inside = None;
        let mut next = Some(node);
        while let Some(at) = next {
            let enters;
            (next, enters) = match self.recording.nodes[at as usize] {
                Node::Unknown => (None, false),
                Node::User => (None, true),
                Node::Call { parent, .. } => (Some(parent), false),
                Node::Interrupt { parent, .. } | Node::Syscall { parent, .. } => {
                    (Some(parent), true)
                }
            };
            if enters {
                inside.get_or_insert(frames.len());
            }
            let name = &self.nodes[at as usize];
            let caller_of = frames.last().map_or("", |frame| frame);
            let repeats = **name == *USER && caller_of == USER;
            let is_first = **name == *UNKNOWN && next.is_none() && FIRST.contains(&caller_of);
            if !repeats && !is_first {
                frames.push(name.clone());
            }
        }
        let entry = frames.len() - inside.unwrap_or(frames.len());
        frames.reverse();
        Stack { frames, entry }
    }
}

/// Looks addresses up and keeps one copy of each name.
struct Names<'a> {
    symbols: &'a Symbols,
    unsymbolised: Frame,
    unknown: Frame,
    user: Frame,
}

impl<'a> Names<'a> {
    fn new(symbols: &'a Symbols) -> Self {
        Self {
            symbols,
            unsymbolised: Frame::from(UNSYMBOLISED),
            unknown: Frame::from(UNKNOWN),
            user: Frame::from(USER),
        }
    }

    fn name_address(&self, address: u64) -> Frame {
        let nameless = if address & KERNEL == 0 { &self.user } else { &self.unsymbolised };
        self.symbols.lookup(address).unwrap_or(nameless).clone()
    }

    fn frame_of_node(&mut self, node: &Node) -> Frame {
        match *node {
            Node::Unknown | Node::Interrupt { address: 0, .. } => self.unknown.clone(),
            Node::User => self.user.clone(),
            // A call at the very end of a function returns behind it.
            Node::Call { address, .. } | Node::Syscall { address, .. } => {
                self.name_address(address.wrapping_sub(1))
            }
            Node::Interrupt { address, .. } => self.name_address(address),
        }
    }

    fn parts_of_block(&mut self, block: &Block) -> Parts {
        let mut parts: Parts = Vec::new();
        let mut address = block.address;
        for (at, &size) in (0u32..).zip(&block.sizes) {
            let name = self.name_address(address);
            match parts.last_mut() {
                Some((last, _, end)) if *last == name => *end = at + 1,
                _ => parts.push((name, at, at + 1)),
            }
            address = address.wrapping_add(u64::from(size));
        }
        parts
    }
}
