// SPDX-License-Identifier: GPL-2.0-or-later
//! Debian packages without root: apt with its lists and caches inside of ours.
//!
//! Suites, keys and versions are the project's own (`lab/archive`), so every host gets the same
//! packages, and apt verifies them as everywhere. The lists cover every architecture of the lab.
//! The host's dpkg is neither read nor changed, and the host's hooks do not run. Nothing is
//! installed: a package is downloaded, unpacked, and kept as a product.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::archive::{Mirror, sources_directory};
use super::error::io_at;
use super::packages::{Package, compare_versions, parse_show};
use super::run::{run_for_output, run_watched, tool_command};
use super::{Arch, KernelError};
use crate::cache::{Cache, Inputs, Product, Staging, hash_file};
use crate::own;
use crate::{Lab, Unit};

/// Version of the recipe that unpacks a package.
const RECIPE: u32 = 1;
/// How old lists may be when something is missing in them.
const FRESH: Duration = Duration::from_secs(3600);
/// Where root keeps lists if apt's own user cannot reach the cache.
const SHARED: &str = "/var/cache/irqpath";
/// The user that root's apt reads the network as.
const SANDBOX: &str = "_apt";

/// apt with a state of its own, for one suite.
#[derive(Debug)]
pub struct Apt<'a> {
    lab: &'a Lab,
    suite: String,
    directory: PathBuf,
    /// User that downloads in place of root.
    sandbox: Option<u32>,
}

impl<'a> Apt<'a> {
    /// Prepare it for a suite that `lab/archive` describes; asks no server yet.
    ///
    /// # Errors
    /// [`KernelError::NoApt`] where there is no apt, [`KernelError::NoMirror`] where no mirror is
    /// known, and if the cache cannot be written.
    pub fn open(lab: &'a Lab, suite: &str) -> Result<Self, KernelError> {
        run_for_output(tool_command("apt-get").arg("--version"), "apt-get --version")?;
        run_for_output(tool_command("dpkg-deb").arg("--version"), "dpkg-deb --version")?;
        let (root, sandbox) = choose_directory(lab.cache.root());
        let directory = root.join("apt").join(suite);
        let apt = Self { lab, suite: suite.to_owned(), directory, sandbox };
        for below in ["state/lists/partial", "cache/archives/partial"] {
            let path = apt.directory.join(below);
            own::make_directory(&path).map_err(io_at(&path, "write"))?;
        }
        if root == Path::new(SHARED) {
            let mut ways = apt.directory.ancestors().take_while(|way| way.starts_with(SHARED));
            ways.try_for_each(let_pass)?;
        }
        let path = apt.config_file();
        if own::read_text(&path).ok().as_deref() != Some(&apt.config_text()) {
            own::write(&path, apt.config_text()).map_err(io_at(&path, "write"))?;
        }
        Mirror::find()?.describe_suite(&lab.project, suite, &apt.directory)?;
        Ok(apt)
    }

    fn config_file(&self) -> PathBuf {
        self.directory.join("apt.conf")
    }

    fn config_text(&self) -> String {
        let native = Arch::host().unwrap_or(Arch::X86_64).debian();
        let architectures: Vec<_> =
            Arch::ALL.iter().map(|a| format!("\"{}\"; ", a.debian())).collect();
        let architectures = architectures.concat();
        let user = if self.sandbox.is_some() { SANDBOX } else { "root" };
        format!(
            "#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n\
             #clear APT::Update::Post-Invoke-Success;\n#clear APT::Architectures;\n\
             #clear APT::Default-Release;\n\
             APT::Architecture \"{native}\";\nAPT::Architectures {{ {architectures}}};\n\
             APT::Sandbox::User \"{user}\";\n\
             Dir::Etc::sourcelist \"/dev/null\";\nDir::Etc::sourceparts \"{sources}\";\n\
             Dir::Etc::preferences \"/dev/null\";\nDir::Etc::preferencesparts \"/dev/null\";\n\
             Dir::State \"{0}/state\";\nDir::State::lists \"{0}/state/lists\";\n\
             Dir::State::status \"/dev/null\";\nDir::Cache \"{0}/cache\";\n\
             Dir::Cache::pkgcache \"pkgcache.bin\";\nDir::Cache::srcpkgcache \"\";\n\
             Acquire::Languages \"none\";\n\
             Acquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n\
             Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled \"false\";\n",
            self.directory.display(),
            sources = sources_directory(&self.directory).display(),
        )
    }

