// SPDX-License-Identifier: GPL-2.0-or-later
//! A file of `kernel/overlay` as a series has it that lacks some of our options and files.
//!
//! Here one tree serves all policies and two releases, and what is mailed is for one policy and one
//! release. Blocks of absent options go, as do lines that name absent files, and calls of functions that
//! are empty without their option. Nobody looks for absent policies in sentences.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The option under which [`State::rules`] have two names.
const FAULTS: &str = "IRQPATH_FAULTS";

/// What a step of a series has.
pub struct State<'a> {
    /// Our options, without `CONFIG_`.
    pub options: &'a BTreeSet<String>,
    /// All files of the overlay.
    pub all: &'a BTreeSet<PathBuf>,
    /// Those of them that the step has.
    pub present: &'a BTreeSet<PathBuf>,
    /// Functions that are empty without an option, by that option.
    pub empty: &'a BTreeMap<String, BTreeSet<String>>,
    /// Functions that have another name where faults can be injected, by the name in their definition.
    pub rules: &'a BTreeMap<String, String>,
    /// The release that the series is for, as `KERNEL_VERSION()` takes it.
    pub release: (u32, u32, u32),
}

/// A condition of the preprocessor around the lines at hand.
enum Frame {
    /// It is decided: whether its lines stay, and how many were kept.
    Decided { stays: bool, kept: usize, before: usize },
    /// It stays as it is.
    Open,
}

