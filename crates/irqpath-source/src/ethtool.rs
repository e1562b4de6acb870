// SPDX-License-Identifier: GPL-2.0-or-later
//! Flow rules of network devices, by the ioctl of ethtool: `ethtool -n` and `ethtool -N`.
//!
//! The structures are those of `include/uapi/linux/ethtool.h`. Netlink has no messages for rules.
//! The rule to know: the kernel reads and writes as much as the command says, so each command goes
//! with a structure that is large enough for it.

#![allow(unsafe_code)] // socket and ioctl; each use says why it is sound

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fmt::Write as _;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use irqpath_model::tune::{Flow, FlowRule, FlowTable, FoundRule, Transport};

const SIOCETHTOOL: u32 = 0x8946;
const GFLAGS: u32 = 0x25;
const GRXRINGS: u32 = 0x2d;
const GRXCLSRLCNT: u32 = 0x2e;
const GRXCLSRULE: u32 = 0x2f;
const GRXCLSRLALL: u32 = 0x30;
const SRXCLSRLDEL: u32 = 0x31;
const SRXCLSRLINS: u32 = 0x32;

const FLAG_NTUPLE: u32 = 1 << 27;
const TCP_V4_FLOW: u32 = 1;
const UDP_V4_FLOW: u32 = 2;
/// The bits above are flags, as that of a VLAN.
const FLOW_KIND: u32 = 0xff;
/// Beside the size of the table: the driver can choose the location itself.
const LOC_SPECIAL: u64 = 0x8000_0000;
/// Where the destination port is in the conditions of both flow types.
const PORT: std::ops::Range<usize> = 10..12;
/// Most rules of a device that are read.
const MAX_RULES: usize = 4 << 10;
const NAME_SIZE: usize = 16;

/// `struct ethtool_value`.
#[repr(C)]
#[derive(Default)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// `struct ethtool_rx_flow_spec`. What counts of each condition is in the masks.
#[repr(C)]
#[derive(Clone, Copy)]
struct FlowSpec {
    flow_type: u32,
    header: [u8; 52],
    header_ext: [u8; 20],
    mask: [u8; 52],
    mask_ext: [u8; 20],
    ring_cookie: u64,
    location: u32,
}

/// `struct ethtool_rxnfc`, with room for all locations.
#[repr(C)]
struct Classification {
    command: u32,
    flow_type: u32,
    data: u64,
    spec: FlowSpec,
    nr_rules: u32,
    locations: [u32; MAX_RULES],
}

// The offsets of the kernel's structures, on every processor that irqpath runs on.
const _: () = assert!(std::mem::offset_of!(FlowSpec, ring_cookie) == 152);
const _: () = assert!(std::mem::offset_of!(Classification, nr_rules) == 184);
const _: () = assert!(std::mem::offset_of!(Classification, locations) == 188);

/// # Safety
/// The kernel must take the structure for one of its own whatever its first field says, any bytes
/// that it writes there must be one, and it must write no further.
unsafe trait Request {}
// SAFETY: only made with GFLAGS, which reads and writes these two numbers.
unsafe impl Request for EthtoolValue {}
// SAFETY: only made by `Classification::boxed`, with commands of `struct ethtool_rxnfc`. Those
// write the part before the locations, GRXCLSRLALL also at most `nr_rules` locations. The only
// caller keeps that to at most MAX_RULES.
unsafe impl Request for Classification {}

/// `struct ifreq` with a pointer.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; NAME_SIZE],
    data: *mut c_void,
    rest: [u64; 2],
}

