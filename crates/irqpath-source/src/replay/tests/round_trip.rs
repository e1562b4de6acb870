// SPDX-License-Identifier: GPL-2.0-or-later
//! What goes into a recording comes out of it; before it is finished it is not there.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use super::super::format::OLDEST_VERSION;
use super::super::writer::Encoder;
use super::*;

proptest! {
    // Each case waits for the disk.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn events_come_back_as_they_were(parts in prop::collection::vec(events(), 0..4)) {
        let (_directory, path) = place();
        let mut writer = RecordingWriter::create(&path, &meta("start")).unwrap();
        for part in &parts {
            writer.write_events(part).unwrap();
        }
        writer.finish(&meta("end"), &snapshot()).unwrap();
        let mut replay = Replay::open(&path).unwrap();
        prop_assert_eq!(drain(&mut replay).unwrap(), parts.concat());
        prop_assert_eq!(replay.take_snapshot().unwrap(), snapshot());
    }
}

proptest! {
    #[test]
    fn a_full_disk_is_an_error_wherever_it_fills(room in 0_usize..900) {
        let write = |room| -> io::Result<()> {
            let mut encoder = Encoder::new(Disk { room }, &meta("start"))?;
            encoder.write_events(&[path(1, 2), block(1, 50)])?;
            encoder.finish(&meta("end"), &snapshot())?;
            Ok(())
        };
        prop_assert_eq!(write(room).unwrap_err().kind(), io::ErrorKind::StorageFull);
        write(100_000).unwrap();
    }
}

