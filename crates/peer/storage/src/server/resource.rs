//! The response to a request: the file of an artifact, as Go's file server sends it, and nothing else.
//!
//! Folders are not listed, and get the response of a path that does not exist: without the name of a file a
//! client learns nothing about other tenants. source-controller lists them all. Only `/` is answered, since
//! readiness probes request it.

use bumpwright_http_server::{Body, Piece, refusal};
use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, ALLOW, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LAST_MODIFIED,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Request, Response, StatusCode};

use super::conditions::{Verdict, verdict};
use super::path::decoded;
use super::ranges::{Range, RangeError, ranges};
use super::{header, http_date};
use crate::error::StorageError;
use crate::layout::ArtifactPath;
use crate::storage::Storage;
use crate::verify::Served;

/// The response to a request, and the file's fault if it has one. It may read a whole file.
pub(super) fn respond(storage: &Storage, request: &Request<Bytes>) -> (Response<Body>, Option<StorageError>) {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let response = error(StatusCode::METHOD_NOT_ALLOWED, "405 method not allowed\n");
        return (with(response, [(ALLOW, "GET, HEAD")]), None);
    }
    let Some(path) = decoded(request.uri().path()) else {
        return (refusal(StatusCode::BAD_REQUEST, "400 Bad Request"), None);
    };
    if path == "/" {
        return (front_page(), None);
    }
    let Some(path) = artifact_path(&path) else {
        return (not_found(), None);
    };
    match storage.served(&path) {
        Ok(served) => (file(request, &path, served), None),
        Err(error) if error.is_absent() => (not_found(), None),
        // The next reconciliation recreates it: clients retry what is not found.
        Err(error @ StorageError::Damaged { .. }) => (not_found(), Some(error)),
        Err(fault) => {
            let response = error(StatusCode::INTERNAL_SERVER_ERROR, "500 Internal Server Error\n");
            (response, Some(fault))
        }
    }
}

/// The path of a file; none for folders, locks, and paths that are not clean.
fn artifact_path(path: &str) -> Option<ArtifactPath> {
    let path = path.strip_prefix('/').filter(|path| !path.starts_with('/'))?;
    ArtifactPath::parse(path).ok()
}

fn front_page() -> Response<Body> {
    let response = Response::new(Body::from("<!doctype html>\n<pre>\n</pre>\n"));
    with(response, [(CONTENT_TYPE, "text/html; charset=utf-8")])
}

fn not_found() -> Response<Body> {
    error(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// An error as Go's `http.Error` writes it.
fn error(status: StatusCode, text: &'static str) -> Response<Body> {
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    with(of_status(status, Body::from(text)), headers)
}

fn of_status(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

fn with<'v>(mut response: Response<Body>, headers: impl IntoIterator<Item = (HeaderName, &'v str)>) -> Response<Body> {
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn file(request: &Request<Bytes>, path: &ArtifactPath, served: Served) -> Response<Body> {
    let (size, modified) = (served.identity.size(), served.identity.modified());
    let tag = format!("\"{}\"", served.digest);
    let last_modified = http_date::spelled(modified);
    let tagged = [(ETAG, tag.as_str()), (LAST_MODIFIED, last_modified.as_str())];
    let whole = match verdict(request.headers(), &tag, modified) {
        Verdict::Send { whole } => whole,
        Verdict::NotModified => {
            return with(
                of_status(StatusCode::NOT_MODIFIED, Body::default()),
                [(ETAG, tag.as_str())],
            );
        }
        Verdict::Failed => return with(of_status(StatusCode::PRECONDITION_FAILED, Body::default()), tagged),
    };
    let range = header(request.headers(), "range").filter(|_| !whole);
    let ranges = match ranges(range.as_deref(), size) {
        Ok(ranges) => ranges,
        Err(error) => return no_range(error, size),
    };
    let media_type = media_type(path.file());
    let file = |pieces| Body::of_file(served.file, pieces);
    let response = match ranges[..] {
        [] => {
            let response = Response::new(file(vec![piece(Range { start: 0, length: size })]));
            with(response, [(CONTENT_TYPE, media_type)])
        }
        [range] => {
            let response = of_status(StatusCode::PARTIAL_CONTENT, file(vec![piece(range)]));
            let content_range = range.content_range(size);
            with(response, [(CONTENT_TYPE, media_type), (CONTENT_RANGE, &content_range)])
        }
        _ => {
            let boundary = boundary();
            let parts = parts(&boundary, media_type, &ranges, size);
            let response = of_status(StatusCode::PARTIAL_CONTENT, file(parts));
            let media_type = format!("multipart/byteranges; boundary={boundary}");
            with(response, [(CONTENT_TYPE, media_type.as_str())])
        }
    };
    with(with(response, tagged), [(ACCEPT_RANGES, "bytes")])
}

fn no_range(reason: RangeError, size: u64) -> Response<Body> {
    match reason {
        RangeError::Invalid => error(StatusCode::RANGE_NOT_SATISFIABLE, "invalid range\n"),
        RangeError::Beyond => {
            let response = error(StatusCode::RANGE_NOT_SATISFIABLE, "invalid range: failed to overlap\n");
            with(response, [(CONTENT_RANGE, format!("bytes */{size}").as_str())])
        }
    }
}

/// Several ranges, as parts of `multipart/byteranges`.
fn parts(boundary: &str, media_type: &str, ranges: &[Range], size: u64) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut before = format!("--{boundary}\r\n");
    for range in ranges {
        let content_range = range.content_range(size);
        before.push_str(&format!(
            "Content-Range: {content_range}\r\nContent-Type: {media_type}\r\n\r\n"
        ));
        pieces.extend([Piece::Bytes(before.into()), piece(*range)]);
        before = format!("\r\n--{boundary}\r\n");
    }
    pieces.push(Piece::Bytes(format!("\r\n--{boundary}--\r\n").into()));
    pieces
}

fn piece(range: Range) -> Piece {
    Piece::Range {
        start: range.start,
        length: range.length,
    }
}

/// A line that no file contains: 30 random bytes, as Go's.
fn boundary() -> String {
    let mut bytes = [0; 30];
    // Without random bytes it is still a boundary: artifacts are compressed, so they have no rows of zeros.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As Go has it for these names; browsers never show others as pages.
fn media_type(file: &str) -> &'static str {
    if file.ends_with(".gz") {
        "application/gzip"
    } else {
        "application/octet-stream"
    }
}
