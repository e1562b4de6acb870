// SPDX-License-Identifier: GPL-2.0-or-later
//! Developer commands: `cargo xtask COMMAND`.
//!
//! `check` runs every rule of the house that a compiler does not know; the rules are one file
//! each (`deps`, `circles`, `sizes`, `spdx`, `machine`, `outputs`, `files`, `locked`, `links`,
//! `prose`). `kernel` keeps the patches, `book` lays the pages out for mdBook, `notices` collects
//! licences, and `pins` asks the archive.
//! A rule gets a [`tree::Tree`] and returns findings; it neither prints nor exits.

mod book;
mod calls;
mod check;
mod circles;
mod deps;
mod experiments;
mod files;
mod finding;
mod imports;
mod kernel;
mod links;
mod locked;
mod machine;
mod markdown;
mod notices;
mod outputs;
mod pins;
mod prose;
mod rst;
mod sizes;
mod spdx;
mod tree;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check      every rule below; exit 1 if one is broken
  deps       crates depend on each other in one direction only
  circles    modules of a crate need each other in one direction only
  sizes      lengths of files and functions
  spdx       every source file names its licence
  machine    no path of one machine, no private registry
  outputs    text is made printable before it is printed
  files      files are opened and named in one crate
  locked     cargo is called with --locked
  links      links between pages lead somewhere
  prose      pages and texts of experiments have short sentences and no banned phrase
  book       lay the pages out for mdBook in target/book; `make docs` does the rest
  notices    the licences of the crates in the binary, for packages
  kernel     the kernel part: checkout DIR, save DIR, export OUT, check
  pins       the versions in lab/kernels.toml that the archive has newer ones of; changes nothing
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    let (command, rest) = args.split_first().map_or(("", args), |(c, r)| (c.as_str(), r));
    if command == "kernel" {
        return kernel::run(rest);
    }
    if command == "book" {
        return book::run().map(|()| ExitCode::SUCCESS);
    }
    if command == "notices" {
        return notices::run(rest).map(|()| ExitCode::SUCCESS);
    }
    if command == "pins" {
        return pins::run();
    }
    if command == "check" {
        return check::run(check::RULES);
    }
    if let Some(rule) = check::RULES.iter().find(|rule| rule.name == command) {
        return check::run(std::slice::from_ref(rule));
    }
    eprint!("{USAGE}");
    Ok(ExitCode::from(if matches!(command, "help" | "--help" | "-h") { 0 } else { 2 }))
}
