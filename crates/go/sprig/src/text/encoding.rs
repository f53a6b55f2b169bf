//! Base64 and Base32. Decoding returns the text of its error instead of failing.

use bumpwright_template::{Args, Failure, Function, Host, STRING, Value};
use bumpwright_text::Parts;
use std::fmt;

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("b32dec", &[&STRING], &STRING, |host, args| {
        decode(host, args, "base32", &BASE32)
    }),
    Function::new("b32enc", &[&STRING], &STRING, |host, args| encode(host, args, &BASE32)),
    Function::new("b64dec", &[&STRING], &STRING, |host, args| {
        decode(host, args, "base64", &BASE64)
    }),
    Function::new("b64enc", &[&STRING], &STRING, |host, args| encode(host, args, &BASE64)),
];

/// An alphabet, and its letters per group.
struct Base {
    alphabet: &'static [u8],
    /// Bits of a letter.
    bits: u32,
    /// The value of a letter.
    letter: fn(u8) -> Option<u8>,
    /// Letters of a full group, which is an integral number of bytes.
    group: usize,
    /// Decodes a text; the error is the position of the first invalid byte.
    decode: fn(&Base, &[u8]) -> Result<Vec<u8>, usize>,
}

const BASE64: Base = Base {
    alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    bits: 6,
    letter: |byte| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    },
    group: 4,
    decode: decode_64,
};

const BASE32: Base = Base {
    alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    bits: 5,
    letter: |byte| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'2'..=b'7' => Some(byte - b'2' + 26),
        _ => None,
    },
    group: 8,
    decode: decode_32,
};

fn encode(host: &mut Host<'_>, args: Args<'_>, base: &Base) -> Result<Value, Failure> {
    let text = args.text(0)?;
    host.produce(text.len().saturating_mul(2))?;
    Ok(Value::text(base.encode(text)))
}

fn decode(host: &mut Host<'_>, args: Args<'_>, name: &'static str, base: &Base) -> Result<Value, Failure> {
    let text = args.text(0)?;
    host.produce(text.len())?;
    Ok(match base.decode(name, text) {
        Ok(bytes) => Value::text(bytes),
        Err(error) => error.to_string().into(),
    })
}

/// A byte that the encoding does not have there, in Go's words.
#[derive(Debug)]
pub(crate) struct DecodeError {
    name: &'static str,
    at: usize,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "illegal {} data at input byte {}", self.name, self.at)
    }
}

/// The text decoded from Base64.
pub(crate) fn unbase64(text: &[u8]) -> Result<Vec<u8>, DecodeError> {
    BASE64.decode("base64", text)
}

/// `bytes` in Base64 as `encoding/json` writes them.
pub(crate) fn base64(bytes: &[u8]) -> Vec<u8> {
    BASE64.encode(bytes)
}

impl Base {
    fn decode(&self, name: &'static str, text: &[u8]) -> Result<Vec<u8>, DecodeError> {
        (self.decode)(self, text).map_err(|at| DecodeError { name, at })
    }

    fn encode(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() * 2);
        for chunk in bytes.chunks(self.group * self.bits as usize / 8) {
            let mut left = chunk.len() as u32 * 8;
            let mut pool = chunk.iter().fold(0_u64, |pool, byte| pool << 8 | u64::from(*byte));
            // A partial letter is filled with zeros.
            let missing = (self.bits - left % self.bits) % self.bits;
            (pool, left) = (pool << missing, left + missing);
            for _ in 0..self.group {
                match left.checked_sub(self.bits) {
                    Some(rest) => {
                        left = rest;
                        let letter = pool >> left & ((1 << self.bits) - 1);
                        out.extend(self.alphabet.get(letter as usize));
                    }
                    None => out.push(b'='),
                }
            }
        }
        out
    }

    /// Appends the whole bytes of `letters` letters; bits beyond them are dropped.
    fn push_group(&self, out: &mut Vec<u8>, pool: u64, letters: usize) {
        let mut left = letters as u32 * self.bits;
        while let Some(rest) = left.checked_sub(8) {
            left = rest;
            out.push((pool >> left) as u8);
        }
    }
}

