//! The referrers of a manifest: signatures above all.

use ureq::http::{Method, StatusCode};

use super::RegistryError;
use super::manifest::{LIMIT, is_sha256, query};
use super::session::{Query, Session};
use bumpwright_gostd::quote;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// See [`super::Registry::referrers`] (go-containerregistry v0.21, `fetchReferrers`). Of a list in several pages the first counts.
pub(super) fn of(session: &mut Session<'_>, digest: &str) -> Result<Option<Vec<u8>>, RegistryError> {
    let Some(hex) = digest.strip_prefix("sha256:").filter(|_| is_sha256(digest)) else {
        return Err(RegistryError::Image(format!("unsupported hash: {}", quote(digest))));
    };
    let listed = session.query(&Query {
        method: Method::GET,
        url: session.endpoint(&format!("referrers/{digest}"))?,
        accept: Some(INDEX),
        limit: LIMIT,
    })?;
    match listed.status {
        StatusCode::OK if listed.media_type() == INDEX => return Ok(Some(listed.body)),
        StatusCode::OK | StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST | StatusCode::NOT_ACCEPTABLE => {}
        _ => return Err(session.refused(&Method::GET, &listed)),
    }
    let tagged = session.query(&query(session, Method::GET, &format!("sha256-{hex}"))?)?;
    match tagged.status {
        StatusCode::OK => Ok(Some(tagged.body)),
        StatusCode::NOT_FOUND => Ok(None),
        _ => Err(session.refused(&Method::GET, &tagged)),
    }
}