fn open_socket() -> io::Result<OwnedFd> {
    // SAFETY: only numbers are passed.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just made, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn call_ethtool<T: Request>(device: &str, request: &mut T) -> io::Result<()> {
    let mut name = [0; NAME_SIZE];
    let length = device.len();
    if length == 0 || length >= NAME_SIZE || device.contains(['\0', '/']) {
        return Err(io::ErrorKind::NotFound.into());
    }
    name[..length].copy_from_slice(device.as_bytes());
    let socket = open_socket()?;
    let data = std::ptr::from_mut(request).cast();
    let mut interface = InterfaceRequest { name, data, rest: [0; 2] };
    let argument = &raw mut interface;
    // SAFETY: the descriptor is open, and both structures outlive the call. `Request` promises that
    // the kernel keeps to the one behind the pointer.
    match unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, argument) } {
        -1 => Err(as_missing(io::Error::last_os_error())),
        _ => Ok(()),
    }
}

/// A device that is gone is as missing as a file.
fn as_missing(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ENODEV) => io::ErrorKind::NotFound.into(),
        _ => error,
    }
}

impl FlowSpec {
    const EMPTY: Self = Self {
        flow_type: 0,
        header: [0; 52],
        header_ext: [0; 20],
        mask: [0; 52],
        mask_ext: [0; 20],
        ring_cookie: 0,
        location: 0,
    };

    fn for_rule(location: u32, rule: FlowRule) -> Self {
        let flow_type = match rule.flow.transport {
            Transport::Tcp => TCP_V4_FLOW,
            Transport::Udp => UDP_V4_FLOW,
        };
        let mut spec = Self { flow_type, ring_cookie: rule.queue.into(), location, ..Self::EMPTY };
        spec.header[PORT].copy_from_slice(&rule.flow.port.to_be_bytes());
        spec.mask[PORT].fill(0xff);
        spec
    }

    fn flow(&self) -> Option<Flow> {
        let transport = match self.flow_type & FLOW_KIND {
            TCP_V4_FLOW => Transport::Tcp,
            UDP_V4_FLOW => Transport::Udp,
            _ => return None,
        };
        let port = u16::from_be_bytes(self.header[PORT].try_into().ok()?);
        (self.mask[PORT] == [0xff; 2]).then_some(Flow { transport, port })
    }

    fn to_found(self) -> FoundRule {
        let (flow, queue) = (self.flow(), u32::try_from(self.ring_cookie).ok());
        if let (Some(flow), Some(queue)) = (flow, queue) {
            let rule = FlowRule { flow, queue };
            let ours = Self::for_rule(self.location, rule);
            let same_masks = ours.mask == self.mask && ours.mask_ext == self.mask_ext;
            if ours.flow_type == self.flow_type && same_masks {
                return FoundRule::Plain(rule);
            }
        }
        let masked = |bytes: &[u8], mask: &[u8]| {
            format_hex(bytes.iter().zip(mask).map(|(byte, mask)| byte & mask))
        };
        let words = format!(
            "flow type {:#x}, conditions {}/{}, {}/{}, action {:#x}",
            self.flow_type,
            masked(&self.header, &self.mask),
            format_hex(self.mask),
            masked(&self.header_ext, &self.mask_ext),
            format_hex(self.mask_ext),
            self.ring_cookie
        );
        FoundRule::Other { flow, queue, words }
    }
}

/// Without the zeros at the end: as both structures have one length, that loses nothing.
fn format_hex(bytes: impl IntoIterator<Item = u8>) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text.trim_end_matches('0').to_owned()
}

impl Classification {
    /// Large, so not on the stack.
    fn boxed(command: u32) -> Box<Self> {
        Box::new(Self {
            command,
            flow_type: 0,
            data: 0,
            spec: FlowSpec::EMPTY,
            nr_rules: 0,
            locations: [0; MAX_RULES],
        })
    }
}

