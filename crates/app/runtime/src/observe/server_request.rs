//! Requests of probes and scrapers, and pages for them: the subset of HTTP/1.1 that they use.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Smaller pages are not compressed, in bytes.
const WORTH_COMPRESSING: usize = 2 << 10;

/// A request without a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// The path as sent, without the query.
    pub path: String,
    /// Names and values of the query, as sent.
    pub query: Vec<(String, String)>,
    pub(super) method: String,
    /// Whether the client accepts gzip.
    pub(super) gzip: bool,
    /// Whether the connection may serve another request.
    pub(super) keep: bool,
}

impl PageRequest {
    /// Parses a head up to its empty line; none when it is not HTTP/1.
    pub(super) fn parse(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !target.starts_with('/') || !["HTTP/1.1", "HTTP/1.0"].contains(&version) {
            return None;
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = query.split('&').filter(|pair| !pair.is_empty());
        let query = query.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let mut request = Self {
            path: path.to_owned(),
            query: query.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            method: method.to_owned(),
            gzip: false,
            keep: version == "HTTP/1.1",
        };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            request.heed(&name.to_ascii_lowercase(), value.trim());
        }
        Some(request)
    }

    fn heed(&mut self, name: &str, value: &str) {
        let has = |word: &str| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word));
        match name {
            "connection" if has("close") => self.keep = false,
            // Bodies are not read, so no request can follow them.
            "transfer-encoding" => self.keep = false,
            "content-length" if value != "0" => self.keep = false,
            "accept-encoding" => {
                let codings = value.split(',').filter_map(|coding| coding.split(';').next());
                self.gzip = codings.map(str::trim).any(|coding| coding == "gzip");
            }
            _ => {}
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The status code.
    pub status: u16,
    /// The body's media type.
    pub media_type: &'static str,
    /// The body.
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

    /// Encodes the answer to a request.
    pub(super) fn encode(&self, request: &PageRequest, keep: bool) -> Vec<u8> {
        let packed = if request.gzip && self.body.len() > WORTH_COMPRESSING {
            packed(&self.body)
        } else {
            None
        };
        let body = packed.as_deref().unwrap_or(self.body.as_bytes());
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            431 => "Request Header Fields Too Large",
            _ => "Internal Server Error",
        };
        let mut head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nX-Content-Type-Options: nosniff\r\nContent-Length: {}\r\n",
            self.status,
            self.media_type,
            body.len()
        );
        for (present, line) in [
            (packed.is_some(), "Content-Encoding: gzip\r\n"),
            (self.status == 405, "Allow: GET, HEAD\r\n"),
            (!keep, "Connection: close\r\n"),
        ] {
            head.push_str(if present { line } else { "" });
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        if request.method != "HEAD" {
            bytes.extend_from_slice(body);
        }
        bytes
    }
}

fn packed(body: &str) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body.as_bytes()).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_heads() {
        let read = PageRequest::parse(
            "GET /healthz?verbose&exclude=a HTTP/1.1\r\nHost: x\r\nAccept-Encoding: br, gzip;q=0.5\r\n",
        );
        let pairs = [("verbose", ""), ("exclude", "a")];
        let expected = PageRequest {
            path: "/healthz".to_owned(),
            query: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            method: "GET".to_owned(),
            gzip: true,
            keep: true,
        };
        assert_eq!(read, Some(expected));
        for (head, keep) in [
            ("GET / HTTP/1.1\r\nConnection: Close", Some(false)),
            ("GET / HTTP/1.0\r\n", Some(false)),
            ("POST / HTTP/1.1\r\nContent-Length: 4", Some(false)),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked", Some(false)),
            ("GET / HTTP/1.1", Some(true)),
            ("GET / HTTP/2", None),
            ("GET  / HTTP/1.1", None),
            ("GET http://x/ HTTP/1.1", None),
            ("\u{16}\u{3}\u{1}", None),
            ("", None),
        ] {
            assert_eq!(PageRequest::parse(head).map(|request| request.keep), keep, "{head:?}");
        }
    }
}
