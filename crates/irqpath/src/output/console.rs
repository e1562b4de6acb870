// SPDX-License-Identifier: GPL-2.0-or-later
//! The one way to standard output and standard error (`xtask check` finds another one). Whatever
//! goes there is printable, as names in it may be a stranger's; see [`Page`]. A reader that goes away
//! (`| head`) ends the program quietly, as with other tools; any other error is one line and exit
//! code 2.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use irqpath_model::printable;
use irqpath_report::Guard;
use irqpath_report::json::{write_line, write_pretty};
use irqpath_report::text::Page;
use serde::Serialize;

use super::exit;

/// Write text to standard output.
pub fn print_page(page: &Page) -> anyhow::Result<()> {
    write_stdout(|w| w.write_all(page.as_bytes()))
}

/// Say that a file or a directory was written.
pub fn print_written(path: &Path) -> anyhow::Result<()> {
    print_page(&Page::from_line(format_args!("wrote {}", path.display())))
}

/// Write a document as JSON: indented for people, or on one line where others follow.
pub fn print_json(document: &impl Serialize, one_line: bool) -> anyhow::Result<()> {
    write_stdout(|w| if one_line { write_line(w, document) } else { write_pretty(w, document) })
}

/// Let an exporter write to standard output.
pub fn write_stdout(
    export: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let stdout = io::stdout().lock();
    let colour = stdout.is_terminal();
    let mut stdout = Guard::new(io::BufWriter::new(stdout), colour);
    export(&mut stdout)
        .and_then(|()| stdout.finish())
        .context("cannot write standard output; check where it is redirected")
}

/// Write a line to standard error. Nothing can be done if that fails.
pub fn print_note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "irqpath: {}", printable(text));
}

/// Show what another program said, indented, before the line that names the error.
pub fn print_quoted(text: &str) {
    let mut stderr = io::stderr().lock();
    for line in text.lines() {
        let _ = writeln!(stderr, "  {}", printable(&line.replace('\t', "    ")));
    }
}

/// True if the error is that the reader of our output went away.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// Report why the command could not run.
pub fn report_error(error: &anyhow::Error) -> ExitCode {
    if is_closed_pipe(error) {
        return ExitCode::SUCCESS;
    }
    print_note(&one_line(error));
    ExitCode::from(exit::COULD_NOT_RUN)
}

/// The outermost message says what to do; the system's own words go in brackets behind it,
/// unless they are in it already.
fn one_line(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text} ({cause})");
        }
    }
    text.replace('\n', " ")
}

/// Report a command line that clap refused: its help as it is, its errors as one line.
pub fn report_refusal(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let printed = error.print();
        let closed = printed.is_err_and(|e| e.kind() != io::ErrorKind::BrokenPipe);
        return ExitCode::from(if closed { exit::COULD_NOT_RUN } else { 0 });
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
    } else {
        print_note(&clap_line(&error.to_string()));
    }
    ExitCode::from(exit::COULD_NOT_RUN)
}

/// clap's error without its layout: everything before the usage, on one line.
fn clap_line(text: &str) -> String {
    let words: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|l| !l.starts_with("Usage:") && !l.starts_with("For more information"))
        .filter(|l| !l.is_empty())
        .collect();
    let line = words.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    format!("{line}; see --help")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_the_systems_words_in_brackets() {
        let error = anyhow::Error::from(io::Error::from(io::ErrorKind::NotFound))
            .context("cannot read x; check the name");
        assert_eq!(one_line(&error), "cannot read x; check the name (entity not found)");
    }

    #[test]
    fn a_closed_pipe_is_found_below_its_context() {
        let pipe = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_closed_pipe(&anyhow::Error::from(pipe).context("a").context("b")));
        assert!(!is_closed_pipe(&anyhow::anyhow!("other")));
    }

    #[test]
    fn claps_errors_lose_their_layout() {
        let text = "error: invalid value 'x' for '--buffer <MiB>': bad\n\nUsage: irqpath trace\n\n\
                    For more information, try '--help'.\n";
        assert_eq!(clap_line(text), "invalid value 'x' for '--buffer <MiB>': bad; see --help");
    }
}
