//! Responses, with what all of them have in their heads.

use std::io::Write as _;

use bumpwright_http_server::Body;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, SET_COOKIE, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Response, StatusCode};

use super::call::Call;

/// Smaller bodies are not compressed, in bytes.
const WORTH_COMPRESSING: usize = 2 << 10;

/// Nothing from elsewhere, nothing that is written into a page but its icon, no frames.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// A page. Nobody may keep it.
pub(super) fn page(call: &Call, status: u16, html: String) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = sized(call, html.into_bytes());
    *response.status_mut() = status;
    put(&mut response, CONTENT_TYPE, "text/html; charset=utf-8");
    put(&mut response, CACHE_CONTROL, "no-store");
    response
}

/// A line of text, for what is not a browser or has no page.
pub(super) fn text(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = secured(Response::new(Body::from(format!("{text}\n"))));
    *response.status_mut() = status;
    put(&mut response, CONTENT_TYPE, "text/plain; charset=utf-8");
    put(&mut response, CACHE_CONTROL, "no-store");
    response
}

/// Go on to a path of ours.
pub(super) fn see_other(path: &str) -> Response<Body> {
    let mut response = secured(Response::new(Body::default()));
    *response.status_mut() = StatusCode::SEE_OTHER;
    put(&mut response, LOCATION, path);
    put(&mut response, CACHE_CONTROL, "no-store");
    response
}

/// The stylesheet or the script. Its path changes with its bytes, so it may be kept.
pub(super) fn asset(call: &Call, media_type: &'static str, text: &'static str, path: &str) -> Response<Body> {
    let tag = format!("\"{path}\"");
    let mut response = if call.has(&tag) {
        let mut response = secured(Response::new(Body::default()));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        sized(call, text.as_bytes().to_vec())
    };
    put(&mut response, CONTENT_TYPE, media_type);
    put(&mut response, ETAG, &tag);
    put(&mut response, CACHE_CONTROL, "public, max-age=31536000, immutable");
    response
}

pub(super) fn events(body: Body) -> Response<Body> {
    let mut response = secured(Response::new(body));
    put(&mut response, CONTENT_TYPE, "text/event-stream");
    put(&mut response, CACHE_CONTROL, "no-store");
    // nginx passes on what there is at once.
    put(&mut response, HeaderName::from_static("x-accel-buffering"), "no");
    response
}

pub(super) fn with_cookie(mut response: Response<Body>, cookie: &str) -> Response<Body> {
    put(&mut response, SET_COOKIE, cookie);
    response
}

pub(super) fn put(response: &mut Response<Body>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// A body, compressed where that is worth it and the client reads it.
fn sized(call: &Call, bytes: Vec<u8>) -> Response<Body> {
    let is_worth = bytes.len() > WORTH_COMPRESSING && call.takes_gzip();
    let compressed = is_worth.then(|| compressed(&bytes)).flatten();
    let is_compressed = compressed.is_some();
    let bytes = Bytes::from(compressed.unwrap_or(bytes));
    let mut response = secured(Response::new(Body::from(bytes)));
    put(&mut response, VARY, "Accept-Encoding");
    if is_compressed {
        put(&mut response, CONTENT_ENCODING, "gzip");
    }
    response
}

fn compressed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

fn secured(mut response: Response<Body>) -> Response<Body> {
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        // With `no-referrer` a browser would not say either where forms come from.
        (REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        put(&mut response, name, value);
    }
    response
}
