//! Base64 as Go's `encoding/base64` reads it, with the place of the first fault that it names.

use std::fmt;

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::general_purpose;
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

/// Which of Go's encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// `StdEncoding`.
    Standard,
    /// `RawURLEncoding`: another alphabet, no padding.
    RawUrl,
}

/// `StdEncoding.EncodeToString`.
pub(super) fn encode(bytes: &[u8]) -> String {
    general_purpose::STANDARD.encode(bytes)
}

/// `RawURLEncoding.EncodeToString`.
pub(super) fn encode_raw_url(bytes: &[u8]) -> String {
    general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

/// A field of an answer, which is wiped; null is empty.
pub(super) fn secret<'de, D: Deserializer<'de>>(text: D) -> Result<Zeroizing<String>, D::Error> {
    let text: Option<String> = Option::deserialize(text)?;
    Ok(Zeroizing::new(text.unwrap_or_default()))
}

/// `base64.CorruptInputError`: the offset of the first byte that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Corrupt(usize);

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "illegal base64 data at input byte {}", self.0)
    }
}

/// Decodes a text. Line breaks are passed over, and bits that are left over in the last sign do not count.
///
/// # Errors
/// [`Corrupt`] at the place that Go names.
pub(super) fn decode(text: &[u8], encoding: Encoding) -> Result<Zeroizing<Vec<u8>>, Corrupt> {
    let alphabet = match encoding {
        Encoding::Standard => STANDARD.as_str(),
        Encoding::RawUrl => URL_SAFE.as_str(),
    };
    let mut out = Zeroizing::new(Vec::with_capacity(text.len() / 4 * 3 + 3));
    let mut signs = text
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, b)| !matches!(b, b'\n' | b'\r'));
    loop {
        let (mut bits, mut count) = (0_u32, 0_u32);
        while count < 4 {
            let Some((at, sign)) = signs.next() else {
                return match (count, encoding) {
                    (0, _) => Ok(out),
                    (2 | 3, Encoding::RawUrl) => {
                        put(&mut out, bits, count);
                        Ok(out)
                    }
                    // Go names the start of the last group, as if no line break stood in it.
                    _ => Err(Corrupt(
                        text.len().saturating_sub(usize::try_from(count).unwrap_or_default()),
                    )),
                };
            };
            match alphabet.bytes().zip(0_u32..).find(|(known, _)| *known == sign) {
                Some((_, value)) => (bits, count) = (bits << 6 | value, count + 1),
                None if sign == b'=' && encoding == Encoding::Standard && count >= 2 => {
                    if count == 2 {
                        padding(&mut signs, text.len())?;
                    }
                    put(&mut out, bits, count);
                    return signs.next().map_or(Ok(out), |(at, _)| Err(Corrupt(at)));
                }
                None => return Err(Corrupt(at)),
            }
        }
        put(&mut out, bits, 4);
    }
}

/// The second sign of a padding; the first one is read.
fn padding(signs: &mut impl Iterator<Item = (usize, u8)>, length: usize) -> Result<(), Corrupt> {
    match signs.next() {
        None => Err(Corrupt(length)),
        Some((_, b'=')) => Ok(()),
        Some((at, _)) => Err(Corrupt(at.saturating_sub(1))),
    }
}

/// The bytes of a group of so many signs.
fn put(out: &mut Vec<u8>, bits: u32, signs: u32) {
    let [_, a, b, c] = (bits << (6 * (4 - signs))).to_be_bytes();
    out.extend([a, b, c].into_iter().take(match signs {
        4 => 3,
        3 => 2,
        _ => 1,
    }));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn as_go_reads_it() {
        let rows: [(&str, Encoding, Result<&str, usize>); 16] = [
            ("", Encoding::Standard, Ok("")),
            ("Y2lwaGVy", Encoding::Standard, Ok("cipher")),
            ("Y2lw\r\naGVy\n", Encoding::Standard, Ok("cipher")),
            ("Y2lwaGU=", Encoding::Standard, Ok("ciphe")),
            ("Y2lwaA==", Encoding::Standard, Ok("ciph")),
            ("Y2lwaB=\n=", Encoding::Standard, Ok("ciph")),
            ("not base64!", Encoding::Standard, Err(3)),
            ("Y2lwaGV", Encoding::Standard, Err(4)),
            ("Y2=pAAAA", Encoding::Standard, Err(2)),
            ("Y2=", Encoding::Standard, Err(3)),
            ("=AAA", Encoding::Standard, Err(0)),
            ("Y2lwaGVyAA==AA", Encoding::Standard, Err(12)),
            ("Y2lwaGU", Encoding::RawUrl, Ok("ciphe")),
            ("Y2lw==", Encoding::RawUrl, Err(4)),
            ("Y2lwaGVyY", Encoding::RawUrl, Err(8)),
            ("_-8+", Encoding::RawUrl, Err(3)),
        ];
        for (text, encoding, expected) in rows {
            let got = decode(text.as_bytes(), encoding);
            let got = got.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            assert_eq!(got, expected.map(str::to_owned).map_err(Corrupt), "{text:?}");
        }
    }
}
