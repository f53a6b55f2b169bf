//! Base64 as Go's `base64.StdEncoding` reads it: line breaks passed over, errors by the place that Go names.

use zeroize::Zeroizing;

/// The byte of the input that Go calls illegal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {0}")]
pub(crate) struct CorruptInput(usize);

const PADDING: u8 = b'=';

/// Reads padded base64. The bits that the last character has too many may be anything, as with Go's default.
pub(crate) fn decode(text: &[u8]) -> Result<Zeroizing<Vec<u8>>, CorruptInput> {
    // Never grown: what is decoded may be secret, and a copy left behind would not be wiped.
    let mut out = Zeroizing::new(Vec::with_capacity(text.len() / 4 * 3 + 3));
    let mut reader = Reader { text, at: 0 };
    while let Some(quantum) = reader.quantum()? {
        let [a, b, c, d] = quantum.digits;
        let bytes = [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d];
        out.extend_from_slice(bytes.get(..quantum.bytes).unwrap_or_default());
        if quantum.bytes < 3 {
            break;
        }
    }
    Ok(out)
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

/// Four characters.
struct Quantum {
    digits: [u8; 4],
    bytes: usize,
}

impl Reader<'_> {
    /// The next byte that is no line break.
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
                return match place {
                    0 => Ok(None),
                    // Go counts back to the start of the quantum, in characters read.
                    _ => Err(CorruptInput(self.at - place)),
                };
            };
            match digit(byte) {
                Some(value) => {
                    if let Some(slot) = digits.get_mut(place) {
                        *slot = value;
                    }
                }
                None if byte == PADDING => return self.padding(place, digits).map(Some),
                None => return Err(CorruptInput(self.at - 1)),
            }
        }
        Ok(Some(Quantum { digits, bytes: 3 }))
    }

    /// One `=` was read at this place of a quantum.
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
        match self.at < self.text.len() {
            true => Err(CorruptInput(self.at)),
            false => Ok(Quantum {
                digits,
                bytes: place - 1,
            }),
        }
    }
}

const fn digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Go 1.26 says.
    #[test]
    fn errors_name_the_byte_that_go_names() {
        type Outcome = Result<&'static [u8], usize>;
        let cases: [(&[u8], Outcome); 13] = [
            (b"", Ok(b"")),
            (b"aGk=", Ok(b"hi")),
            (b"aG\nk\r=\n", Ok(b"hi")),
            (b"aGl=", Ok(b"hi")),
            (b"aGkh", Ok(b"hi!")),
            (b"aQ==", Ok(b"i")),
            (b"a", Err(0)),
            (b"aGkhaG", Err(4)),
            (b"aG!h", Err(2)),
            (b"=", Err(0)),
            (b"aQ=", Err(3)),
            (b"aQ=x", Err(2)),
            (b"aGk=x", Err(4)),
        ];
        for (text, wanted) in cases {
            let got = decode(text);
            let got = got.as_ref().map(|bytes| bytes.as_slice()).map_err(|error| error.0);
            assert_eq!(got, wanted, "{:?}", String::from_utf8_lossy(text));
        }
    }
}
