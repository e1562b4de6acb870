// SPDX-License-Identifier: GPL-2.0-or-later
//! Recordings, as `trace --replay` reads them.
//!
//! An input that does not begin like a recording has its frames as sections: the format's version
//! in the first byte, then the frames, each behind a byte for its kind. `m`, `e` and `s` get their
//! length; anything else is put into the stream as it is. The last two frames are the tail.

use std::time::Duration;

use irqpath_analysis::{Engine, EngineConfig, Judged, SlowKeeper, summarize_paths};
use irqpath_model::Event;
use irqpath_report::json::printable_meta;
use irqpath_report::parquet::SampleWriter;
use irqpath_report::perfetto::PerfettoWriter;
use irqpath_source::Source as _;
use irqpath_source::replay::Replay;

use crate::output;
use crate::scratch::Scratch;
use crate::sections;

const MAGIC: &[u8] = b"IRQPATH\n";
const END_MAGIC: &[u8] = b"\nIRQPEND";
const NR_TAIL: usize = 2;

/// Read a recording to its end, and one to its middle.
pub fn run(data: &[u8]) -> bool {
    let bytes = if data.starts_with(MAGIC) { data.to_vec() } else { sealed(data) };
    let scratch = Scratch::new();
    let path = scratch.put("recording", &bytes);
    if let Ok(mut replay) = Replay::open(&path) {
        let _ = replay.poll_events(Duration::ZERO);
        let _ = replay.finish();
    }
    Replay::open(&path).ok().and_then(show).is_some()
}

fn sealed(data: &[u8]) -> Vec<u8> {
    let (version, frames) = data.split_first().unwrap_or((&b'3', &[]));
    let frames = sections(frames);
    let (head, tail) = frames.split_at(frames.len().saturating_sub(NR_TAIL));
    let mut bytes = [MAGIC, &u32::from(version.wrapping_sub(b'0')).to_le_bytes()].concat();
    bytes.extend(stream(head));
    let tail_offset = bytes.len() as u64;
    bytes.extend(stream(tail));
    bytes.extend(tail_offset.to_le_bytes());
    bytes.extend((frames.len() as u64).to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes.extend(END_MAGIC);
    bytes
}

fn stream(frames: &[&[u8]]) -> Vec<u8> {
    let mut plain = Vec::new();
    for frame in frames {
        let kind = frame.first().map(|kind| (b"mes".iter().position(|k| k == kind), &frame[1..]));
        let Some((Some(kind), payload)) = kind else {
            plain.extend(*frame);
            continue;
        };
        plain.push(kind as u8 + 1);
        plain.extend((payload.len() as u32).to_le_bytes());
        plain.extend(payload);
    }
    zstd::encode_all(plain.as_slice(), 1).expect("memory is written to")
}

fn show(mut replay: Replay) -> Option<()> {
    let meta = printable_meta(replay.meta()).ok()?;
    let config = EngineConfig { threshold_ns: Some(1000), ..EngineConfig::default() };
    let mut engine = Engine::new(config, meta.names.clone());
    let mut keeper = SlowKeeper::default();
    let mut samples =
        SampleWriter::new(Vec::new(), &meta.run_identity()).expect("memory is written to");
    let mut trace = PerfettoWriter::new(Vec::new());
    while !replay.is_exhausted() {
        for event in replay.poll_events(Duration::ZERO).ok()? {
            let written = match &event {
                Event::Path(record) => {
                    samples.push(record, &meta.names).expect("memory is written to");
                    trace.write_path(record, &meta.names)
                }
                Event::Occupancy(block) => trace.write_occupancy(block, &meta.names),
            };
            written.expect("memory is written to");
            engine.push(event);
        }
        engine.drain().into_iter().for_each(|path| keeper.add_path(path));
    }
    engine.flush().into_iter().for_each(|path| keeper.add_path(path));
    samples.finish().expect("memory is written to");
    trace.finish().expect("memory is written to");
    let snapshot = replay.take_snapshot().ok()?;
    let (nr_over, slow) = (engine.nr_over(), keeper.into_vec());
    let judged = Judged { threshold_ns: Some(1000), nr_slow: nr_over, nr_slow_by_hypervisor: 0 };
    output::show(&meta, &summarize_paths(snapshot, slow, judged, &meta.names));
    Some(())
}
