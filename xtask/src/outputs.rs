// SPDX-License-Identifier: GPL-2.0-or-later
//! Text reaches people only through the modules that make it printable: a task may have any name,
//! and irqpath prints it as root to terminals and journals. A call that goes around them is found
//! here, with what to call instead. Tests print what they like.

use crate::finding::Finding;
use crate::tree::{File, Tree};
use std::path::Path;

/// What is not called, and where it may be.
struct Ban {
    calls: &'static [&'static str],
    /// Crates in which it is banned, as a beginning of paths.
    within: &'static str,
    except: &'static [&'static str],
    instead: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        calls: &["println!", "print!", "eprintln!", "eprint!", "dbg!"],
        within: "crates/",
        except: &[],
        instead: "print a Page with `out::print`, or a line with `out::note`",
    },
    Ban {
        calls: &["io::stdout", "io::stderr"],
        within: "crates/",
        except: &[
            // What makes it printable.
            "crates/irqpath/src/out.rs",
            "crates/irqpath-lab/src/progress.rs",
            // Ask whether it is a terminal, and how wide it is.
            "crates/irqpath/src/shown.rs",
            "crates/irqpath/src/top/mod.rs",
            "crates/irqpath/src/bench/progress.rs",
        ],
        instead: "write with `out::write`, `out::print` or `out::note`",
    },
    Ban {
        calls: &[
            "serde_json::to_writer",
            "serde_json::to_string",
            "serde_json::to_vec_pretty",
            "Serializer::new",
            "Serializer::pretty",
        ],
        within: "crates/irqpath/",
        except: &[],
        instead: "write JSON with `out::json` or `irqpath_report::json`",
    },
    Ban {
        calls: &["serde_json::to_writer", "serde_json::to_string", "serde_json::to_vec_pretty"],
        within: "crates/irqpath-report/",
        except: &["crates/irqpath-report/src/json/printable.rs"],
        instead: "write JSON with `json::write_pretty` or `json::write_line`",
    },
    Ban {
        calls: &["to_kernel_bytes"],
        within: "crates/",
        except: &["crates/irqpath-model/src/task.rs", "crates/irqpath-source/src/bpf/decode.rs"],
        instead: "show the `Comm`; its bytes may steer a terminal",
    },
];

/// Finds the calls.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().filter(|file| is_product(&file.path)).flat_map(file_findings).collect()
}

fn is_product(path: &str) -> bool {
    let is_test = path.contains("/tests/") || path.ends_with("tests.rs");
    let is_rust = Path::new(path).extension().is_some_and(|extension| extension == "rs");
    path.starts_with("crates/") && path.contains("/src/") && is_rust && !is_test
}

fn file_findings(file: &File) -> Vec<Finding> {
    // Tests are the end of their file.
    let product = file.text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    let mut findings = Vec::new();
    for (line, nr) in product.zip(1..) {
        let bans = BANS.iter().filter(|ban| {
            file.path.starts_with(ban.within) && !ban.except.contains(&file.path.as_str())
        });
        for ban in bans {
            if let Some(call) = ban.calls.iter().find(|call| has_call(line, call)) {
                let text =
                    format!("`{call}` goes around what makes names printable; {}", ban.instead);
                findings.push(Finding::fail(format!("{}:{nr}", file.path), text));
            }
        }
    }
    findings
}

/// Whether the line calls it: not in a comment, and not as the end of another name.
fn has_call(line: &str, call: &str) -> bool {
    let code = line.split_once("//").map_or(line, |(code, _)| code);
    code.match_indices(call).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '"' || c == '`')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_go_around_are_found() {
        for (path, text, nr) in [
            ("crates/irqpath/src/a.rs", "fn a() {\n    println!(\"{comm}\");\n}\n", 1),
            ("crates/irqpath-lab/src/a.rs", "    let _ = writeln!(io::stderr(), \"x\");\n", 1),
            ("crates/irqpath/src/out.rs", "let mut stderr = io::stderr().lock();\n", 0),
            ("crates/irqpath/src/out.rs", "eprint!(\"x\");\n", 1),
            ("crates/irqpath/src/a.rs", "let text = serde_json::to_string_pretty(&x)?;\n", 1),
            ("crates/irqpath-system/src/a.rs", "let text = serde_json::to_string(&x)?;\n", 0),
            ("crates/irqpath-report/src/a.rs", "out.write_all(&comm.to_kernel_bytes())\n", 1),
            ("crates/irqpath/src/a.rs", "// println!() is not for us\nlet w = writeln!(f);\n", 0),
            ("crates/irqpath/src/a.rs", "#[cfg(test)]\nmod tests { fn a() { println!() } }\n", 0),
            ("crates/irqpath/tests/a.rs", "println!(\"skipped: why\");\n", 0),
            ("xtask/src/a.rs", "println!(\"ok\");\n", 0),
        ] {
            assert_eq!(check(&Tree::of(&[(path, text)])).len(), nr, "{path}: {text}");
        }
    }
}
