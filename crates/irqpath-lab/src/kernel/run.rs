// SPDX-License-Identifier: GPL-2.0-or-later
//! Running other programs: their output goes to a log, so that nothing disturbs the progress
//! line, and what matters of it is in the error.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use super::KernelError;
use super::error::io_at;

use crate::own;

/// Lines of a failed program that are kept.
const TAIL_LINES: usize = 25;
/// Time between two looks at a running program.
const PERIOD: Duration = Duration::from_millis(100);

/// A command whose answers are in English, and which our own make and Kbuild settings, those of
/// a `make test` around us, do not reach.
pub(super) fn tool_command(program: &str) -> Command {
    const NOT_INHERITED: [&str; 16] = [
        "MAKEFLAGS",
        "MFLAGS",
        "MAKELEVEL",
        "MAKEOVERRIDES",
        "ARCH",
        "CROSS_COMPILE",
        "CC",
        "LLVM",
        "KCFLAGS",
        "KAFLAGS",
        "KBUILD_OUTPUT",
        "KBUILD_EXTMOD",
        "LOCALVERSION",
        "O",
        "V",
        "W",
    ];
    let mut command = Command::new(program);
    for name in NOT_INHERITED {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// Run it to its end and return what it printed on standard output.
pub(super) fn run_for_output(command: &mut Command, what: &str) -> Result<String, KernelError> {
    let output = command.output().map_err(|e| not_started(command, e))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Err(describe_failure(what, output.status, &text))
}

/// Run it with its output in the file `log`; `watch` is called again and again meanwhile.
pub(super) fn run_watched(
    command: &mut Command,
    what: &str,
    log: &Path,
    mut watch: impl FnMut(),
) -> Result<(), KernelError> {
    let file = own::create(log).map_err(io_at(log, "write"))?;
    let second = file.try_clone().map_err(io_at(log, "write"))?;
    let mut child =
        command.stdout(file).stderr(second).spawn().map_err(|e| not_started(command, e))?;
    let status = loop {
        match child.try_wait().map_err(io_at(log, "watch"))? {
            Some(status) => break status,
            None => thread::sleep(PERIOD),
        }
        watch();
    };
    if status.success() {
        return Ok(());
    }
    let text = own::read(log).map_err(io_at(log, "read"))?;
    Err(describe_failure(what, status, &String::from_utf8_lossy(&text)))
}

/// Counts the lines of a log while it grows.
#[derive(Debug)]
pub(super) struct Lines {
    path: PathBuf,
    read: u64,
    count: u64,
}

impl Lines {
    /// Of this file, which need not exist yet.
    pub(super) fn in_file(path: &Path) -> Self {
        Self { path: path.to_owned(), read: 0, count: 0 }
    }

    /// So many by now.
    pub(super) fn count_lines(&mut self) -> u64 {
        let mut grown = Vec::new();
        // What cannot be read now only makes the progress line stand still.
        let _ = own::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.read_to_end(&mut grown)
        });
        self.read += grown.len() as u64;
        self.count += grown.split(|b| *b == b'\n').count() as u64 - 1;
        self.count
    }
}

fn not_started(command: &Command, error: io::Error) -> KernelError {
    let program = command.get_program().to_string_lossy().into_owned();
    if error.kind() != io::ErrorKind::NotFound {
        return io_at(Path::new(&program), "start")(error);
    }
    if program.starts_with("apt") || program.starts_with("dpkg") {
        KernelError::NoApt { program }
    } else {
        KernelError::MissingProgram { program }
    }
}

fn describe_failure(what: &str, status: ExitStatus, text: &str) -> KernelError {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let tail = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    KernelError::Failed {
        what: what.to_owned(),
        status: status.to_string(),
        reason: find_telling_line(&lines).trim().to_owned(),
        log: tail.join("\n"),
    }
}

/// The first error of a compiler or of apt; what follows it usually follows from it.
fn find_telling_line<'a>(lines: &[&'a str]) -> &'a str {
    let is_error =
        |line: &&&str| line.contains("error:") || line.contains("*** ") || line.starts_with("E: ");
    lines.iter().find(is_error).or(lines.last()).copied().unwrap_or("it printed nothing")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn shell_command(script: &str) -> Command {
        let mut command = tool_command("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_failure_shows_the_telling_line_and_keeps_the_last_ones() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let script =
            "seq 100; echo 'a.c:1: error: no such thing' >&2; echo 'make: *** [a.o]'; exit 2";
        let error = run_watched(&mut shell_command(script), "building", &log, || {}).unwrap_err();
        let text = error.to_string();
        assert_eq!(text, "building failed (exit status: 2): a.c:1: error: no such thing");
        assert_eq!(error.log().lines().count(), TAIL_LINES);
        assert!(error.log().ends_with("make: *** [a.o]"));
        let error =
            run_for_output(&mut shell_command("echo no >&2; exit 1"), "asking").unwrap_err();
        assert_eq!(error.to_string(), "asking failed (exit status: 1): no");
    }

    #[test]
    fn a_missing_program_is_named_with_what_to_do() {
        let error =
            run_for_output(&mut tool_command("no-such-program"), "trying").unwrap_err().to_string();
        assert!(error.starts_with("no-such-program is not installed"), "{error}");
        assert!(error.contains("setup.sh --with lab"), "{error}");
    }

    #[test]
    fn lines_are_counted_while_they_come() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut lines = Lines::in_file(&path);
        assert_eq!(lines.count_lines(), 0);
        fs::write(&path, "a\nb").unwrap();
        assert_eq!(lines.count_lines(), 1);
        fs::write(&path, "a\nbc\nd\n").unwrap();
        assert_eq!(lines.count_lines(), 3);
    }

    #[test]
    fn a_make_around_us_does_not_reach_the_program() {
        let printed =
            run_for_output(shell_command("echo $MAKEFLAGS$ARCH").env("X", "1"), "x").unwrap();
        assert_eq!(printed, "\n");
        let command = tool_command("sh");
        assert!(command.get_envs().any(|(name, value)| name == "MAKEFLAGS" && value.is_none()));
    }
}
