//! A server whose answers have no end, or are as large as their reader can bear: the same for every protocol over HTTP.
//!
//! ```ignore
//! let hostile = Hostile::start();
//! hostile.answer("/v2/app/tags/list", Pour::json(r#"{"tags":["#, |number, out| write!(out, "\"1.0.{number}\",").unwrap()));
//! ```
//!
//! A path has the answer of the longest beginning that was given one; other paths have none (404). Each connection has
//! one request: what is poured ends with it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;

use crate::digests::sha256;
use crate::http_server::{HttpServer, Out, Request};

/// The size of what is written at once.
const CHUNK: usize = 64 << 10;

/// Writes the part of this number: parts are all different where a reader keeps each once.
type Part = Arc<dyn Fn(u64, &mut Vec<u8>) + Send + Sync>;

/// A long answer: a beginning, parts until the answer has its size, and an end.
#[derive(Clone)]
pub struct Pour {
    status: u16,
    headers: Vec<(String, String)>,
    first: Vec<u8>,
    part: Part,
    last: Vec<u8>,
    size: u64,
    /// The next page, with its number at the end.
    next: Option<String>,
}

impl Pour {
    /// Without an end, unless [`Pour::sized`] gives it one.
    pub fn new(
        kind: &str,
        first: impl Into<Vec<u8>>,
        part: impl Fn(u64, &mut Vec<u8>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            status: 200,
            headers: vec![("Content-Type".to_owned(), kind.to_owned())],
            first: first.into(),
            part: Arc::new(part),
            last: Vec::new(),
            size: u64::MAX,
            next: None,
        }
    }

    pub fn json(first: &str, part: impl Fn(u64, &mut Vec<u8>) + Send + Sync + 'static) -> Self {
        Self::new("application/json", first, part)
    }

    /// A beginning, and then the same text again and again.
    pub fn repeated(kind: &str, first: &str, again: &'static str) -> Self {
        Self::new(kind, first, move |_, out| out.extend_from_slice(again.as_bytes()))
    }

    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// At most so many bytes, and a proper end.
    #[must_use]
    pub fn sized(mut self, size: u64, last: &str) -> Self {
        (self.size, self.last) = (size, last.as_bytes().to_vec());
        self
    }

    /// Names a next page in the header `Link`: pages have no end either.
    #[must_use]
    pub fn paged(mut self, path: &str) -> Self {
        self.next = Some(path.to_owned());
        self
    }

    /// All of it, for what has to have a known digest.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // A vector takes everything.
        let _ = self.pour(0, &mut bytes);
        bytes
    }

    fn pour(&self, from: u64, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.first)?;
        let most = self.size.saturating_sub(self.last.len() as u64);
        let (mut sent, mut chunk, mut part) = (self.first.len() as u64, Vec::new(), Vec::new());
        for number in from.. {
            part.clear();
            (self.part)(number, &mut part);
            // Without parts, the beginning is all.
            let is_full = part.is_empty() || sent + (chunk.len() + part.len()) as u64 > most;
            if !is_full {
                chunk.append(&mut part);
            }
            if is_full || chunk.len() >= CHUNK {
                out.write_all(&chunk)?;
                sent += chunk.len() as u64;
                chunk.clear();
            }
            if is_full {
                break;
            }
        }
        out.write_all(&self.last)
    }

    fn send(&self, request: &Request, page: usize, out: &mut Out<'_>) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {} Test\r\nConnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(next) = &self.next {
            head.push_str(&format!("Link: <{next}{page}>; rel=\"next\"\r\n"));
        }
        out.write_all(head.as_bytes())?;
        out.write_all(b"\r\n")?;
        if request.method == "HEAD" {
            return Ok(());
        }
        // Each page has other parts than those before.
        let mut pipe = Pipe { out };
        self.pour((page as u64) << 32, &mut pipe)
    }
}

/// Ends a long answer when the test is over.
struct Pipe<'a, 'b> {
    out: &'a mut Out<'b>,
}

impl Write for Pipe<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.out.stopped() {
            Err(io::Error::other("the test is over"))
        } else {
            self.out.write(bytes)
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

type Answers = Arc<RwLock<BTreeMap<String, Pour>>>;

/// A running server; it ends when it is dropped. Its addresses and requests are those of [`HttpServer`].
pub struct Hostile {
    server: HttpServer,
    answers: Answers,
}

impl Deref for Hostile {
    type Target = HttpServer;

    fn deref(&self) -> &HttpServer {
        &self.server
    }
}

impl Hostile {
    pub fn start() -> Self {
        let answers = Answers::default();
        let (served, pages) = (Arc::clone(&answers), AtomicUsize::new(1));
        let server = HttpServer::start(None, move |request, out| {
            let found = found(&served.read(), &request.target);
            let page = pages.fetch_add(1, Ordering::Relaxed);
            match found {
                Some(pour) => pour.send(request, page, out)?,
                None => out.write_all(b"HTTP/1.1 404 Test\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")?,
            }
            out.flush()?;
            Ok(false)
        });
        Self { server, answers }
    }

    /// The answer to requests whose path and query begin so.
    pub fn answer(&self, target: &str, pour: Pour) {
        self.answers.write().insert(target.to_owned(), pour);
    }

    /// A whole answer.
    pub fn whole(&self, target: &str, kind: &str, body: impl Into<Vec<u8>>) {
        let body = body.into();
        let size = body.len() as u64;
        self.answer(target, Pour::new(kind, body, |_, _| {}).sized(size, ""));
    }

    /// An answer that registries have below its digest too: a manifest or a blob. Returns the digest.
    pub fn content(&self, repository: &str, tag: Option<&str>, kind: &str, body: &[u8]) -> String {
        let (digest, size) = (sha256(body), body.len() as u64);
        let pour = Pour::new(kind, body, |_, _| {})
            .sized(size, "")
            .header("Docker-Content-Digest", &digest)
            .header("Content-Length", &size.to_string());
        for name in tag.into_iter().chain([digest.as_str()]) {
            for place in ["manifests", "blobs"] {
                self.answer(&format!("/v2/{repository}/{place}/{name}"), pour.clone());
            }
        }
        digest
    }
}

/// The answer of the longest beginning of a path.
fn found(answers: &BTreeMap<String, Pour>, target: &str) -> Option<Pour> {
    let fitting = answers
        .iter()
        .filter(|(beginning, _)| target.starts_with(beginning.as_str()));
    fitting
        .max_by_key(|(beginning, _)| beginning.len())
        .map(|(_, pour)| pour.clone())
}
