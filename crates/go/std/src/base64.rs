//! Base64, decoded as Go's `encoding/base64` does: line breaks ignored, errors with Go's position.

use bumpwright_text::Parts;

/// One of Go's encodings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base64 {
    /// `StdEncoding`.
    Standard,
    /// `RawURLEncoding`: another alphabet, no padding.
    RawUrl,
}

/// `base64.CorruptInputError`: the offset of the first invalid byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {0}")]
pub struct CorruptInput(pub usize);

const PADDING: u8 = b'=';

/// `Encoding.Decode`, which appends to `out`. Excess bits of the last character are ignored, as with Go's default.
/// `out` grows once, before it contains anything secret, so that no copy is left behind.
///
/// # Errors
/// [`CorruptInput`] as in Go; the bytes before it are in `out`.
pub fn decode_base64(text: &[u8], encoding: Base64, out: &mut Vec<u8>) -> Result<(), CorruptInput> {
    out.reserve(text.len() / 4 * 3 + 3);
    let mut reader = Reader { text, at: 0, encoding };
    while let Some(quantum) = reader.quantum()? {
        let [a, b, c, d] = quantum.digits;
        let bytes = [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d];
        out.extend_from_slice(bytes.part(..quantum.bytes));
        if quantum.bytes < 3 {
            break;
        }
    }
    Ok(())
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    encoding: Base64,
}

/// Four characters.
struct Quantum {
    digits: [u8; 4],
    bytes: usize,
}

impl Reader<'_> {
    /// The next byte that is not a line break.
    fn next(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            if !matches!(byte, b'\n' | b'\r') {
                return Some(byte);
            }
        }
    }

    fn skip_breaks(&mut self) {
        while matches!(self.text.get(self.at), Some(b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn quantum(&mut self) -> Result<Option<Quantum>, CorruptInput> {
        let mut digits = [0; 4];
        for place in 0..4 {
            let Some(byte) = self.next() else {
                return match (place, self.encoding) {
                    (0, _) => Ok(None),
                    (2 | 3, Base64::RawUrl) => Ok(Some(Quantum {
                        digits,
                        bytes: place - 1,
                    })),
                    // Go counts back to the start of the quantum, in characters read.
                    _ => Err(CorruptInput(self.at - place)),
                };
            };
            match self.digit(byte) {
                Some(value) => {
                    if let Some(slot) = digits.get_mut(place) {
                        *slot = value;
                    }
                }
                None if byte == PADDING && self.encoding == Base64::Standard => {
                    return self.padding(place, digits).map(Some);
                }
                None => return Err(CorruptInput(self.at - 1)),
            }
        }
        Ok(Some(Quantum { digits, bytes: 3 }))
    }

    /// One `=` was read at this position of a quantum.
    fn padding(&mut self, place: usize, digits: [u8; 4]) -> Result<Quantum, CorruptInput> {
        match place {
            0 | 1 => return Err(CorruptInput(self.at - 1)),
            2 => {
                self.skip_breaks();
                match self.text.get(self.at) {
                    None => return Err(CorruptInput(self.text.len())),
                    Some(&PADDING) => self.at += 1,
                    Some(_) => return Err(CorruptInput(self.at - 1)),
                }
            }
            _ => {}
        }
        self.skip_breaks();
        if self.at < self.text.len() {
            Err(CorruptInput(self.at))
        } else {
            Ok(Quantum {
                digits,
                bytes: place - 1,
            })
        }
    }

    const fn digit(&self, byte: u8) -> Option<u8> {
        Some(match (byte, self.encoding) {
            (b'A'..=b'Z', _) => byte - b'A',
            (b'a'..=b'z', _) => byte - b'a' + 26,
            (b'0'..=b'9', _) => byte - b'0' + 52,
            (b'+', Base64::Standard) | (b'-', Base64::RawUrl) => 62,
            (b'/', Base64::Standard) | (b'_', Base64::RawUrl) => 63,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results of Go 1.26.
    #[test]
    fn errors_name_the_byte_that_go_names() {
        type Outcome = Result<&'static [u8], usize>;
        let cases: [(&[u8], Base64, Outcome); 29] = [
            (b"", Base64::Standard, Ok(b"")),
            (b"aGk=", Base64::Standard, Ok(b"hi")),
            (b"aG\nk\r=\n", Base64::Standard, Ok(b"hi")),
            (b"aGl=", Base64::Standard, Ok(b"hi")),
            (b"aGkh", Base64::Standard, Ok(b"hi!")),
            (b"aQ==", Base64::Standard, Ok(b"i")),
            (b"a", Base64::Standard, Err(0)),
            (b"aGkhaG", Base64::Standard, Err(4)),
            (b"aG!h", Base64::Standard, Err(2)),
            (b"=", Base64::Standard, Err(0)),
            (b"aQ=", Base64::Standard, Err(3)),
            (b"aQ=x", Base64::Standard, Err(2)),
            (b"aGk=x", Base64::Standard, Err(4)),
            (b"Y2lwaGVy", Base64::Standard, Ok(b"cipher")),
            (b"Y2lw\r\naGVy\n", Base64::Standard, Ok(b"cipher")),
            (b"Y2lwaGU=", Base64::Standard, Ok(b"ciphe")),
            (b"Y2lwaA==", Base64::Standard, Ok(b"ciph")),
            (b"Y2lwaB=\n=", Base64::Standard, Ok(b"ciph")),
            (b"not base64!", Base64::Standard, Err(3)),
            (b"Y2lwaGV", Base64::Standard, Err(4)),
            (b"Y2=pAAAA", Base64::Standard, Err(2)),
            (b"Y2=", Base64::Standard, Err(3)),
            (b"=AAA", Base64::Standard, Err(0)),
            (b"Y2lwaGVyAA==AA", Base64::Standard, Err(12)),
            (b"Y2lwaGU", Base64::RawUrl, Ok(b"ciphe")),
            (b"Y2lw==", Base64::RawUrl, Err(4)),
            (b"Y2lwaGVyY", Base64::RawUrl, Err(8)),
            (b"_-8+", Base64::RawUrl, Err(3)),
            (b"_-8_", Base64::RawUrl, Ok(b"\xff\xef\x3f")),
        ];
        for (text, encoding, wanted) in cases {
            let mut out = Vec::new();
            let got = decode_base64(text, encoding, &mut out).map_err(|error| error.0);
            assert_eq!(
                got.map(|()| out.as_slice()),
                wanted,
                "{:?}",
                String::from_utf8_lossy(text)
            );
        }
    }
}
