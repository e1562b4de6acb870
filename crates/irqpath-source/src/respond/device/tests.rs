// SPDX-License-Identifier: GPL-2.0-or-later
//! The structures and requests beside those of the module's own header, as a C compiler for this
//! machine lays them out.

use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use super::*;

/// What is compared: an expression in C, and what it has to be.
type Row = (String, u64);

/// The size of a structure and the place of each field.
macro_rules! layout {
    ($rust:ty, $c:literal, $($field:ident),+) => {
        vec![
            (concat!("sizeof(struct ", $c, ")").to_owned(), size_of::<$rust>() as u64),
            $((
                concat!("offsetof(struct ", $c, ", ", stringify!($field), ")").to_owned(),
                offset_of!($rust, $field) as u64,
            )),+
        ]
    };
}

#[rustfmt::skip] // a structure is a line
fn rows() -> Vec<Row> {
    let info = layout!(Info, "intsight_info", size, flags, index, mode, irq, intruder_irq, cycles_khz, reserved);
    let arm = layout!(Arm, "intsight_arm", size, flags, delay_ns, period_ns, count, reserved);
    let event = layout!(
        Event, "intsight_event", size, flags, seq, missed, due_ns, raise, primary, handler, wake,
        resumed, task, raise_cpu, handler_cpu, task_cpu, reserved
    );
    let counts = layout!(Counts, "intsight_counts", size, flags, expired, raised, handled, overruns, spurious, read);
    let requests = [
        ("INTSIGHT_IOC_INFO", INFO.number()),
        ("INTSIGHT_IOC_ARM", ARM.number()),
        ("INTSIGHT_IOC_DISARM", DISARM.number()),
        ("INTSIGHT_IOC_COUNTS", COUNTS.number()),
    ];
    let requests = requests.map(|(name, number)| (name.to_owned(), u64::from(number))).to_vec();
    [info, arm, event, counts, requests].concat()
}

/// The first C compiler that is there.
fn compiler() -> Option<&'static str> {
    ["cc", "gcc", "clang"].into_iter().find(|cc| Command::new(cc).arg("--version").output().is_ok())
}

#[test]
fn the_module_has_the_same_structures_and_requests() {
    let Some(compiler) = compiler() else {
        eprintln!("skipped: the_module_has_the_same_structures: no C compiler");
        return;
    };
    let rows = rows();
    let print = |(expression, _): &Row| format!("\tprintf(\"%llu\\n\", {expression} + 0ULL);\n");
    let program = format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include \"intsight_uapi.h\"\n\
         int main(void)\n{{\n{}\treturn 0;\n}}\n",
        rows.iter().map(print).collect::<String>()
    );
    let directory = tempfile::tempdir().unwrap();
    let [source, binary] = ["layout.c", "layout"].map(|name| directory.path().join(name));
    std::fs::write(&source, program).unwrap();
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/module/intsight");
    let output = Command::new(compiler)
        .args(["-Wall", "-Werror", "-I"])
        .arg(headers)
        .arg("-o")
        .args([&binary, &source])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&binary).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let found: Vec<Row> = rows
        .iter()
        .zip(printed.lines())
        .map(|((expression, _), number)| (expression.clone(), number.parse().unwrap()))
        .collect();
    assert_eq!(found, rows);
}
