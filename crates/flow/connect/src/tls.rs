//! Certificates of a Secret (`certSecretRef`; GitRepository v1 and ImageRepository v1, *Cert secret reference*).

use super::error::AccessError;
use bumpwright_api::{InvalidSecret, Secret};
use bumpwright_http::Tls;

/// The keys of certificates, each with the key of older Flux versions.
const KEYS: [(&str, &str); 3] = [("tls.crt", "certFile"), ("tls.key", "keyFile"), ("ca.crt", "caFile")];

/// The older keys that [`given_tls`] falls back to, each with its replacement.
pub fn older_keys(secret: &Secret) -> impl Iterator<Item = (&'static str, &'static str)> {
    let has = |key| matches!(secret.get(key), Ok(Some(value)) if !value.is_empty());
    let used = KEYS.into_iter().filter(move |(new, old)| has(old) && !has(new));
    used.map(|(new, old)| (old, new))
}

/// `ca.crt`, `tls.crt`, `tls.key`, or if missing the older `caFile`, `certFile`, `keyFile`; none when the Secret
/// has no such key.
///
/// # Errors
/// [`AccessError::HalfPair`] for a certificate without its key or the reverse, and values that cannot be decoded.
pub(crate) fn given_tls(secret: &Secret) -> Result<Option<Tls>, AccessError> {
    let bytes = |new, old| Ok::<_, InvalidSecret>(first(secret.get(new)?, secret.get(old)?).map(<[u8]>::to_vec));
    let ca = bytes("ca.crt", "caFile")?;
    let certificate = bytes("tls.crt", "certFile")?;
    let key = first(
        secret.text("tls.key")?.map(str::as_bytes),
        secret.text("keyFile")?.map(str::as_bytes),
    );
    let half = |present, missing| AccessError::HalfPair {
        secret: secret.metadata.object_name(),
        present,
        missing,
    };
    let client = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((
            certificate,
            bumpwright_secret::Secret::new(String::from_utf8_lossy(key).into_owned()),
        )),
        (None, None) => None,
        (Some(_), None) => return Err(half("tls.crt", "tls.key")),
        (None, Some(_)) => return Err(half("tls.key", "tls.crt")),
    };
    let tls = Tls {
        ca,
        client,
        ..Tls::default()
    };
    Ok((tls.ca.is_some() || tls.client.is_some()).then_some(tls))
}

/// As [`given_tls`], for a Secret whose purpose is certificates.
///
/// # Errors
/// Also [`AccessError::NoCertificates`].
pub(crate) fn tls(secret: &Secret) -> Result<Tls, AccessError> {
    given_tls(secret)?.ok_or_else(|| AccessError::NoCertificates(secret.metadata.object_name()))
}

/// An empty value counts as missing.
fn first<'a>(new: Option<&'a [u8]>, old: Option<&'a [u8]>) -> Option<&'a [u8]> {
    let filled = |value: &&[u8]| !value.is_empty();
    new.filter(filled).or(old.filter(filled))
}
