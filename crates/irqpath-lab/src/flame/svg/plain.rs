// SPDX-License-Identifier: GPL-2.0-or-later
//! Draws a flame graph without inferno and without a script: nothing zooms, and a browser shows the
//! name and the share of a function under the pointer.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{FlameError, Frame, WIDTH};

/// Heights of a function and of the title with what stands below it, px.
const ROW: usize = 16;
const HEAD: usize = 48;
/// Width of a letter, px; a function that is narrower than this many px is left out.
const LETTER: f64 = 7.0;
const LEAST: f64 = 0.1;

/// A function in one call chain, with the instructions of everything below it.
#[derive(Default)]
struct Node {
    count: u64,
    before: u64,
    below: BTreeMap<String, Node>,
}

impl Node {
    /// Lines are a stack and its instructions.
    fn add_lines(&mut self, lines: &str, count: impl Fn(&mut Self) -> &mut u64) {
        for (stack, nr) in lines.lines().filter_map(|line| line.rsplit_once(' ')) {
            let nr = nr.parse().unwrap_or(0);
            let mut node = &mut *self;
            *count(node) += nr;
            for name in stack.split(';') {
                node = node.below.entry(name.to_owned()).or_default();
                *count(node) += nr;
            }
        }
    }

    fn measure_depth(&self) -> usize {
        self.below.values().map(|node| node.measure_depth() + 1).max().unwrap_or(0)
    }
}

struct Drawing {
    svg: String,
    total: u64,
    width: f64,
    height: usize,
    is_difference: bool,
}

pub(super) fn draw_lines(lines: &str, frame: &Frame) -> Result<String, FlameError> {
    let mut root = Node::default();
    root.add_lines(lines, |node| &mut node.count);
    draw_tree(&root, frame, false)
}

pub(super) fn draw_difference(
    before: &str,
    after: &str,
    frame: &Frame,
) -> Result<String, FlameError> {
    let mut root = Node::default();
    root.add_lines(before, |node| &mut node.before);
    root.add_lines(after, |node| &mut node.count);
    draw_tree(&root, frame, true)
}

fn draw_tree(root: &Node, frame: &Frame, is_difference: bool) -> Result<String, FlameError> {
    if root.count == 0 {
        return Err(FlameError::Draw { reason: "there are no instructions".to_owned() });
    }
    let width = frame.width.unwrap_or(usize::try_from(WIDTH).unwrap_or(usize::MAX));
    let height = HEAD + ROW * (root.measure_depth() + 1);
    let svg = format!(
        "<?xml version=\"1.0\" standalone=\"no\"?>\n<svg version=\"1.1\" width=\"{width}\" \
         height=\"{height}\" viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\" \
         font-family=\"monospace\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"#f8f8f8\"/>\n<text x=\"8\" y=\"18\" font-size=\"15\">{}</text>\n\
         <text x=\"8\" y=\"36\">{}</text>\n",
        escape(&frame.title),
        escape(&frame.subtitle),
    );
    let total = root.count;
    let mut drawing = Drawing { svg, total, width: width as f64, height, is_difference };
    drawing.add_function("all", root, 0, 0);
    drawing.svg.push_str("</svg>\n");
    Ok(drawing.svg)
}

impl Drawing {
    /// The function and those that it calls, above it; `start` is the instruction it begins at.
    fn add_function(&mut self, name: &str, node: &Node, start: u64, depth: usize) {
        let scale = self.width / self.total as f64;
        let (x, width) = (start as f64 * scale, node.count as f64 * scale);
        if width < LEAST {
            return;
        }
        let y = self.height - ROW * (depth + 1);
        let share = 100.0 * node.count as f64 / self.total as f64;
        let (red, green, blue) = self.choose_colour(name, node);
        let _ = write!(
            self.svg,
            "<g><title>{} ({} instructions, {share:.2} %)</title><rect x=\"{x:.1}\" y=\"{y}\" \
             width=\"{width:.1}\" height=\"{}\" fill=\"rgb({red},{green},{blue})\"/>",
            escape(name),
            node.count,
            ROW - 1,
        );
        let room = (width / LETTER) as usize;
        if room > 2 {
            let cut = name.chars().count() > room;
            let shown: String = name.chars().take(if cut { room - 2 } else { room }).collect();
            let dots = if cut { ".." } else { "" };
            let (x, y) = (x + 2.0, y + ROW - 4);
            let _ =
                write!(self.svg, "<text x=\"{x:.1}\" y=\"{y}\">{}{dots}</text>", escape(&shown));
        }
        self.svg.push_str("</g>\n");
        let mut start = start;
        for (name, below) in &node.below {
            self.add_function(name, below, start, depth + 1);
            start += below.count;
        }
    }

    /// Equal functions have equal colours. In a difference, red grew, blue shrank.
    fn choose_colour(&self, name: &str, node: &Node) -> (u64, u64, u64) {
        if self.is_difference {
            let change = node.count.abs_diff(node.before);
            let pale = 255 - 210 * change.min(self.total) / self.total;
            return match node.count.cmp(&node.before) {
                std::cmp::Ordering::Greater => (255, pale, pale),
                std::cmp::Ordering::Equal => (250, 250, 250),
                std::cmp::Ordering::Less => (pale, pale, 255),
            };
        }
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        (205 + hash % 50, 60 + (hash >> 16) % 170, (hash >> 32) % 55)
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
