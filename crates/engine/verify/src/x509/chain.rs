//! The chain from a certificate to an authority, checked by webpki, whose rules are those of the Web: names, times,
//! basic constraints, path lengths, name constraints; critical extensions that it does not know are refused.

use std::time::Duration;

use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use webpki::{EndEntityCert, Error, KeyUsage, anchor_from_trusted_cert, ring};

use super::Certificate;
use crate::cosign::der::Der;

/// The extended key usages of signers of code, and of timestamp authorities.
pub(crate) const CODE_SIGNING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03];
pub(crate) const TIME_STAMPING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];

/// What signs certificates. RSA keys have at least 2048 bits.
const ALGORITHMS: &[&dyn SignatureVerificationAlgorithm] = &[
    ring::ECDSA_P256_SHA256,
    ring::ECDSA_P256_SHA384,
    ring::ECDSA_P384_SHA256,
    ring::ECDSA_P384_SHA384,
    ring::ED25519,
    ring::RSA_PKCS1_2048_8192_SHA256,
    ring::RSA_PKCS1_2048_8192_SHA384,
    ring::RSA_PKCS1_2048_8192_SHA512,
    ring::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
    ring::RSA_PSS_2048_8192_SHA384_LEGACY_KEY,
    ring::RSA_PSS_2048_8192_SHA512_LEGACY_KEY,
];

/// Why a certificate does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    #[error("a certificate of the chain was not valid at the time of signing")]
    Validity,
    /// No authority that is trusted issued it.
    #[error("the certificate was not issued by an authority that is trusted")]
    Issuer,
    /// Its key usage is another one.
    #[error("the certificate is not for this use (its extended key usages)")]
    Usage,
    /// A constraint, an algorithm or an extension.
    #[error(
        "a certificate of the chain breaks a rule of X.509, or has an extension or an algorithm that is not supported"
    )]
    Rules,
}

/// Checks the chain from a certificate through any of the intermediates to a root, at a time. The certificate has to
/// be for this usage.
pub(crate) fn verify_chain(
    leaf: &Certificate,
    intermediates: &[Certificate],
    root: &Certificate,
    at: i64,
    usage: &'static [u8],
) -> Result<(), ChainError> {
    let used = leaf
        .extension(EXTENDED_KEY_USAGE)
        .and_then(|value| Der(value).sequence());
    let mut used = used.ok_or(ChainError::Usage)?;
    if !std::iter::from_fn(|| used.object()).any(|found| found == usage) {
        return Err(ChainError::Usage);
    }
    verify(leaf, intermediates, root, at, usage)
}

/// As [`verify_chain`], of a signer of code, whose certificate need not say so.
pub(crate) fn verify_signing_chain(
    leaf: &Certificate,
    intermediates: &[Certificate],
    root: &Certificate,
    at: i64,
) -> Result<(), ChainError> {
    verify(leaf, intermediates, root, at, CODE_SIGNING)
}

fn verify(
    leaf: &Certificate,
    intermediates: &[Certificate],
    root: &Certificate,
    at: i64,
    usage: &'static [u8],
) -> Result<(), ChainError> {
    let at_seconds = u64::try_from(at).map_err(|_| ChainError::Validity)?;
    // Go checks the root's time, too.
    if at < root.validity.0 || at > root.validity.1 {
        return Err(ChainError::Validity);
    }
    let [leaf_der, root_der] = [leaf, root].map(|certificate| CertificateDer::from(certificate.der.as_slice()));
    let others: Vec<_> = intermediates
        .iter()
        .map(|certificate| CertificateDer::from(certificate.der.as_slice()))
        .collect();
    let anchor = anchor_from_trusted_cert(&root_der).map_err(|_| ChainError::Rules)?;
    let leaf = EndEntityCert::try_from(&leaf_der).map_err(|_| ChainError::Rules)?;
    let (anchors, at) = ([anchor], UnixTime::since_unix_epoch(Duration::from_secs(at_seconds)));
    let usage = KeyUsage::required_if_present(usage);
    let path = leaf.verify_for_usage(ALGORITHMS, &anchors, &others, at, usage, None, None);
    path.map(drop).map_err(|error| match error {
        Error::CertExpired { .. } | Error::CertNotValidYet { .. } => ChainError::Validity,
        Error::UnknownIssuer | Error::InvalidSignatureForPublicKey => ChainError::Issuer,
        Error::RequiredEkuNotFoundContext(_) | Error::EmptyEkuExtension => ChainError::Usage,
        _ => ChainError::Rules,
    })
}
