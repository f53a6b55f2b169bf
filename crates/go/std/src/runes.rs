//! Go's strings as runes: possibly invalid UTF-8.

use std::borrow::Cow;

/// The runes of `bytes` with their widths, as Go's `range` over a string and `utf8.DecodeRune` find them: each byte
/// that is not part of valid UTF-8 is a U+FFFD of width 1.
pub fn runes(bytes: &[u8]) -> impl Iterator<Item = (char, usize)> + '_ {
    bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(|ch| (ch, ch.len_utf8()));
        let broken = chunk.invalid().iter().map(|_| (char::REPLACEMENT_CHARACTER, 1));
        valid.chain(broken)
    })
}

/// The first rune of `bytes` and its width.
pub fn first_rune(bytes: &[u8]) -> Option<(char, usize)> {
    if let Some(byte) = bytes.first().filter(|byte| byte.is_ascii()) {
        return Some((char::from(*byte), 1));
    }
    // No rune is longer than 4 bytes, and a truncated rune is as invalid as any other.
    runes(bytes.get(..4).unwrap_or(bytes)).next()
}

/// The last rune of `bytes` and its width.
pub fn last_rune(bytes: &[u8]) -> Option<(char, usize)> {
    let byte = bytes.last()?;
    if byte.is_ascii() {
        return Some((char::from(*byte), 1));
    }
    let whole = (2..=bytes.len().min(4)).find_map(|width| {
        let (ch, first) = first_rune(bytes.get(bytes.len() - width..)?)?;
        (first == width).then_some((ch, width))
    });
    Some(whole.unwrap_or((char::REPLACEMENT_CHARACTER, 1)))
}

/// The number of runes of a Go string: `utf8.RuneCount`.
pub fn rune_count(bytes: &[u8]) -> usize {
    if bytes.is_ascii() {
        return bytes.len();
    }
    let chunks = bytes.utf8_chunks();
    chunks
        .map(|chunk| chunk.valid().chars().count() + chunk.invalid().len())
        .sum()
}

/// `bytes` as text, with U+FFFD instead of each invalid byte: Go's `string([]rune(s))`.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(runes(bytes).map(|(ch, _)| ch).collect()),
    }
}

/// The character of a code point, U+FFFD when it has none.
pub fn char_at(code: u64) -> char {
    let ch = u32::try_from(code).ok().and_then(char::from_u32);
    ch.unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Appends a character in UTF-8.
pub fn append_char(out: &mut Vec<u8>, ch: char) {
    out.extend_from_slice(ch.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn each_broken_byte_is_a_rune() {
        const BAD: (char, usize) = ('\u{fffd}', 1);
        for (bytes, expected) in [
            (b"".as_slice(), vec![]),
            (
                "a\u{e9}\u{20ac}\u{1f600}".as_bytes(),
                vec![('a', 1), ('\u{e9}', 2), ('\u{20ac}', 3), ('\u{1f600}', 4)],
            ),
            (b"\xe2\x82x", vec![BAD, BAD, ('x', 1)]),
            (b"\xed\xa0\x80", vec![BAD, BAD, BAD]),
            (b"\xf0\x9f\x98", vec![BAD, BAD, BAD]),
            (b"\xc3\xa9\xff\xef\xbf\xbd", vec![('\u{e9}', 2), BAD, ('\u{fffd}', 3)]),
        ] {
            assert_eq!(runes(bytes).collect::<Vec<_>>(), expected, "{bytes:?}");
            assert_eq!(lossy(bytes), expected.iter().map(|(ch, _)| ch).collect::<String>());
            assert_eq!(rune_count(bytes), expected.len(), "{bytes:?}");
            assert_eq!(first_rune(bytes), expected.first().copied(), "{bytes:?}");
            assert_eq!(last_rune(bytes), expected.last().copied(), "{bytes:?}");
        }
    }
}
