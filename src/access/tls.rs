//! Certificates of a Secret (`certSecretRef`; GitRepository v1 and ImageRepository v1, *Cert secret reference*).

use super::AccessError;
use crate::api::{InvalidSecret, Secret};
use crate::net::{self, Tls};

/// `ca.crt`, `tls.crt`, `tls.key`, or where they are missing the older `caFile`, `certFile`, `keyFile`; none when the
/// Secret has nothing of that kind.
///
/// # Errors
/// [`AccessError::HalfPair`] for a certificate without its key or the reverse, and values that cannot be decoded.
pub fn given_tls(secret: &Secret) -> Result<Option<Tls>, AccessError> {
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
        (Some(certificate), Some(key)) => {
            Some((certificate, net::Secret::new(String::from_utf8_lossy(key).into_owned())))
        }
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

/// As [`given_tls`], of a Secret that is there for its certificates.
///
/// # Errors
/// Also [`AccessError::NoCertificates`].
pub fn tls(secret: &Secret) -> Result<Tls, AccessError> {
    given_tls(secret)?.ok_or_else(|| AccessError::NoCertificates(secret.metadata.object_name()))
}

/// An empty value is none.
fn first<'a>(new: Option<&'a [u8]>, old: Option<&'a [u8]>) -> Option<&'a [u8]> {
    let filled = |value: &&[u8]| !value.is_empty();
    new.filter(filled).or(old.filter(filled))
}