impl State<'_> {
    /// The text of a file as the step has it.
    pub fn strip(&self, path: &Path, text: &str) -> String {
        let mut lines: Vec<&str> = Vec::new();
        let mut frames: Vec<Frame> = Vec::new();
        for line in text.lines() {
            if self.conditional(line, &mut frames, &mut lines) {
                continue;
            }
            let dropped = frames.iter().any(|f| matches!(f, Frame::Decided { stays: false, .. }));
            if dropped {
                continue;
            }
            for frame in &mut frames {
                if let Frame::Decided { kept, .. } = frame {
                    *kept += usize::from(!line.is_empty());
                }
            }
            lines.push(line);
        }
        let mut kept = String::with_capacity(text.len());
        let lines = self.without_absent_options(path, lines);
        for line in lines.into_iter().filter_map(|line| self.line(path, line)) {
            // Where something went there would be two empty lines.
            if line.is_empty() && (kept.is_empty() || kept.ends_with("\n\n")) {
                continue;
            }
            kept += &line;
            kept.push('\n');
        }
        // Nor one at the end.
        kept.truncate(kept.trim_end_matches('\n').len() + 1);
        if self.options.contains(FAULTS) {
            return kept;
        }
        self.rules.iter().fold(kept, |text, (inner, name)| text.replace(inner, name))
    }

    /// Of a Kconfig file, without the options of ours that the step does not have, and the comments
    /// before them.
    fn without_absent_options<'t>(&self, path: &Path, lines: Vec<&'t str>) -> Vec<&'t str> {
        if path.file_name().is_none_or(|name| name != "Kconfig") {
            return lines;
        }
        let mut kept = Vec::new();
        let mut drops = false;
        for line in lines {
            if let Some(name) = line.strip_prefix("config ") {
                drops = name.starts_with("IRQPATH") && !self.options.contains(name);
                while drops && kept.last().is_some_and(|last: &&str| last.starts_with("# ")) {
                    kept.pop();
                }
            } else if line.starts_with(|c: char| !c.is_whitespace()) {
                drops = false;
            }
            if !drops {
                kept.push(line);
            }
        }
        kept
    }

    /// True if the line is part of a condition that is decided, and so goes.
    fn conditional(&self, line: &str, frames: &mut Vec<Frame>, lines: &mut Vec<&str>) -> bool {
        let word = line.split_whitespace().next().unwrap_or_default();
        match word {
            "#if" | "#ifdef" | "#ifndef" => {
                let stays = self.decide(line);
                let frame = stays.map_or(Frame::Open, |stays| Frame::Decided {
                    stays,
                    kept: 0,
                    before: lines.len(),
                });
                frames.push(frame);
            }
            "#else" => {
                if let Some(Frame::Decided { stays, .. }) = frames.last_mut() {
                    *stays = !*stays;
                    return true;
                }
                return false;
            }
            "#endif" => match frames.pop() {
                Some(Frame::Decided { kept: 0, before, .. }) => {
                    let outer = |f: &Frame| matches!(f, Frame::Decided { stays: false, .. });
                    if !frames.iter().any(outer) {
                        lines.truncate(before);
                        drop_comment(lines);
                    }
                    return true;
                }
                Some(Frame::Decided { .. }) => return true,
                _ => return false,
            },
            _ => return false,
        }
        matches!(frames.last(), Some(Frame::Decided { .. }))
    }

    /// Whether the lines of a condition stay; none if the compiler decides that.
    fn decide(&self, line: &str) -> Option<bool> {
        let absent = |word: &str| {
            let ours = word.strip_prefix("CONFIG_").filter(|name| name.starts_with("IRQPATH"));
            ours.is_some_and(|name| !self.options.contains(name))
        };
        let mut words = line.split_whitespace();
        match (words.next()?, words.next()?) {
            ("#ifdef", name) if absent(name) => Some(false),
            ("#ifndef", name) if absent(name) => Some(true),
            ("#if", "LINUX_VERSION_CODE") => self.older_than(line),
            ("#if", first) => {
                let name = first.strip_prefix("defined(")?.strip_suffix(')')?;
                (line.contains("&&") && absent(name)).then_some(false)
            }
            _ => None,
        }
    }

    /// `#if LINUX_VERSION_CODE < KERNEL_VERSION(a, b, c)`.
    fn older_than(&self, line: &str) -> Option<bool> {
        let (_, rest) = line.split_once("< KERNEL_VERSION(")?;
        let numbers: Vec<u32> =
            rest.trim_end_matches(')').split(',').filter_map(|n| n.trim().parse().ok()).collect();
        let [major, minor, patch] = numbers.as_slice() else { return None };
        Some(self.release < (*major, *minor, *patch))
    }

    /// A line outside conditions; none if it names what the step does not have.
    fn line(&self, path: &Path, line: &str) -> Option<String> {
        if line.starts_with("KernelVersion:") {
            return Some(format!("KernelVersion:\t{}.{}", self.release.0, self.release.1));
        }
        let dir = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(quoted) = line.strip_prefix("#include \"") {
            let file = normal(&dir.join(quoted.trim_end_matches('"')));
            return self.has_or_is_not_ours(&file).then(|| line.to_owned());
        }
        if let Some(system) = line.strip_prefix("#include <") {
            let file = Path::new("include").join(system.trim_end_matches('>'));
            return self.has_or_is_not_ours(&file).then(|| line.to_owned());
        }
        if name == "Kconfig" {
            return self.kconfig_line(line);
        }
        if name == "Makefile" {
            return self.make_line(dir, line);
        }
        if name == "config" {
            let option = line.split('=').next().unwrap_or_default();
            let ours = option.strip_prefix("CONFIG_").filter(|name| name.starts_with("IRQPATH"));
            let keep = ours.is_none_or(|name| self.options.contains(name));
            return keep.then(|| line.to_owned());
        }
        if name == "index.rst" && line.starts_with("   ") {
            let page = dir.join(format!("{}.rst", line.trim()));
            return self.has_or_is_not_ours(&page).then(|| line.to_owned());
        }
        if let Some(word) = line.strip_prefix(" * ").and_then(|rest| rest.split("  ").next()) {
            // A list of directories and files, in a comment.
            let goes = match word.trim_end().strip_suffix('/') {
                Some(inner) => self.is_absent_dir(&dir.join(inner)),
                None => !self.has_or_is_not_ours(&dir.join(word.trim_end())),
            };
            return (!goes).then(|| line.to_owned());
        }
        (!self.is_empty_call(line)).then(|| line.to_owned())
    }

    fn kconfig_line(&self, line: &str) -> Option<String> {
        if let Some(quoted) = line.strip_prefix("source \"") {
            let file = Path::new(quoted.trim_end_matches('"'));
            return self.has_or_is_not_ours(file).then(|| line.to_owned());
        }
        let mut line = line.to_owned();
        for (either, other, option) in [
            ("(IRQPATH || IRQPATH_SHIELD)", "IRQPATH_SHIELD", "IRQPATH"),
            ("(IRQPATH || IRQPATH_SHIELD)", "IRQPATH", "IRQPATH_SHIELD"),
        ] {
            if !self.options.contains(option) {
                line = line.replace(either, other);
            }
        }
        Some(line)
    }

    /// Objects, directories and scripts that are not there go from a list, and an empty list with them.
    fn make_line(&self, dir: &Path, line: &str) -> Option<String> {
        let Some((head, list)) = line.split_once("= ") else { return Some(line.to_owned()) };
        let there = |word: &&str| {
            if let Some(inner) = word.strip_suffix('/') {
                return !self.is_absent_dir(&dir.join(inner));
            }
            let source = word.strip_suffix(".o").map(|stem| format!("{stem}.c"));
            self.has_or_is_not_ours(&dir.join(source.as_deref().unwrap_or(word)))
        };
        let words: Vec<&str> = list.split(' ').filter(there).collect();
        (!words.is_empty()).then(|| format!("{head}= {}", words.join(" ")))
    }

    fn has_or_is_not_ours(&self, file: &Path) -> bool {
        self.present.contains(file) || !self.all.contains(file)
    }

    /// Our directory, of which the step has no file.
    fn is_absent_dir(&self, dir: &Path) -> bool {
        let below = |files: &BTreeSet<PathBuf>| files.iter().any(|file| file.starts_with(dir));
        below(self.all) && !below(self.present)
    }

    /// A statement that calls what is empty without an option that is absent.
    fn is_empty_call(&self, line: &str) -> bool {
        let Some((name, _)) = line.trim_start_matches('\t').split_once('(') else { return false };
        line.starts_with('\t')
            && line.ends_with(");")
            && self
                .empty
                .iter()
                .any(|(option, names)| !self.options.contains(option) && names.contains(name))
    }
}

