//! The referrers of a manifest: signatures above all.

use std::collections::HashSet;

use ureq::http::{Method, StatusCode};
use url::Url;

use super::link;
use super::manifest::{LIMIT, is_sha256, query};
use super::session::{Query, Session};
use crate::RegistryError;
use bumpwright_gostd::quote;
use bumpwright_http::{Answer, HeldBody};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The most pages of a list, and the bytes after which no further one is requested.
const PAGES: usize = 100;
const BYTES: usize = LIMIT;

/// See [`crate::Registry::referrers`] (go-containerregistry v0.21, `fetchReferrers`, which reads the first page only).
pub(crate) fn of(session: &mut Session<'_>, digest: &str) -> Result<Vec<HeldBody>, RegistryError> {
    let Some(hex) = digest.strip_prefix("sha256:").filter(|_| is_sha256(digest)) else {
        return Err(RegistryError::Image(format!("unsupported hash: {}", quote(digest))));
    };
    let listed = session.query(&page(session.endpoint(&format!("referrers/{digest}"))?))?;
    match listed.status {
        StatusCode::OK if listed.media_type() == INDEX => return Ok(pages(session, listed)),
        StatusCode::OK | StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST | StatusCode::NOT_ACCEPTABLE => {}
        _ => return Err(session.refused(&Method::GET, &listed)),
    }
    let tagged = session.query(&query(session, Method::GET, &format!("sha256-{hex}"))?)?;
    match tagged.status {
        StatusCode::OK => Ok(vec![tagged.into_body()]),
        StatusCode::NOT_FOUND => Ok(Vec::new()),
        _ => Err(session.refused(&Method::GET, &tagged)),
    }
}

const fn page(url: Url) -> Query {
    Query {
        method: Method::GET,
        url,
        accept: Some(INDEX),
        limit: LIMIT,
    }
}

/// A page and those after it. What cannot be read is left out, with all that follows: the others are of use without it.
fn pages(session: &mut Session<'_>, first: Answer) -> Vec<HeldBody> {
    let (mut pages, mut bytes) = (Vec::new(), 0);
    let mut requested = HashSet::from([first.url.to_string()]);
    let mut next = Some(first);
    while let Some(listed) = next.take() {
        let link = link::next(session, &listed).ok().flatten();
        bytes += listed.body.len();
        pages.push(listed.into_body());
        let link = link.filter(|url| pages.len() < PAGES && bytes < BYTES && requested.insert(url.to_string()));
        let answer = link.and_then(|url| session.fetch(&page(url)).ok());
        next = answer.filter(|answer| answer.media_type() == INDEX);
    }
    pages
}
