// SPDX-License-Identifier: GPL-2.0-or-later
//! Text reaches people only through the modules that make it printable: a task may have any name,
//! and irqpath prints it as root to terminals and journals. A call that goes around them is found
//! here, with what to call instead. Tests print what they like.

use crate::calls::{self, Ban};
use crate::finding::Finding;
use crate::tree::Tree;

const NAMES: &str = "what makes names printable";

const BANS: &[Ban] = &[
    Ban {
        calls: &["println!", "print!", "eprintln!", "eprint!", "dbg!"],
        within: "crates/",
        except: &[],
        around: NAMES,
        instead: "print a Page with `out::print`, or a line with `out::note`",
    },
    Ban {
        calls: &["io::stdout", "io::stderr"],
        within: "crates/",
        except: &[
            ("crates/irqpath/src/output/console.rs", "makes it printable"),
            ("crates/irqpath-lab/src/progress.rs", "makes it printable"),
            ("crates/irqpath/src/output/export.rs", "asks for the terminal's width"),
            ("crates/irqpath/src/verbs/trace/top/mod.rs", "asks for the terminal's width"),
            ("crates/irqpath/src/verbs/bench/progress.rs", "asks whether it is a terminal"),
        ],
        around: NAMES,
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
        around: NAMES,
        instead: "write JSON with `out::json` or `irqpath_report::json`",
    },
    Ban {
        calls: &["serde_json::to_writer", "serde_json::to_string", "serde_json::to_vec_pretty"],
        within: "crates/irqpath-report/",
        except: &[("crates/irqpath-report/src/json/printable.rs", "makes it printable")],
        around: NAMES,
        instead: "write JSON with `json::write_pretty` or `json::write_line`",
    },
    Ban {
        calls: &["to_kernel_bytes"],
        within: "crates/",
        except: &[
            ("crates/irqpath-model/src/task.rs", "has them"),
            ("crates/irqpath-source/src/bpf/decode.rs", "tells the kernel a name"),
        ],
        around: NAMES,
        instead: "show the `Comm`; its bytes may steer a terminal",
    },
];

/// Finds the calls.
pub fn check(tree: &Tree) -> Vec<Finding> {
    calls::check(tree, BANS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_go_around_are_found() {
        for (path, text, nr) in [
            ("crates/irqpath/src/a.rs", "fn a() {\n    println!(\"{comm}\");\n}\n", 1),
            ("crates/irqpath-lab/src/a.rs", "    let _ = writeln!(io::stderr(), \"x\");\n", 1),
            ("crates/irqpath/src/output/console.rs", "let mut stderr = io::stderr().lock();\n", 0),
            ("crates/irqpath/src/output/console.rs", "eprint!(\"x\"); io::stderr();\n", 1),
            ("crates/irqpath/src/a.rs", "let text = serde_json::to_string_pretty(&x)?;\n", 1),
            ("crates/irqpath-system/src/a.rs", "let text = serde_json::to_string(&x)?;\n", 0),
            ("crates/irqpath-report/src/a.rs", "out.write_all(&comm.to_kernel_bytes())\n", 1),
            ("crates/irqpath/src/a.rs", "// println!() is not for us\nlet w = writeln!(f);\n", 0),
            ("crates/irqpath/src/a.rs", "#[cfg(test)]\nmod tests { fn a() { println!() } }\n", 0),
            ("crates/irqpath/tests/a.rs", "println!(\"skipped: why\");\n", 0),
            ("crates/irqpath-testing/src/a.rs", "println!(\"skipped: why\");\n", 0),
            ("xtask/src/a.rs", "println!(\"ok\");\n", 0),
        ] {
            assert_eq!(check(&Tree::of(&[(path, text)])).len(), nr, "{path}: {text}");
        }
    }
}
