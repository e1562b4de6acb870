// SPDX-License-Identifier: GPL-2.0-or-later
//! Protobuf's wire format for the packets that make up the trace: begins and ends of slices.
//!
//! A million of them per minute are normal, so they are put together here without a message per
//! packet; everything rare goes through the messages of `proto`, with which the tests read both
//! back. Field numbers are those of `proto`.

/// Append fields to a message.
pub(super) trait Put {
    /// A number as base-128 digits, lowest first.
    fn put_varint(&mut self, value: u64);
    /// A field that is a number.
    fn put_number(&mut self, field: u64, value: u64);
    /// A field that is always 8 bytes.
    fn put_fixed64(&mut self, field: u64, value: u64);
    /// A field that is a message or a string.
    fn put_bytes(&mut self, field: u64, value: &[u8]);
}

impl Put for Vec<u8> {
    fn put_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn put_number(&mut self, field: u64, value: u64) {
        self.put_varint(field << 3);
        self.put_varint(value);
    }

    fn put_fixed64(&mut self, field: u64, value: u64) {
        self.put_varint(field << 3 | 1);
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_bytes(&mut self, field: u64, value: &[u8]) {
        self.put_varint(field << 3 | 2);
        self.put_varint(value.len() as u64);
        self.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perfetto::proto::TrackEvent;
    use proptest::prelude::*;
    use prost::Message as _;

    proptest! {
        #[test]
        fn reads_back_as_the_message(uuid: u64, iid: u64, flow: u64, name in ".{0,200}") {
            let mut out = Vec::new();
            out.put_number(11, uuid);
            out.put_number(10, iid);
            out.put_bytes(23, name.as_bytes());
            out.put_fixed64(47, flow);
            let event = TrackEvent::decode(out.as_slice()).unwrap();
            prop_assert_eq!((event.track_uuid, event.name_iid), (Some(uuid), Some(iid)));
            prop_assert_eq!((event.name, event.flow_ids), (Some(name), vec![flow]));
        }
    }
}
