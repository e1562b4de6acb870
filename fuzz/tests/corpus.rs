// SPDX-License-Identifier: GPL-2.0-or-later
//! Replays the corpus: seeds, and every input that once made a target fail.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::fs;
use std::path::{Path, PathBuf};

use irqpath_fuzz::{TARGETS, Target};

fn corpus(target: &Target) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// What a target takes is limited by the allocator, which ends the process.
#[test]
fn no_input_makes_a_target_fail() {
    for target in TARGETS {
        for path in corpus(target) {
            // The last one is the one that failed.
            eprintln!("{}", path.display());
            (target.run)(&fs::read(&path).unwrap());
        }
    }
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut found: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    found.sort_unstable();
    names.sort_unstable();
    assert_eq!(found, names);
    assert!(TARGETS.iter().all(|target| !corpus(target).is_empty()));
}

/// Readers are only tested as deep as seeds get them: one that is refused tests nothing.
#[test]
fn a_whole_seed_is_read_to_its_end() {
    let read = |name: &str, seed: &str| {
        let target = TARGETS.iter().find(|target| target.name == name).unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name).join(seed);
        (target.run)(&fs::read(&path).unwrap())
    };
    for (name, seed) in [
        ("recording", "version-2"),
        ("recording", "version-3"),
        ("recording", "whole"),
        ("recording", "hostile-names"),
        ("result", "trace"),
        ("result", "hostile-names"),
        ("result", "respond"),
        ("result", "jitter"),
        ("result", "bench"),
        ("result", "document"),
        ("journal", "partition"),
        ("experiment", "ihm-timer"),
        ("capture", "workqueue"),
        ("flame", "one-path"),
        ("guest", "archive"),
        ("guest", "with-head"),
        ("table", "paths"),
        ("table", "lengths"),
        ("table", "hostile-names"),
    ] {
        assert!(read(name, seed), "{name}/{seed} is refused");
    }
    assert!(!read("guest", "link-and-long-name"), "a file outside of the results");
}
