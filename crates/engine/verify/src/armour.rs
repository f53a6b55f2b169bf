//! Armour: detects the kind of a signature, and decodes OpenPGP's armour as
//! ProtonMail/go-crypto v1.4.1 (`openpgp/armor`) does.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use bumpwright_text::Parts;

/// Go's `base64.StdEncoding`: padded, and stray bits after the last byte are ignored.
pub(crate) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// The kind of a signature, by its first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureKind {
    /// `-----BEGIN PGP SIGNATURE-----`
    OpenPgp,
    /// `-----BEGIN SSH SIGNATURE-----`
    Ssh,
    /// `-----BEGIN SIGNED MESSAGE-----`: S/MIME, which is not supported.
    X509,
    Empty,
    Unknown,
}

impl SignatureKind {
    /// The kind of a stored signature (`signature.GetSignatureType` of fluxcd/pkg).
    #[must_use]
    pub fn of(signature: &[u8]) -> Self {
        let trimmed = trim(signature);
        let starts = |prefix: &str| trimmed.starts_with(prefix.as_bytes());
        if starts("-----BEGIN PGP SIGNATURE-----") {
            Self::OpenPgp
        } else if starts("-----BEGIN SSH SIGNATURE-----") {
            Self::Ssh
        } else if starts("-----BEGIN SIGNED MESSAGE-----") {
            Self::X509
        } else if signature.is_empty() {
            Self::Empty
        } else {
            Self::Unknown
        }
    }
}

impl fmt::Display for SignatureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenPgp => "openpgp",
            Self::Ssh => "ssh",
            Self::X509 => "x509",
            Self::Empty => "empty",
            Self::Unknown => "unknown",
        })
    }
}

pub(crate) fn trim(text: &[u8]) -> &[u8] {
    let white = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
    let start = text.iter().position(|byte| !white(byte)).unwrap_or(text.len());
    let end = text
        .iter()
        .rposition(|byte| !white(byte))
        .map_or(start, |last| last + 1);
    text.part(start..end)
}

/// A block of OpenPGP's armour.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) label: String,
    /// The bytes up to the end, or to the first damage.
    pub(crate) content: Vec<u8>,
    /// The damage. A caller that needs only the bytes before it ignores it, as in go-crypto.
    pub(crate) damage: Option<ArmourError>,
}

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";

/// Errors of OpenPGP's armour, with go-crypto's messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArmourError {
    #[error("openpgp: invalid argument: no armored data found")]
    None,
    #[error("openpgp: invalid data: armor invalid")]
    Corrupt,
    #[error("illegal base64 data at input byte {0}")]
    Base64(usize),
    #[error("unexpected EOF")]
    Cut,
}

/// Longest line of base64 in an armour.
const MAX_LINE: usize = 96;

/// Decodes the first block of OpenPGP's armour. Checksums are ignored.
pub(crate) fn openpgp(text: &[u8]) -> Result<Block, ArmourError> {
    let mut lines = text.split(|byte| *byte == b'\n').map(trim);
    let label = begin(&mut lines).ok_or(ArmourError::None)?;
    let mut digits = Vec::new();
    let mut corrupt = None;
    for line in lines {
        if line.starts_with(END) || (line.len() == 5 && line.starts_with(b"=")) {
            break;
        }
        if line.len() > MAX_LINE {
            corrupt = Some(ArmourError::Corrupt);
            break;
        }
        digits.extend_from_slice(line);
    }
    let (content, damage) = decoded(&digits);
    let damage = damage.or(corrupt);
    Ok(Block { label, content, damage })
}

/// Finds the line that begins a block and the empty line after its headers.
fn begin<'a>(lines: &mut impl Iterator<Item = &'a [u8]>) -> Option<String> {
    'block: loop {
        let begin = lines.find(|line| line.len() > BEGIN.len() + DASHES.len() && line.starts_with(BEGIN))?;
        let label = begin.get(BEGIN.len()..begin.len() - DASHES.len())?;
        loop {
            match lines.next()? {
                [] => return Some(String::from_utf8_lossy(label).into_owned()),
                header if header.contains(&b':') => {}
                _ => continue 'block,
            }
        }
    }
}

/// Decodes base64 up to the first error.
fn decoded(digits: &[u8]) -> (Vec<u8>, Option<ArmourError>) {
    let damage = match BASE64.decode(digits) {
        Ok(content) => return (content, None),
        Err(base64::DecodeError::InvalidByte(at, _)) => ArmourError::Base64(at),
        Err(_) => ArmourError::Cut,
    };
    let mut content = Vec::new();
    for group in digits.chunks(4) {
        match BASE64.decode(group) {
            Ok(bytes) => content.extend_from_slice(&bytes),
            Err(_) => break,
        }
        if group.contains(&b'=') {
            break;
        }
    }
    (content, Some(damage))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn kinds_go_by_the_first_line() {
        for (signature, kind) in [
            ("", "empty"),
            (" ", "unknown"),
            ("-----BEGIN PGP MESSAGE-----\n", "unknown"),
            ("\n\t -----BEGIN PGP SIGNATURE-----\n", "openpgp"),
            ("-----BEGIN SSH SIGNATURE-----", "ssh"),
            ("-----BEGIN SIGNED MESSAGE-----\n", "x509"),
            ("x-----BEGIN SSH SIGNATURE-----", "unknown"),
        ] {
            assert_eq!(
                SignatureKind::of(signature.as_bytes()).to_string(),
                kind,
                "{signature:?}"
            );
        }
    }

    #[test]
    fn openpgp_armour_ends_at_its_checksum() {
        let text =
            "-----BEGIN X Y-----\nno header\n-----BEGIN PGP SIGNATURE-----\nVersion: 1\n\nAAAA\r\n AAE=\n=abcd\njunk\n";
        let block = openpgp(text.as_bytes()).unwrap();
        assert_eq!((block.label.as_str(), block.content.len()), ("PGP SIGNATURE", 5));
        let long = format!("-----BEGIN X Y-----\n\nAAAA\n{}\n", "A".repeat(100));
        let block = openpgp(long.as_bytes()).unwrap();
        assert_eq!((block.content.len(), block.damage), (3, Some(ArmourError::Corrupt)));
        let block = openpgp(b"-----BEGIN X Y-----\n\nAAA=AA?A").unwrap();
        assert_eq!((block.content.len(), block.damage.is_some()), (2, true));
        assert_eq!(openpgp(b"-----BEGIN X Y-----").unwrap_err(), ArmourError::None);
    }
}
