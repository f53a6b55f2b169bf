//! Packet framing (RFC 9580, 4.2) as in go-crypto v1.4.1, which rejects a ring at the first byte that cannot begin a
//! packet, where sequoia searches for the next one that can.

use sequoia_openpgp as pgp;

use pgp::packet::Packet;
use pgp::parse::Parse as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FramingError {
    /// A byte that is not the tag of a packet.
    Tag,
    /// A truncated packet, or a signature that is longer than its packet. It may have been a revocation, so it
    /// must not be ignored.
    Cut,
}

/// An iterator over packets. After [`FramingError::Tag`] it continues at the next byte.
pub(super) struct Packets<'a>(pub(super) &'a [u8]);

impl Iterator for Packets<'_> {
    /// A packet, or `None` for an unknown or damaged one.
    type Item = Result<Option<Packet>, FramingError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (tag, rest) = self.0.split_first()?;
        if tag & 0x80 == 0 {
            self.0 = rest;
            return Some(Err(FramingError::Tag));
        }
        let length = if tag & 0x40 == 0 {
            old_length(*tag, rest)
        } else {
            new_length(rest)
        };
        let whole = length.and_then(|length| self.0.split_at_checked(length.checked_add(1)?));
        let Some((packet, rest)) = whole else {
            self.0 = &[];
            return Some(Err(FramingError::Cut));
        };
        self.0 = rest;
        let read = Packet::from_bytes(packet).ok();
        let is_known = matches!(&read, Some(packet) if !matches!(packet, Packet::Unknown(_)));
        if !is_known && is_signature(packet) {
            return Some(Err(FramingError::Cut));
        }
        Some(Ok(read))
    }
}

/// Whether a packet is a signature of version 4, which can be parsed whatever its algorithms are.
fn is_signature(packet: &[u8]) -> bool {
    let Some((tag, rest)) = packet.split_first() else {
        return false;
    };
    let (kind, digits) = if tag & 0x40 == 0 {
        let digits = match tag & 3 {
            0 => 1,
            1 => 2,
            2 => 4,
            _ => 0,
        };
        (tag >> 2 & 0xf, digits)
    } else {
        let digits = match rest.first() {
            Some(192..=223) => 2,
            Some(255) => 5,
            _ => 1,
        };
        (tag & 0x3f, digits)
    };
    kind == 2 && rest.get(digits) == Some(&4)
}

fn number(digits: &[u8]) -> Option<usize> {
    let bytes = digits
        .iter()
        .fold(0_u64, |number, digit| number << 8 | u64::from(*digit));
    usize::try_from(bytes).ok()
}

/// The size of content and length in the old format.
fn old_length(tag: u8, rest: &[u8]) -> Option<usize> {
    let digits = match tag & 3 {
        0 => 1,
        1 => 2,
        2 => 4,
        // Indeterminate length: up to the end.
        _ => return Some(rest.len()),
    };
    number(rest.get(..digits)?)?.checked_add(digits)
}

/// The same in the current format; content may come in chunks, each with a length.
fn new_length(rest: &[u8]) -> Option<usize> {
    let mut before = 0_usize;
    loop {
        let here = rest.get(before..)?;
        let first = *here.first()?;
        let part = match first {
            0..=191 => 1 + usize::from(first),
            192..=223 => 2 + (usize::from(first) - 192) * 256 + usize::from(*here.get(1)?) + 192,
            224..=254 => 1 + (1_usize << (first & 0x1f)),
            255 => number(here.get(1..5)?)?.checked_add(5)?,
        };
        before = before.checked_add(part)?;
        if !(224..=254).contains(&first) {
            return Some(before);
        }
    }
}
