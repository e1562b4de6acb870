// SPDX-License-Identifier: GPL-2.0-or-later
//! The loopback flood of `make bench`: `bench_load MESSAGES [PER_SECOND]`.
//!
//! A fixed amount of work, so that its duration tells what a tracer costs: MESSAGES small UDP
//! datagrams in bursts that the receiver acknowledges (none is dropped), and beside it an eighth
//! as many TCP round trips of one byte. Every datagram is a softirq, every round trip two
//! wakeups. Prints nothing; exit code 2 if this machine cannot do it. With PER_SECOND, as many datagrams
//! in a second and no more: a rate at which a tracer's losses are compared.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// Datagrams in flight: few enough to fit into any socket buffer.
const BURST: u32 = 32;
const DATAGRAM: [u8; 64] = [0; 64];
const PATIENCE: Duration = Duration::from_secs(10);
const ROUND_TRIPS_PER_MESSAGE: u32 = 8;

fn main() -> ExitCode {
    let numbers: Result<Vec<u32>, _> = std::env::args().skip(1).map(|text| text.parse()).collect();
    let (messages, per_second) = match numbers.as_deref() {
        Ok([messages]) => (*messages, None),
        Ok([messages, per_second]) if *per_second > 0 => (*messages, Some(*per_second)),
        _ => {
            eprintln!("usage: bench_load MESSAGES [PER_SECOND]");
            return ExitCode::from(2);
        }
    };
    let every = |nr_messages: u32| {
        per_second.map(|rate| Duration::from_secs(1) * nr_messages / rate).unwrap_or_default()
    };
    let (every_burst, every_trip) = (every(BURST), every(ROUND_TRIPS_PER_MESSAGE));
    let bulk = thread::spawn(move || send_bursts(messages / BURST, every_burst));
    let round_trips = round_trips(messages / ROUND_TRIPS_PER_MESSAGE, every_trip);
    match (bulk.join(), round_trips) {
        (Ok(Ok(())), Ok(())) => ExitCode::SUCCESS,
        (Ok(Err(error)), _) | (_, Err(error)) => {
            eprintln!("bench_load: {error}");
            ExitCode::from(2)
        }
        (Err(_), _) => ExitCode::from(2),
    }
}

/// Sleeps until the next of what is to happen `every` so often; not at all if that is over.
fn keep_pace(due: &mut Instant, every: Duration) {
    *due += every;
    thread::sleep(due.saturating_duration_since(Instant::now()));
}

/// Bursts of datagrams, one datagram back for each burst.
fn send_bursts(bursts: u32, every: Duration) -> io::Result<()> {
    let mut due = Instant::now();
    let (near, far) = (open_socket()?, open_socket()?);
    near.connect(far.local_addr()?)?;
    far.connect(near.local_addr()?)?;
    let receiver = thread::spawn(move || -> io::Result<()> {
        let mut buffer = DATAGRAM;
        for _ in 0..bursts {
            for _ in 0..BURST {
                far.recv(&mut buffer)?;
            }
            far.send(&[0])?;
        }
        Ok(())
    });
    for _ in 0..bursts {
        for _ in 0..BURST {
            near.send(&DATAGRAM)?;
        }
        near.recv(&mut [0])?;
        keep_pace(&mut due, every);
    }
    receiver.join().map_err(|_| io::Error::other("the receiver panicked"))?
}

/// A datagram that got lost all the same is an error after a while, not a hang.
fn open_socket() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// One byte there and back, again and again.
fn round_trips(n: u32, every: Duration) -> io::Result<()> {
    let mut due = Instant::now();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    let (mut far, _) = listener.accept()?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let echo = thread::spawn(move || {
        let mut byte = [0];
        while far.read_exact(&mut byte).and_then(|()| far.write_all(&byte)).is_ok() {}
    });
    let mut byte = [0];
    for _ in 0..n {
        near.write_all(&byte)?;
        near.read_exact(&mut byte)?;
        keep_pace(&mut due, every);
    }
    drop(near); // ends the echo
    echo.join().map_err(|_| io::Error::other("the echo thread panicked"))
}
