//! An answer: its head, and the pieces of its body.

use std::fs::File;

use super::http_date;
use super::request::Request;

/// An answer that is known in full before its first byte is sent.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<Piece>,
    /// What the pieces are cut from.
    pub(super) file: Option<File>,
    /// Whether the connection ends with it.
    pub(super) last: bool,
}

/// A piece of a body.
#[derive(Debug)]
pub(super) enum Piece {
    Text(Vec<u8>),
    /// Bytes of the file.
    Cut {
        start: u64,
        length: u64,
    },
}

impl Piece {
    fn size(&self) -> u64 {
        match self {
            Self::Text(text) => u64::try_from(text.len()).unwrap_or_default(),
            Self::Cut { length, .. } => *length,
        }
    }
}

impl Reply {
    pub(super) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            file: None,
            last: false,
        }
    }

    /// An error as Go's `http.Error` writes it.
    pub(super) fn error(status: u16, text: &str) -> Self {
        let mut reply = Self::empty(status);
        reply
            .headers
            .push(("Content-Type", "text/plain; charset=utf-8".to_owned()));
        reply.headers.push(("X-Content-Type-Options", "nosniff".to_owned()));
        reply.body.push(Piece::Text(text.as_bytes().to_vec()));
        reply
    }

    /// What Go's server says of a path that it does not have.
    pub(super) fn not_found() -> Self {
        Self::error(404, "404 page not found\n")
    }

    /// An answer to what is no request; the connection ends, since nobody knows where the next would begin.
    pub(super) fn refusal(status: u16, text: &str) -> Self {
        let mut reply = Self::empty(status);
        reply
            .headers
            .push(("Content-Type", "text/plain; charset=utf-8".to_owned()));
        reply.body.push(Piece::Text(text.as_bytes().to_vec()));
        reply.last = true;
        reply
    }

    /// In bytes.
    pub(super) fn size(&self) -> u64 {
        self.body.iter().map(Piece::size).sum()
    }

    /// The head, empty line and all.
    pub(super) fn head(&self, request: &Request, keep: bool) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        let mut line = |name: &str, value: &str| {
            head.extend([name, ": ", value, "\r\n"]);
        };
        line("Date", &http_date::now());
        for (name, value) in &self.headers {
            line(name, value);
        }
        if self.status != 304 {
            line("Content-Length", &self.size().to_string());
        }
        match (keep, request.is_old) {
            (false, false) => line("Connection", "close"),
            (true, true) => line("Connection", "keep-alive"),
            _ => {}
        }
        head.push_str("\r\n");
        head.into_bytes()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        304 => "Not Modified",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        412 => "Precondition Failed",
        416 => "Requested Range Not Satisfiable",
        431 => "Request Header Fields Too Large",
        505 => "HTTP Version Not Supported",
        _ => "Internal Server Error",
    }
}
