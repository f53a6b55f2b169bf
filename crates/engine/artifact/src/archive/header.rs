//! Parses the 512 bytes of a tar header as Go's `archive/tar` does: V7, USTAR, STAR and GNU, numbers in
//! octal or base 256.

use super::block::BLOCK;
use bumpwright_text::{Cuts, Parts};

/// The fields of a header, before PAX records and long names of GNU are applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) name: Vec<u8>,
    pub(super) link: Vec<u8>,
    pub(super) kind: u8,
    pub(super) mode: i64,
    pub(super) size: i64,
}

impl Header {
    /// `None` when it is not a header: a wrong checksum, or an invalid number in a field that Go reads.
    pub(super) fn parse(block: &[u8; BLOCK]) -> Option<Self> {
        let sum = octal(field(block, 148, 8))?;
        if !sums(block).contains(&sum) {
            return None;
        }
        let number = |at, len| numeric(field(block, at, len));
        let mut header = Self {
            name: text(field(block, 0, 100)).to_vec(),
            link: text(field(block, 157, 100)).to_vec(),
            kind: field(block, 156, 1).first().copied()?,
            mode: number(100, 8)?,
            size: number(124, 12)?,
        };
        // Owners and time are ignored, but must be numbers.
        for (at, len) in [(108, 8), (116, 8), (136, 12)] {
            number(at, len)?;
        }
        let prefix = prefix(block)?;
        if !prefix.is_empty() {
            header.name = [prefix, b"/", &header.name].concat();
        }
        Some(header)
    }
}

/// The prefix of the name, by the format of the header.
fn prefix(block: &[u8; BLOCK]) -> Option<&[u8]> {
    let number = |at, len| numeric(field(block, at, len));
    let is_posix = field(block, 257, 6) == b"ustar\0";
    let is_gnu = field(block, 257, 8) == b"ustar  \0";
    if !is_posix && !is_gnu {
        return Some(b"");
    }
    for at in [329, 337] {
        number(at, 8)?;
    }
    if is_gnu {
        // Go before 1.8 wrote a prefix here, in place of two times.
        let is_time = |at| field(block, at, 1) == b"\0" || number(at, 12).is_some();
        let prefix = text(field(block, 345, 155));
        let is_old = !(is_time(345) && is_time(357)) && prefix.is_ascii();
        return Some(if is_old { prefix } else { b"" });
    }
    if field(block, 508, 4) == b"tar\0" {
        for at in [476, 488] {
            number(at, 12)?;
        }
        return Some(text(field(block, 345, 131)));
    }
    Some(text(field(block, 345, 155)))
}

fn field(block: &[u8; BLOCK], at: usize, len: usize) -> &[u8] {
    block.part(at..at + len)
}

/// The field up to the first NUL.
pub(super) fn text(field: &[u8]) -> &[u8] {
    field.before(0)
}

/// The checksum over all bytes with spaces for the checksum itself: unsigned as in the standard, and signed
/// as in Sun's tar.
fn sums(block: &[u8; BLOCK]) -> [i64; 2] {
    let bytes = || {
        let numbered = block.iter().enumerate();
        numbered.map(|(at, byte)| if (148..156).contains(&at) { b' ' } else { *byte })
    };
    let unsigned = bytes().map(i64::from).sum();
    let signed = bytes().map(|byte| i64::from(byte.cast_signed())).sum();
    [unsigned, signed]
}

fn numeric(field: &[u8]) -> Option<i64> {
    let first = *field.first()?;
    if first & 0x80 == 0 {
        return octal(field);
    }
    // Two's complement: a negative number is the complement of the complement of its bytes.
    let inversion = if first & 0x40 == 0 { 0 } else { 0xff };
    let mut number: u64 = 0;
    for (at, byte) in field.iter().enumerate() {
        let byte = byte ^ inversion;
        let byte = if at == 0 { byte & 0x7f } else { byte };
        if number >> 56 > 0 {
            return None;
        }
        number = number << 8 | u64::from(byte);
    }
    let number = i64::try_from(number).ok()?;
    Some(if inversion == 0 { number } else { !number })
}

fn octal(field: &[u8]) -> Option<i64> {
    let is_filler = |byte: &u8| matches!(byte, b' ' | 0);
    let Some(first) = field.iter().position(|byte| !is_filler(byte)) else {
        return Some(0);
    };
    let last = field.iter().rposition(|byte| !is_filler(byte))?;
    let mut number: u64 = 0;
    for byte in text(field.get(first..=last)?) {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 8)?;
        number = number.checked_mul(8)?.checked_add(u64::from(digit))?;
    }
    Some(number.cast_signed())
}
