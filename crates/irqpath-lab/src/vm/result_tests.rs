// SPDX-License-Identifier: GPL-2.0-or-later
//! Results that are whole, and all kinds that are not.

use std::fs;

use super::*;
use proptest::prelude::*;

fn make_archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, data) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        // By hand: the crate refuses to write what a bad guest might.
        let name = &mut header.as_old_mut().name;
        name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        builder.append(&header, *data).unwrap();
    }
    builder.into_inner().unwrap()
}

fn head_of(archive: &[u8]) -> Vec<u8> {
    let mut head = Vec::from(*MAGIC);
    for word in [VERSION, 1, 0, 0] {
        head.extend(word.to_le_bytes());
    }
    head.extend((archive.len() as u64).to_le_bytes());
    head.extend(crc32fast::hash(archive).to_le_bytes());
    head.extend([0; 4]);
    for long in [512u64, 7, 9] {
        head.extend(long.to_le_bytes());
    }
    head
}

fn parse_results(head: &[u8], archive: &[u8]) -> Result<Results, ResultError> {
    Results::parse(&Head::parse(head)?, archive)
}

#[test]
fn whole_results() {
    let archive = make_archive(&[("./job.log", b"said\n"), ("./a/b", b"deep"), ("empty", b"")]);
    let head = head_of(&archive);
    let parsed = Head::parse(&head).unwrap();
    assert_eq!((parsed.state, parsed.job), (State::Complete, JobEnd::Exited(0)));
    assert_eq!((parsed.taint, parsed.job_start_ns, parsed.job_end_ns), (512, 7, 9));
    let results = parse_results(&head, &archive).unwrap();
    assert_eq!(results.job_log(), "said\n");
    assert_eq!(results.file_bytes("a/b").unwrap(), b"deep");
    assert_eq!(results.files().count(), 3);
    let error = results.file_text("c").unwrap_err().to_string();
    assert_eq!(error, "the job left no file 'c'; see job.log");
}

#[test]
fn what_lies_behind_the_archive_is_not_read() {
    let mut archive = make_archive(&[("a", b"1")]);
    let head = head_of(&archive);
    archive.extend([0xff; 4096]);
    assert_eq!(parse_results(&head, &archive).unwrap().file_text("a").unwrap(), "1");
}

#[test]
fn extraction_puts_files_in_their_place() {
    let archive = make_archive(&[("a/b/c", b"deep"), ("d", b"flat")]);
    let results = parse_results(&head_of(&archive), &archive).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let new = dir.path().join("new");
    results.extract_files(&new).unwrap();
    assert_eq!(fs::read(new.join("a/b/c")).unwrap(), b"deep");
    assert_eq!(fs::read(new.join("d")).unwrap(), b"flat");
    // A file in the way of a directory is named.
    let error = results.extract_files(&new.join("d")).unwrap_err().to_string();
    assert!(error.contains("cannot write"), "{error}");
}

#[test]
fn paths_that_lead_out_are_refused() {
    for path in ["../out", "a/../../out", "/etc/passwd", ".."] {
        let archive = make_archive(&[("good", b"1"), (path, b"bad")]);
        let refused = parse_results(&head_of(&archive), &archive);
        assert!(matches!(refused, Err(ResultError::Outside { .. })), "{path}: {refused:?}");
    }
}

#[test]
fn links_and_devices_are_left_out() {
    let mut builder = tar::Builder::new(Vec::new());
    for kind in [tar::EntryType::Symlink, tar::EntryType::Link, tar::EntryType::Char] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        header.set_path("link").unwrap();
        header.set_link_name("/etc/passwd").unwrap();
        header.set_cksum();
        builder.append(&header, &[][..]).unwrap();
    }
    let archive = builder.into_inner().unwrap();
    assert_eq!(parse_results(&head_of(&archive), &archive).unwrap(), Results::default());
}

#[test]
fn heads_that_are_none() {
    assert!(matches!(Head::parse(&[0; HEAD_LEN]), Err(ResultError::Missing)));
    assert!(matches!(Head::parse(&[]), Err(ResultError::Missing)));
    let good = head_of(&[]);
    for (at, what) in [(0, "magic"), (8, "version"), (12, "state"), (16, "end of the job")] {
        let mut head = good.clone();
        head[at] = 0x77;
        let error = Head::parse(&head).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn lengths_that_lie() {
    let archive = make_archive(&[("a", b"1")]);
    for length in [archive.len() as u64 + 1, u64::MAX, 1 << 40] {
        let mut head = head_of(&archive);
        head[24..32].copy_from_slice(&length.to_le_bytes());
        assert!(matches!(parse_results(&head, &archive), Err(ResultError::Damaged { .. })));
    }
}

proptest! {
    /// One wrong byte in the archive is noticed by the checksum.
    #[test]
    fn damage_is_noticed(at: proptest::sample::Index, change in 1..=255u8) {
        let mut archive = make_archive(&[("a", b"some content"), ("b/c", b"other")]);
        let head = head_of(&archive);
        let at = at.index(archive.len());
        archive[at] ^= change;
        let is_noticed = matches!(parse_results(&head, &archive), Err(ResultError::Damaged { .. }));
        prop_assert!(is_noticed);
    }

    #[test]
    fn truncation_is_noticed(keep: proptest::sample::Index) {
        let archive = make_archive(&[("a", b"some content")]);
        let head = head_of(&archive);
        let kept = &archive[..keep.index(archive.len())];
        let is_noticed = matches!(parse_results(&head, kept), Err(ResultError::Damaged { .. }));
        prop_assert!(is_noticed);
    }

    /// Even with a right checksum, an archive of any bytes is read or refused.
    #[test]
    fn any_bytes_do_no_harm(
        data in proptest::collection::vec(any::<u8>(), 0..4096),
        at: proptest::sample::Index,
        byte: u8,
    ) {
        let _ = parse_results(&head_of(&data), &data);
        let mut archive = make_archive(&[("a", b"some content"), ("b/c", b"other")]);
        let at = at.index(archive.len());
        archive[at] = byte;
        if let Ok(results) = parse_results(&head_of(&archive), &archive) {
            let mut paths = results.files().map(|(path, _)| path);
            prop_assert!(paths.all(|p| p.components().all(|c| matches!(c, Component::Normal(_)))));
        }
        let _ = Head::parse(&data);
    }
}
