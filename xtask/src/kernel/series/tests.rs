// SPDX-License-Identifier: GPL-2.0-or-later
//! What a series has of a file, and the rules of the manifest.

use super::build::undefined;
use super::manifest::Manifest;
use super::strip::{State, empty_functions, rule_names};
use super::{enter, hook_name, is_address, release};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn set<T: From<&'static str> + Ord>(names: &[&'static str]) -> BTreeSet<T> {
    names.iter().map(|name| T::from(*name)).collect()
}

/// A file as a step has it that knows the option IRQPATH_ONE and the files of `one/`.
fn strip(path: &str, text: &str) -> String {
    let options: BTreeSet<String> = set(&["IRQPATH", "IRQPATH_ONE"]);
    let present: BTreeSet<PathBuf> = set(&["k/Makefile", "k/one/a.c", "k/one/a.h", "d/one.rst"]);
    let mut all = present.clone();
    all.extend(set::<PathBuf>(&["k/two/b.c", "k/two/b.h", "k/two/Kconfig", "d/two.rst"]));
    let mut empty = BTreeMap::new();
    empty_functions(
        "#else /* !CONFIG_IRQPATH_TWO */\nstatic inline void tell_two(int x) { }\n\
         #define note_two(p) ((void)(p))\n#define ask_two(p) ((void)(p), false)\n#endif\n",
        &mut empty,
    );
    let rules =
        rule_names("#define must_fit\t\t__must_fit\n#define OTHER 1\n#define a(x) __a(x)\n");
    let state = State {
        options: &options,
        all: &all,
        present: &present,
        empty: &empty,
        rules: &rules,
        release: (7, 2, 13),
    };
    state.strip(Path::new(path), text)
}

#[test]
fn blocks_of_absent_options_go_and_others_stay() {
    for (text, left) in [
        ("#ifdef CONFIG_IRQPATH_ONE\na\n#endif\n", "#ifdef CONFIG_IRQPATH_ONE\na\n#endif\n"),
        ("#ifdef CONFIG_IRQPATH_TWO\na\n#endif\n", ""),
        ("#ifdef CONFIG_IRQPATH_TWO /* b.h */\na\n#else\nb\n#endif /* TWO */\n", "b\n"),
        ("#ifndef CONFIG_IRQPATH_TWO\na\n#else\nb\n#endif\n", "a\n"),
        ("#ifdef CONFIG_SMP\na\n#else\nb\n#endif\n", "#ifdef CONFIG_SMP\na\n#else\nb\n#endif\n"),
        ("#if defined(CONFIG_IRQPATH_TWO) && defined(CONFIG_SMP)\na\n#else\nb\n#endif\n", "b\n"),
        ("#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)\na\n#else\nb\n#endif\n", "b\n"),
        ("#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 3, 0)\na\n#else\nb\n#endif\n", "a\n"),
        // A condition inside one that goes.
        ("#ifdef CONFIG_IRQPATH_TWO\n#ifdef CONFIG_SMP\na\n#else\nb\n#endif\n#endif\nc\n", "c\n"),
        // And one of ours inside another's.
        (
            "#ifdef CONFIG_SMP\n#ifdef CONFIG_IRQPATH_TWO\na\n#endif\nb\n#endif\n",
            "#ifdef CONFIG_SMP\nb\n#endif\n",
        ),
    ] {
        assert_eq!(strip("k/one/a.c", text), left, "{text}");
    }
}

#[test]
fn what_a_block_leaves_is_no_hole() {
    let text = "a;\n\n/*\n * Of two.\n */\n#ifdef CONFIG_IRQPATH_TWO\nb;\n#endif\n\nc;\n";
    assert_eq!(strip("k/one/a.c", text), "a;\n\nc;\n");
    // A comment stays with the other half, and one that belongs to something else where it is.
    let text = "/* Both. */\n#ifdef CONFIG_IRQPATH_TWO\na\n#else\nb\n#endif\n";
    assert_eq!(strip("k/one/a.c", text), "/* Both. */\nb\n");
    let text = "/* All. */\n\n#ifdef CONFIG_IRQPATH_TWO\na\n#endif\n";
    assert_eq!(strip("k/one/a.c", text), "/* All. */\n");
}

