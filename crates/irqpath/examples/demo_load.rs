// SPDX-License-Identifier: GPL-2.0-or-later
//! The load under which `make demo` traces: `demo_load SECONDS`.
//!
//! Four threads that cause interrupts of different kinds and harm nothing: a timer that sleeps
//! one millisecond at a time, TCP ping-pong over loopback (softirqs), reads of this program's own
//! file past the page cache (disk interrupts), and short bursts of computing, so that some paths
//! have to wait for a CPU. Together they use a fraction of one CPU. Ends by itself.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// What a disk may ask of buffers and offsets of direct reads.
const BLOCK: usize = 4096;
/// From the kernel's `fcntl.h`; it differs between architectures.
const O_DIRECT: i32 = if cfg!(target_arch = "aarch64") { 0o200_000 } else { 0o40_000 };
const PAUSE: Duration = Duration::from_millis(2);

type Load = fn(Instant) -> io::Result<()>;

fn main() -> ExitCode {
    let Some(seconds) = std::env::args().nth(1).and_then(|text| text.parse().ok()) else {
        eprintln!("usage: demo_load SECONDS");
        return ExitCode::from(2);
    };
    let end = Instant::now() + Duration::from_secs(seconds);
    let loads: [(&str, Load); 4] = [
        ("load-timer", |end| {
            wake_by_timers(end);
            Ok(())
        }),
        ("load-tcp", ping_pong),
        ("load-disk", read_from_disk),
        ("load-cpu", |end| {
            compute_in_bursts(end);
            Ok(())
        }),
    ];
    let threads = loads.map(|(name, load)| {
        let run = move || {
            // A load that this machine cannot make must not spoil the others.
            if let Err(error) = load(end) {
                eprintln!("demo: goes on without {name}: {error}");
            }
        };
        thread::Builder::new().name(name.to_owned()).spawn(run)
    });
    for thread in threads {
        match thread.map(thread::JoinHandle::join) {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return ExitCode::from(2),
        }
    }
    ExitCode::SUCCESS
}

fn wake_by_timers(end: Instant) {
    while Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
    }
}

/// One byte there and back; the answering end is a thread of its own.
fn ping_pong(end: Instant) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    let (mut far, _) = listener.accept()?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let echo = thread::Builder::new().name("load-echo".to_owned()).spawn(move || {
        let mut byte = [0];
        while far.read_exact(&mut byte).and_then(|()| far.write_all(&byte)).is_ok() {}
    })?;
    let mut byte = [1];
    while Instant::now() < end {
        near.write_all(&byte)?;
        near.read_exact(&mut byte)?;
        thread::sleep(PAUSE);
    }
    drop(near); // ends the echo
    echo.join().map_err(|_| io::Error::other("the echo thread panicked"))
}

/// Reads this program's file block by block, again and again, from the disk where that can be.
fn read_from_disk(end: Instant) -> io::Result<()> {
    let path = std::env::current_exe()?;
    let mut file = OpenOptions::new().read(true).custom_flags(O_DIRECT).open(&path)?;
    let mut memory = vec![0_u8; 2 * BLOCK];
    let start = memory.as_ptr().align_offset(BLOCK);
    let buffer = &mut memory[start..start + BLOCK];
    while Instant::now() < end {
        read_block(&mut file, buffer)?;
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// The next whole block; after the last one, the first.
fn read_block(file: &mut File, buffer: &mut [u8]) -> io::Result<()> {
    if file.read(buffer)? < buffer.len() {
        file.seek(SeekFrom::Start(0))?;
    }
    Ok(())
}

/// Two milliseconds of computing in every forty.
fn compute_in_bursts(end: Instant) {
    let mut value = 1_u64;
    while Instant::now() < end {
        let burst = Instant::now() + Duration::from_millis(2);
        while Instant::now() < burst {
            value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        thread::sleep(Duration::from_millis(38));
    }
}
