// SPDX-License-Identifier: GPL-2.0-or-later
//! Flow rules of the network devices of a machine made of files, in `sys/flows/DEVICE`.
//!
//! The first line is `on QUEUES PLACES` or `off QUEUES PLACES`, or `none` for a driver without
//! rules. Each further line is a location and the words of a rule.

use std::collections::BTreeMap;
use std::io;

use irqpath_model::tune::{FlowTable, FoundRule, OTHER_RULE};

use super::{Fake, FakeAccess};
use crate::change::{Access as _, RealAccess};

const EOPNOTSUPP: i32 = 95;

fn path_of(device: &str) -> String {
    format!("sys/flows/{device}")
}

impl Fake {
    /// Add a network device with flow rules, as in `on 2 16`.
    pub fn with_flows(self, device: &str, text: &str) -> Self {
        self.with_file(&format!("sys/class/net/{device}/threaded"), "0\n")
            .with_file(&path_of(device), text)
    }

    /// The rules of a device.
    pub fn read_flows(&self, device: &str) -> String {
        let text = self.host().read(&path_of(device)).unwrap();
        text.split_once('\n').unwrap().1.to_owned()
    }

    /// Add a UDP socket that is open in a task.
    pub fn with_socket(self, tid: u32, port: u16) -> Self {
        let inode = u32::from(port) + 100_000 * tid;
        let old = self.host().read_fact("proc/net/udp").unwrap_or_default();
        let line =
            format!("  1: 00000000:{port:04X} 00000000:0000 07 0:0 00:0 0 0 0 {inode} 2 0 0");
        self.with_file("proc/net/udp", &format!("{old}\n{line}\n"))
            .with_link(&format!("proc/{tid}/fd/{port}"), &format!("socket:[{inode}]"))
    }
}

pub(super) fn read_table(real: &RealAccess, device: &str) -> io::Result<FlowTable> {
    let text = real.read(&path_of(device))?;
    let mut lines = text.lines();
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [state, queues, places] = words[..] else {
        return Err(io::Error::from_raw_os_error(EOPNOTSUPP));
    };
    Ok(FlowTable {
        is_on: state == "on",
        nr_queues: queues.parse().unwrap(),
        nr_places: places.parse().unwrap(),
        rules: lines.map(parse_line).collect(),
    })
}

/// `15 udp port 7 to queue 1`, or the same with `another rule: ` in between for one with more
/// conditions.
fn parse_line(line: &str) -> (u32, FoundRule) {
    let (location, rule) = line.split_once(' ').unwrap();
    let plain = rule.strip_prefix(OTHER_RULE).unwrap_or(rule).parse();
    let found = match (plain, rule.strip_prefix(OTHER_RULE)) {
        (Ok(plain), None) => FoundRule::Plain(plain),
        (plain, words) => FoundRule::Other {
            flow: plain.ok().map(|rule| rule.flow),
            queue: plain.ok().map(|rule| rule.queue),
            words: words.unwrap().to_owned(),
        },
    };
    (location.parse().unwrap(), found)
}

impl FakeAccess {
    pub(super) fn change_flows(
        &self,
        device: &str,
        change: impl Fn(&mut BTreeMap<u32, String>),
    ) -> io::Result<()> {
        let path = path_of(device);
        let text = self.real.read(&path)?;
        let first = text.lines().next().unwrap_or_default();
        let table = read_table(&self.real, device)?;
        let mut rules = table.rules.into_iter().map(|(at, rule)| (at, rule.to_string())).collect();
        change(&mut rules);
        let lines: Vec<String> = rules.iter().map(|(at, rule)| format!("{at} {rule}\n")).collect();
        self.put_text(&path, &format!("{first}\n{}", lines.concat()))
    }
}
