// SPDX-License-Identifier: GPL-2.0-or-later
//! Profiles: files of switches, each with its reason. Four come with the binary; those in
//! /etc/irqpath/profiles go before them. One that somebody but root or the caller could have
//! written is refused, as root does what it says.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use irqpath_files::input;
use irqpath_files::tree::check_tree;
use irqpath_model::shield::Switch;
use serde::Deserialize;

/// Own profiles, NAME.toml.
const DIRECTORY: &str = "/etc/irqpath/profiles";
/// A profile has a few lines.
const MAX_PROFILE: u64 = 1 << 16;

const SHIPPED: [(&str, &str); 4] = [
    ("audio", include_str!("../../../profiles/audio.toml")),
    ("robotics", include_str!("../../../profiles/robotics.toml")),
    ("trading", include_str!("../../../profiles/trading.toml")),
    ("dpdk", include_str!("../../../profiles/dpdk.toml")),
];

/// Switches that are on, and why.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub description: String,
    pub switches: BTreeMap<Switch, String>,
}

pub fn load_profile(name: &str) -> anyhow::Result<Profile> {
    load_from(Path::new(DIRECTORY), name)
}

fn load_from(directory: &Path, name: &str) -> anyhow::Result<Profile> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(is_plain) {
        bail!("'{name}' is no name of a profile; use small letters, digits and -");
    }
    let path = directory.join(format!("{name}.toml"));
    let text = if path.exists() {
        check_tree(directory, &[&format!("{name}.toml")])
            .map_err(|error| anyhow!("{error}; give it to root: chown root, chmod go-w"))?;
        input::read_text(&path, MAX_PROFILE)
            .map_err(|error| anyhow!("cannot read {}: {error}", path.display()))?
    } else {
        let shipped = SHIPPED.iter().find(|(known, _)| *known == name);
        let known: Vec<&str> = SHIPPED.iter().map(|(known, _)| *known).collect();
        let shipped = shipped.with_context(|| {
            let known = known.join(", ");
            format!("there is no profile {name}; use {known}, or write {}", path.display())
        })?;
        shipped.1.to_owned()
    };
    let profile: Profile = toml::from_str(&text).map_err(|error| {
        let reason = error.message().replace('\n', " ");
        anyhow!("profile {name}: {reason}; irqpath shield set --help lists the switches")
    })?;
    if profile.switches.is_empty() {
        bail!("profile {name} has no switch; add one below [switches]");
    }
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn those_that_are_shipped_can_be_read_and_differ() {
        let empty = tempfile::tempdir().unwrap();
        let all = SHIPPED.map(|(name, _)| load_from(empty.path(), name).unwrap());
        assert!(all.iter().all(|profile| profile.switches.contains_key(&Switch::Tasks)));
        assert!(all[2].switches.contains_key(&Switch::Poll), "trading");
        assert!(!all[0].switches.contains_key(&Switch::Ticks), "audio");
    }

    #[test]
    fn an_own_one_goes_first_and_a_damaged_one_is_refused_in_one_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audio.toml");
        let own = "description = 'mine'\n[switches]\nirqs = 'because'\n";
        fs::write(&path, own).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(load_from(directory.path(), "audio").unwrap().description, "mine");
        for (text, part) in [
            ("description = 'x'\n[switches]\nirqz = 'x'\n", "irqz"),
            ("description = 'x'\n[switches]\n", "no switch"),
            ("nonsense", "profile audio: "),
        ] {
            fs::write(&path, text).unwrap();
            let error = load_from(directory.path(), "audio").unwrap_err().to_string();
            assert!(error.contains(part) && error.lines().count() == 1, "{error}");
        }
        fs::write(&path, own).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let error = load_from(directory.path(), "audio").unwrap_err().to_string();
        assert!(error.contains("can be written by others"), "{error}");
        for name in ["../audio", "", "a/b", "none"] {
            assert!(load_from(directory.path(), name).is_err(), "{name}");
        }
    }
}
