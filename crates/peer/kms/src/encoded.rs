//! Base64 of data keys and ciphertexts, as in the services' libraries for Go.

use base64::Engine;
use base64::engine::general_purpose;
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

use bumpwright_gostd::{Base64, CorruptInput, decode_base64};

/// `StdEncoding.EncodeToString`.
pub(super) fn encode(bytes: &[u8]) -> String {
    general_purpose::STANDARD.encode(bytes)
}

/// `RawURLEncoding.EncodeToString`.
pub(super) fn encode_raw_url(bytes: &[u8]) -> String {
    general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

/// Deserializes a secret field; null is empty.
pub(super) fn secret<'de, D: Deserializer<'de>>(text: D) -> Result<Zeroizing<String>, D::Error> {
    let text: Option<String> = Option::deserialize(text)?;
    Ok(Zeroizing::new(text.unwrap_or_default()))
}

/// Decodes a text.
///
/// # Errors
/// [`CorruptInput`] at Go's position.
pub(super) fn decode(text: &[u8], encoding: Base64) -> Result<Zeroizing<Vec<u8>>, CorruptInput> {
    let mut out = Zeroizing::new(Vec::new());
    decode_base64(text, encoding, &mut out)?;
    Ok(out)
}
