// SPDX-License-Identifier: GPL-2.0-or-later
//! The loopback flood of `make bench`: `bench_load MESSAGES`.
//!
//! A fixed amount of work, so that its duration tells what a tracer costs: MESSAGES small UDP
//! datagrams in bursts that the receiver acknowledges (none is dropped), and beside it an eighth
//! as many TCP round trips of one byte. Every datagram is a softirq, every round trip two
//! wakeups. Prints nothing; exit code 2 if this machine cannot do it.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// Datagrams in flight: few enough to fit into any socket buffer.
const BURST: u32 = 32;
const DATAGRAM: [u8; 64] = [0; 64];
const PATIENCE: Duration = Duration::from_secs(10);
const ROUND_TRIPS_PER_MESSAGE: u32 = 8;

fn main() -> ExitCode {
    let Some(messages) = std::env::args().nth(1).and_then(|text| text.parse::<u32>().ok()) else {
        eprintln!("usage: bench_load MESSAGES");
        return ExitCode::from(2);
    };
    let bulk = thread::spawn(move || send_bursts(messages / BURST));
    let round_trips = round_trips(messages / ROUND_TRIPS_PER_MESSAGE);
    match (bulk.join(), round_trips) {
        (Ok(Ok(())), Ok(())) => ExitCode::SUCCESS,
        (Ok(Err(error)), _) | (_, Err(error)) => {
            eprintln!("bench_load: {error}");
            ExitCode::from(2)
        }
        (Err(_), _) => ExitCode::from(2),
    }
}

/// Bursts of datagrams, one datagram back for each burst.
fn send_bursts(bursts: u32) -> io::Result<()> {
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
fn round_trips(n: u32) -> io::Result<()> {
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
    }
    drop(near); // ends the echo
    echo.join().map_err(|_| io::Error::other("the echo thread panicked"))
}
