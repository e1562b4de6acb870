// SPDX-License-Identifier: GPL-2.0-or-later
//! A softirq storm over loopback: one broadcast datagram that thousands of sockets receive keeps
//! net_rx busy on the target's CPU for as long as the sender's system call lasts.

use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::time::Duration;

use irqpath_model::{Cause, CauseKind};
use rustix::net::{AddressFamily, SocketType, bind, ipproto, socket, sockopt};

use crate::scene::{
    Busy, CPU, cause_ns, expect_agreement, main_cause, now_ns, overlap_ns, pin_thread,
    raise_nofile, set_fifo, trace_target,
};

const RECEIVERS: usize = 18_000;
/// Freeing the datagram after the softirq is part of the system call: it must not count for much.
const LONG_NS: u64 = 700_000;
const ROUNDS: usize = 300;

/// A socket that shares its port with all the others.
fn open_receiver(port: u16) -> OwnedFd {
    let fd = socket(AddressFamily::INET, SocketType::DGRAM, Some(ipproto::UDP)).expect("socket");
    sockopt::set_socket_reuseaddr(&fd, true).expect("SO_REUSEADDR");
    // The smallest buffer: after a few datagrams the rest is dropped, which costs the same walk.
    sockopt::set_socket_recv_buffer_size(&fd, 0).expect("SO_RCVBUF");
    let any = std::net::SocketAddrV4::new(std::net::Ipv4Addr::UNSPECIFIED, port);
    bind(&fd, &any).expect("bind");
    fd
}

fn make_storm() -> Vec<Busy> {
    pin_thread(CPU);
    set_fifo(5); // above the host's own load, below the target
    let sender = UdpSocket::bind("127.0.0.1:0").expect("bind");
    sender.set_broadcast(true).expect("SO_BROADCAST");
    let port = 40_000 + (std::process::id() % 20_000) as u16;
    let nr = RECEIVERS.min(raise_nofile() - 100);
    let receivers: Vec<OwnedFd> = (0..nr).map(|_| open_receiver(port)).collect();
    let payload = [0u8; 64];
    let mut sends = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start_ns = now_ns();
        sender.send_to(&payload, ("127.255.255.255", port)).expect("send");
        sends.push(Busy { start_ns, end_ns: now_ns() });
        // Leave the host its share, or RT throttling takes it.
        std::thread::sleep(Duration::from_micros(500));
    }
    drop(receivers);
    sends
}

#[test]
fn a_softirq_storm_on_the_targets_cpu_is_named_with_its_time() {
    let Some((slow, sends, _guard)) = trace_target(Duration::from_micros(900), make_storm) else {
        return;
    };
    let longest = sends.iter().map(|s| s.end_ns - s.start_ns).max().unwrap_or(0);
    println!("longest system call {longest} ns");
    expect_agreement(
        &slow,
        10,
        LONG_NS,
        |wait| (overlap_ns(&sends, wait), overlap_ns(&sends, wait)),
        |path| {
            let is_storm = |c: &Cause| c.kind == CauseKind::Softirq && c.who == "net_rx";
            let named = is_storm(main_cause(path));
            if named { cause_ns(path, |c| is_storm(c) || c.kind == CauseKind::Hardirq) } else { 0 }
        },
    );
}
