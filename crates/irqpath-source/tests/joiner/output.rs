// SPDX-License-Identifier: GPL-2.0-or-later
//! What the harness printed, as numbers: for the tests that compute instead of compare.

use std::collections::BTreeMap;

/// A `path` line.
pub struct Path {
    pub tid: u32,
    /// Name of the point, its CPU, its time.
    pub points: Vec<(String, u32, i64)>,
}

/// An `occ` (delivered) or `left` (still in the ring) line.
pub struct Chunk {
    pub cpu: u32,
    pub seq: u64,
    /// `ns:kind:flags:id[:prio:comm]`
    pub entries: Vec<String>,
}

/// A `hist` line.
pub struct Hist {
    pub stage: String,
    pub nr: u64,
    pub sum: u64,
    pub min: u64,
    pub max: u64,
    pub overflow: u64,
    /// Bucket and count.
    pub buckets: Vec<(u64, u64)>,
}

fn lines<'a>(out: &'a str, kind: &str) -> impl Iterator<Item = Vec<&'a str>> {
    let kind = format!("{kind} ");
    out.lines().filter(move |l| l.starts_with(&kind)).map(|l| l.split(' ').collect())
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("not a number: {text}"))
}

pub fn paths(out: &str) -> Vec<Path> {
    lines(out, "path").map(|words| path(&words)).collect()
}

fn path(words: &[&str]) -> Path {
    let mut at = 0;
    let mut points = Vec::new();
    for word in words[5..].iter().filter(|w| w.contains('@')) {
        let (name, rest) = word.split_once('@').expect("filtered");
        let sign = rest.find(['=', '+', '-']).expect("a time");
        let ns: i64 = number(rest[sign..].trim_start_matches('='));
        at = if rest[sign..].starts_with('=') { ns } else { at + ns };
        points.push((name.to_owned(), number(&rest[..sign]), at));
    }
    let (_, tid) = words[2].rsplit_once(':').expect("comm:tid");
    Path { tid: number(tid), points }
}

/// Chunks of one kind, `occ` or `left`.
pub fn chunks(out: &str, kind: &str) -> Vec<Chunk> {
    let chunk = |w: Vec<&str>| Chunk {
        cpu: number(w[1]),
        seq: number(w[2]),
        entries: w[4..].iter().map(|&e| e.to_owned()).collect(),
    };
    lines(out, kind).map(chunk).collect()
}

/// Transitions that each CPU counted.
pub fn heads(out: &str) -> BTreeMap<u32, u64> {
    lines(out, "head").map(|w| (number(w[1]), number(w[2]))).collect()
}

pub fn hists(out: &str) -> Vec<Hist> {
    lines(out, "hist").map(|w| hist(&w)).collect()
}

fn hist(w: &[&str]) -> Hist {
    let value = |i: usize| number(w[i].split_once('=').expect("key=value").1);
    let bucket = |b: &&str| {
        let (i, nr) = b.split_once(':').expect("bucket:count");
        (number(i), number(nr))
    };
    Hist {
        stage: w[1].to_owned(),
        nr: value(2),
        sum: value(3),
        min: value(4),
        max: value(5),
        overflow: value(6),
        buckets: w[7..].iter().map(bucket).collect(),
    }
}