    fn apt_command(&self, program: &str) -> Command {
        let mut command = tool_command(program);
        command.arg("-q").arg("-c").arg(self.config_file());
        command
    }

    /// Fetch the lists, unless they are as young as [`FRESH`].
    ///
    /// # Errors
    /// If no list could be fetched. One source that fails, of many, is only noted.
    pub fn refresh_lists(&self) -> Result<(), KernelError> {
        let _lock = self.lock_lists()?;
        let stamp = self.directory.join("refreshed");
        let age = stamp.metadata().and_then(|m| m.modified()).ok();
        let age = age.and_then(|t| SystemTime::now().duration_since(t).ok());
        if age.is_some_and(|age| age < FRESH) {
            return Ok(());
        }
        self.lab.progress.begin_step("fetching package lists", None, Unit::Steps);
        let log = self.directory.join("update.log");
        if let Err(error) =
            run_watched(self.apt_command("apt-get").arg("update"), "apt-get update", &log, || {})
        {
            if self.list_names("linux-image-")?.is_empty() {
                return Err(error);
            }
            self.lab
                .progress
                .print_note(&format!("{error}; going on with the lists that are there"));
            return Ok(());
        }
        own::write(&stamp, "").map_err(io_at(&stamp, "write"))
    }

    /// Two that download lists at the same time would get half of each.
    fn lock_lists(&self) -> Result<fs::File, KernelError> {
        let place = Cache::at(&self.directory);
        Ok(place.take_lock("lists", "the package lists", &self.lab.progress)?)
    }

