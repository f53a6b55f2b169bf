//! Answers of test servers, including faulty ones.

use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::server::http_server::{Out, Request};

/// The transfer of the body.
#[derive(Clone, Debug)]
enum Sending {
    /// With its length.
    Whole,
    /// In chunks of so many bytes.
    Chunked(usize),
    /// With its whole length, but the connection is closed after so many bytes of it.
    Cut(usize),
    /// Repeated up to so many bytes, with that length.
    Filled(u64),
    /// Repeated in chunks, until the client disconnects or the test is over.
    Endless,
    /// Only the body is sent, without a status line; then the connection is closed.
    Raw,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    /// A `Content-Length` among them is sent, whatever the body.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    sending: Sending,
    delay: Duration,
    pause: Duration,
}

impl Reply {
    /// Without a body.
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            sending: Sending::Whole,
            delay: Duration::ZERO,
            pause: Duration::ZERO,
        }
    }

    pub fn bytes(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            body: body.into(),
            ..Self::status(status)
        }
        .header("Content-Type", kind)
    }

    pub fn text(status: u16, text: &str) -> Self {
        Self::bytes(status, "text/plain", text)
    }

    pub fn json(body: &Json) -> Self {
        Self::bytes(200, "application/json", body.to_string())
    }

    /// An error of a registry (distribution-spec v1.1, *Error Codes*).
    pub fn registry_error(status: u16, code: &str, message: &str) -> Self {
        let errors = json!({"errors": [{"code": code, "message": message}]});
        Self {
            status,
            ..Self::json(&errors)
        }
    }

    /// Closes the connection without an answer.
    pub fn hang_up() -> Self {
        Self::raw("")
    }

    /// Sends these bytes, including the status line, and closes the connection.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            sending: Sending::Raw,
            body: bytes.into(),
            ..Self::status(0)
        }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the body in chunks of so many bytes.
    pub fn chunked(mut self, size: usize) -> Self {
        self.sending = Sending::Chunked(size.max(1));
        self
    }

    /// Closes the connection after so many bytes of an announced longer body.
    pub fn cut(mut self, after: usize) -> Self {
        self.sending = Sending::Cut(after);
        self
    }

    /// Repeats the body up to so many announced bytes. The body must not be empty.
    pub fn filled(mut self, length: u64) -> Self {
        self.sending = Sending::Filled(length);
        self
    }

    /// Repeats the body without an end.
    pub fn endless(mut self) -> Self {
        self.sending = Sending::Endless;
        self
    }

    /// Waits before the first byte.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits before each chunk, or each repetition.
    pub fn paused(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Sends it; true when the connection can be kept.
    pub fn send(&self, request: &Request, out: &mut Out<'_>) -> io::Result<bool> {
        out.sleep(self.delay);
        if matches!(self.sending, Sending::Raw) {
            out.write_all(&self.body)?;
            return out.flush().map(|()| false);
        }
        out.write_all(self.head().as_bytes())?;
        if request.method == "HEAD" {
            return out.flush().map(|()| true);
        }
        let kept = self.send_body(out)?;
        out.flush().map(|()| kept)
    }

    fn head(&self) -> String {
        let mut head = format!("HTTP/1.1 {} Test\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let bodiless = matches!(self.status, 204 | 304);
        let said = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-length");
        match self.sending {
            Sending::Chunked(_) | Sending::Endless => head.push_str("Transfer-Encoding: chunked\r\n"),
            _ if bodiless || self.headers.iter().any(said) => {}
            Sending::Filled(length) => head.push_str(&format!("Content-Length: {length}\r\n")),
            _ => head.push_str(&format!("Content-Length: {}\r\n", self.body.len())),
        }
        head + "\r\n"
    }

    fn send_body(&self, out: &mut Out<'_>) -> io::Result<bool> {
        match self.sending {
            Sending::Whole | Sending::Raw => out.write_all(&self.body)?,
            Sending::Cut(after) => {
                out.write_all(&self.body[..after.min(self.body.len())])?;
                return Ok(false);
            }
            Sending::Chunked(size) => {
                for part in self.body.chunks(size) {
                    self.send_chunk(out, part)?;
                }
                out.write_all(b"0\r\n\r\n")?;
            }
            Sending::Filled(length) => {
                let mut left = length;
                while left > 0 {
                    let part = &self.body[..self.body.len().min(usize::try_from(left).unwrap())];
                    out.sleep(self.pause);
                    out.write_all(part)?;
                    left -= part.len() as u64;
                }
            }
            Sending::Endless => {
                while !out.stopped() {
                    self.send_chunk(out, &self.body)?;
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn send_chunk(&self, out: &mut Out<'_>, part: &[u8]) -> io::Result<()> {
        out.sleep(self.pause);
        let chunk = [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
        out.write_all(&chunk)?;
        out.flush()
    }
}