/// Line breaks may be anywhere, and count in the position of an error.
fn decode_64(base: &Base, text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len());
    let (mut pool, mut letters) = (0, 0);
    let mut rest = text
        .iter()
        .enumerate()
        .filter(|(_, byte)| !matches!(byte, b'\n' | b'\r'));
    while let Some((at, byte)) = rest.next() {
        if let Some(letter) = (base.letter)(*byte) {
            pool = pool << base.bits | u64::from(letter);
            letters += 1;
            if letters == base.group {
                base.push_group(&mut out, pool, letters);
                (pool, letters) = (0, 0);
            }
            continue;
        }
        if *byte != b'=' || letters < 2 {
            return Err(at);
        }
        if letters == 2 {
            match rest.next() {
                None => return Err(text.len()),
                Some((_, b'=')) => {}
                Some((at, _)) => return Err(at - 1),
            }
        }
        if let Some((at, _)) = rest.next() {
            return Err(at);
        }
        base.push_group(&mut out, pool, letters);
        return Ok(out);
    }
    match letters {
        0 => Ok(out),
        letters => Err(text.len() - letters),
    }
}

/// Line breaks are removed first, and do not count in the position of an error.
fn decode_32(base: &Base, text: &[u8]) -> Result<Vec<u8>, usize> {
    let text: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\n' | b'\r'))
        .collect();
    let mut out = Vec::with_capacity(text.len());
    let (mut pool, mut letters) = (0, 0);
    for (at, byte) in text.iter().enumerate() {
        let left = text.len() - at - 1;
        if *byte == b'=' && letters >= 2 && left < base.group {
            check_padding(&text, at, letters)?;
            base.push_group(&mut out, pool, letters);
            return Ok(out);
        }
        let letter = (base.letter)(*byte).ok_or(at)?;
        pool = pool << base.bits | u64::from(letter);
        letters += 1;
        if letters == base.group {
            base.push_group(&mut out, pool, letters);
            (pool, letters) = (0, 0);
        }
    }
    match letters {
        0 => Ok(out),
        letters => Err(text.len() - letters),
    }
}

/// Checks the rest from the first `=` at `at`, after `letters` letters of a group.
fn check_padding(text: &[u8], at: usize, letters: usize) -> Result<(), usize> {
    let rest = text.tail(at + 1);
    let wanted = 7 - letters.min(7);
    if rest.len() < wanted {
        return Err(text.len());
    }
    if let Some(wrong) = rest.iter().take(wanted).position(|byte| *byte != b'=') {
        return Err(at + wrong);
    }
    // This number of letters does not end with a byte.
    match letters {
        1 | 3 | 6 => Err(at),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use crate::testing::call;
    use bumpwright_template::Value;

    fn text(name: &str, argument: &str) -> String {
        match call(name, &[Value::text(argument)]).unwrap() {
            Value::String(text) => text.lossy().into_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn encodes_groups_and_what_is_left() {
        for (plain, base64, base32) in [
            ("", "", ""),
            ("f", "Zg==", "MY======"),
            ("fo", "Zm8=", "MZXQ===="),
            ("foo", "Zm9v", "MZXW6==="),
            ("foob", "Zm9vYg==", "MZXW6YQ="),
            ("foobar", "Zm9vYmFy", "MZXW6YTBOI======"),
        ] {
            assert_eq!(
                (text("b64enc", plain).as_str(), text("b32enc", plain).as_str()),
                (base64, base32)
            );
            assert_eq!(
                (text("b64dec", base64).as_str(), text("b32dec", base32).as_str()),
                (plain, plain)
            );
        }
    }

    #[test]
    fn names_the_byte_that_it_cannot_decode() {
        for (name, argument, at) in [
            ("b64dec", "Zg=", 3),
            ("b64dec", "Z\ng=\n=\n", usize::MAX),
            ("b64dec", "Zg==x", 4),
            ("b64dec", "Zg\n=x", 3),
            ("b64dec", "Zm9vY", 4),
            ("b64dec", "Z===", 1),
            ("b32dec", "MY=====", 7),
            ("b32dec", "M\nY==x===", 3),
            ("b32dec", "MZX=====", 3),
            ("b32dec", "mY======", 0),
        ] {
            let kind = if name == "b64dec" { "base64" } else { "base32" };
            let expected = match at {
                usize::MAX => "f".to_owned(),
                at => format!("illegal {kind} data at input byte {at}"),
            };
            assert_eq!(text(name, argument), expected, "{argument:?}");
        }
    }
}
