//! Go's strings as runes: bytes that need not be UTF-8.

/// The runes of a Go string, as `for range` reads them: each byte that is no part of a character is one of its own,
/// which Go then takes for U+FFFD.
pub fn runes(text: &[u8]) -> impl Iterator<Item = Result<char, u8>> + '_ {
    text.utf8_chunks().flat_map(|chunk| {
        let bad = chunk.invalid().iter().copied().map(Err);
        chunk.valid().chars().map(Ok).chain(bad)
    })
}

/// How many runes a Go string has: `utf8.RuneCount`.
pub fn rune_count(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.utf8_chunks()
        .map(|chunk| chunk.valid().chars().count() + chunk.invalid().len())
        .sum()
}

/// The character of a number, U+FFFD when it has none.
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
    use super::*;

    #[test]
    fn every_bad_byte_is_a_rune() {
        // A letter, a character cut short, a surrogate in disguise, an overlong slash, an astral character.
        let text = b"a\xe2\x82\xed\xa0\x80\xc0\xaf\xf0\x9f\x98\x80";
        let expected = [
            Ok('a'),
            Err(0xe2),
            Err(0x82),
            Err(0xed),
            Err(0xa0),
            Err(0x80),
            Err(0xc0),
            Err(0xaf),
            Ok('😀'),
        ];
        assert!(runes(text).eq(expected));
        assert_eq!(rune_count(text), expected.len());
    }
}
