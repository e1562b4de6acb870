// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's side of threaded cgroups, on a machine made of files.

use std::io;

use super::{FakeAccess, MOUNT};
use crate::change::Access as _;

const EINVAL: i32 = 22;
const EOPNOTSUPP: i32 = 95;

impl FakeAccess {
    fn read_type(&self, directory: &str) -> String {
        self.real.read(&format!("{directory}/cgroup.type")).unwrap_or_default().trim().to_owned()
    }

    /// A cgroup can become threaded, and nothing else; then the one above is the root of threads.
    pub(super) fn make_threaded(&self, word: &str, directory: &str) -> io::Result<()> {
        if word != "threaded" {
            return Err(io::Error::from_raw_os_error(EINVAL));
        }
        self.put_text(&format!("{directory}/cgroup.type"), "threaded\n")?;
        let (above, _) = directory.rsplit_once('/').unwrap();
        self.put_text(&format!("{above}/cgroup.type"), "domain threaded\n")
    }

    /// The cgroup above one that went is a plain one again when no other is threaded.
    pub(super) fn end_threaded(&self, directory: &str) -> io::Result<()> {
        let (above, _) = directory.rsplit_once('/').unwrap();
        let mut others = self.real.list_directories(above).into_iter();
        let is_threaded = |name: String| self.read_type(&format!("{above}/{name}")) == "threaded";
        if self.read_type(above) != "domain threaded" || others.any(is_threaded) {
            return Ok(());
        }
        self.put_text(&format!("{above}/cgroup.type"), "domain\n")
    }

    /// A thread moves between a cgroup and the threaded ones below it.
    pub(super) fn move_thread(&self, tid: &str, directory: &str) -> io::Result<()> {
        let own = format!("proc/{tid}/cgroup");
        let old = self.real.read(&own)?;
        let old = format!("{MOUNT}{}", old.trim().trim_start_matches("0::").trim_end_matches('/'));
        let domain = |path: &str| match self.read_type(path).as_str() {
            "threaded" => path.rsplit_once('/').unwrap().0.to_owned(),
            _ => path.to_owned(),
        };
        if domain(&old) != domain(directory) {
            return Err(io::Error::from_raw_os_error(EOPNOTSUPP));
        }
        let others = |directory: &str| -> io::Result<String> {
            let text = self.real.read(&format!("{directory}/cgroup.threads"))?;
            let others = text.lines().filter(|line| *line != tid).flat_map(|line| [line, "\n"]);
            Ok(others.collect())
        };
        self.put_text(&format!("{old}/cgroup.threads"), &others(&old)?)?;
        let to = format!("{}{tid}\n", others(directory)?);
        self.put_text(&format!("{directory}/cgroup.threads"), &to)?;
        self.put_text(&own, &format!("0::{}\n", &directory[MOUNT.len()..]))
    }
}
