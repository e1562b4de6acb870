// SPDX-License-Identifier: GPL-2.0-or-later
//! What the QEMU plugin leaves, without the checksum at its end.

use irqpath_lab::flame::Recording;

/// Read it and ask for its middle.
pub fn run(data: &[u8]) -> bool {
    let Ok(recording) = Recording::parse(&[data, &fnv1a(data).to_le_bytes()].concat()) else {
        return false;
    };
    for path in &recording.paths {
        if let Some(at) = path.quantile_index(0.5) {
            path.route_of(at).map(irqpath_lab::flame::Route::length);
        }
        path.compare_lengths(&[1, 2, 3]);
    }
    true
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
