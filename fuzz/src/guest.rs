// SPDX-License-Identifier: GPL-2.0-or-later
//! What a guest of the lab leaves in its result memory: the archive alone, whose head is made
//! here, or with a head of its own.

use irqpath_lab::vm::{HEAD_LEN, Head, JobEnd, ResultState, Results};

use crate::scratch::Scratch;

/// Read it and write its files below a directory.
pub fn run(data: &[u8]) -> bool {
    if let (Ok(head), Some(archive)) = (Head::parse(data), data.get(HEAD_LEN..)) {
        return Results::parse(&head, archive).is_ok();
    }
    let head = Head {
        state: ResultState::Complete,
        job: JobEnd::Exited(0),
        length: data.len() as u64,
        crc: crc32fast::hash(data),
        taint: 0,
        job_start_ns: 0,
        job_end_ns: 1,
    };
    let Ok(results) = Results::parse(&head, data) else { return false };
    results.job_log();
    let scratch = Scratch::new();
    let _ = results.extract_files(&scratch.path().join("results"));
    let names = std::fs::read_dir(scratch.path()).expect("it is there");
    let outside = names.flatten().find(|entry| entry.file_name() != "results");
    assert!(outside.is_none(), "{outside:?} lies outside of the results");
    true
}
