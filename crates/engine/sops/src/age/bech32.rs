//! Bech32, the encoding of age's keys, with the errors of age's parser.

use bumpwright_text::Parts;
use zeroize::Zeroizing;

const CHARSET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
/// Characters of the checksum.
const CHECKSUM: usize = 6;

/// What is wrong with a key. Errors contain positions, but no characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Bech32Error {
    #[error("mixed case")]
    MixedCase,
    #[error("separator '1' at invalid position: pos={0}, len={1}")]
    Separator(i64, usize),
    #[error("invalid character human-readable part: s[{0}]")]
    Prefix(usize),
    #[error("invalid character data part: s[{0}]")]
    Data(usize),
    #[error("invalid checksum")]
    Checksum,
    #[error("illegal zero padding")]
    ZeroPadding,
    #[error("non-zero padding")]
    Padding,
}

/// The prefix before the last `1`, in its case, and the bytes after it.
pub(super) fn decode(text: &str) -> Result<(&str, Zeroizing<Vec<u8>>), Bech32Error> {
    let lower = text.bytes().any(|byte| byte.is_ascii_lowercase());
    let upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
    if lower && upper {
        return Err(Bech32Error::MixedCase);
    }
    let at = text.rfind('1');
    let position = at.map_or(-1, |at| i64::try_from(at).unwrap_or(i64::MAX));
    let at = at
        .filter(|at| *at >= 1 && at + CHECKSUM < text.len())
        .ok_or(Bech32Error::Separator(position, text.len()))?;
    let (prefix, data) = (text.part(..at), text.tail(at + 1));
    if let Some(at) = prefix.bytes().position(|byte| !(33..=126).contains(&byte)) {
        return Err(Bech32Error::Prefix(at));
    }
    let mut digits = Zeroizing::new(Vec::with_capacity(data.len()));
    for (at, byte) in data.bytes().enumerate() {
        let byte = byte.to_ascii_lowercase();
        let digit = CHARSET.iter().position(|ch| *ch == byte).ok_or(Bech32Error::Data(at))?;
        digits.push(digit as u8);
    }
    if checksum(prefix, &digits) != 1 {
        return Err(Bech32Error::Checksum);
    }
    let bare = digits.len() - CHECKSUM;
    digits.truncate(bare);
    Ok((prefix, bytes_of(&digits)?))
}

fn checksum(prefix: &str, digits: &[u8]) -> u32 {
    let prefix = prefix.as_bytes().to_ascii_lowercase();
    let high = prefix.iter().map(|byte| byte >> 5);
    let low = prefix.iter().map(|byte| byte & 31);
    let values = high.chain([0]).chain(low).chain(digits.iter().copied());
    values.fold(1, |sum: u32, value| {
        let top = sum >> 25;
        let shifted = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
        let terms = GENERATOR.iter().enumerate().filter(|(bit, _)| top >> bit & 1 == 1);
        terms.fold(shifted, |sum, (_, term)| sum ^ term)
    })
}

/// Converts groups of five bits to bytes.
fn bytes_of(digits: &[u8]) -> Result<Zeroizing<Vec<u8>>, Bech32Error> {
    let mut out = Zeroizing::new(Vec::with_capacity(digits.len() * 5 / 8));
    let (mut bits, mut held) = (0_u32, 0_u32);
    for digit in digits {
        held = (held << 5 | u32::from(*digit)) & 0xfff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits & 0xff) as u8);
        }
    }
    if bits >= 5 {
        return Err(Bech32Error::ZeroPadding);
    }
    match held & ((1 << bits) - 1) {
        0 => Ok(out),
        _ => Err(Bech32Error::Padding),
    }
}
