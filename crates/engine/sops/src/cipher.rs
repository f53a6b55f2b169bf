//! Decrypts one value: `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]` becomes a leaf again.

use super::tree::{Comment, Value};
use aes_gcm::aead::consts::{U12, U16, U32};
use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::aes::Aes256;
use aes_gcm::{AesGcm, Nonce, Tag};
use bumpwright_gostd::{Base64, CorruptInput, RFC_3339, Time, atoi, decode_base64, parse_float};
use zeroize::Zeroizing;

/// Bytes of a tag.
const TAG: usize = 16;

/// Why a value cannot be decrypted, in SOPS' words; the value itself is left out.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CipherError {
    #[error("Input string <redacted> does not match sops' data format")]
    Shape,
    #[error("Error base64-decoding {0}: {1}")]
    Base64(&'static str, CorruptInput),
    #[error("crypto/aes: invalid key size {0}")]
    KeySize(usize),
    #[error("cipher: the nonce can't have zero length")]
    NoNonce,
    #[error("Could not decrypt with AES_GCM: cipher: message authentication failed")]
    Authentication,
    #[error("Unknown datatype: {0}")]
    UnknownType(String),
    #[error("decrypted value is not of its type {0}")]
    NotOfType(&'static str),
    /// Go's panic on such a value, which SOPS itself never writes.
    #[error("runtime error: hash of unhashable type []uint8")]
    Bytes,
}

/// The placeholder for masked values, as in `flux build`.
pub const MASK: &str = "**SOPS**";

/// The data key of one file, ready to decrypt its values.
pub(crate) struct Cipher {
    /// `None` where values are masked and not decrypted.
    gcm: Option<Box<Gcm>>,
}

/// SOPS' initialization vectors have 32 bytes; other writers may use the usual sizes for AES-GCM.
struct Gcm {
    wide: AesGcm<Aes256, U32>,
    block: AesGcm<Aes256, U16>,
    usual: AesGcm<Aes256, U12>,
}

struct Parts<'a> {
    data: &'a [u8],
    iv: &'a [u8],
    tag: &'a [u8],
    kind: &'a [u8],
}

impl Cipher {
    pub(crate) fn new(key: &[u8]) -> Result<Self, CipherError> {
        let refused = |_| CipherError::KeySize(key.len());
        Ok(Self {
            gcm: Some(Box::new(Gcm {
                wide: AesGcm::new_from_slice(key).map_err(refused)?,
                block: AesGcm::new_from_slice(key).map_err(refused)?,
                usual: AesGcm::new_from_slice(key).map_err(refused)?,
            })),
        })
    }

    /// A cipher without a key: each value becomes [`MASK`].
    pub(crate) const fn masking() -> Self {
        Self { gcm: None }
    }

    /// Decrypts the value at the path `additional`, whose names are each followed by `:`.
    pub(crate) fn decrypt(&self, text: &[u8], additional: &[u8]) -> Result<Value, CipherError> {
        if text.is_empty() {
            return Ok(Value::text(""));
        }
        let parts = parse(text).ok_or(CipherError::Shape)?;
        let Some(gcm) = &self.gcm else {
            return Ok(Value::text(MASK));
        };
        let part = |name, text, out: &mut Vec<u8>| {
            decode_base64(text, Base64::Standard, out).map_err(|error| CipherError::Base64(name, error))
        };
        // SOPS authenticates data and tag as one, so the boundary does not matter. One buffer holds both:
        // it must not grow.
        let mut data = Zeroizing::new(Vec::with_capacity((parts.data.len() + parts.tag.len()) / 4 * 3 + 6));
        let mut iv = Vec::new();
        part("data", parts.data, &mut data)?;
        part("iv", parts.iv, &mut iv)?;
        part("tag", parts.tag, &mut data)?;
        let bare = data.len().checked_sub(TAG).ok_or(CipherError::Authentication)?;
        let (message, tag) = data.split_at_mut(bare);
        gcm.open(&iv, additional, message, tag)?;
        let mut plain = data;
        plain.truncate(bare);
        typed(plain, parts.kind)
    }
}

