// SPDX-License-Identifier: GPL-2.0-or-later
//! What is not a whole recording is refused with one line: cut, changed, foreign, newer, or made
//! to mislead. The last kind gets a right checksum, so that the inner checks are met.

use std::io::Write;

use super::super::format::{
    END_MAGIC, FrameWriter, HEADER_LEN, Kind, MAGIC, Summed, TRAILER_LEN, Trailer, VERSION,
};
use super::*;

/// The bytes of a small recording.
fn sample() -> Vec<u8> {
    let (_directory, path) = place();
    record(&path, &[self::path(1_000, 50_000), block(1_000, 40), self::path(9_000, 10)]);
    std::fs::read(path).unwrap()
}

/// Open and read all of a file with these bytes.
fn read(bytes: &[u8]) -> Result<Vec<Event>, SourceError> {
    let (_directory, path) = place();
    std::fs::write(&path, bytes).unwrap();
    drain(&mut Replay::open(&path)?)
}

/// Make the checksum right again.
fn seal(bytes: &mut [u8]) {
    let at = bytes.len() - 12;
    let crc = crc32fast::hash(&bytes[..at]).to_le_bytes();
    bytes[at..at + 4].copy_from_slice(&crc);
}

/// A recording around these streams, with everything around them right.
fn wrap(head: &[u8], tail: &[u8], nr_frames: u64) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(head);
    let tail_offset = bytes.len() as u64;
    bytes.extend(tail);
    bytes.extend(Trailer { tail_offset, nr_frames }.to_bytes());
    bytes.extend([0; 4]);
    bytes.extend(END_MAGIC);
    seal(&mut bytes);
    bytes
}

fn frames(frames: &[(Kind, &[u8])]) -> Vec<u8> {
    let mut writer = FrameWriter::new(Summed::new(Vec::new())).unwrap();
    for (kind, payload) in frames {
        writer.write(*kind, payload).unwrap();
    }
    writer.finish().unwrap().inner
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn reason(bytes: &[u8]) -> String {
    match read(bytes) {
        Err(SourceError::Corrupt { reason, .. }) => reason,
        other => panic!("not refused as corrupt: {other:?}"),
    }
}

#[test]
fn every_truncation_is_refused() {
    let bytes = sample();
    for len in 0..bytes.len() {
        assert!(matches!(read(&bytes[..len]), Err(SourceError::Corrupt { .. })), "{len}");
    }
    assert_eq!(read(&bytes).unwrap().len(), 3);
}

#[test]
fn every_changed_byte_is_refused() {
    let bytes = sample();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        // No bit that makes an older version, which is read, of the newest.
        changed[at] ^= 1 << ((at + 2) % 8);
        let error = read(&changed).unwrap_err();
        let is_version = matches!(error, SourceError::Version { .. });
        assert_eq!(is_version, (8..12).contains(&at), "{at}: {error}");
    }
}

#[test]
fn a_newer_version_is_named() {
    let mut bytes = sample();
    bytes[8..12].copy_from_slice(&(VERSION + 1).to_le_bytes());
    // A newer format may look different from there on.
    bytes.truncate(40);
    let error = read(&bytes).unwrap_err().to_string();
    let newer = VERSION + 1;
    let want =
        format!("format {newer}, this irqpath reads {VERSION}; use the version that made it");
    assert!(error.ends_with(&want), "{error}");
}

#[test]
fn what_is_not_a_recording_is_refused() {
    assert_eq!(reason(b""), "it is empty");
    assert_eq!(reason(b"IRQ"), "it is too short");
    assert_eq!(reason(&vec![0; 1 << 16]), "it does not begin like one");
    assert_eq!(reason(b"IRQPATH\r\n and so on"), "it does not begin like one");
    let (directory, path) = place();
    let error = Replay::open(directory.path()).err().expect("a directory is refused");
    assert!(error.to_string().contains("it is not a regular file"), "{error}");
    let error = Replay::open(&path).err().expect("an absent file is refused");
    assert!(matches!(error, SourceError::Io { .. }), "{error}");
}

