// SPDX-License-Identifier: GPL-2.0-or-later
//! What apt says about packages, and which of two versions is newer. Pure; `apt` asks.

use std::cmp::Ordering;

/// One version of a package that a source offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    /// Version as Debian writes it.
    pub version: String,
    /// Architecture: `amd64`, `arm64`, `all`.
    pub architecture: String,
    /// Size of the package file, bytes.
    pub size: u64,
    /// SHA-256 of the package file.
    pub sha256: String,
    /// Names of the packages that it needs; alternatives count each.
    pub depends: Vec<String>,
}

/// Read what `apt-cache show` prints; a stanza without a name, version or architecture is left
/// out, for nothing could be downloaded by it.
pub(super) fn parse_show(text: &str) -> Vec<Package> {
    text.split("\n\n").filter_map(parse_stanza).collect()
}

fn parse_stanza(text: &str) -> Option<Package> {
    let field = |name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    };
    Some(Package {
        name: field("Package")?.to_owned(),
        version: field("Version")?.to_owned(),
        architecture: field("Architecture")?.to_owned(),
        size: field("Size").and_then(|s| s.parse().ok()).unwrap_or(0),
        sha256: field("SHA256").unwrap_or_default().to_owned(),
        depends: field("Depends").map(parse_depends).unwrap_or_default(),
    })
}

/// `a (>= 1), b:any | c` is a, b, c.
fn parse_depends(text: &str) -> Vec<String> {
    text.split([',', '|'])
        .filter_map(|part| part.trim().split([' ', ':', '(']).next())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Compares two versions as dpkg does: by epoch, then by upstream version, then by revision.
///
/// By hand: the crate debversion would add 1.8 MB to the binary for a regex engine, a calendar and
/// big integers, and deb-version7 is under the GPL version 3.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    version_key(a).cmp(&version_key(b))
}

/// Epoch, upstream version and revision in a form whose order is that of versions.
fn version_key(version: &str) -> (u64, PartKey<'_>, PartKey<'_>) {
    let (epoch, rest) = version.split_once(':').unwrap_or(("0", version));
    let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, "0"));
    (epoch.parse().unwrap_or(0), part_key(upstream), part_key(revision))
}

/// For each text of a part the weights of its characters, and the number that follows it: how many
/// digits it has, and those.
type PartKey<'a> = Vec<(Vec<u32>, usize, &'a str)>;

fn part_key(mut part: &str) -> PartKey<'_> {
    let mut key = Vec::new();
    loop {
        let at_end = part.is_empty();
        let start = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
        let (text, rest) = part.split_at(start);
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..end].trim_start_matches('0');
        key.push((text.chars().map(character_weight).chain([END]).collect(), number.len(), number));
        // The end counts as a text of its own: `1~` is before `1`.
        if at_end {
            return key;
        }
        part = &rest[end..];
    }
}

/// Weight of the end of a text; only `~` is before it.
const END: u32 = 1;

/// Weight of a character in a text: letters are before other signs.
fn character_weight(character: char) -> u32 {
    match character {
        '~' => 0,
        letter if letter.is_ascii_alphabetic() => u32::from(letter),
        sign => u32::from(sign) + 256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = "\
Package: linux-headers-6.12.1+deb12-rt-amd64
Source: linux-6.12
Version: 6.12.1-1~deb12u1
Architecture: amd64
Depends: linux-base (>= 4.12~), linux-image-a (= 1) | linux-image-b:any, gcc-12
Description: Header files
 Depends: this is text, not a field
Size: 3266644
SHA256: 69761d1d

Package: broken
Version: 1

Package: linux-headers-6.12.1+deb12-rt-amd64
Version: 6.12.0-1
Architecture: amd64
";

    #[test]
    fn stanzas_are_read_with_all_their_versions() {
        let found = parse_show(SHOWN);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].version, "6.12.1-1~deb12u1");
        assert_eq!((found[0].size, found[0].sha256.as_str()), (3_266_644, "69761d1d"));
        assert_eq!(found[0].depends, ["linux-base", "linux-image-a", "linux-image-b", "gcc-12"]);
        assert_eq!((found[1].version.as_str(), found[1].size), ("6.12.0-1", 0));
        assert_eq!(parse_show(""), []);
    }

    #[test]
    fn versions_are_ordered_as_dpkg_orders_them() {
        let ordered = [
            "1~~",
            "1~",
            "1",
            "1a",
            "1+b",
            "1.2",
            "1.10",
            "2.3-1",
            "2.3-1+b1",
            "2.3-2",
            "2.3+dfsg-1",
            "2.3+dfsg-1.1",
            "2.3-1-1",
            "2.3.1-1",
            "6.12.9-1~deb12u1",
            "6.12.9-1",
            "6.12.107-1~deb12u1",
            "6.12.107-1~deb12u2",
            "6.12.107-2",
            "6.12.117+deb12-rt-amd64",
            "99999999999999999999999",
            "1:0.1",
            "1:0.1-1",
            "2:0~",
            "2:0",
            "10:0",
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(compare_versions(a, b), i.cmp(&j), "{a} {b}");
            }
        }
        for (a, b) in [("1.02", "1.2"), ("1.", "1.0"), ("0:1", "1"), ("1-0", "1")] {
            assert_eq!(compare_versions(a, b), Ordering::Equal, "{a} {b}");
        }
    }
}
