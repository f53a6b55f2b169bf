//! What a path gets: the file of an artifact, as Go's file server sends it, and nothing else.
//!
//! Folders are not listed, and are told from nothing by nobody: who does not know the name of a file learns nothing of
//! other tenants. source-controller lists them all. Only `/` answers, since readiness probes ask for it.

use super::conditions::{Verdict, verdict};
use super::http_date;
use super::ranges::{Range, RangeError, ranges};
use super::reply::{Piece, Reply};
use super::request::Request;
use crate::error::StorageError;
use crate::layout::ArtifactPath;
use crate::storage::Storage;
use crate::verify::Served;

/// The answer to a request, and what is wrong with the file if something is. It may read a whole file.
pub(super) fn answer(storage: &Storage, request: &Request) -> (Reply, Option<StorageError>) {
    if !["GET", "HEAD"].contains(&request.method.as_str()) {
        let mut reply = Reply::error(405, "405 method not allowed\n");
        reply.headers.push(("Allow", "GET, HEAD".to_owned()));
        return (reply, None);
    }
    if request.path == "/" {
        return (front_page(), None);
    }
    let Some(path) = asked_for(&request.path) else {
        return (Reply::not_found(), None);
    };
    match storage.served(&path) {
        Ok(served) => (file(request, &path, served), None),
        Err(error) if error.is_absent() => (Reply::not_found(), None),
        // The next reconciliation makes it anew: clients ask for what is not there again.
        Err(error @ StorageError::Damaged { .. }) => (Reply::not_found(), Some(error)),
        Err(error) => (Reply::error(500, "500 Internal Server Error\n"), Some(error)),
    }
}

/// The place of a file; none for folders, locks, and what is no clean path.
fn asked_for(path: &str) -> Option<ArtifactPath> {
    let path = path.strip_prefix('/').filter(|path| !path.starts_with('/'))?;
    ArtifactPath::parse(path).ok()
}

fn front_page() -> Reply {
    let mut reply = Reply::empty(200);
    reply
        .headers
        .push(("Content-Type", "text/html; charset=utf-8".to_owned()));
    reply
        .body
        .push(Piece::Text(b"<!doctype html>\n<pre>\n</pre>\n".to_vec()));
    reply
}

fn file(request: &Request, path: &ArtifactPath, served: Served) -> Reply {
    let (size, modified) = (served.identity.size(), served.identity.modified());
    let tag = format!("\"{}\"", served.digest);
    let last_modified = ("Last-Modified", http_date::spelled(modified));
    let whole = match verdict(request, &tag, modified) {
        Verdict::Send { whole } => whole,
        Verdict::NotModified => {
            let mut reply = Reply::empty(304);
            reply.headers.push(("Etag", tag));
            return reply;
        }
        Verdict::Failed => {
            let mut reply = Reply::empty(412);
            reply.headers.extend([("Etag", tag), last_modified]);
            return reply;
        }
    };
    let ranges = match ranges(request.header("range").filter(|_| !whole), size) {
        Ok(ranges) => ranges,
        Err(error) => return no_range(error, size),
    };
    let mut reply = Reply::empty(if ranges.is_empty() { 200 } else { 206 });
    reply
        .headers
        .extend([("Accept-Ranges", "bytes".to_owned()), ("Etag", tag), last_modified]);
    reply.file = Some(served.file);
    let media_type = media_type(path.file());
    match ranges[..] {
        [] => put(&mut reply, media_type, Range { start: 0, length: size }),
        [range] => {
            put(&mut reply, media_type, range);
            reply.headers.push(("Content-Range", range.content_range(size)));
        }
        _ => put_parts(&mut reply, media_type, &ranges, size),
    }
    reply
}

fn no_range(error: RangeError, size: u64) -> Reply {
    match error {
        RangeError::Invalid => Reply::error(416, "invalid range\n"),
        RangeError::Beyond => {
            let mut reply = Reply::error(416, "invalid range: failed to overlap\n");
            reply.headers.push(("Content-Range", format!("bytes */{size}")));
            reply
        }
    }
}

fn put(reply: &mut Reply, media_type: &str, range: Range) {
    reply.headers.push(("Content-Type", media_type.to_owned()));
    reply.body.push(cut(range));
}

/// Several ranges, as parts of `multipart/byteranges`.
fn put_parts(reply: &mut Reply, media_type: &str, ranges: &[Range], size: u64) {
    let boundary = boundary();
    let mut before = format!("--{boundary}\r\n");
    for range in ranges {
        let content_range = range.content_range(size);
        before.push_str(&format!(
            "Content-Range: {content_range}\r\nContent-Type: {media_type}\r\n\r\n"
        ));
        reply.body.push(Piece::Text(before.into_bytes()));
        reply.body.push(cut(*range));
        before = format!("\r\n--{boundary}\r\n");
    }
    reply
        .body
        .push(Piece::Text(format!("\r\n--{boundary}--\r\n").into_bytes()));
    let media_type = format!("multipart/byteranges; boundary={boundary}");
    reply.headers.push(("Content-Type", media_type));
}

fn cut(range: Range) -> Piece {
    Piece::Cut {
        start: range.start,
        length: range.length,
    }
}

/// What no file has in it: 30 random bytes, as Go's.
fn boundary() -> String {
    let mut bytes = [0; 30];
    // Without chance it is still a boundary; artifacts are compressed, so zeros do not come in rows.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What Go says of these names; others are never taken for pages.
fn media_type(file: &str) -> &'static str {
    match file.ends_with(".gz") {
        true => "application/gzip",
        false => "application/octet-stream",
    }
}
