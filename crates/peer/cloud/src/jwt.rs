//! Signed tokens (RFC 7515, *Compact Serialization*): assertions of our own, and the expiry of received ones.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::sign::Signer;
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;

use bumpwright_secret::Secret;

/// Why a key or its certificate cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("is not a private key in PEM")]
    Pem,
    /// Another kind of key, or too short a one.
    #[error("is not an RSA key of 2048 bits or more")]
    Rsa,
    /// The key made no signature.
    #[error("does not sign")]
    Signature,
    #[error("has no certificate in PEM; PKCS #12 files must be converted")]
    Certificate,
    #[error("cannot be used, no randomness available: {0}")]
    Randomness(getrandom::Error),
}

/// Signs a header and claims with an RSA key in PEM (PKCS #8 or PKCS #1).
///
/// # Errors
/// [`KeyError`], when the key cannot be used.
pub(super) fn signed(
    header: &Value,
    claims: &Value,
    key: &Secret,
    scheme: SignatureScheme,
) -> Result<Secret, KeyError> {
    let signer = signer(key, scheme)?;
    let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let text = format!("{header}.{claims}");
    let signature = signer.sign(text.as_bytes()).map_err(|_| KeyError::Signature)?;
    Ok(Secret::new(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))))
}

/// Checks whether a key can sign.
///
/// # Errors
/// [`KeyError`], when it cannot be used.
pub(super) fn check(key: &Secret, scheme: SignatureScheme) -> Result<(), KeyError> {
    signer(key, scheme).map(drop)
}

fn signer(key: &Secret, scheme: SignatureScheme) -> Result<Box<dyn Signer>, KeyError> {
    let key = PrivateKeyDer::from_pem_slice(key.expose().as_bytes()).map_err(|_| KeyError::Pem)?;
    let key = any_supported_type(&key).ok();
    key.and_then(|key| key.choose_scheme(&[scheme])).ok_or(KeyError::Rsa)
}

/// When a token expires, by its claim (RFC 7519, *"exp" (Expiration Time) Claim*); the signature is not checked.
pub(super) fn expires(token: &Secret) -> Option<SystemTime> {
    let claims = token.expose().split('.').nth(1)?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    let seconds = Duration::try_from_secs_f64(claims.get("exp")?.as_f64()?).ok()?;
    UNIX_EPOCH.checked_add(seconds)
}

/// Seconds since 1970.
pub(super) fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends() {
        let token = |claims: &str| Secret::new(format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims)));
        assert_eq!(
            expires(&token(r#"{"exp":1440938160}"#)).map(seconds),
            Some(1_440_938_160)
        );
        for bad in [
            token(r#"{"exp":"x"}"#),
            token(r#"{"exp":-1}"#),
            token("{}"),
            token("x"),
            Secret::new("x"),
            Secret::new(""),
        ] {
            assert_eq!(expires(&bad), None);
        }
    }

    #[test]
    fn no_keys() {
        let sign = |key: &str| {
            signed(
                &Value::Null,
                &Value::Null,
                &Secret::new(key),
                SignatureScheme::RSA_PKCS1_SHA256,
            )
        };
        assert_eq!(sign("hunter2"), Err(KeyError::Pem));
        let not_rsa = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert_eq!(sign(not_rsa), Err(KeyError::Rsa));
    }
}
