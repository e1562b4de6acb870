// SPDX-License-Identifier: GPL-2.0-or-later
//! What apt says about packages, and which of two versions is newer. Pure; `apt` asks.

use std::cmp::Ordering;

/// One version of a package that a source offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Name.
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

/// Compare two versions as dpkg does: digits as numbers, `~` before everything.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    while !a.is_empty() || !b.is_empty() {
        let order = compare_text(&mut a, &mut b).then_with(|| compare_number(&mut a, &mut b));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

fn compare_text(a: &mut &[u8], b: &mut &[u8]) -> Ordering {
    loop {
        let (first, second) = (weight(a), weight(b));
        if first != second || first == 0 && !tilde(a) {
            return first.cmp(&second);
        }
        (*a, *b) = (&a[1..], &b[1..]);
    }
}

fn tilde(text: &[u8]) -> bool {
    text.first() == Some(&b'~')
}

/// Of the next character: end and digits 0, `~` below, letters before other signs.
fn weight(text: &[u8]) -> i32 {
    match text.first() {
        None | Some(b'0'..=b'9') => 0,
        Some(b'~') => -1,
        Some(c) if c.is_ascii_alphabetic() => i32::from(*c),
        Some(c) => i32::from(*c) + 256,
    }
}

fn compare_number(a: &mut &[u8], b: &mut &[u8]) -> Ordering {
    let (first, second) = (number(a), number(b));
    first.len().cmp(&second.len()).then_with(|| first.cmp(second))
}

/// Take the digits in front, without leading zeros.
fn number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text.iter().position(|c| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    let zeros = digits.iter().take_while(|c| **c == b'0').count();
    &digits[zeros..]
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
            "6.12.9-1~deb12u1",
            "6.12.9-1",
            "6.12.107-1~deb12u1",
            "6.12.107-1~deb12u2",
            "6.12.107-2",
            "6.12.117+deb12-rt-amd64",
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(compare_versions(a, b), i.cmp(&j), "{a} {b}");
            }
        }
        assert_eq!(compare_versions("1.02", "1.2"), Ordering::Equal);
    }
}