/// A disk with little room.
struct Disk {
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let n = bytes.len().min(self.room);
        self.room -= n;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn long_blocks_are_cut_without_loss() {
    let (_directory, path) = place();
    let events = [block(0, 20_000), self::path(5, 5), block(7, 3)];
    record(&path, &events);
    let mut replay = Replay::open(&path).unwrap();
    let transitions = |events: &[Event]| -> Vec<Occupancy> {
        let blocks = events.iter().filter_map(|e| match e {
            Event::Occupancy(block) => Some(block.clone()),
            Event::Path(_) => None,
        });
        blocks.flatten().collect()
    };
    let got = drain(&mut replay).unwrap();
    assert_eq!(transitions(&got), transitions(&events));
    assert_eq!(got.iter().filter(|e| matches!(e, Event::Path(_))).count(), 1);
}

#[test]
fn a_recording_is_compact() {
    let (_directory, path) = place();
    record(&path, &[block(1_000_000_000, 100_000)]);
    let len = path.metadata().unwrap().len();
    assert!(len < 100_000 * 6, "{len} bytes for 100 000 transitions");
}

#[test]
fn meta_is_that_of_the_end_and_statistics_too() {
    let (_directory, path) = place();
    record(&path, &[self::path(1_000, 50_000), self::path(9_000, 10)]);
    let mut replay = Replay::open(&path).unwrap();
    assert_eq!(replay.meta().host, "end");
    let before = replay.take_snapshot().unwrap();
    assert!(before.paths.is_empty() && before.missing.len() == 1);
    replay.poll_events(Duration::ZERO).unwrap();
    let during = replay.take_snapshot().unwrap();
    assert!(!replay.is_exhausted());
    assert_eq!((during.ns, during.paths[0].total.len()), (51_000, 2));
    drain(&mut replay).unwrap();
    assert_eq!(replay.take_snapshot().unwrap(), snapshot());
    assert_eq!(replay.finish().unwrap(), (Vec::new(), snapshot()));
    assert!(replay.poll_events(Duration::ZERO).unwrap().is_empty());
}

#[test]
fn finishing_early_delivers_what_records_wait_for() {
    let (_directory, path) = place();
    let mut writer = RecordingWriter::create(&path, &meta("start")).unwrap();
    let second = 1_000_000_000;
    let late = [block(500, 2), self::path(600, 1)];
    for part in [&[self::path(100, 1)][..], &late, &[block(2 * second, 1)], &[block(3 * second, 1)]]
    {
        writer.write_events(part).unwrap();
    }
    writer.finish(&meta("end"), &snapshot()).unwrap();
    let mut replay = Replay::open(&path).unwrap();
    replay.poll_events(Duration::ZERO).unwrap();
    let (events, stats) = replay.finish().unwrap();
    assert_eq!(events, [block(500, 2), block(2 * second, 1)]);
    assert_eq!(stats.paths[0].total.len(), 1);
    assert!(replay.is_exhausted());
    assert_eq!(replay.finish().unwrap(), (Vec::new(), stats));
}

#[test]
fn an_unfinished_recording_leaves_nothing() {
    let (directory, path) = place();
    let mut writer = RecordingWriter::create(&path, &meta("start")).unwrap();
    writer.write_events(&[block(0, 10_000)]).unwrap();
    let growing = names(directory.path());
    assert_eq!(growing.len(), 1);
    assert!(growing[0].starts_with(".irqpath-") && growing[0].ends_with(".partial"));
    drop(writer);
    assert!(names(directory.path()).is_empty());
}

#[test]
fn after_a_failure_nothing_is_finished() {
    let (directory, path) = place();
    let mut writer = RecordingWriter::create(&path, &meta("start")).unwrap();
    let mut event = self::path(1, 1);
    if let Event::Path(record) = &mut event {
        record.target.comm = Comm::from("x".repeat(5 << 20).as_str());
    }
    let error = writer.write_events(&[event]).unwrap_err().to_string();
    assert!(error.contains("do not fit into a recording"), "{error}");
    let error = writer.finish(&meta("end"), &snapshot()).unwrap_err().to_string();
    assert!(error.contains("an earlier write failed"), "{error}");
    assert!(names(directory.path()).is_empty());
}

#[test]
fn an_older_recording_stays_until_the_new_one_is_whole() {
    let (directory, path) = place();
    record(&path, &[self::path(1, 1)]);
    drop(RecordingWriter::create(&path, &meta("start")).unwrap());
    assert_eq!(drain(&mut Replay::open(&path).unwrap()).unwrap(), [self::path(1, 1)]);
    record(&path, &[self::path(2, 2)]);
    assert_eq!(drain(&mut Replay::open(&path).unwrap()).unwrap(), [self::path(2, 2)]);
    assert_eq!(names(directory.path()), ["x.irqpath"]);
    let mode = path.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o600, 0o600);
}

#[test]
fn a_place_that_cannot_hold_a_recording_is_named() {
    let (directory, path) = place();
    let error = |path: &Path| {
        let result = RecordingWriter::create(path, &meta("start"));
        result.err().expect("the place is refused").to_string()
    };
    let absent = path.join("absent/file");
    assert_eq!(
        error(&absent),
        format!("cannot write {}; choose a place that you may write to", absent.display())
    );
    assert_eq!(
        error(Path::new("/dev/null")),
        "/dev/null: not a regular file; name a file that can be replaced"
    );
    assert!(error(directory.path()).contains("is a directory"));
    assert!(error(Path::new("/")).contains("not a name"));
}

#[test]
fn a_recording_of_the_format_before_is_read() {
    let (_directory, path) = place();
    let events = [self::path(1_000, 50_000), block(1_000, 40)];
    record(&path, &events);
    let mut bytes = std::fs::read(&path).unwrap();
    // What is new in a format stands at the ends of records, and these have nothing of it.
    bytes[8..12].copy_from_slice(&OLDEST_VERSION.to_le_bytes());
    let at = bytes.len() - 12;
    let crc = crc32fast::hash(&bytes[..at]).to_le_bytes();
    bytes[at..at + 4].copy_from_slice(&crc);
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(drain(&mut Replay::open(&path).unwrap()).unwrap(), events);
}
