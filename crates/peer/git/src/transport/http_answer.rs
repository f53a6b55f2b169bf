//! The body of an HTTP answer as a stream.

use std::io::{self, BufRead, BufReader, Read};

use ureq::BodyReader;

use super::http_error::failed;
use bumpwright_http::Deadline;
use bumpwright_text::Parts;

/// Bytes of an unwanted answer that are read so that its connection can be reused.
pub(crate) const DRAIN: u64 = 16 * 1024;

/// An answer's body as a stream.
pub(crate) struct Answer {
    reader: BufReader<BodyReader<'static>>,
    url: String,
    deadline: Deadline,
    /// The last four bytes that were read.
    tail: [u8; 4],
}

impl Answer {
    pub(crate) fn new(body: BodyReader<'static>, url: String, deadline: Deadline) -> Self {
        Self {
            reader: BufReader::with_capacity(64 * 1024, body),
            url,
            deadline,
            tail: [1; 4],
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        match self.reader.fill_buf() {
            Ok(_) => Ok(()),
            Err(e) => Err(io::Error::other(failed(&self.url, ureq::Error::from(e), self.deadline))),
        }
    }
}

impl Read for Answer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Answer {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.fill()?;
        // Buffered bytes need no further read.
        Ok(self.reader.buffer())
    }

    fn consume(&mut self, n: usize) {
        let taken = self.reader.buffer().part(..n);
        for byte in taken.iter().rev().take(4).rev() {
            self.tail.rotate_left(1);
            if let Some(last) = self.tail.last_mut() {
                *last = *byte;
            }
        }
        self.reader.consume(n);
    }
}

impl Drop for Answer {
    /// Readers stop at the flush packet that ends an answer, one read before HTTP's own end. Only a connection whose
    /// answer was read to its end can be reused.
    #[expect(
        clippy::disallowed_methods,
        reason = "the end of an answer of Git over HTTP; bound: 16 KiB; account: none, dropped as it is read"
    )]
    fn drop(&mut self) {
        if self.tail == *b"0000" {
            // On failure the connection is closed, nothing else.
            let _ = io::copy(&mut self.reader.by_ref().take(DRAIN), &mut io::sink());
        }
    }
}

/// Reads `# service=…` and its flush; returns other bytes that came first.
#[expect(
    clippy::disallowed_methods,
    reason = "the first packet of Git over HTTP; bound: 64 KiB; account: none, one for each request"
)]
pub(crate) fn skip_service_line(answer: &mut Answer) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    answer.by_ref().take(4).read_to_end(&mut head)?;
    let length = std::str::from_utf8(&head)
        .ok()
        .and_then(|digits| usize::from_str_radix(digits, 16).ok());
    let Some(rest) = length.and_then(|length| length.checked_sub(4)) else {
        return Ok(head);
    };
    answer
        .by_ref()
        .take(u64::try_from(rest).unwrap_or(0))
        .read_to_end(&mut head)?;
    if !head.get(4..).is_some_and(|line| line.starts_with(b"# service=")) {
        return Ok(head);
    }
    let mut flush = Vec::new();
    answer.by_ref().take(4).read_to_end(&mut flush)?;
    Ok(if flush == b"0000" { Vec::new() } else { flush })
}
