// SPDX-License-Identifier: GPL-2.0-or-later
//! A program with probes, for tests of the flight recorder's triggers.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::cli::{is_installed, is_root};

/// With the static probe `app:missed`, which it comes to at a `p`, and the function `on_miss`, at an `f`.
const PROGRAM: &str = r#"
#include <stdio.h>
#if defined(__x86_64__) || defined(__aarch64__)
#define PROBE() __asm__ __volatile__( \
	"990: nop\n" \
	".pushsection .note.stapsdt,\"?\",\"note\"\n" \
	".balign 4\n.4byte 992f-991f, 994f-993f, 3\n" \
	"991: .asciz \"stapsdt\"\n992: .balign 4\n" \
	"993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte 0\n" \
	".asciz \"app\"\n.asciz \"missed\"\n.asciz \"\"\n994: .balign 4\n.popsection\n" \
	".ifndef _.stapsdt.base\n" \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n" \
	".size _.stapsdt.base,1\n.popsection\n.endif\n")
#endif
__attribute__((noinline)) void on_miss(int c) { __asm__ __volatile__("" : : "r"(c)); }
int main(void)
{
	int c;
	while ((c = getchar()) != EOF) {
		if (c == 'p')
			PROBE();
		if (c == 'f')
			on_miss(c);
	}
	return 0;
}
"#;

/// True if programs can be built and probed here.
pub fn can_probe(test: &str) -> bool {
    if !is_root(test) {
        return false;
    }
    let can = is_installed("cc") && Path::new("/sys/bus/event_source/devices/uprobe").exists();
    if !can {
        println!("skipped: {test}: needs cc and a kernel with uprobes");
    }
    can
}

/// Builds the program `app` in this directory.
pub fn build_program(directory: &Path) -> PathBuf {
    let (source, program) = (directory.join("app.c"), directory.join("app"));
    fs::write(&source, PROGRAM).unwrap();
    let status = Command::new("cc").arg("-O1").arg("-o").arg(&program).arg(&source).status();
    assert!(status.unwrap().success());
    program
}

/// Starts it; it ends with its input.
pub fn start_program(program: &Path) -> Child {
    Command::new(program).stdin(Stdio::piped()).spawn().unwrap()
}

/// Lets it come to its probes.
pub fn say(program: &mut Child, text: &str) {
    program.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
}
