//! Signatures of Notation: collected from the registry, judged by `verify` (source-controller v1.9,
//! `NotationVerifier.Verify`).

use super::oci_pull::OciRemote;
use bumpwright_verify::notation::{
    MAX_ENVELOPE, MAX_REFERRERS, MAX_SIGNATURES, NotationError, NotationTrust, Signature, Verdict, envelope_layer,
    signatures,
};

/// Verifies the content of a digest by the signatures among its referrers; one that counts is enough. `now` is the time
/// in seconds since 1970.
///
/// # Errors
/// [`NotationError`]: why the first signature does not count. Those that the registry lists and fails to return are
/// passed over.
pub fn verify_notation(
    remote: &OciRemote,
    digest: &str,
    trust: &NotationTrust,
    now: i64,
) -> Result<Verdict, NotationError> {
    let repository = remote.repository.context();
    if trust.skips(&repository)? {
        return Ok(Verdict::Ignored);
    }
    let pages = remote.referrers(digest).map_err(NotationError::Referrers)?;
    let mut why = None;
    let listed = pages.iter().flat_map(|index| match signatures(index) {
        Ok(listed) => listed,
        Err(error) => {
            why = Some(error);
            Vec::new()
        }
    });
    let manifests: Vec<String> = listed.take(MAX_REFERRERS).collect();
    let layers = manifests
        .iter()
        .filter_map(|manifest| envelope_layer(&remote.manifest(&format!("@{manifest}"))?));
    for layer in layers.take(MAX_SIGNATURES) {
        let Some(envelope) = remote.blob(&layer.digest, layer.size, MAX_ENVELOPE as u64)? else {
            continue;
        };
        let signature = Signature {
            media_type: &layer.media_type,
            envelope: &envelope.bytes,
        };
        match trust.verify(&repository, digest, signature, now) {
            Ok(verdict) => return Ok(verdict),
            Err(error) => drop(why.get_or_insert(error)),
        }
    }
    Err(match why {
        Some(why) => NotationError::Failed(Box::new(why)),
        None => NotationError::Unsigned(remote.name(&format!("@{digest}"))),
    })
}
