//! Go's runes as numbers, decoded one by one in the machine's innermost loop.

/// Go's rune for invalid bytes.
pub(super) const REPLACEMENT: u32 = 0xFFFD;
/// The largest code point.
pub(super) const MAX: u32 = 0x10_FFFF;

/// The first rune of `text` and its length in bytes; a byte that does not begin a whole character is one U+FFFD of
/// one byte. `None` for an empty text.
pub(super) fn decode(text: &[u8]) -> Option<(u32, usize)> {
    let first = *text.first()?;
    if first.is_ascii() {
        return Some((u32::from(first), 1));
    }
    let length = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    let whole = text.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let rune = whole.and_then(|text| text.chars().next());
    Some(rune.map_or((REPLACEMENT, 1), |rune| (u32::from(rune), length)))
}

/// As [`decode`], but `None` for invalid bytes, too.
pub(super) fn decode_strict(text: &[u8]) -> Option<(u32, usize)> {
    decode(text).filter(|read| *read != (REPLACEMENT, 1))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bytes_that_are_not_utf8_are_one_rune_each() {
        for (text, expected) in [
            (&b"\xE2\x82\xAC"[..], (0x20AC, 3)),
            (b"\xE2\x82", (REPLACEMENT, 1)),
            (b"\x82\xAC", (REPLACEMENT, 1)),
            (b"\xED\xA0\x80", (REPLACEMENT, 1)),
            (b"\xC0\x80", (REPLACEMENT, 1)),
            (b"\xF4\x90\x80\x80", (REPLACEMENT, 1)),
            (b"\xEF\xBF\xBD", (REPLACEMENT, 3)),
        ] {
            assert_eq!(decode(text).unwrap(), expected, "{text:x?}");
        }
    }
}