/// What a device has for flow rules. Needs no privilege.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if there is no such device. `EOPNOTSUPP` if its driver has no rules.
pub fn read_flow_table(device: &str) -> io::Result<FlowTable> {
    let mut flags = EthtoolValue { command: GFLAGS, data: 0 };
    call_ethtool(device, &mut flags)?;
    let mut rings = Classification::boxed(GRXRINGS);
    call_ethtool(device, &mut *rings)?;
    let mut count = Classification::boxed(GRXCLSRLCNT);
    call_ethtool(device, &mut *count)?;
    if count.nr_rules as usize > MAX_RULES {
        let reason = format!("{device} has more than {MAX_RULES} flow rules");
        return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    }
    let mut all = Classification::boxed(GRXCLSRLALL);
    all.nr_rules = count.nr_rules;
    call_ethtool(device, &mut *all)?;
    let nr_rules = all.nr_rules.min(count.nr_rules) as usize;
    let mut rules = BTreeMap::new();
    let mut one = Classification::boxed(GRXCLSRULE);
    for &location in &all.locations[..nr_rules] {
        one.spec = FlowSpec { location, ..FlowSpec::EMPTY };
        match call_ethtool(device, &mut *one) {
            Ok(()) => drop(rules.insert(location, one.spec.to_found())),
            // It was removed meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(error) => return Err(error),
        }
    }
    // Drivers tell the size of the table with either of the two.
    let nr_places = (count.data.max(all.data) & !LOC_SPECIAL).try_into().unwrap_or(u32::MAX);
    Ok(FlowTable {
        is_on: flags.data & FLAG_NTUPLE != 0,
        nr_queues: rings.data.try_into().unwrap_or(u32::MAX),
        nr_places,
        rules,
    })
}

/// Gives a device a rule. Most drivers put it in place of one that is there. Needs `CAP_NET_ADMIN`.
pub fn insert_flow_rule(device: &str, location: u32, rule: FlowRule) -> io::Result<()> {
    let mut request = Classification::boxed(SRXCLSRLINS);
    request.spec = FlowSpec::for_rule(location, rule);
    call_ethtool(device, &mut *request)
}

/// Removes the rule at a location. Needs `CAP_NET_ADMIN`.
pub fn remove_flow_rule(device: &str, location: u32) -> io::Result<()> {
    let mut request = Classification::boxed(SRXCLSRLDEL);
    request.spec.location = location;
    call_ethtool(device, &mut *request)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: FlowRule =
        FlowRule { flow: Flow { transport: Transport::Udp, port: 5000 }, queue: 1 };

    #[test]
    fn a_rule_is_read_as_it_was_made() {
        let spec = FlowSpec::for_rule(3, RULE);
        assert_eq!((spec.location, &spec.header[PORT]), (3, &[0x13, 0x88][..]));
        assert_eq!(spec.to_found(), FoundRule::Plain(RULE));
        // A driver may leave in the header what no mask selects.
        let mut spec = spec;
        spec.header[0] = 10;
        assert_eq!(spec.to_found(), FoundRule::Plain(RULE));
    }

    #[test]
    fn a_rule_with_another_condition_or_action_is_another_rule() {
        let changes: [fn(&mut FlowSpec); 5] = [
            |spec| spec.mask[0] = 0xff,
            |spec| spec.mask_ext[2] = 0xff,
            |spec| spec.flow_type |= 0x8000_0000,
            |spec| spec.mask[PORT].fill(0xf0),
            |spec| spec.ring_cookie = u64::MAX,
        ];
        let mut words = Vec::new();
        for change in changes {
            let mut spec = FlowSpec::for_rule(3, RULE);
            change(&mut spec);
            let found = spec.to_found();
            assert!(matches!(found, FoundRule::Other { .. }), "{found}");
            words.push(found.to_string());
        }
        words.sort();
        words.dedup();
        assert_eq!(words.len(), changes.len(), "{words:#?}");
    }

    #[test]
    fn the_loopback_has_no_rules_and_names_that_are_none_have_no_device() {
        let error = read_flow_table("lo").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
        for name in ["", "../eth0", "lo\0", "a-name-of-16-byte", "gone0"] {
            let error = read_flow_table(name).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{name:?}: {error}");
        }
    }
}
