//! Base64 as Go's `encoding/base64.StdEncoding` reads it: line breaks anywhere, the last bits as they come, and the
//! place of what is wrong.

use zeroize::Zeroizing;

/// What is wrong with the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Corrupt {
    /// Go's `CorruptInputError`: the offset that it names.
    pub at: usize,
}

impl std::fmt::Display for Corrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "illegal base64 data at input byte {}", self.at)
    }
}

/// The bytes that the text stands for; they may be a key, so they are wiped when let go.
pub(super) fn decode(text: &[u8]) -> Result<Zeroizing<Vec<u8>>, Corrupt> {
    // As much as the text can stand for, so that nothing is left behind by growing.
    let mut out = Zeroizing::new(Vec::with_capacity(text.len() / 4 * 3 + 3));
    let mut quantum = 0_u32;
    let mut count = 0_usize;
    let mut symbols = significant(text, 0);
    while let Some((at, symbol)) = symbols.next() {
        if let Some(bits) = value(symbol) {
            quantum = quantum << 6 | bits;
            count += 1;
            if count == 4 {
                out.extend_from_slice(quantum.to_be_bytes().get(1..).unwrap_or_default());
                (quantum, count) = (0, 0);
            }
            continue;
        }
        if symbol != b'=' || count < 2 {
            return Err(Corrupt { at });
        }
        if count == 2 {
            match symbols.next() {
                None => return Err(Corrupt { at: text.len() }),
                Some((_, b'=')) => {}
                // Go has looked at this symbol already and names the place before it.
                Some((second, _)) => return Err(Corrupt { at: second - 1 }),
            }
        }
        if let Some((garbage, _)) = symbols.next() {
            return Err(Corrupt { at: garbage });
        }
        let bytes = (quantum << (6 * (4 - count))).to_be_bytes();
        out.extend_from_slice(bytes.get(1..count).unwrap_or_default());
        return Ok(out);
    }
    match count {
        0 => Ok(out),
        // Go counts back from the end by the symbols it had, as if no line break lay between them.
        _ => Err(Corrupt { at: text.len() - count }),
    }
}

/// The symbols that are not line breaks, with their offsets.
fn significant(text: &[u8], from: usize) -> impl Iterator<Item = (usize, u8)> + '_ {
    text.iter()
        .copied()
        .enumerate()
        .skip(from)
        .filter(|(_, symbol)| !matches!(symbol, b'\n' | b'\r'))
}

fn value(symbol: u8) -> Option<u32> {
    let value = match symbol {
        b'A'..=b'Z' => symbol - b'A',
        b'a'..=b'z' => symbol - b'a' + 26,
        b'0'..=b'9' => symbol - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn reads_what_go_reads() {
        for (text, bytes) in [
            ("", ""),
            ("QQ==", "A"),
            ("Q\nQ=\r\n=\n", "A"),
            ("QUI=", "AB"),
            ("QUJD", "ABC"),
            ("QR==", "A"),
        ] {
            assert_eq!(
                decode(text.as_bytes()).unwrap().as_slice(),
                bytes.as_bytes(),
                "{text:?}"
            );
        }
    }

    #[test]
    fn names_the_place_that_go_names() {
        for (text, at) in [
            ("Q", 0),
            ("Q\n", 1),
            ("QUJDQQ", 4),
            ("=", 0),
            ("Q=", 1),
            ("QQ=", 3),
            ("QQ=A", 2),
            ("QQ==A", 4),
            ("QUJD!", 4),
        ] {
            assert_eq!(decode(text.as_bytes()).unwrap_err().at, at, "{text:?}");
        }
    }
}
