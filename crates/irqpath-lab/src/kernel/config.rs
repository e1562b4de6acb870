// SPDX-License-Identifier: GPL-2.0-or-later
//! Configuration fragments, and what Kconfig made of them.
//!
//! Kconfig drops a line whose dependencies are not met, without a word. So every line that was
//! asked for is looked up in the result, and the first one that is missing is an error.

use std::collections::BTreeMap;
use std::path::Path;

use super::KernelError;
use super::error::io_at;

use crate::own;

/// Options and the values asked for, as written behind `=`; `n` for what must be off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fragment {
    options: BTreeMap<String, String>,
}

impl Fragment {
    /// Read fragments; a later one has the last word on an option.
    pub(super) fn read(paths: &[&Path]) -> Result<Self, KernelError> {
        let mut merged = Self::default();
        for path in paths {
            let text = own::read_text(path).map_err(io_at(path, "read"))?;
            let other = Self::parse(&text)
                .map_err(|line| KernelError::Fragment { path: path.to_path_buf(), line })?;
            merged.options.extend(other.options);
        }
        Ok(merged)
    }

    /// The options in a text; the first line that is none as the error.
    fn parse(text: &str) -> Result<Self, String> {
        let mut options = BTreeMap::new();
        for line in text.lines().map(str::trim) {
            if let Some((name, value)) = parse_option(line) {
                options.insert(name.to_owned(), value.to_owned());
            } else if !line.is_empty() && !line.starts_with('#') {
                return Err(line.to_owned());
            }
        }
        Ok(Self { options })
    }

    /// As Kconfig reads it.
    pub(super) fn format_options(&self) -> String {
        self.options
            .iter()
            .fold(String::new(), |text, (name, value)| text + "CONFIG_" + name + "=" + value + "\n")
    }

    /// What was asked for and is not so in a configuration, one text for each option.
    pub(super) fn lost_in(&self, config: &str) -> Vec<String> {
        let made: BTreeMap<&str, &str> = config.lines().filter_map(parse_option).collect();
        let differs = |(name, wanted): (&String, &String)| {
            let found = made.get(name.as_str()).copied().unwrap_or("n");
            (found != wanted).then(|| format!("CONFIG_{name}={wanted} (it is {found})"))
        };
        self.options.iter().filter_map(differs).collect()
    }
}

/// `CONFIG_X=value` or `# CONFIG_X is not set`.
fn parse_option(line: &str) -> Option<(&str, &str)> {
    if let Some(rest) = line.strip_prefix("# CONFIG_") {
        return rest.strip_suffix(" is not set").map(|name| (name, "n"));
    }
    let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (name.chars().all(plain) && !name.is_empty()).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const BASE: &str = "# a comment\nCONFIG_A=y\n\nCONFIG_S=\"-x\"\n# CONFIG_OFF is not set\n";

    #[test]
    fn later_fragments_have_the_last_word() {
        let dir = tempfile::tempdir().unwrap();
        let (base, debug) = (dir.path().join("base"), dir.path().join("debug"));
        fs::write(&base, BASE).unwrap();
        fs::write(&debug, "CONFIG_S=\"-y\"\nCONFIG_OFF=n\nCONFIG_NUMBER=8\n").unwrap();
        let merged = Fragment::read(&[&base, &debug]).unwrap().format_options();
        assert_eq!(merged, "CONFIG_A=y\nCONFIG_NUMBER=8\nCONFIG_OFF=n\nCONFIG_S=\"-y\"\n");
        assert!(Fragment::read(&[&dir.path().join("none")]).is_err());
    }

    #[test]
    fn a_line_that_is_no_option_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wrong.config");
        for line in ["CONFIG_A", "A=y", "CONFIG_A B=y", "CONFIG_=y"] {
            fs::write(&path, format!("CONFIG_FINE=y\n{line}\n")).unwrap();
            let error = Fragment::read(&[&path]).unwrap_err().to_string();
            assert!(error.contains("wrong.config") && error.contains(line), "{error}");
        }
    }

    #[test]
    fn whatever_did_not_come_true_is_named() {
        let fragment = Fragment::parse(BASE).unwrap();
        let good = "CONFIG_A=y\nCONFIG_S=\"-x\"\n# CONFIG_OFF is not set\nCONFIG_MORE=m\n";
        assert_eq!(fragment.lost_in(good), [] as [String; 0]);
        assert_eq!(fragment.lost_in("CONFIG_A=y\nCONFIG_S=\"-x\"\n"), [] as [String; 0]);
        assert_eq!(
            fragment.lost_in("CONFIG_A=m\nCONFIG_OFF=y\nCONFIG_AB=y\n"),
            ["CONFIG_A=y (it is m)", "CONFIG_OFF=n (it is y)", "CONFIG_S=\"-x\" (it is n)"]
        );
    }
}