#[test]
fn lines_that_name_absent_files_go() {
    for (path, text, left) in [
        ("k/one/a.c", "#include \"../two/b.h\"\n#include \"a.h\"\n", "#include \"a.h\"\n"),
        (
            "k/one/a.c",
            "#include \"../../irq/internals.h\"\n",
            "#include \"../../irq/internals.h\"\n",
        ),
        ("k/Kconfig", "source \"k/two/Kconfig\"\nconfig X\n", "config X\n"),
        (
            "k/Kconfig",
            "config IRQPATH_ONE\n\tbool\n\n# Two.\nconfig IRQPATH_TWO\n\tbool\n\nsource \"x\"\n",
            "config IRQPATH_ONE\n\tbool\n\nsource \"x\"\n",
        ),
        ("k/Kconfig", "\tdepends on (IRQPATH || IRQPATH_SHIELD)\n", "\tdepends on IRQPATH\n"),
        (
            "k/Makefile",
            "obj-y += one/ two/\nobj-$(CONFIG_IRQPATH_TWO) += two/\n",
            "obj-y += one/\n",
        ),
        ("k/one/Makefile", "obj-y := a.o\n", "obj-y := a.o\n"),
        ("k/two/Makefile", "obj-y := b.o\n", ""),
        ("k/one/config", "CONFIG_IRQPATH_TWO=y\nCONFIG_SMP=y\n", "CONFIG_SMP=y\n"),
        ("d/index.rst", "Text\n   one\n   two\n", "Text\n   one\n"),
        ("k/k.h", " * one/  first\n * two/  second\n", " * one/  first\n"),
        ("k/one/a.c", "\ttell_two(1);\n\ttell_one(1);\n", "\ttell_one(1);\n"),
        ("k/one/a.c", "\tnote_two(p);\n\task_two(p);\n", "\task_two(p);\n"),
        ("k/one/a.c", "bool __must_fit(int x);\n", "bool must_fit(int x);\n"),
        ("k/one/abi", "KernelVersion:\t6.12\n", "KernelVersion:\t7.2\n"),
        // Not a call alone.
        ("k/one/a.c", "\tx = tell_two(1);\n", "\tx = tell_two(1);\n"),
    ] {
        assert_eq!(strip(path, text), left, "{path}: {text}");
    }
}

#[test]
fn a_name_that_nobody_defines_is_found() {
    let listing = "irqpath_a U\nirqpath_b U\nirqpath_b T 0 1\nprintk U\n\nx.o:\nirqpath_c d 0 1\n";
    assert_eq!(undefined(listing), ["nobody defines irqpath_a"]);
}

#[test]
fn a_sender_is_a_name_and_an_address() {
    assert!(is_address("Ada Lovelace <ada@example.org>"));
    for wrong in ["", "ada@example.org", "Ada <ada>", "Ada <a@b> <c@d>", "A\nB <a@b>", " <a@b>"] {
        assert!(!is_address(wrong), "{wrong:?}");
    }
}

#[test]
fn small_things_are_read() {
    assert_eq!(hook_name(Path::new("hooks/0012-net-Hold.patch")), "net-Hold");
    let makefile = "# x\nVERSION = 7\nPATCHLEVEL = 2\nSUBLEVEL = 13\nEXTRAVERSION =\n";
    assert_eq!(release(makefile).unwrap(), (7, 2, 13));
    assert!(release("VERSION = 7\n").is_err());
}

#[test]
fn maintainers_gets_its_entry_in_its_place() {
    let base = "Text\n\nIRQ A\nM:\tone\n\nIRQ Z\nM:\ttwo\n\nARM\nM:\tthree\n\nTHE REST\nM:\tfour\n";
    let entry = "IRQPATH\nM:\tSENDER\nF:\tk/one/\nF:\tk/two/\n";
    let text = enter(base, entry, "A <a@b>", &set::<PathBuf>(&["k/one/a.c"])).unwrap();
    let ours = "IRQ Z\nM:\ttwo\n\nIRQPATH\nM:\tA <a@b>\nF:\tk/one/\n\nARM\n";
    assert!(text.contains(ours), "{text}");
    assert_eq!(text.replace("IRQPATH\nM:\tA <a@b>\nF:\tk/one/\n\n", ""), base);
}

/// The manifest names every file and every patch of the tree that it is for.
#[test]
fn the_manifest_is_complete() {
    let kernel = crate::tree::root().join("kernel");
    let manifest = Manifest::read(&kernel.join("mail/series.toml")).unwrap();
    let files = super::files_below(&kernel.join("overlay")).unwrap().into_iter().collect();
    for base in ["6.12", "7.x"] {
        let text = std::fs::read_to_string(kernel.join("hooks").join(base).join("series")).unwrap();
        let hooks: Vec<String> = text.lines().map(|name| hook_name(Path::new(name))).collect();
        assert_eq!(manifest.problems(&files, &hooks), Vec::<String>::new(), "{base}");
    }
    for series in &manifest.series {
        assert!(kernel.join("mail").join(format!("{}.txt", series.name)).is_file());
        assert!(manifest.steps(series).unwrap().len() > 2);
    }
}