#[test]
fn frames_that_mislead_are_refused() {
    let meta = serde_json::to_vec(&meta("x")).unwrap();
    let snapshot = rmp_serde::to_vec(&snapshot()).unwrap();
    let tail = frames(&[(Kind::Meta, &meta), (Kind::Snapshot, &snapshot)]);
    let head = frames(&[(Kind::Meta, &meta)]);
    let with = |payload: &[u8]| frames(&[(Kind::Meta, &meta), (Kind::Events, payload)]);
    let huge = zstd(&[2, 0xff, 0xff, 0xff, 0xff, 0]);
    let unknown = zstd(&[9, 0, 0, 0, 0]);
    let short = zstd(&[1, 100, 0, 0, 0, b'{']);
    // A list of 2^32 - 1 events, and a name as long, in a few bytes.
    let endless = [0xdd, 0xff, 0xff, 0xff, 0xff];
    let long_name = [0x91, 0xdb, 0xff, 0xff, 0xff, 0xff];
    let two_metas = frames(&[(Kind::Meta, &meta), (Kind::Meta, &meta)]);
    for (head, tail, nr_frames, want) in [
        (&huge, &tail, 3, "a frame claims 4294967295 bytes"),
        (&unknown, &tail, 3, "unknown frame 9"),
        (&short, &tail, 3, "a frame ends early"),
        (&frames(&[]), &tail, 2, "the frame Meta is missing"),
        (&frames(&[(Kind::Meta, b"{}")]), &tail, 3, "meta: missing field"),
        (&two_metas, &tail, 4, "Meta among the events"),
        (&with(&endless), &tail, 4, ""),
        (&with(&long_name), &tail, 4, ""),
        (&with(&[0x90, 0]), &tail, 4, "a frame is too long"),
        (&head, &tail, 4, "it has not as many frames as it says"),
        (&head, &tail, 0, "it lacks frames"),
        (&head, &frames(&[(Kind::Meta, &meta)]), 2, "the frame Snapshot is missing"),
        (&head, &Vec::new(), 1, ""),
        (&b"no zstd".to_vec(), &tail, 3, ""),
    ] {
        let got = reason(&wrap(head, tail, nr_frames));
        assert!(got.contains(want), "{got}");
    }
    assert!(read(&wrap(&head, &tail, 3)).unwrap().is_empty());
}

#[test]
fn a_tail_outside_of_the_file_is_refused() {
    for offset in [0, HEADER_LEN - 1, 10_000, u64::MAX] {
        let mut bytes = sample();
        let at = bytes.len() - TRAILER_LEN as usize;
        bytes[at..at + 8].copy_from_slice(&offset.to_le_bytes());
        seal(&mut bytes);
        assert_eq!(reason(&bytes), "its tail lies outside of it");
    }
}

proptest! {
    #[test]
    fn changes_with_a_right_checksum_do_not_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = sample();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        seal(&mut bytes);
        let _ = read(&bytes);
    }

    #[test]
    fn arbitrary_frames_do_not_panic(
        head in prop::collection::vec(any::<u8>(), 0..200),
        events in prop::collection::vec(any::<u8>(), 0..200),
        snapshot in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let meta = serde_json::to_vec(&meta("x")).unwrap();
        let tail = frames(&[(Kind::Meta, &meta), (Kind::Snapshot, &snapshot)]);
        let _ = read(&wrap(&zstd(&head), &tail, 3));
        let tail = frames(&[
            (Kind::Meta, &meta),
            (Kind::Snapshot, &rmp_serde::to_vec(&super::snapshot()).unwrap()),
        ]);
        let head = frames(&[(Kind::Meta, &meta), (Kind::Events, &events)]);
        let _ = read(&wrap(&head, &tail, 4));
    }

    #[test]
    fn arbitrary_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(read(&bytes).is_err());
    }
}
