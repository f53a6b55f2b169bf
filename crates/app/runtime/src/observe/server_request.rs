//! Requests of probes and scrapers, and their pages.

use std::io::Write;

use bumpwright_http_server::Body;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, ALLOW, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::{Method, Request, Response, StatusCode};

/// Smaller pages are not compressed, in bytes.
const WORTH_COMPRESSING: usize = 2 << 10;

/// A request for a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// The path as sent, without the query.
    pub path: String,
    /// Names and values of the query, as sent.
    pub query: Vec<(String, String)>,
    /// Whether the client accepts gzip.
    pub(super) gzip: bool,
}

impl PageRequest {
    /// Reads a request; none when its method is not for pages.
    pub(super) fn read(request: &Request<Bytes>) -> Option<Self> {
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            return None;
        }
        let query = request.uri().query().into_iter();
        let query = query.flat_map(|query| query.split('&'));
        let query = query.filter(|pair| !pair.is_empty());
        let query = query.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let encodings = request.headers().get_all(ACCEPT_ENCODING).iter();
        let mut codings = encodings
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|coding| coding.split(';').next());
        Some(Self {
            path: request.uri().path().to_owned(),
            query: query.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            gzip: codings.any(|coding| coding.trim() == "gzip"),
        })
    }
}

/// A page, or an error in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub status: u16,
    /// The body's media type.
    pub media_type: &'static str,
    pub body: String,
}

impl Page {
    /// A page of plain text.
    #[must_use]
    pub fn text(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            media_type: "text/plain; charset=utf-8",
            body: body.into(),
        }
    }

    /// Go's answer for an unknown path.
    #[must_use]
    pub fn not_found() -> Self {
        Self::text(404, "404 page not found\n")
    }

    /// The response to a request.
    pub(super) fn response(self, request: &PageRequest) -> Response<Body> {
        let compressed = if request.gzip && self.body.len() > WORTH_COMPRESSING {
            compressed(&self.body)
        } else {
            None
        };
        let is_compressed = compressed.is_some();
        let body = compressed.map_or_else(|| Body::from(self.body), Body::from);
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let is_method_wrong = response.status() == StatusCode::METHOD_NOT_ALLOWED;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if is_compressed {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if is_method_wrong {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }
}

fn compressed(body: &str) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body.as_bytes()).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, target: &'static str, encodings: &'static str) -> Request<Bytes> {
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = method;
        *request.uri_mut() = http::Uri::from_static(target);
        let encodings = HeaderValue::from_static(encodings);
        request.headers_mut().insert(ACCEPT_ENCODING, encodings);
        request
    }

    #[test]
    fn reads_requests() {
        let pairs = [("verbose", ""), ("exclude", "a")];
        let expected = PageRequest {
            path: "/healthz".to_owned(),
            query: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            gzip: true,
        };
        let read = PageRequest::read(&request(Method::GET, "/healthz?verbose&exclude=a", "br, gzip;q=0.5"));
        assert_eq!(read, Some(expected));
        for (encodings, gzip) in [("gzip", true), ("br", false), ("gzipped, x", false), ("", false)] {
            let read = PageRequest::read(&request(Method::HEAD, "/", encodings));
            assert_eq!(read.map(|read| read.gzip), Some(gzip), "{encodings:?}");
        }
        assert_eq!(PageRequest::read(&request(Method::POST, "/healthz", "")), None);
    }

    #[test]
    fn large_pages_are_compressed_for_clients_that_can_read_that() {
        for (size, gzip, compressed) in [(3_000, true, true), (3_000, false, false), (1_000, true, false)] {
            let page = Page::text(200, "a".repeat(size));
            let response = page.response(&PageRequest {
                gzip,
                ..PageRequest::default()
            });
            let encoding = response.headers().get(CONTENT_ENCODING);
            assert_eq!(encoding.is_some(), compressed, "{size} {gzip}");
        }
        let refused = Page::text(405, "").response(&PageRequest::default());
        assert_eq!(
            refused.headers().get(ALLOW),
            Some(&HeaderValue::from_static("GET, HEAD"))
        );
    }
}
