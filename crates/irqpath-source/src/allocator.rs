// SPDX-License-Identifier: GPL-2.0-or-later
//! How the C library's allocator keeps what was freed, for a process that is left on.
//!
//! glibc raises its thresholds to the largest block that was ever freed, up to 32 MiB, keeps twice
//! that at the end of the heap, and gives each thread a heap of its own. One burst is then paid for
//! until the process ends.

#![allow(unsafe_code)] // mallopt; its use says why it is sound

/// Blocks from this size on are mapped, and unmapped when they are freed, bytes: glibc's threshold
/// before it has raised it.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: libc::c_int = 128 << 10;

/// From now on, freed memory goes back to the kernel, and all threads share a heap. Call it before the
/// first thread. Does nothing with another C library.
pub fn give_back_freed() {
    #[cfg(target_env = "gnu")]
    for (parameter, value) in [
        (libc::M_MMAP_THRESHOLD, KEPT_BYTES),
        (libc::M_TRIM_THRESHOLD, KEPT_BYTES),
        (libc::M_ARENA_MAX, 1),
    ] {
        // SAFETY: it takes two numbers and changes the allocator's own settings. What it refuses stays
        // as it was, which costs memory only.
        unsafe { libc::mallopt(parameter, value) };
    }
}
