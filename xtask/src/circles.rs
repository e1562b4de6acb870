// SPDX-License-Identifier: GPL-2.0-or-later
//! No module of a crate needs one that needs it in turn: two such modules can only be read, tested
//! and moved together.
//!
//! A module needs what it imports, and what it names by a path from `crate`, `super` or a module
//! below it. A parent that only passes a name on (`pub use`) does not need it, and who takes the
//! name from the parent needs the module where it is defined. A module and those below it are one
//! unit: what they need of each other does not count. Tests need what they like.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::imports::{self, Import};
use crate::tree::Tree;

/// How many times a name is passed on at most.
const MAX_STEPS: usize = 8;

type Path = Vec<String>;

/// What one file says.
struct Module {
    imports: Vec<Import>,
    /// Paths in its code.
    paths: Vec<String>,
}

/// The modules of one crate by their path; the root has the empty one.
#[derive(Default)]
struct Modules(BTreeMap<Path, Module>);

/// Finds the circles of every crate.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Modules> = BTreeMap::new();
    for file in &tree.files {
        let Some((source, path)) = place(&file.path) else { continue };
        crates.entry(source).or_default().0.insert(path, read(&file.text));
    }
    crates.iter().flat_map(|(source, modules)| modules.find_circles(source)).collect()
}

/// The directory of the crate's source, and the module's path.
fn place(path: &str) -> Option<(&str, Path)> {
    let at = path.find("/src/")?;
    let inside = path[at + "/src/".len()..].strip_suffix(".rs")?;
    if inside.ends_with("tests") || inside.starts_with("bin/") {
        return None;
    }
    let mut parts: Path = inside.split('/').map(str::to_owned).collect();
    if matches!(parts.last()?.as_str(), "mod" | "lib" | "main") {
        parts.pop();
    }
    Some((&path[..at + "/src".len()], parts))
}

fn read(text: &str) -> Module {
    let lines: Vec<&str> = text.lines().collect();
    let is_tests = |pair: &[&str]| {
        pair[0].trim() == "#[cfg(test)]" && pair[1].starts_with("mod ") && !pair[1].ends_with(';')
    };
    let end = lines.windows(2).position(is_tests).unwrap_or(lines.len());
    let code =
        lines[..end].iter().map(|line| line.split_once("//").map_or(*line, |(code, _)| code));
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let paths = code
        .filter(|line| !line.contains("use "))
        .flat_map(|line| line.split(move |c| !is_name(c)).filter(|word| word.contains("::")));
    Module { imports: imports::find(&lines[..end]), paths: paths.map(str::to_owned).collect() }
}

impl Modules {
    /// The path from the root of what `module` calls `name`; `None` for what is another crate's.
    fn absolute(&self, module: &Path, name: &str) -> Option<Path> {
        let mut parts = name.split("::").filter(|part| !part.is_empty()).peekable();
        let mut path = module.clone();
        match *parts.peek()? {
            "crate" => {
                path.clear();
                parts.next();
            }
            "self" => {
                parts.next();
            }
            "super" => {
                while parts.next_if_eq(&"super").is_some() {
                    path.pop()?;
                }
            }
            child => {
                let below: Path = path.iter().cloned().chain([child.to_owned()]).collect();
                if !self.0.contains_key(&below) {
                    return None;
                }
            }
        }
        path.extend(parts.map(str::to_owned));
        Some(path)
    }

    /// The module that defines what is at `path`.
    fn definer(&self, mut path: Path) -> Option<Path> {
        for _ in 0..MAX_STEPS {
            let at = (0..=path.len()).rev().find(|&n| self.0.contains_key(&path[..n]))?;
            let module = path[..at].to_vec();
            let Some(name) = path.get(at) else { return Some(module) };
            let passed_on = self.0[&module].imports.iter().find(|import| import.name() == name);
            let Some(further) = passed_on.and_then(|i| self.absolute(&module, &i.path)) else {
                return Some(module);
            };
            path = further.into_iter().chain(path[at + 1..].iter().cloned()).collect();
        }
        None
    }

    fn needs(&self, path: &Path) -> BTreeSet<Path> {
        let module = &self.0[path];
        let imported = module.imports.iter().filter(|import| !import.is_public);
        let names = imported.map(|import| &import.path).chain(&module.paths);
        let needed = names.filter_map(|name| self.definer(self.absolute(path, name)?));
        needed.filter(|other| !other.starts_with(path) && !path.starts_with(other)).collect()
    }

    fn find_circles(&self, source: &str) -> Vec<Finding> {
        let needs: BTreeMap<&Path, BTreeSet<Path>> =
            self.0.keys().map(|path| (path, self.needs(path))).collect();
        let mut reported: BTreeSet<&Path> = BTreeSet::new();
        let mut findings = Vec::new();
        for path in self.0.keys() {
            if reported.contains(path) {
                continue;
            }
            let Some(circle) = shortest_circle(path, &needs) else { continue };
            let names: Vec<String> = circle.iter().map(|path| name(path)).collect();
            reported.extend(circle);
            findings.push(Finding::fail(source, format!("a circle: {}", names.join(" -> "))));
        }
        findings
    }
}

fn name(path: &Path) -> String {
    if path.is_empty() { "the root".to_owned() } else { path.join("::") }
}

/// The shortest way from a module back to itself, with it at both ends.
fn shortest_circle<'a>(
    start: &'a Path,
    needs: &'a BTreeMap<&'a Path, BTreeSet<Path>>,
) -> Option<Vec<&'a Path>> {
    let mut ways: Vec<Vec<&Path>> = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for next in &needs[way[way.len() - 1]] {
                let way: Vec<&Path> = way.iter().copied().chain([next]).collect();
                if next == start {
                    return Some(way);
                }
                if seen.insert(next) {
                    longer.push(way);
                }
            }
        }
        ways = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_through_what_is_passed_on() {
        let circles = |files: &[(&str, &str)]| -> Vec<String> {
            check(&Tree::of(files)).iter().map(ToString::to_string).collect()
        };
        let root = ("c/src/lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;\n");
        let a = ("c/src/a.rs", "use crate::B;\n");
        let found = circles(&[root, a, ("c/src/b/mod.rs", "fn f(a: &crate::A) {}\n")]);
        assert_eq!(found, ["FAIL c/src: a circle: a -> b -> a"]);
        for harmless in [
            "",
            "// crate::A\n",
            "use std::a::A;\n",
            "#[cfg(test)]\nmod tests {\nuse crate::A;\n}\n",
        ] {
            assert_eq!(circles(&[root, a, ("c/src/b.rs", harmless)]), Vec::<String>::new());
        }
    }

    #[test]
    fn a_parent_and_its_child_are_one_unit() {
        let parent = ("c/src/p/mod.rs", "mod child;\nconst N: u8 = 1;\nfn f() { child::g() }\n");
        let child = ("c/src/p/child.rs", "use super::N;\n");
        assert_eq!(check(&Tree::of(&[("c/src/lib.rs", ""), parent, child])), []);
    }
}