/// Removes the comment that ends the lines, without an empty line after it, and the empty line before.
fn drop_comment(lines: &mut Vec<&str>) {
    if lines.last().is_none_or(|last| !last.trim_end().ends_with("*/")) {
        return;
    }
    let Some(start) = lines.iter().rposition(|line| line.trim_start().starts_with("/*")) else {
        return;
    };
    lines.truncate(start);
}

/// Functions of a header that are empty without an option: those between `#else /* !CONFIG_X */` and
/// `#endif` that return nothing, or are macros that do nothing.
pub fn empty_functions(text: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
    let mut option = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("#else /* !CONFIG_") {
            option = rest.split_whitespace().next().map(str::to_owned);
        } else if line.starts_with("#endif") {
            option = None;
        }
        let function = line.strip_prefix("static inline void ");
        let is_empty =
            |macro_: &&str| macro_.split_once(") ").is_some_and(|(_, does)| is_void(does));
        let name = function.or(line.strip_prefix("#define ").filter(is_empty));
        if let (Some(option), Some((name, _))) = (&option, name.and_then(|n| n.split_once('('))) {
            found.entry(option.clone()).or_default().insert(name.to_owned());
        }
    }
}

/// `((void)(p))`, and nothing more.
fn is_void(does: &str) -> bool {
    let inner = does.strip_prefix("((void)(").and_then(|rest| rest.strip_suffix("))"));
    inner.is_some_and(|word| word.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// The functions that `faults.h` gives another name, where no fault can be injected.
pub fn rule_names(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| {
        let mut words = line.strip_prefix("#define ")?.split_whitespace();
        let (name, inner) = (words.next()?, words.next()?);
        (inner == format!("__{name}")).then(|| (inner.to_owned(), name.to_owned()))
    });
    pairs.collect()
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}
