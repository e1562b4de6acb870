// SPDX-License-Identifier: GPL-2.0-or-later
//! Single objects of a kernel, by its own make.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a make around us must not tell the kernel's.
const NOT_INHERITED: [&str; 9] = [
    "MAKEFLAGS",
    "MFLAGS",
    "MAKELEVEL",
    "MAKEOVERRIDES",
    "KBUILD_OUTPUT",
    "LLVM",
    "LOCALVERSION",
    "V",
    "W",
];

/// A source and a directory of objects.
pub struct Kbuild<'a> {
    pub tree: &'a Path,
    pub objects: PathBuf,
    pub compiler: &'a str,
    /// Beside the kernel's own.
    pub flags: &'static str,
}

impl Kbuild<'_> {
    /// Everything off but what these fragments say, without debug information: it is no code, and
    /// most of the time.
    pub fn configure(&self, fragments: &[PathBuf]) -> Result<()> {
        fs::create_dir_all(&self.objects)?;
        let mut wanted = String::new();
        for path in fragments {
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            // The last word on an option counts, and Kconfig takes the first.
            for line in text.lines().filter(|line| line.starts_with("CONFIG_")) {
                let name = line.split_inclusive('=').next().unwrap_or(line);
                let others = wanted.split_inclusive('\n').filter(|other| !other.starts_with(name));
                wanted = others.collect::<String>() + line + "\n";
            }
        }
        let kept = wanted.split_inclusive('\n').filter(|l| !l.starts_with("CONFIG_DEBUG_INFO"));
        let file = self.objects.join("wanted.config");
        fs::write(&file, kept.collect::<String>() + "CONFIG_DEBUG_INFO_NONE=y\n")?;
        let output = self.make().env("KCONFIG_ALLCONFIG", &file).arg("allnoconfig").output()?;
        ensure!(output.status.success(), "configuring failed: {}", said(&output));
        Ok(())
    }

    /// True if the configuration has it.
    pub fn has(&self, option: &str) -> Result<bool> {
        let config = fs::read_to_string(self.objects.join(".config"))?;
        Ok(config.lines().any(|line| line == format!("{option}=y")))
    }

    /// Makes the targets; with sparse, it looks at each of their sources. Returns what was said,
    /// and whether it went well.
    pub fn compile(&self, targets: &[PathBuf], sparse: bool) -> Result<(String, bool)> {
        let mut make = self.make();
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        make.arg(format!("-j{jobs}")).arg(if sparse { "C=2" } else { "C=0" }).args(targets);
        let output = make.output().context("cannot run make")?;
        Ok((said(&output), output.status.success()))
    }

    fn make(&self) -> Command {
        let mut make = Command::new("make");
        for name in NOT_INHERITED {
            make.env_remove(name);
        }
        make.env("LC_ALL", "C").stdin(Stdio::null());
        make.arg("-s").arg("-C").arg(self.tree).arg(format!("O={}", self.objects.display()));
        make.arg("ARCH=x86").arg(format!("CC={0}", self.compiler));
        make.arg(format!("HOSTCC={}", self.compiler)).arg(format!("KCFLAGS={}", self.flags));
        make
    }
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// The object that a C file becomes part of: its own, or that of the file beside it that
/// includes it, as in `kernel/sched`.
pub fn object_of(file: &Path, beside: &[(PathBuf, String)]) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let line = format!("#include \"{name}\"");
    let includes = |text: &str| text.lines().any(|l| l.trim_end() == line);
    let unit = beside.iter().find(|(_, text)| includes(text)).map_or(file, |(path, _)| path);
    unit.with_extension("o")
}