impl Gcm {
    fn open(&self, iv: &[u8], additional: &[u8], message: &mut [u8], tag: &[u8]) -> Result<(), CipherError> {
        let message = InOutBuf::from(message);
        let tag = Tag::try_from(tag).map_err(|_| CipherError::Authentication)?;
        let opened = if iv.is_empty() {
            return Err(CipherError::NoNonce);
        } else if let Ok(iv) = Nonce::<U32>::try_from(iv) {
            self.wide.decrypt_inout_detached(&iv, additional, message, &tag)
        } else if let Ok(iv) = Nonce::<U12>::try_from(iv) {
            self.usual.decrypt_inout_detached(&iv, additional, message, &tag)
        } else if let Ok(iv) = Nonce::<U16>::try_from(iv) {
            self.block.decrypt_inout_detached(&iv, additional, message, &tag)
        } else {
            return Err(CipherError::Authentication);
        };
        opened.map_err(|_| CipherError::Authentication)
    }
}

/// SOPS' `^ENC\[AES256_GCM,data:(.+),iv:(.+),tag:(.+),type:(.+)\]`: on the first line, each group as long as possible.
fn parse(text: &[u8]) -> Option<Parts<'_>> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    let rest = line.strip_prefix(b"ENC[AES256_GCM,data:")?;
    let end = rest.iter().rposition(|byte| *byte == b']')?;
    let rest = rest.get(..end)?;
    let (rest, kind) = cut_last(rest, b",type:")?;
    let (rest, tag) = cut_last(rest, b",tag:")?;
    let (data, iv) = cut_last(rest, b",iv:")?;
    (!data.is_empty()).then_some(Parts { data, iv, tag, kind })
}

/// Splits at the last separator that is followed by something.
fn cut_last<'a>(text: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let last = text.len().checked_sub(separator.len() + 1)?;
    let at = (0..=last)
        .rev()
        .find(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(separator)))?;
    Some((text.get(..at)?, text.get(at + separator.len()..)?))
}

/// The leaf of a type. Go's parse errors would quote the value, so these only name the type.
fn typed(plain: Zeroizing<Vec<u8>>, kind: &[u8]) -> Result<Value, CipherError> {
    Ok(match kind {
        b"str" => Value::Text(plain),
        b"int" => Value::Int(atoi(&*plain).map_err(|_| CipherError::NotOfType("int"))?),
        b"float" => Value::Float(parse_float(&*plain, 64).map_err(|_| CipherError::NotOfType("float"))?),
        b"bool" => Value::Bool(match plain.as_slice() {
            b"1" | b"t" | b"T" | b"TRUE" | b"true" | b"True" => true,
            b"0" | b"f" | b"F" | b"FALSE" | b"false" | b"False" => false,
            _ => return Err(CipherError::NotOfType("bool")),
        }),
        b"time" => {
            let time = Time::parse(RFC_3339, &plain);
            Value::Time(time.map_err(|_| CipherError::NotOfType("time"))?)
        }
        b"comment" => Value::Comment(Comment {
            text: plain,
            inline: false,
        }),
        b"bytes" => return Err(CipherError::Bytes),
        other => return Err(CipherError::UnknownType(String::from_utf8_lossy(other).into_owned())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types are not authenticated: who changes one must not read the value in an error.
    #[test]
    fn errors_about_a_type_leave_the_value_out() {
        for kind in ["int", "float", "bool", "time"] {
            let error = typed(Zeroizing::new(b"hunter2".to_vec()), kind.as_bytes()).err();
            let said = error.map(|error| error.to_string());
            assert_eq!(said, Some(format!("decrypted value is not of its type {kind}")));
        }
    }
}
