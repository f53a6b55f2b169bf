//! Bytes that a call leaves on its stack, and whether they are there still.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt as _;

/// Leaves bytes that are nowhere else, in a frame of 4 KiB that is so many frames deep that no later call
/// comes there; its address.
#[inline(never)]
#[must_use]
pub fn leave(deep: usize) -> u64 {
    let mut frame = [0_u8; 4096];
    if deep > 0 {
        black_box(&mut frame);
        return leave(deep - 1);
    }
    for (n, byte) in frame.iter_mut().enumerate() {
        *byte = mark(n);
    }
    black_box(&mut frame);
    frame.as_ptr().addr() as u64
}

fn mark(n: usize) -> u8 {
    u8::try_from(n * 7 % 251).unwrap_or_default() ^ 0x5a
}

/// Whether most of what was left at an address is there; memory that was given back has nothing.
#[must_use]
pub fn is_there(address: u64) -> bool {
    let mut bytes = [0; 1024];
    let memory = File::open("/proc/self/mem").unwrap();
    if memory.read_exact_at(&mut bytes, address + 1024).is_err() {
        return false;
    }
    let same = bytes.iter().enumerate();
    same.filter(|(n, byte)| **byte == mark(n + 1024)).count() > 512
}
