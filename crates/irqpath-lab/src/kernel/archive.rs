// SPDX-License-Identifier: GPL-2.0-or-later
//! Which archive the lab reads: the descriptions and keys in `lab/archive`, and the mirror.
//!
//! The host's package sources only tell where a mirror is near. What is accepted from it, and
//! which suites it is asked for, is the project's own, so that every host gets the same packages.

use std::env;
use std::path::{Path, PathBuf};

use super::KernelError;
use super::error::io_at;
use super::run::{run_for_output, tool_command};
use crate::Project;
use crate::own;

/// Names the mirror: the address that has `dists/` below it.
const VARIABLE: &str = "IRQPATH_DEBIAN_MIRROR";
pub(super) const KEYRING: &str = "debian-archive-keyring.gpg";
/// Suites of Debian, without what may follow a dash.
const SUITES: [&str; 9] =
    ["bookworm", "trixie", "forky", "duke", "sid", "unstable", "testing", "stable", "oldstable"];
/// Knows the address of the archive, also on other distributions.
const DEBOOTSTRAP: &str = "/usr/sbin/debootstrap";

/// The mirror of Debian's archive that this host is near to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mirror {
    main: String,
    security: String,
}

impl Mirror {
    /// Find it: by the environment, the host's package sources, or debootstrap.
    ///
    /// # Errors
    /// [`KernelError::NoMirror`].
    pub(super) fn find() -> Result<Self, KernelError> {
        if let Some(main) = env::var(VARIABLE).ok().filter(|v| !v.is_empty()) {
            return Ok(Self::at(&main));
        }
        let mut ask = tool_command("apt-get");
        ask.args(["indextargets", "--format", "$(RELEASE) $(SITE)", "Created-By: Packages"]);
        let listed = run_for_output(&mut ask, "asking apt-get for the package sources")?;
        let default = || parse_debootstrap(&own::read_text(DEBOOTSTRAP).ok()?);
        parse_sources(&listed).or_else(default).ok_or(KernelError::NoMirror { variable: VARIABLE })
    }

    fn at(main: &str) -> Self {
        let main = main.trim_end_matches('/').to_owned();
        Self { security: format!("{main}-security"), main }
    }

    /// The address of the archive.
    pub(super) fn main(&self) -> &str {
        &self.main
    }

    /// Write the description of a suite, and the keys, to where apt reads them.
    ///
    /// # Errors
    /// [`KernelError::Io`] if the project does not describe the suite.
    pub(super) fn describe_suite(
        &self,
        project: &Project,
        suite: &str,
        directory: &Path,
    ) -> Result<(), KernelError> {
        let archive = project.lab().join("archive");
        let keys = directory.join(KEYRING);
        copy_content(&archive.join(KEYRING), &keys)?;
        let path = archive.join(format!("{suite}.sources"));
        let text = own::read_text(&path).map_err(io_at(&path, "read"))?;
        let signed = format!("Signed-By: {}\nTypes:", keys.display());
        let text = text
            .replace("Types:", &signed)
            .replace("@DEBIAN@", &self.main)
            .replace("@SECURITY@", &self.security);
        let path = sources_directory(directory).join("lab.sources");
        own::make_directory(sources_directory(directory)).map_err(io_at(&path, "write"))?;
        own::write(&path, text).map_err(io_at(&path, "write"))
    }
}

/// The directory with descriptions, below that of apt.
pub(super) fn sources_directory(directory: &Path) -> PathBuf {
    directory.join("sources.list.d")
}

/// [`own::copy`] would take over the mode, and apt's user may be another one.
fn copy_content(from: &Path, to: &Path) -> Result<(), KernelError> {
    let bytes = own::read(from).map_err(io_at(from, "read"))?;
    own::write(to, bytes).map_err(io_at(to, "write"))
}

/// Finds Debian's mirrors in lines `SUITE ADDRESS`, as apt-get prints them.
fn parse_sources(listed: &str) -> Option<Mirror> {
    let lines = listed.lines().filter_map(|line| line.split_once(' '));
    let debian: Vec<_> = lines
        .filter(|(suite, _)| SUITES.contains(&suite.split('-').next().unwrap_or_default()))
        .collect();
    let address = |security: bool| {
        debian.iter().find(|(suite, _)| suite.ends_with("-security") == security).map(|(_, a)| *a)
    };
    let mirror = Mirror::at(address(false)?);
    let security = address(true).map(|a| a.trim_end_matches('/').to_owned());
    Some(Mirror { security: security.unwrap_or(mirror.security), main: mirror.main })
}

/// Of the line `DEF_MIRROR="..."`, unless it is another distribution's.
fn parse_debootstrap(script: &str) -> Option<Mirror> {
    let line = script.lines().find_map(|line| line.trim().strip_prefix("DEF_MIRROR="))?;
    let address = line.trim_matches(['"', '\'']);
    address.trim_end_matches('/').ends_with("/debian").then(|| Mirror::at(address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_hosts_mirror_is_used_whatever_its_release() {
        let listed = "trixie http://mirror.example/debian\n\
                      trixie-security http://security.example/debian-security\n";
        let mirror = parse_sources(listed).unwrap();
        assert_eq!(mirror.main, "http://mirror.example/debian");
        assert_eq!(mirror.security, "http://security.example/debian-security");
        let mirror = parse_sources("sid http://mirror.example/debian/\n").unwrap();
        assert_eq!(mirror.security, "http://mirror.example/debian-security");
        assert_eq!(parse_sources("noble http://mirror.example/ubuntu\n"), None);
        assert_eq!(parse_sources(""), None);
    }

    #[test]
    fn debootstrap_tells_the_archive_of_debian_only() {
        let script = "#!/bin/sh\n DEF_MIRROR=\"http://mirror.example/debian\"\n";
        assert_eq!(parse_debootstrap(script), Some(Mirror::at("http://mirror.example/debian")));
        assert_eq!(parse_debootstrap("DEF_MIRROR=\"http://mirror.example/ubuntu\""), None);
    }

    #[test]
    fn a_suite_is_described_with_the_projects_own_keys() {
        let dir = tempfile::tempdir().unwrap();
        let archive = dir.path().join("project/lab/archive");
        fs::create_dir_all(&archive).unwrap();
        fs::write(dir.path().join("project/lab/kernels.toml"), "").unwrap();
        fs::write(archive.join(KEYRING), "keys").unwrap();
        let text = "Types: deb\nURIs: @DEBIAN@\nSuites: sid\n\nTypes: deb\nURIs: @SECURITY@\n";
        fs::write(archive.join("sid.sources"), text).unwrap();
        let project = Project::at(&dir.path().join("project")).unwrap();
        let mirror = Mirror::at("http://mirror.example/debian");
        mirror.describe_suite(&project, "sid", dir.path()).unwrap();
        let written = fs::read_to_string(dir.path().join("sources.list.d/lab.sources")).unwrap();
        let signed = format!("Signed-By: {}\n", dir.path().join(KEYRING).display());
        assert_eq!(written.matches(&signed).count(), 2, "{written}");
        assert!(written.contains("URIs: http://mirror.example/debian\n"), "{written}");
        assert!(written.contains("URIs: http://mirror.example/debian-security\n"), "{written}");
        assert_eq!(fs::read_to_string(dir.path().join(KEYRING)).unwrap(), "keys");
        let error = mirror.describe_suite(&project, "woody", dir.path()).unwrap_err().to_string();
        assert!(error.contains("woody.sources"), "{error}");
    }
}
