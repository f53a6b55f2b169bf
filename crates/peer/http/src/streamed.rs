//! A streamed answer, for contents that are too large for memory.

use std::io::{self, Read};

use ureq::http::HeaderMap;

use super::{Incoming, NetError};

/// A successful answer, as a reader of its body. A truncated, late or
/// too large body is an error that contains a [`NetError`].
pub struct Streamed {
    pub headers: HeaderMap,
    body: Incoming,
    limit: usize,
    left: usize,
}

impl Streamed {
    pub(super) fn new(headers: HeaderMap, body: Incoming, limit: usize) -> Self {
        Self {
            headers,
            body,
            limit,
            left: limit,
        }
    }

    /// A header's value, when it is ASCII text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The size of the body in bytes, if the server sends it.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.header("content-length")?.trim().parse().ok()
    }

    /// The address, in a form without secrets.
    #[must_use]
    pub fn place(&self) -> String {
        self.body.place()
    }
}

impl Read for Streamed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.body.read(buffer)?;
        self.left = self.left.checked_sub(count).ok_or_else(|| {
            io::Error::other(NetError::TooLarge {
                url: self.body.place(),
                limit: self.limit,
            })
        })?;
        Ok(count)
    }
}