    /// Names of the packages that begin so.
    pub fn list_names(&self, prefix: &str) -> Result<Vec<String>, KernelError> {
        let text = run_for_output(
            self.apt_command("apt-cache").args(["pkgnames", prefix]),
            "asking apt-cache for names",
        )?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The versions of a package in the lists, newest first; empty if there is none. A package
    /// that is the same for all architectures is found for each.
    pub fn list_versions(&self, name: &str, arch: Arch) -> Result<Vec<Package>, KernelError> {
        let mut command = self.apt_command("apt-cache");
        let shown = command.args(["show", &qualify_name(name, arch)]).output();
        // It fails when there is no such package, and that is an answer too.
        let text = shown.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
        let text = text.map_err(io_at(Path::new("apt-cache"), "start"))?;
        let mut found = parse_show(&text);
        found.retain(|p| p.architecture == arch.debian() || p.architecture == "all");
        found.sort_by(|a, b| compare_versions(&b.version, &a.version));
        Ok(found)
    }

    /// One version of a package; the newest if none is named. Lists that do not have it are
    /// fetched again.
    ///
    /// # Errors
    /// [`KernelError::NoPackage`] if no source has it.
    pub fn find_package(
        &self,
        name: &str,
        arch: Arch,
        version: Option<&str>,
    ) -> Result<Package, KernelError> {
        let found = |apt: &Self| {
            let mut versions = apt.list_versions(name, arch)?.into_iter();
            Ok::<_, KernelError>(versions.find(|p| version.is_none_or(|v| p.version == v)))
        };
        if let Some(package) = found(self)? {
            return Ok(package);
        }
        // Another process may have fetched them since.
        self.refresh_lists()?;
        if let Some(package) = found(self)? {
            return Ok(package);
        }
        let version = version.map(|v| format!(" {v}")).unwrap_or_default();
        let suite = self.suite.clone();
        Err(KernelError::NoPackage { package: format!("{name} ({arch}){version}"), suite })
    }

    /// Download packages into a directory; returns their files in the same order.
    pub fn download_packages(
        &self,
        packages: &[Package],
        directory: &Path,
        staging: &Staging,
    ) -> Result<Vec<PathBuf>, KernelError> {
        own::make_directory(directory).map_err(io_at(directory, "write"))?;
        let wanted: Vec<String> = packages.iter().map(exact_name).collect();
        let total = packages.iter().map(|p| p.size).sum();
        let what = format!("downloading {}", packages.first().map_or("", |p| &p.name));
        self.lab.progress.begin_step(&what, Some(total), Unit::Bytes);
        // A directory that belongs to the user who downloads, and nothing else of ours.
        let fetched = tempfile::tempdir_in(&self.directory);
        let fetched = fetched.map_err(io_at(&self.directory, "write"))?;
        if let Some(user) = self.sandbox {
            own::give_to(&fetched, user).map_err(io_at(fetched.path(), "given away"))?;
        }
        let mut command = self.apt_command("apt-get");
        command.arg("download").args(wanted).current_dir(&fetched).stdin(staging.stdin());
        let log = directory.join("download.log");
        run_watched(&mut command, &what, &log, || {
            self.lab.progress.set_done(size_of(fetched.path()));
        })?;
        packages.iter().map(|p| take_package(p, fetched.path(), directory)).collect()
    }

    /// The files of a package, unpacked; from the cache if they are there.
    ///
    /// # Errors
    /// As [`Apt::find_package`], and if it cannot be downloaded or unpacked.
    pub fn provide_unpacked(
        &self,
        name: &str,
        arch: Arch,
        version: Option<&str>,
    ) -> Result<PathBuf, KernelError> {
        let package = self.find_package(name, arch, version)?;
        let inputs = Inputs::new("package", RECIPE)
            .value("name", name)
            .value("version", &package.version)
            .value("architecture", arch.name())
            .value("sha256", &package.sha256);
        let label = format!("{name}-{arch}");
        let product = Product { kind: "packages", label, inputs, resumable: false };
        self.lab.cache.provide_product(&product, &self.lab.progress, |staging| {
            let debs = staging.directory.join("debs");
            for deb in self.download_packages(std::slice::from_ref(&package), &debs, staging)? {
                unpack_package(&deb, &staging.directory)?;
            }
            crate::cache::remove_directory(&debs)?;
            Ok(())
        })
    }
}

/// Unpack the files of a package.
pub(super) fn unpack_package(deb: &Path, directory: &Path) -> Result<(), KernelError> {
    let what = format!("unpacking {}", deb.file_name().unwrap_or_default().to_string_lossy());
    run_for_output(tool_command("dpkg-deb").arg("-x").arg(deb).arg(directory), &what)?;
    Ok(())
}

fn qualify_name(name: &str, arch: Arch) -> String {
    if Arch::host() == Some(arch) { name.to_owned() } else { format!("{name}:{}", arch.debian()) }
}

/// As `apt-get download` takes it.
fn exact_name(package: &Package) -> String {
    let native = Arch::host().is_some_and(|host| host.debian() == package.architecture);
    if native || package.architecture == "all" {
        format!("{}={}", package.name, package.version)
    } else {
        format!("{}:{}={}", package.name, package.architecture, package.version)
    }
}

fn size_of(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let debs = entries.filter(|e| e.path().extension().is_some_and(|x| x == "deb"));
    debs.filter_map(|e| e.metadata().ok()).map(|m| m.len()).sum()
}

/// Move a package out of the directory in which another user could still change it.
fn take_package(
    package: &Package,
    fetched: &Path,
    directory: &Path,
) -> Result<PathBuf, KernelError> {
    let from = file_of(package, fetched)?;
    let to = directory.join(from.file_name().unwrap_or_default());
    own::copy(&from, &to).map_err(io_at(&to, "write"))?;
    let found = hash_file(&to).map_err(io_at(&to, "read"))?;
    if found == package.sha256 {
        return Ok(to);
    }
    Err(KernelError::Incomplete {
        place: to,
        missing: format!("content with the SHA-256 {}", package.sha256),
        advice: "it changed after apt had checked it; try again, and look who writes there",
    })
}

/// Where lists and downloads are kept, and the user that fetches them in place of root. That user
/// must reach the place, and cannot where the cache is in root's home.
fn choose_directory(cache: &Path) -> (PathBuf, Option<u32>) {
    let user = if rustix::process::geteuid().is_root() { sandbox_user() } else { None };
    let shared = user.is_some() && !is_reachable(cache);
    (if shared { SHARED.into() } else { cache.to_owned() }, user)
}

fn sandbox_user() -> Option<u32> {
    let users = own::read_text("/etc/passwd").ok()?;
    let line = users.lines().find_map(|line| line.strip_prefix(SANDBOX)?.strip_prefix(':'))?;
    line.split(':').nth(1)?.parse().ok()
}

/// Let every user pass, whatever the umask was when it was made.
fn let_pass(directory: &Path) -> Result<(), KernelError> {
    own::set_mode(directory, 0o755).map_err(io_at(directory, "opened to apt's user"))
}

/// Whether every user may pass through; what does not exist yet will be made so.
fn is_reachable(path: &Path) -> bool {
    let open = |path: &Path| fs::metadata(path).map_or(true, |m| m.permissions().mode() & 1 != 0);
    path.ancestors().all(open)
}

fn file_of(package: &Package, directory: &Path) -> Result<PathBuf, KernelError> {
    let start = format!("{}_", package.name);
    let entries = fs::read_dir(directory).map_err(io_at(directory, "read"))?.flatten();
    let mut names = entries.map(|e| e.path());
    let found = names.find(|p| {
        p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&start))
            && p.extension().is_some_and(|x| x == "deb")
    });
    found.ok_or_else(|| KernelError::Incomplete {
        place: directory.to_owned(),
        missing: format!("file of the package {}", package.name),
        advice: "look at download.log there",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Progress, Project};

    fn lab_with_cache(cache: &Path) -> Lab {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let project = Project::at(&root).unwrap();
        Lab { project, cache: Cache::at(cache), progress: Progress::hidden() }
    }

    /// What apt itself takes a configuration to say; `None` where there is no apt.
    fn user_of(config: &Path) -> Option<String> {
        let mut asked = Command::new("apt-config");
        asked.arg("-c").arg(config).args(["dump", "--format", "%v%n", "APT::Sandbox::User"]);
        let said = String::from_utf8(asked.output().ok()?.stdout).unwrap();
        Some(said.trim().to_owned())
    }

    #[test]
    fn apt_reads_the_network_as_its_own_user_where_there_is_a_sandbox() {
        let directory = tempfile::tempdir().unwrap();
        let lab = lab_with_cache(directory.path());
        for (sandbox, user) in [(Some(42), "_apt"), (None, "root")] {
            let suite = "bookworm".to_owned();
            let apt = Apt { lab: &lab, suite, directory: directory.path().to_owned(), sandbox };
            own::write(apt.config_file(), apt.config_text()).unwrap();
            let Some(found) = user_of(&apt.config_file()) else {
                eprintln!("skipped: what apt reads: there is no apt-config");
                return;
            };
            assert_eq!(found, user);
        }
    }

    #[test]
    fn root_downloads_as_apts_user_into_a_place_that_this_user_reaches() {
        let directory = tempfile::tempdir().unwrap();
        let (hidden, open) = (directory.path().join("hidden"), directory.path().join("open"));
        for (path, mode) in
            [(&hidden, 0o700), (&open, 0o755), (&directory.path().to_owned(), 0o755)]
        {
            own::make_directory(path).unwrap();
            own::set_mode(path, mode).unwrap();
        }
        let is_root = rustix::process::geteuid().is_root();
        let user = sandbox_user().filter(|_| is_root);
        if user.is_none() {
            eprintln!("skipped: downloads as _apt: not root, or there is no such user");
            assert_eq!(choose_directory(&hidden), (hidden, None));
            return;
        }
        assert_ne!(user, Some(0));
        assert_eq!(choose_directory(&open), (open.clone(), user));
        assert_eq!(choose_directory(&hidden), (SHARED.into(), user));
        // It also asks for a mirror, which this machine need not know.
        let lab = lab_with_cache(&open);
        let _ = Apt::open(&lab, "bookworm");
        assert_eq!(user_of(&open.join("apt/bookworm/apt.conf")).as_deref(), Some(SANDBOX));
    }
}
