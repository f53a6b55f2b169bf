//! An answer with a streamed body.

use std::fmt;
use std::io::{self, Read};

use ureq::http::Response;
use ureq::{Body, BodyReader};
use url::Url;

use super::error::shown;
use super::{Answer, Deadline, NetError};

/// An answer, with a stream of its body if it is a success.
#[derive(Debug)]
pub struct Opened {
    /// The answer; of a success without the body.
    pub answer: Answer,
    /// The body of a success.
    pub body: Option<Incoming>,
}

/// A streamed body. Read errors contain a [`NetError`].
pub struct Incoming {
    reader: BodyReader<'static>,
    url: Url,
    deadline: Deadline,
}

impl Opened {
    #[expect(
        clippy::disallowed_methods,
        reason = "the body of an answer that is passed on; bound: of who reads it; account: of who reads it"
    )]
    pub(super) fn of(response: Response<Body>, url: Url, redirected: bool, deadline: Deadline) -> Self {
        let (head, body) = response.into_parts();
        let answer = Answer {
            url: url.clone(),
            redirected,
            status: head.status,
            headers: head.headers,
            body: Vec::new(),
            held: None,
        };
        let body = Some(Incoming {
            reader: body.into_reader(),
            url,
            deadline,
        });
        Self { answer, body }
    }

    pub(super) fn refused(answer: Answer) -> Self {
        Self { answer, body: None }
    }
}

impl Incoming {
    /// The address, in a form without secrets.
    pub(super) fn place(&self) -> String {
        shown(&self.url)
    }
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let failed = |error: io::Error| {
            let kind = error.kind();
            io::Error::new(kind, NetError::of(error.into(), &self.url, self.deadline))
        };
        match self.reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            other => other.map_err(failed),
        }
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming").finish_non_exhaustive()
    }
}
