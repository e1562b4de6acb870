// SPDX-License-Identifier: GPL-2.0-or-later
//! Real-time tasks that receive packets: who has a socket open that is bound to a port.
//!
//! `/proc/net/{udp,tcp}` name the sockets of this network namespace, `/proc/TID/fd` who has them. A
//! socket of IPv6 counts where IPv4 reaches it, as rules are for IPv4.

use std::collections::BTreeMap;

use irqpath_model::tune::{Flow, LiveThread, Receiver, Transport};

use crate::Host;

/// `include/net/tcp_states.h`. A connection in any other state gets no more data.
const ESTABLISHED: &str = "01";
const LISTEN: &str = "0A";

/// One receiver for each port: the most urgent thread that has a socket for it. The most urgent
/// come first. Needs `CAP_SYS_PTRACE` for the tasks of other users.
pub(super) fn list_receivers(host: &Host, threads: &[LiveThread]) -> Vec<Receiver> {
    let sockets = list_sockets(host);
    let mut found: BTreeMap<Flow, Receiver> = BTreeMap::new();
    let is_realtime = |t: &&LiveThread| !t.kernel && t.scheduling.fixed_priority() > 0;
    for thread in threads.iter().filter(is_realtime) {
        let priority = thread.scheduling.fixed_priority();
        for flow in list_open(host, thread.id.tid).filter_map(|inode| sockets.get(&inode)) {
            if found.get(flow).is_some_and(|known| known.priority >= priority) {
                continue;
            }
            let (tid, comm) = (thread.id.tid, thread.comm.clone());
            found.insert(*flow, Receiver { flow: *flow, priority, tid, comm });
        }
    }
    let mut receivers: Vec<Receiver> = found.into_values().collect();
    receivers.sort_by_key(|receiver| std::cmp::Reverse(receiver.priority));
    receivers
}

/// The inodes of the sockets that a thread has open.
fn list_open(host: &Host, tid: u32) -> impl Iterator<Item = u64> {
    let directory = format!("proc/{tid}/fd");
    let place = host.path(&directory);
    let inode = move |name: String| {
        let link = std::fs::read_link(place.join(name)).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    host.names_in(&directory).into_iter().filter_map(inode)
}

fn list_sockets(host: &Host) -> BTreeMap<u64, Flow> {
    let files = [
        ("udp", Transport::Udp),
        ("udp6", Transport::Udp),
        ("tcp", Transport::Tcp),
        ("tcp6", Transport::Tcp),
    ];
    let mut sockets = BTreeMap::new();
    for (file, transport) in files {
        let text = host.read_fact(&format!("proc/net/{file}")).unwrap_or_default();
        sockets.extend(text.lines().filter_map(|line| parse_socket(line, transport)));
    }
    sockets
}

/// A line is `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode ...`.
fn parse_socket(line: &str, transport: Transport) -> Option<(u64, Flow)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (address, port) = words.get(1)?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let state = *words.get(3)?;
    let receives = transport == Transport::Udp || [ESTABLISHED, LISTEN].contains(&state);
    let inode: u64 = words.get(9)?.parse().ok()?;
    let is_socket = receives && is_reached(address) && port != 0 && inode != 0;
    is_socket.then_some((inode, Flow { transport, port }))
}

/// Whether packets over IPv4 come to this address from outside. The words are in the processor's
/// order of bytes, which is little-endian wherever irqpath runs.
fn is_reached(address: &str) -> bool {
    const MAPPED: &str = "0000000000000000FFFF0000";
    match address.len() {
        8 => !address.ends_with("7F"),
        32 if address.bytes().all(|byte| byte == b'0') => true,
        32 => address.strip_prefix(MAPPED).is_some_and(|v4| !v4.ends_with("7F")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    #[test]
    fn a_line_is_a_socket_if_packets_over_ipv4_reach_it() {
        let line = |address: &str, state: &str| {
            format!(" 7: {address} 00000000:0000 {state} 0:0 00:0 00000000 0 0 4711 2 0 0")
        };
        let udp = |address| parse_socket(&line(address, "07"), Transport::Udp);
        let flow = |transport, port| Some((4711, Flow { transport, port }));
        assert_eq!(udp("00000000:1388"), flow(Transport::Udp, 5000));
        assert_eq!(udp("0100A8C0:1388"), flow(Transport::Udp, 5000));
        assert_eq!(udp("00000000000000000000000000000000:1388"), flow(Transport::Udp, 5000));
        assert_eq!(udp("0000000000000000FFFF00000100A8C0:1388"), flow(Transport::Udp, 5000));
        for none in [
            "0100007F:1388",
            "00000000:0000",
            "00000000000000000000000001000000:1388",
            "0000000000000000FFFF00000100007F:1388",
            "0000:1388",
            "00000000",
            "00000000:13888",
        ] {
            assert_eq!(udp(none), None, "{none}");
        }
        for (state, want) in [("0A", true), ("01", true), ("06", false)] {
            let found = parse_socket(&line("00000000:0050", state), Transport::Tcp);
            assert_eq!(found.is_some(), want, "{state}");
        }
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt";
        assert_eq!(parse_socket(head, Transport::Udp), None);
        assert_eq!(parse_socket("", Transport::Udp), None);
    }

    #[test]
    fn the_most_urgent_thread_with_the_socket_counts() {
        let fake = Fake::new()
            .with_task(70, 1, "low", "0-1", 0)
            .with_fixed(70, 20)
            .with_socket(70, 5000)
            .with_task(71, 1, "high", "0-1", 0)
            .with_fixed(71, 40)
            .with_socket(71, 5000)
            .with_socket(71, 5001)
            .with_task(72, 1, "ordinary", "0-1", 0)
            .with_socket(72, 5002)
            .with_link("proc/71/fd/0", "/dev/null")
            .with_link("proc/71/fd/1", "socket:[99]");
        let found = list_receivers(&fake.host(), &fake.host().live_threads());
        let found: Vec<_> = found.iter().map(|r| (r.flow.port, r.priority, r.tid)).collect();
        assert_eq!(found, [(5000, 40, 71), (5001, 40, 71)]);
    }
}
